"""Times on pages: machine-readable, relative for the eye, absolute on hover. live.js counts them on likewise."""

from __future__ import annotations

from datetime import UTC, datetime

from markupsafe import Markup


def relative(at: datetime, now: datetime) -> Markup:
    """`<time>` with `12 s ago`, `18 min ago`, `in 5 min`. Its text alone depends on `now` (see `app.web.etags`)."""
    return Markup('<time class="rel" datetime="{}" title="{}">{}</time>').format(_machine(at), _full(at), ago(at, now))


def clock(at: datetime) -> Markup:
    """`<time>` with the time of day in UTC."""
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        _machine(at), _full(at), f"{at.astimezone(UTC):%H:%M:%S}"
    )


def ago(at: datetime, now: datetime) -> str:
    """How far away, in one unit: seconds, minutes, hours, and days from 48 hours on."""
    seconds = (now - at).total_seconds()
    size = abs(seconds)
    for limit, unit, name in ((60, 1, "s"), (3600, 60, "min"), (172_800, 3600, "h")):
        if size < limit:
            told = f"{int(size // unit)} {name}"
            break
    else:
        told = f"{int(size // 86_400)} d"
    return f"in {told}" if seconds < 0 else f"{told} ago"


def _machine(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _full(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
