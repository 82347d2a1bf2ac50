"""One kind of object, kept up to date by one thread: list, follow, and list again when the history is gone.

An error waits longer each time, with jitter, so that replicas do not come back together; nothing ever spins.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog

from app.errors import PortError
from workers.watch.seen import Event, Feed, HistoryGone

T = TypeVar("T")
log = structlog.get_logger("sickbay.watch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds. Tests make them short; nothing else changes them."""

    first_pause: float = 0.5
    longest_pause: float = 30.0
    shortest_follow: float = 1.0
    """An answer that ends sooner without an event is followed by the rest of this as a pause."""
    inventory_every: float = 30.0
    debounce: float = 0.5
    silence: float = 120.0
    """What has not been heard of for so long is not vouched for: the inventory is then left to grow old."""


class Stream(Generic[T]):
    """The state of one kind, and the thread that follows it. `on_change` gets before and after of one item."""

    def __init__(
        self,
        name: str,
        feed: Feed[T],
        on_change: Callable[[T | None, T | None], None],
        on_first: Callable[[T], None],
        pace: Pace,
    ) -> None:
        self._name = name
        self._feed = feed
        self._on_change = on_change
        self._on_first = on_first
        self._pace = pace
        self._items: dict[str, T] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._version: str | None = None
        self._heard: float | None = None
        self._thread = threading.Thread(target=self._run, name=f"sickbay-watch-{name}", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self) -> None:
        """Tells it to end; `join` waits for it."""
        self._stopping.set()
        self._feed.stop()

    def join(self) -> None:
        """Waits until it has ended."""
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether its thread runs."""
        return self._thread.is_alive()

    @property
    def current(self) -> bool:
        """Whether what it holds was confirmed by the server a short while ago."""
        return self._heard is not None and time.monotonic() - self._heard < self._pace.silence

    def items(self) -> tuple[T, ...]:
        """What is there now, as far as is known."""
        with self._lock:
            return tuple(self._items.values())

    def get(self, key: str) -> T | None:
        """The item of that key."""
        with self._lock:
            return self._items.get(key)

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            try:
                if self._version is None:
                    self._version = self._list()
                self._follow(self._version)
                failures = 0
            except HistoryGone:
                # Once is ordinary after a pause. A server whose history is always gone is a failing one.
                self._version = None
                self._pause(failures)
                failures += 1
            except PortError as wrong:
                if self._stopping.is_set():
                    return
                failures += 1
                log.warning("watch interrupted", kind=self._name, error=str(wrong), failures=failures)
                self._pause(failures)

    def _list(self) -> str:
        first = self._heard is None
        found, version = self._feed.list()
        with self._lock:
            before, self._items = self._items, dict(found)
        self._heard = time.monotonic()
        if first:
            for item in found.values():
                self._on_first(item)
            return version
        for key in before.keys() | found.keys():
            if before.get(key) != found.get(key):
                self._on_change(before.get(key), found.get(key))
        return version

    def _follow(self, version: str) -> None:
        opened = time.monotonic()
        told = False
        for event in self._feed.follow(version):
            told = True
            self._version = event.version
            self._apply(event)
        self._heard = time.monotonic()
        if not told:
            self._stopping.wait(max(0.0, self._pace.shortest_follow - (self._heard - opened)))

    def _apply(self, event: Event[T]) -> None:
        self._heard = time.monotonic()
        if not event.key:
            return
        with self._lock:
            before = self._items.pop(event.key, None)
            if event.item is not None:
                self._items[event.key] = event.item
        if before != event.item:
            self._on_change(before, event.item)

    def _pause(self, failures: int) -> None:
        if failures > 0:
            longest = min(self._pace.longest_pause, self._pace.first_pause * 2 ** min(failures - 1, 16))
            self._stopping.wait(longest * random.uniform(0.5, 1.0))  # noqa: S311 - jitter, no secret
