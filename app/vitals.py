"""Signs of life, read from the store at one moment: what the health strip, /readyz and /metrics all speak of.

It compares with fixed limits; how a sign is shown is the page's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.domain.budgets import Budget, Limit
from app.domain.guards import Hurts, limits_of
from app.domain.policies import Policy
from app.queue import Depth, WorkQueues
from app.store import AlertRecord, Pause, Store

ALIVE_WITHIN: Final = timedelta(seconds=60)
"""A worker or watch that has not beaten for so long is taken for dead."""
WATCHDOG_WITHIN: Final = timedelta(minutes=15)
"""The always-firing alert is repeated every few minutes; when it is silent for longer, alerts may not reach us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """What is alive, and since when what is not. `now` is the moment of reading."""

    now: datetime
    last_alert: AlertRecord | None
    watchdog: datetime | None
    workers: tuple[str, ...]
    watches: tuple[str, ...]
    depths: tuple[Depth, ...]
    budgets: tuple[Budget, ...]
    pause: Pause | None
    breaker: str | None
    """Why the breaker of a mass failure has tripped, in a sentence."""
    inventory: datetime | None
    inventory_max_age: timedelta
    pending: int

    @property
    def inventory_fresh(self) -> bool:
        """Whether it is young enough to place alerts by."""
        return self.inventory is not None and self.now - self.inventory <= self.inventory_max_age

    @property
    def watchdog_heard(self) -> bool:
        """Whether the always-firing alert came lately."""
        return self.watchdog is not None and self.now - self.watchdog <= WATCHDOG_WITHIN

    @property
    def queued(self) -> int:
        """Jobs that wait, in all queues."""
        return sum(depth.jobs for depth in self.depths)


def read_vitals(store: Store, queues: WorkQueues, policy: Policy, now: datetime) -> Vitals:
    """The signs at `now`. Raises StoreUnavailable."""
    return Vitals(
        now=now,
        last_alert=next(iter(store.alerts.last(1)), None),
        watchdog=store.watchdog.last(),
        workers=store.heartbeats.alive("worker", now, ALIVE_WITHIN),
        watches=store.heartbeats.alive("watch", now, ALIVE_WITHIN),
        depths=queues.depths(),
        budgets=store.operations.budgets(_limits(policy), now),
        pause=store.pause.get(),
        breaker=store.breaker.sentence(policy.breaker),
        inventory=store.inventory.written_at(),
        inventory_max_age=policy.inventory_max_age,
        pending=store.pending.count(),
    )


def _limits(policy: Policy) -> tuple[Limit, ...]:
    """Those of the cluster and of each pool; racks and drivers are told only where they hold something."""
    found = [*limits_of(Hurts.NEW_WORK, policy, None, {}), *limits_of(Hurts.NOBODY, policy, None, {})]
    for pool in (None, *policy.pools):
        found += limits_of(Hurts.RUNNING_WORK, policy, pool, {})
    return tuple(dict.fromkeys(found))
