"""A thread that tells the store that this process lives, for the page and for /readyz."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from types import TracebackType

import structlog

from app.errors import StoreUnavailable
from app.store import Store

EVERY = 5.0
"""Seconds between two beats."""

log = structlog.get_logger("sickbay.heartbeat")


class Heartbeat:
    """Beats for `component` (worker or watch) under `name` while its block runs."""

    def __init__(self, store: Store, component: str, name: str) -> None:
        self._store = store
        self._component = component
        self._name = name
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    def _beat(self) -> None:
        while True:
            try:
                self._store.heartbeats.beat(self._component, self._name, datetime.now(UTC))
            except StoreUnavailable as error:
                log.warning("no beat", error=str(error))
            if self._ended.wait(EVERY):
                return
