from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.web.times import ago, clock, relative

NOW = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0 s ago"),
        (0.9, "0 s ago"),
        (59.9, "59 s ago"),
        (60, "1 min ago"),
        (3599, "59 min ago"),
        (3600, "1 h ago"),
        (172_799, "47 h ago"),
        (172_800, "2 d ago"),
        (-1, "in 1 s"),
        (-300, "in 5 min"),
    ],
)
def test_a_time_is_told_in_one_unit(seconds: float, told: str) -> None:
    assert ago(NOW - timedelta(seconds=seconds), NOW) == told


def test_a_time_is_machine_readable_and_absolute_on_hover() -> None:
    at = datetime(2026, 9, 20, 13, 58, 30, 123456, timezone(timedelta(hours=2)))

    assert relative(at, NOW) == (
        '<time class="rel" datetime="2026-09-20T11:58:30.123Z" title="2026-09-20 11:58:30 UTC">1 min ago</time>'
    )
    assert clock(at) == '<time datetime="2026-09-20T11:58:30.123Z" title="2026-09-20 11:58:30 UTC">11:58:30</time>'
