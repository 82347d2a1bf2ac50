"""One line of an operation's timeline: when, who, and a sentence. The page, the API and the log show the same words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

SICKBAY = "sickbay"
"""The actor of everything Sickbay does by itself."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`actor` is `sickbay`, `alert` or a person's name."""

    at: datetime
    actor: str
    text: str


def spell(span: timedelta) -> str:
    """A duration as people say it: `41 ms`, `4.2 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`."""
    seconds = max(span.total_seconds(), 0.0)
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, unit, smaller, sub in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit}" + (f" {rest} {sub}" if rest else "")
    return f"{whole} s"


def sentence(text: str) -> str:
    """The text with a full stop, unless it ends a sentence already: people's reasons often come without."""
    ended = text.rstrip()
    return ended if ended.endswith((".", "!", "?", "…")) else f"{ended}."


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 pod`, `3 pods`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
