"""A browser's part in the tests of pages: fetches a page, fills its form as it stands, and sends it."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from flask.testing import FlaskClient

from tests.web.conftest import API_TOKEN


def text(html: str) -> str:
    """What is read on a page, without its markup."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def hidden(html: str, before: str = "</main>") -> dict[str, str]:
    """The hidden fields of the form in the page's main part."""
    found = re.findall(r'<input type="hidden" name="([a-z]+)" value="([^"]*)"', html.partition(before)[0])
    return {name: unescape(value) for name, value in found}


def send(client: FlaskClient, path: str, headers: Any = None, **fields: str) -> Any:
    """The answer to the form of this page, filled in with these fields."""
    shown = client.get(path, headers=headers)
    assert shown.status_code == 200, text(shown.text)
    return client.post(path.partition("?")[0], data={**hidden(shown.text), **fields}, headers=headers)


def sign_in(client: FlaskClient, name: str = "ana", token: str = API_TOKEN, **fields: str) -> Any:
    """Begin a session as this person."""
    return send(client, "/sign-in", name=name, token=token, **fields)
