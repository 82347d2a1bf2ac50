"""One alert on its way through `app.intake`: what is known of it, and how that is written down. It decides nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.domain import timeline
from app.domain.alerts import Alert
from app.domain.history import HistoryRow, row_of
from app.domain.placement import Inventory
from app.domain.triage import Decision, Triage
from app.store import AlertRecord

LONGEST_NAME: Final = 200
"""Characters kept of an alert's name and fingerprint in the list of last alerts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What became of one alert.

    `urgent`: its operation got something new to do. `pending` is the id under which it waits for a worker.
    """

    fingerprint: str
    decision: Decision
    reason: str
    operation: str | None = None
    pending: str | None = None
    urgent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesSeen:
    """An inventory and when it was read from the cluster."""

    inventory: Inventory
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One alert on its way. `pending` is its id when it waited; then its occurrence is its own already."""

    alert: Alert
    triage: Triage
    now: datetime
    pending: str | None = None
    own_act: str = ""
    """The step of Sickbay's own that raised it, empty when it came by itself."""

    @property
    def reason(self) -> str:
        """Triage's reason as a sentence."""
        return sentence(self.triage.reason)

    @property
    def passed_by(self) -> bool:
        """Whether it is for no node: ignored, refused, or the watchdog's."""
        return self.triage.watchdog or self.triage.decision in {Decision.IGNORE, Decision.REFUSE}

    def record(self, decision: Decision, reason: str, *, node: str | None, operation: str | None = None) -> AlertRecord:
        """Its line in the list of last alerts."""
        return AlertRecord(
            at=self.now,
            name=self.alert.name[:LONGEST_NAME],
            fingerprint=self.alert.fingerprint[:LONGEST_NAME],
            status=self.alert.status,
            decision=decision,
            reason=reason,
            node=node,
            operation=operation,
        )

    def rows(self, *, node: str | None, operation: str = "") -> tuple[HistoryRow, ...]:
        """A row for a firing fault of a known card; a fault that is over is no second one."""
        if self.triage.code is None or not self.alert.firing:
            return ()
        row = row_of(
            self.triage.fault(self.alert, node or ""),
            class_=self.triage.class_,
            operation=operation,
            own_act=self.own_act,
        )
        return () if row is None else (row,)

    def taken(self, decision: Decision, reason: str, *, operation: str | None = None, urgent: bool = False) -> Taken:
        """The answer to whoever brought it."""
        return Taken(
            fingerprint=self.alert.fingerprint, decision=decision, reason=reason, operation=operation, urgent=urgent
        )


def sentence(reason: str) -> str:
    """The reason with a capital and a full stop."""
    told = timeline.sentence(reason)
    return f"{told[:1].upper()}{told[1:]}"
