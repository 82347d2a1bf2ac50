"""What each card has been through, kept under its serial, or under its UUID until the serial is known."""

from __future__ import annotations

from app.domain.history import HistoryRow
from app.store.connection import Link
from app.store.documents import read
from app.store.keys import BOUNDS, KEYS, plain


class History:
    """`store.history`. Rows are written by commits and notes."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def of(self, card: str, limit: int = BOUNDS["history"]) -> list[HistoryRow]:
        """The rows of a serial or UUID, newest first."""
        name = plain(card)
        name = self._link.ask("GET", KEYS["alias"] + name) or name
        return [read(HistoryRow, text) for text in self._link.ask("ZREVRANGE", KEYS["history"] + name, 0, limit - 1)]

    def join(self, uuid: str, serial: str) -> None:
        """From now on this UUID's rows, also those to come, stand under the serial. Doing it again changes nothing."""
        self._link.run("join", {"uuid": plain(uuid), "serial": plain(serial)})
