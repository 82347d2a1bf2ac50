"""When the alert that always fires was last heard: its silence means that alerts do not reach us."""

from __future__ import annotations

from datetime import datetime

from app.store.connection import Link
from app.store.documents import micros, moment
from app.store.keys import KEYS


class Watchdog:
    """`store.watchdog`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def heard(self, at: datetime) -> None:
        """It was delivered."""
        self._link.ask("SET", KEYS["watchdog"], micros(at))

    def last(self) -> datetime | None:
        """When it was last delivered, None if never."""
        at = self._link.ask("GET", KEYS["watchdog"])
        return None if at is None else moment(at)
