"""`resume`: lift a pause and a tripped breaker, and judge what they held by what is true now.

The order comes over HTTP (`app.web.actions`), from a page or a command; what is done is the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.domain.backlog import ENDED, is_dropped
from app.domain.operations import Operation, Result, State, finish
from app.domain.policies import Mode, Policy
from app.store import Change, Committed, Standing, Store

GOING_ON: Final = (State.RUNNING, State.WAITING, State.HELD)
"""The states in which an operation waits for no person and no vendor: a resume concerns these."""
MOST: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """What there was to lift, the operations that were dropped, and those that are to be looked at now."""

    paused: bool
    tripped: bool
    dropped: tuple[str, ...]
    held: tuple[str, ...]


def resume(store: Store, policy: Policy, seen: Standing, now: datetime) -> Resumed | None:
    """Lift what was seen; None, and nothing is lifted, when another pause or trip stands by then.

    Safe to repeat: what was dropped stays dropped, and a lifted breaker drops nothing. The backlog goes first: a
    process that dies midway leaves the breaker tripped, and the order is given again.
    """
    paused, tripped = seen.pause is not None, seen.trip is not None
    operations, _ = store.operations.page(states=GOING_ON, limit=MOST)
    dropped = _drop_backlog(store, [one for one in operations if _acts(policy, one)], now) if tripped else ()
    if not store.standing.lift(seen):
        return None
    held = tuple(one.id for one in operations if one.state is State.HELD and one.id not in dropped)
    return Resumed(paused=paused, tripped=tripped, dropped=dropped, held=held)


def _acts(policy: Policy, operation: Operation) -> bool:
    """Whether the breaker held it back, and not the mode."""
    pool = policy.pool_named(operation.pool)
    return pool is not None and policy.mode_for(pool, (fault.code for fault in operation.faults)) is not Mode.OBSERVE


def _drop_backlog(store: Store, operations: list[Operation], now: datetime) -> tuple[str, ...]:
    told = _last_statuses(store)
    dropped = []
    for operation in operations:
        if is_dropped(operation, told.get(operation.id, {}).values()):
            ended, entries = finish(operation, Result.NOTED, ENDED, now=now)
            change = Change(operation=ended, expected_version=operation.version, now=now, entries=entries)
            # One that a worker changed at this moment is no longer untouched, or the next resume meets it.
            if isinstance(store.operations.commit(change), Committed):
                dropped.append(operation.id)
    return tuple(dropped)


def _last_statuses(store: Store) -> Mapping[str, Mapping[str, str]]:
    """Operation to the last status of each of its alerts, by fingerprint, as far as deliveries are remembered."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for record in store.alerts.last():
        if record.operation:
            found[record.operation].setdefault(record.fingerprint, record.status)
    return found
