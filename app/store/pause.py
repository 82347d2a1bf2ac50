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

    def set(self, actor: str, reason: str, at: datetime) -> Pause:
        """Pause, unless somebody has already: whoever lifts that one knows of no other. The pause that stands."""
        mine = Pause(actor=actor, reason=reason, at=at)
        while not self._link.ask("SET", KEYS["pause"], write(mine), "NX"):
            stands = self.get()
            if stands is not None:
                return stands
        return mine

    def get(self) -> Pause | None:
        """The pause, None while there is none."""
        text = self._link.ask("GET", KEYS["pause"])
        return None if text is None else read(Pause, text)
