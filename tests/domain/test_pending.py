"""When an alert that waits for its place is tried again."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from app.domain.pending import LONGEST, due, is_due
from tests.building import OPENED


def after(seconds: float) -> datetime:
    return OPENED + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("tried", "now", "expected"),
    [
        (None, 9, False),  # its first job may wait in the queue yet
        (None, 10, True),
        (None, 100_000, True),
        (10, 19, False),
        (10, 20, True),
        (20, 39, False),
        (20, 40, True),
        (1, 10, False),  # tried at once, by another watch: never sooner than a job may be lost
        (1, 11, True),
        (86_400, 86_400 + LONGEST.total_seconds() - 1, False),
        (86_400, 86_400 + LONGEST.total_seconds(), True),  # the pauses grow no longer
    ],
)
def test_an_alert_is_left_alone_for_as_long_as_it_had_waited(tried: int | None, now: int, expected: bool) -> None:
    assert is_due(OPENED, None if tried is None else after(tried), after(now)) is expected


def test_an_alert_that_waits_for_an_hour_is_tried_a_few_times_and_not_every_look() -> None:
    tries: list[datetime] = []
    for seconds in range(0, 3_600, 5):
        if due([("pend-1", OPENED)], {"pend-1": tries[-1]} if tries else {}, after(seconds), limit=100):
            tries.append(after(seconds))
    assert [(at - OPENED).total_seconds() for at in tries[:5]] == [10, 20, 40, 80, 160]
    assert len(tries) < 40


def test_what_is_beyond_the_limit_comes_with_the_next_look() -> None:
    waiting = [(f"pend-{number}", OPENED) for number in range(5)]
    first = due(waiting, {}, after(10), limit=3)
    tried = dict.fromkeys(first, after(10))
    assert first == ("pend-0", "pend-1", "pend-2")
    assert due(waiting, tried, after(15), limit=3) == ("pend-3", "pend-4")
