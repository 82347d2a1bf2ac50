"""Who asks: named by a trusted proxy's header, by a session of the pages, or by a token of the API. None of it: nobody.

What somebody may do is not decided here: whoever is known may give every order.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from flask import g, request

from app.domain.timeline import SICKBAY
from app.errors import ConfigurationError, StoreUnavailable
from app.secret_files import LONGEST_NAME, Token
from app.web import sessions
from app.web.parts import parts

API_ACTOR: Final = "api token"
"""The actor where a token without a name was presented, and nobody said who."""
CLAIMED: Final = "X-Sickbay-Actor"
"""The header in which the holder of a token without a name says who they are; recorded as what they said, no more."""
NOT_PEOPLE: Final = frozenset({SICKBAY, "alert"})
"""Actors of the timeline that no person may pass for."""


class By(StrEnum):
    """What vouches for a person."""

    PROXY = "proxy"
    SESSION = "session"
    TOKEN = "token"  # noqa: S105 - not one


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody, by the name that stands in the timeline."""

    name: str
    by: By


def looking() -> Person | None:
    """Who looks at a page. A token file or a store that cannot be read makes everybody a stranger."""
    if "person" not in g:
        g.person = of_proxy() or _of_session()
    found: Person | None = g.person
    return found


def known_without_store() -> None:
    """Let the page that says that the store is away not ask it again, which takes seconds."""
    g.person = of_proxy()


def of_proxy() -> Person | None:
    """Whom the trusted proxy names. Two values are the sign of one that adds to the header instead of setting it."""
    header = parts().user_header
    given = "" if header is None else request.headers.get(header, "")
    name = "" if "," in given else _readable(given)
    return Person(_as_person(name), By.PROXY) if name else None


def of_token(token: Token, claimed: str | None = None) -> Person:
    """The holder of a token: by the file's name for it; else what they said, marked as such."""
    if token.name:
        return Person(_as_person(_readable(token.name)), By.TOKEN)
    said = name_in(claimed) if claimed is not None else _readable(request.headers.get(CLAIMED, ""))
    return Person(f"{said} ({API_ACTOR})" if said else API_ACTOR, By.TOKEN)


def name_in(given: str) -> str:
    """The name of a person in what somebody gave as one; empty when nothing of it can be read."""
    return one_line(given)[:LONGEST_NAME]


def one_line(told: str) -> str:
    """What a person wrote, fit for a page, a log and a terminal: control and direction signs are white space."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in told).split())


def _of_session() -> Person | None:
    try:
        session = sessions.read()
    except (ConfigurationError, StoreUnavailable):
        return None
    return None if session is None else Person(of_token(*session).name, By.SESSION)


def _readable(given: str) -> str:
    # WSGI hands header bytes over as latin-1; people's names come as UTF-8.
    return name_in(given.encode("latin-1", "replace").decode("utf-8", "replace"))


def _as_person(name: str) -> str:
    return f"{name} (a person)" if name.casefold() in NOT_PEOPLE else name
