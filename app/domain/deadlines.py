"""When a step's time is up, and how soon it is looked at again: at that moment, and not at the next look after it.

Time in which a guard held the step, or a person was asked, is not the step's: a pause must not use up a drain's hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from app.domain.alerts import read_time
from app.domain.plans.planned import PlannedStep

LOOK_AGAIN = timedelta(seconds=30)
"""The watch tells of most changes at once; this is for when it does not."""

HELD_S, HELD_SINCE = "held_s", "held_since"
"""Where a step's memo keeps how many seconds it was held, and since when it is held now."""


def next_look(now: datetime, *moments: datetime | None, at_most: timedelta = LOOK_AGAIN) -> timedelta:
    """After how long to look again: `at_most`, or when the first of these moments comes that is still ahead."""
    ahead = [moment - now for moment in moments if moment is not None and moment > now]
    return min([at_most, *ahead])


def due_at(step: PlannedStep, limit: timedelta, now: datetime, *, since: datetime | None = None) -> datetime | None:
    """When the step's time is up: `limit` after it began, or after `since`, and as much later as it was held.

    None while it has not begun. While it is held, the moment moves along with `now`.
    """
    begun = since or step.started_at
    return None if begun is None else begun + limit + _held(step, now)


def count_from(step: PlannedStep, key: str, now: datetime) -> Mapping[str, str]:
    """What to remember under `key` of a moment that a deadline counts from: the first one, and nothing held before."""
    if key in step.memo:
        return {key: step.memo[key]}
    return {key: now.isoformat()} | ({HELD_S: "0"} if HELD_S in step.memo or HELD_SINCE in step.memo else {})


def is_past(moment: datetime | None, now: datetime) -> bool:
    """Whether the moment has come; None never comes."""
    return moment is not None and now >= moment


def stop_clock(step: PlannedStep, now: datetime) -> Mapping[str, str]:
    """The step's memo once it is held. One that has not begun, or is held already, keeps the memo that it has."""
    if step.started_at is None or step.memo.get(HELD_SINCE):
        return step.memo
    return {**step.memo, HELD_SINCE: now.isoformat()}


def start_clock(step: PlannedStep, now: datetime) -> Mapping[str, str]:
    """The step's memo once it goes on."""
    if not step.memo.get(HELD_SINCE):
        return step.memo
    return {**step.memo, HELD_S: str(_held(step, now).total_seconds()), HELD_SINCE: ""}


def _held(step: PlannedStep, now: datetime) -> timedelta:
    since = read_time(step.memo.get(HELD_SINCE))
    before = timedelta(seconds=float(step.memo.get(HELD_S, "0")))
    return before if since is None else before + max(now - since, timedelta(0))
