"""Who may come in: bearer tokens from files, read for each request, compared in constant time; and forms of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from flask import Response, request

from app.secret_files import Token, holder, read_named_tokens
from app.web import sessions
from app.web.identity import Person, looking, of_proxy, of_token
from app.web.parts import parts
from app.web.problems import Problem

PROOF: Final = "proof"
"""The hidden field of every form."""
_CHALLENGE: Final = (("WWW-Authenticate", 'Bearer realm="sickbay"'),)


def require_webhook_token() -> None:
    """Refuse with 401 who does not present one of the webhook's tokens."""
    _require(parts().webhook_tokens)


def require_actor() -> str:
    """The actor of an order to the API, for the record. 401 for a stranger; 403 where nobody could be known.

    A session of the pages counts for nothing here: what carries no proof of a form must not act by a browser's cookie.
    Whom a proxy names needs none either, since a page of another site cannot send the JSON that an order is.
    """
    person = of_proxy()
    if person is not None:
        return person.name
    tokens = parts().api_tokens
    if tokens is None:
        if parts().user_header is not None:
            raise Problem(401, "The proxy named no user, and without one no order is taken.")
        told = "No API token is configured, so no order is taken over HTTP. Set SICKBAY_API_TOKEN_FILE."
        raise Problem(403, told)
    return of_token(_require(tokens)).name


def require_person() -> Person:
    """Who looks at a page on which orders are given. 401 for a stranger."""
    person = looking()
    if person is None:
        raise Problem(401, "Sign in to give orders here.")
    return person


def require_own_form(name: str) -> None:
    """Refuse with 403 a form that no page of ours showed to this person."""
    # Browsers say themselves where a form came from; the proof holds for those that do not.
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in {"same-origin", "none"}:
        raise Problem(403, "This form came from a page of another site. Nothing was ordered.")
    if not sessions.proves(request.form.get(PROOF, ""), name):
        raise Problem(403, "This form is too old, or was shown to somebody else. Load the page anew and order again.")


def unstored(response: Response) -> Response:
    """Keep a page with a form out of every cache, that of the browser's own "back" included."""
    response.cache_control.no_store = True
    return response


def _require(file: Path) -> Token:
    tokens = read_named_tokens(file)
    scheme, _, presented = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not presented.strip():
        raise Problem(401, "The header `Authorization: Bearer <token>` is missing.", headers=_CHALLENGE)
    # WSGI hands header bytes over as latin-1.
    found = holder(presented.strip().encode("latin-1", "replace"), tokens)
    if found is None:
        raise Problem(401, "The bearer token is not one of those accepted here.", headers=_CHALLENGE)
    return found
