"""The last alerts with what became of each, and the memory of occurrences: one counts once, whoever delivers it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from app.domain.history import HistoryRow
from app.domain.triage import Decision
from app.store.connection import Link
from app.store.documents import micros, read_readable, write
from app.store.keys import BOUNDS, KEYS, hashed, plain
from app.store.values import AlertRecord


class Alerts:
    """`store.alerts`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def note(
        self,
        record: AlertRecord,
        occurrence: str | None,
        history: tuple[HistoryRow, ...] = (),
        *,
        now: datetime,
        pending_id: str | None = None,
    ) -> bool:
        """Store an alert that leads to no operation. False: this occurrence was dealt with before.

        Without an occurrence (an alert that cannot be understood) it is only listed. `pending_id` says that it waited
        and that its occurrence is ours; it waits no longer then.
        """
        request = delivery(record, occurrence, history, pending_id)
        stored, *_ = self._link.run("note", {**request, "now": str(micros(now))})
        return bool(stored)

    def last(self, limit: int = BOUNDS["alerts"]) -> list[AlertRecord]:
        """The latest ones, newest first."""
        return read_readable(AlertRecord, self._link.ask("LRANGE", KEYS["alerts"], 0, limit - 1))


def delivery(
    record: AlertRecord | None,
    occurrence: str | None,
    history: Sequence[HistoryRow] = (),
    pending_id: str | None = None,
) -> dict[str, Any]:
    """The part of a script's request that says what was delivered.

    Its nonce tells a call that is repeated after a lost answer from a second delivery.
    """
    again = None
    if record is not None:
        told = "This occurrence was delivered before; it counts once."
        again = write(replace(record, decision=Decision.DUPLICATE, reason=told))
    return {
        "nonce": secrets.token_hex(8),
        "occurrence": None if occurrence is None else hashed(occurrence),
        "pending_id": pending_id,
        "alert": None if record is None else write(record),
        "alert_again": again,
        "history": [_row(row) for row in history if row.gpu.key is not None],
    }


def _row(row: HistoryRow) -> dict[str, str]:
    names = {"serial": row.gpu.serial, "uuid": row.gpu.uuid}
    return {
        "at": str(micros(row.at)),
        "document": write(row),
        **{name: plain(value) for name, value in names.items() if value},
    }
