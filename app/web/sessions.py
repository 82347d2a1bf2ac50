"""What a browser carries: the signed cookie of somebody who presented an API token, and the signed proof in each form.

Both are signed with the tokens themselves, so nothing is kept here, every replica reads them alike, and a token that is
taken out of its file ends the sessions it began. Whoever holds a token can sign with it what they like: so a cookie
stands for one token, and is believed no further than its holder is. Who that is, `app.web.identity` says. For a site
with a proxy and no API token, forms are signed with the webhook's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from flask import request
from itsdangerous import BadData, URLSafeSerializer
from werkzeug.wrappers import Response

from app.secret_files import Token, read_named_tokens, read_tokens
from app.web.parts import parts

COOKIE: Final = "sickbay_session"
LASTS: Final = timedelta(hours=12)
SKEW: Final = timedelta(minutes=1)
"""By how much the clocks of two replicas may differ."""
_SIGNED: Final[dict[str, Any]] = {"key_derivation": "hmac", "digest_method": hashlib.sha256}


def begin(response: Response, token: Token, claimed: str) -> None:
    """Make the browser carry that this token was presented, and under which name its holder claims to go."""
    until = parts().now() + LASTS
    response.set_cookie(
        COOKIE,
        _signer([token.secret], "session").dumps([_mark(token), claimed, int(until.timestamp())]),
        max_age=LASTS,
        httponly=True,
        samesite="Strict",
        secure=parts().https or request.is_secure,
    )


def end(response: Response) -> None:
    """Make the browser forget it."""
    response.delete_cookie(COOKIE, httponly=True, samesite="Strict", secure=parts().https or request.is_secure)


def read() -> tuple[Token, str] | None:
    """The token behind the cookie as its file has it now, and the claimed name.

    None without a cookie, after its time or with more time than a session has, or once its token is gone. Raises
    ConfigurationError.
    """
    tokens, carried = parts().api_tokens, request.cookies.get(COOKIE, "")
    if tokens is None or not carried:
        return None
    now = parts().now()
    for token in read_named_tokens(tokens):
        match _loaded(_signer([token.secret], "session"), carried):
            case [mark, str(claimed), int(until)] if mark == _mark(token):
                current = now.timestamp() < until <= (now + LASTS + SKEW).timestamp()
                return (token, claimed) if current else None
    return None


def form_proof(name: str) -> str:
    """What a form must carry to be believed as this person's. The same all day, so that pages keep their ETag."""
    return str(_signer(_form_keys(), "form").dumps([name, _day()]))


def proves(given: str, name: str) -> bool:
    """Whether a form with this proof came from a page that was shown to this person today or yesterday."""
    match _loaded(_signer(_form_keys(), "form"), given):
        case [str(shown_to), int(day)]:
            return shown_to == name and _day() - day in {0, 1}
    return False


def _mark(token: Token) -> str:
    return hashlib.sha256(b"sickbay session " + token.secret).hexdigest()[:16]


def _form_keys() -> Sequence[bytes]:
    return read_tokens(parts().api_tokens or parts().webhook_tokens)


def _day() -> int:
    return parts().now().toordinal()


def _signer(keys: Sequence[bytes], purpose: str) -> URLSafeSerializer:
    # Signs with the last key and believes each.
    return URLSafeSerializer(list(keys), salt=f"sickbay {purpose}", signer_kwargs=_SIGNED)


def _loaded(signer: URLSafeSerializer, text: str) -> object:
    try:
        return signer.loads(text)
    except BadData:
        return None
