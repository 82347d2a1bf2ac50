"""What keeps all of Sickbay from acts that hurt, read and lifted as one: a resume lifts what was seen, and no more."""

from __future__ import annotations

import json

from app.store.connection import Link
from app.store.documents import read, write
from app.store.keys import KEYS
from app.store.values import Pause, Standing, Trip


class Standings:
    """`store.standing`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def read(self) -> Standing:
        """Both as they are at one moment."""
        pause, trip = self._link.ask("MGET", KEYS["pause"], KEYS["breaker"])
        return Standing(
            pause=None if pause is None else read(Pause, pause), trip=None if trip is None else read(Trip, trip)
        )

    def lift(self, seen: Standing) -> bool:
        """Let everything pass again, and count anew for the breaker.

        False, and nothing is lifted, when not just these stand any more. A call that is repeated after a lost answer
        finds that nothing does, and that is as good.
        """
        given = {
            name: None if one is None else _since(one) for name, one in (("pause", seen.pause), ("trip", seen.trip))
        }
        (lifted,) = self._link.run("lift", given)
        return bool(lifted) or self.read() == Standing()


def _since(record: Pause | Trip) -> str:
    return str(json.loads(write(record))["at"])
