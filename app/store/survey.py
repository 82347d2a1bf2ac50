"""What guards judge by, read at one moment and in one round trip, since in a storm every operation asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.domain.budgets import Budget, Limit
from app.domain.operations import Operation
from app.store import places
from app.store.connection import Link
from app.store.documents import moment, read
from app.store.values import Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """The pause, whether the breaker has tripped, each budget, and when another operation last disrupted the node."""

    pause: Pause | None
    tripped: bool
    budgets: tuple[Budget, ...]
    last_disruption: datetime | None


class Surveys:
    """`store.survey`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def of(self, operation: Operation, limits: Sequence[Limit], now: datetime) -> Survey:
        """All that stands against an act of this operation, with its budgets as a commit would count them."""
        asked = [places.request(limit, now) for limit in limits]
        request = {"id": operation.id, "node": operation.node.name, "budgets": asked}
        pause, trip, last, *uses = self._link.run("survey", request)
        return Survey(
            pause=None if pause is None else read(Pause, pause),
            tripped=trip is not None,
            budgets=tuple(places.budget(limit, use) for limit, use in zip(limits, uses, strict=True)),
            last_disruption=None if last is None else moment(last),
        )
