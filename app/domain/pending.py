"""When an alert that waits for its place is tried again: soon, since its job may be lost, and then ever less often.

Each try reads the whole cluster. An alert that waits for something slow, such as the end of the operation on an earlier
node of that name, would else have it read every few seconds, before the cordons of a storm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

SOONEST = timedelta(seconds=10)
"""How long a job for the alert may wait in the queue before it counts as lost."""

LONGEST = timedelta(minutes=2)


def is_due(since: datetime, tried: datetime | None, now: datetime) -> bool:
    """Whether an alert that waits `since` then is tried now. `tried` is the last time, None when none is known.

    After each try it is left alone for as long as it had waited by then, so the pauses double up to LONGEST. One of
    which no try is known is due once its first job may be lost.
    """
    if tried is None:
        return now - since >= SOONEST
    return now - tried >= min(max(tried - since, SOONEST), LONGEST)


def due(
    waiting: Iterable[tuple[str, datetime]], tried: Mapping[str, datetime], now: datetime, *, limit: int
) -> tuple[str, ...]:
    """The ids that are tried now, of (id, since) with the longest waiting first; `limit` at most.

    The rest comes with the next look: those that were tried just now are left alone then.
    """
    found = [pending for pending, since in waiting if is_due(since, tried.get(pending), now)]
    return tuple(found[:limit])
