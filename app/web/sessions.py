"""What a browser carries: the signed cookie of somebody who presented an API token, and the signed proof in each form.

Both are signed with a random key of the store (`app.store.signing`), so that every replica reads them alike, and nobody
who holds a token can sign anything. A cookie stands for one token, and is believed no further than its holder is: who
that is, `app.web.identity` says, and a token that is taken out of its file ends the sessions it began.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import timedelta
from typing import Any, Final, cast

from flask import g, request
from itsdangerous import BadData, URLSafeSerializer
from werkzeug.wrappers import Response

from app.secret_files import Token, read_named_tokens
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
        _signer("session").dumps([_mark(token), claimed, int(until.timestamp())]),
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

    None without a cookie, after its time or with more time than a session has, or once its token is gone.

    Raises:
        ConfigurationError: the token file cannot be read.
        StoreUnavailable: nobody can be known without the key.
    """
    tokens, carried = parts().api_tokens, request.cookies.get(COOKIE, "")
    if tokens is None or not carried:
        return None
    match _loaded(_signer("session"), carried):
        case [str(mark), str(claimed), int(until)]:
            now = parts().now()
            if now.timestamp() < until <= (now + LASTS + SKEW).timestamp():
                behind = (token for token in read_named_tokens(tokens) if hmac.compare_digest(_mark(token), mark))
                return next(((token, claimed) for token in behind), None)
    return None


def form_proof(name: str) -> str:
    """What a form must carry to be believed as this person's. The same all day, so that pages keep their ETag."""
    return str(_signer("form").dumps([name, _day()]))


def proves(given: str, name: str) -> bool:
    """Whether a form with this proof came from a page that was shown to this person today or yesterday."""
    match _loaded(_signer("form"), given):
        case [str(shown_to), int(day)]:
            return shown_to == name and _day() - day in {0, 1}
    return False


def _mark(token: Token) -> str:
    """Which token it is, for who has the key alone: a cookie gives nobody a token to guess at."""
    return hmac.new(_key(), b"token " + token.secret, hashlib.sha256).hexdigest()


def _key() -> bytes:
    if "signing_key" not in g:
        g.signing_key = parts().store.signing_key.read()
    return cast("bytes", g.signing_key)


def _day() -> int:
    return parts().now().toordinal()


def _signer(purpose: str) -> URLSafeSerializer:
    return URLSafeSerializer(_key(), salt=f"sickbay {purpose}", signer_kwargs=_SIGNED)


def _loaded(signer: URLSafeSerializer, text: str) -> object:
    try:
        return signer.loads(text)
    except BadData:
        return None
