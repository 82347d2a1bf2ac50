"""Alerts that the inventory could not place: they wait here until a worker has stored what became of them."""

from __future__ import annotations

import secrets
from datetime import datetime

from app.domain.alerts import Alert
from app.errors import StoreUnavailable
from app.store.alerts import delivery
from app.store.connection import Link
from app.store.documents import micros, moment, read, write
from app.store.keys import BOUNDS, KEYS
from app.store.values import AlertRecord, PendingAlert


class Pending:
    """`store.pending`. An alert leaves it by `commit` or `note` with its `pending_id`, in the same script."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def put(self, alert: Alert, occurrence: str, record: AlertRecord, *, now: datetime) -> str | None:
        """The id under which the alert waits; None when this occurrence was dealt with before.

        Raises:
            StoreUnavailable: also when too many wait already, so that Alertmanager comes again.
        """
        waiting = PendingAlert(id=f"pend-{secrets.token_hex(5)}", alert=alert, occurrence=occurrence, since=now)
        request = {**delivery(record, occurrence), "id": waiting.id, "document": write(waiting)}
        (answer,) = self._link.run("pending_put", {**request, "now": str(micros(now))})
        if answer == "full":
            raise StoreUnavailable(f"{BOUNDS['pending']} alerts wait for a worker already; no more are taken.")
        return waiting.id if answer == "put" else None

    def waiting(self, pending_id: str) -> PendingAlert | None:
        """The alert with its occurrence and since when it waits; None when it waits no longer. It stays."""
        text = self._link.ask("HGET", KEYS["pending"], pending_id)
        return None if text is None else read(PendingAlert, text)

    def take(self, pending_id: str) -> Alert | None:
        """The alert alone. It stays too: a worker that dies now has taken nothing away."""
        waiting = self.waiting(pending_id)
        return None if waiting is None else waiting.alert

    def done(self, pending_id: str) -> bool:
        """Take it away without storing anything else. False when it was not there."""
        (there,) = self._link.run("pending_done", {"id": pending_id})
        return bool(there)

    def since(self) -> list[tuple[str, datetime]]:
        """Id and since when of all that wait, longest waiting first, without the alerts themselves."""
        waiting = self._link.ask("ZRANGE", KEYS["pending_since"], 0, -1, "WITHSCORES")
        return [(str(pending), moment(at)) for pending, at in waiting]

    def count(self) -> int:
        """How many wait."""
        return int(self._link.ask("HLEN", KEYS["pending"]))
