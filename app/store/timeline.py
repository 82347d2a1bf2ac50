"""The timeline of an operation, as its commits wrote it."""

from __future__ import annotations

from app.domain.timeline import Entry
from app.store.connection import Link
from app.store.documents import read_readable
from app.store.keys import KEYS


class Timeline:
    """`store.timeline`. Written by commits only; the oldest entries of a very long one are gone."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def read(self, operation_id: str) -> tuple[Entry, ...]:
        """The entries, oldest first; none for an operation that is not known."""
        texts = self._link.ask("LRANGE", KEYS["timeline"] + operation_id, 0, -1)
        return tuple(read_readable(Entry, texts))
