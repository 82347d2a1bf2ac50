"""How commands reach the HTTP API: through it, so that audit and tokens hold for them too."""

from __future__ import annotations

import getpass
from typing import Any, Final

import requests

from app.errors import SickbayError
from app.secret_files import read_tokens
from app.settings import Settings

TIMEOUT_S: Final = 10


class ApiError(SickbayError):
    """The API could not be reached, or refused; the text is its sentence."""


class Client:
    """Calls the API at SICKBAY_URL."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def get(self, path: str, *, also: int | None = None) -> dict[str, Any]:
        """The JSON at this path. `also` is a status beside 200 that is an answer too. Raises ApiError."""
        return self._call("GET", path, also=also)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to an order, given with the token of SICKBAY_API_TOKEN_FILE. Raises ApiError."""
        token = read_tokens(self._settings.require_api_token_file())[0].decode("ascii", "replace")
        headers = {"Authorization": f"Bearer {token}", "X-Sickbay-Actor": _login_name().encode()}
        return self._call("POST", path, body=body, headers=headers)

    def _call(self, method: str, path: str, *, also: int | None = None, **given: Any) -> dict[str, Any]:
        url = f"{self._settings.url}{path}"
        given["json"] = given.pop("body", None)
        try:
            # A token must not travel on to wherever a redirect leads.
            answer = requests.request(method, url, timeout=TIMEOUT_S, allow_redirects=False, **given)
        except requests.RequestException as error:
            told = f"Sickbay does not answer at {self._settings.url} ({type(error).__name__}). SICKBAY_URL says where."
            raise ApiError(told) from error
        try:
            told_back = answer.json()
        except requests.JSONDecodeError:
            told_back = None
        if not isinstance(told_back, dict):
            raise ApiError(f"{url} answered {answer.status_code} without JSON: it does not seem to be Sickbay.")
        if answer.status_code not in {200, also}:
            raise ApiError(str(told_back.get("detail") or f"{url} answered {answer.status_code}."))
        return told_back


def _login_name() -> str:
    """Who types, as far as this machine knows: for the record, where the token does not name its holder."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's uid without a name
        return ""
