"""What each card has been through, kept under its serial, or under its UUID until the serial is known.

Two GPUs that share one serial, as on a board with two of them, are kept apart by their UUIDs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from app.domain.faults import Gpu
from app.domain.history import HistoryRow
from app.store import cards
from app.store.connection import Link
from app.store.documents import micros, read_readable
from app.store.keys import BOUNDS, KEYS

_CHUNK = 200


class History:
    """`store.history`. Rows are written by commits and notes; a card's two names are joined by commits."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def of(self, card: str | Gpu, limit: int = BOUNDS["history"]) -> list[HistoryRow]:
        """The rows of a serial or UUID, or of a card as far as it is known, newest first."""
        names = cards.names(self._link, card)
        commands = [("ZREVRANGE", KEYS["history"] + name, 0, limit - 1) for name in names]
        rows = [row for texts in self._link.ask_all(commands) for row in read_readable(HistoryRow, texts)]
        return sorted(rows, key=lambda row: row.at, reverse=True)[:limit]

    def is_shared(self, serial: str) -> bool:
        """Whether several GPUs have reported that serial."""
        return cards.is_shared(self._link, serial)

    def cards(self, limit: int = BOUNDS["cards"], *, since: datetime | None = None) -> list[str]:
        """Names of the cards that had a fault, the latest first: what `of` and `rows` take."""
        least = "-inf" if since is None else micros(since)
        return list(self._link.ask("ZREVRANGEBYSCORE", KEYS["cards"], "+inf", least, "LIMIT", 0, limit))

    def rows(self, names: Sequence[str], *, since: datetime) -> Mapping[str, list[HistoryRow]]:
        """Each of these cards with its rows since then, newest first, in few round trips. For lists of many cards."""
        found: dict[str, list[HistoryRow]] = {}
        for start in range(0, len(names), _CHUNK):
            chunk = names[start : start + _CHUNK]
            commands = [("ZREVRANGEBYSCORE", KEYS["history"] + name, "+inf", micros(since)) for name in chunk]
            for name, texts in zip(chunk, self._link.ask_all(commands), strict=True):
                found[name] = read_readable(HistoryRow, texts)
        return found
