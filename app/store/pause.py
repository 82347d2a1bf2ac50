"""Whether a person has paused Sickbay. `store.standing` lifts it."""

from __future__ import annotations

from datetime import datetime

from app.store.connection import Link
from app.store.documents import read, write
from app.store.keys import KEYS
from app.store.values import Pause


class Pauses:
    """`store.pause`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def set(self, actor: str, reason: str, at: datetime) -> None:
        """Pause; a second pause takes the place of the first."""
        self._link.ask("SET", KEYS["pause"], write(Pause(actor=actor, reason=reason, at=at)))

    def get(self) -> Pause | None:
        """The pause, None while there is none."""
        text = self._link.ask("GET", KEYS["pause"])
        return None if text is None else read(Pause, text)
