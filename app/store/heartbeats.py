"""Which workers and watches live: each says so now and then, and is forgotten when it no longer does."""

from __future__ import annotations

from datetime import datetime, timedelta

from app.store.connection import Link
from app.store.documents import micros
from app.store.keys import BOUNDS, KEYS


class Heartbeats:
    """`store.heartbeats`. `component` is worker or watch, `name` the one that beats."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def beat(self, component: str, name: str, at: datetime) -> None:
        """It lives."""
        forget = at - timedelta(seconds=BOUNDS["heartbeats_s"])
        times = {"now": str(micros(at)), "forget": str(micros(forget))}
        self._link.run("heartbeat", {"component": component, "name": name, **times})

    def alive(self, component: str, now: datetime, within: timedelta) -> tuple[str, ...]:
        """The names that beat within that time, sorted."""
        since = micros(now - within)
        return tuple(sorted(self._link.ask("ZRANGEBYSCORE", KEYS["heartbeats"] + component, since, "+inf")))
