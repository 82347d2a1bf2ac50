"""The timeline of an operation, as its commits wrote it."""

from __future__ import annotations

from collections.abc import Sequence

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
        return self.read_each([operation_id])[0]

    def read_each(self, operation_ids: Sequence[str]) -> list[tuple[Entry, ...]]:
        """The same for several, in one round trip."""
        answers = self._link.ask_all([("LRANGE", KEYS["timeline"] + each, 0, -1) for each in operation_ids])
        return [tuple(read_readable(Entry, texts)) for texts in answers]
