"""Durations as people write them in configuration: `90s`, `30m`, `1h30m`, `7d`. Prometheus's spelling, without weeks.

Only for files. What people read on the page is spelt by `app.domain.timeline.spell`.
"""

from __future__ import annotations

import re
from datetime import timedelta

_WRITTEN = re.compile(
    r"(?=.)(?:(?P<days>\d{1,6})d)?(?:(?P<hours>\d{1,6})h)?(?:(?P<minutes>\d{1,6})m)?(?:(?P<seconds>\d{1,6})s)?"
    r"(?:(?P<milliseconds>\d{1,6})ms)?",
    re.ASCII,
)
_UNITS = (
    ("d", timedelta(days=1)),
    ("h", timedelta(hours=1)),
    ("m", timedelta(minutes=1)),
    ("s", timedelta(seconds=1)),
    ("ms", timedelta(milliseconds=1)),
)


def read_duration(text: str) -> timedelta | None:
    """The duration, units from large to small, each at most once; None when it is none. A bare number has no unit."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    return timedelta(**{unit: int(count) for unit, count in match.groupdict(default="0").items()})


def write_duration(span: timedelta) -> str:
    """The same in the shortest exact spelling, down to milliseconds: `30m`, `1h30m`, `0s`. For spans from 0 up."""
    written = ""
    for unit, size in _UNITS:
        count, span = divmod(span, size)
        written += f"{count}{unit}" if count else ""
    return written or "0s"
