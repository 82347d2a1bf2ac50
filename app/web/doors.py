"""Who may come in: bearer tokens from files, read for each request, compared in constant time."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from flask import request

from app.secret_files import matches, read_tokens
from app.web.parts import parts
from app.web.problems import Problem

API_ACTOR: Final = "api token"
"""Who acted, as the timeline names a holder of the API token."""

_CHALLENGE: Final = (("WWW-Authenticate", 'Bearer realm="sickbay"'),)


def require_webhook_token() -> None:
    """Refuse with 401 who does not present one of the webhook's tokens."""
    _require(parts().webhook_tokens)


def require_api_token() -> str:
    """The actor for the record. 401 without one of the API's tokens; 403 where none is configured."""
    tokens = parts().api_tokens
    if tokens is None:
        told = "No API token is configured, so no order is taken over HTTP. Set SICKBAY_API_TOKEN_FILE."
        raise Problem(403, told)
    _require(tokens)
    return API_ACTOR


def _require(file: Path) -> None:
    tokens = read_tokens(file)
    scheme, _, presented = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not presented.strip():
        raise Problem(401, "The header `Authorization: Bearer <token>` is missing.", headers=_CHALLENGE)
    # WSGI hands header bytes over as latin-1.
    if not matches(presented.strip().encode("latin-1", "replace"), tokens):
        raise Problem(401, "The bearer token is not one of those accepted here.", headers=_CHALLENGE)
