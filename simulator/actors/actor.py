"""One actor's thread: a set of keys to look at, now or later, and the loop that looks.

Like a controller's work queue: a key that is added twice is looked at once, and an attempt that fails comes again.
"""

from __future__ import annotations

import heapq
import http.client
import threading
import time
from collections.abc import Callable
from typing import Any

from simulator.actors.client import ApiRefused

RETRY_S = 0.1


class Actor:
    """Calls `look(key)` for each key that is due. `look` may raise ApiRefused; 404 ends it, others come again."""

    def __init__(self, name: str, look: Callable[[Any], None]) -> None:
        self.name = name
        self._look = look
        self._due: dict[Any, float] = {}
        self._heap: list[tuple[float, int, Any]] = []
        self._number = 0
        self._wake = threading.Condition()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begins to look."""
        self._thread.start()

    def stop(self) -> None:
        """Looks at nothing more; what it looks at now is finished."""
        with self._wake:
            self._stopped = True
            self._wake.notify()

    def join(self) -> None:
        """Waits until the thread has ended."""
        self._thread.join(timeout=5)

    def add(self, key: Any, after_s: float = 0.0) -> None:
        """Looks at the key after so many real seconds, or earlier when it is due earlier already."""
        at = time.monotonic() + after_s
        with self._wake:
            if self._stopped or self._due.get(key, float("inf")) <= at:
                return
            self._due[key] = at
            self._number += 1
            heapq.heappush(self._heap, (at, self._number, key))
            self._wake.notify()

    def _next(self) -> Any:
        with self._wake:
            while not self._stopped:
                now = time.monotonic()
                while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
                    heapq.heappop(self._heap)  # moved to an earlier time since
                if self._heap and self._heap[0][0] <= now:
                    _, _, key = heapq.heappop(self._heap)
                    del self._due[key]
                    return key
                self._wake.wait(self._heap[0][0] - now if self._heap else None)
        return None

    def _run(self) -> None:
        while (key := self._next()) is not None:
            try:
                self._look(key)
            except ApiRefused as refused:
                if refused.code != 404:
                    self.add(key, RETRY_S)
            except (http.client.HTTPException, OSError):
                if self._stopped:
                    return
                self.add(key, RETRY_S)


class Party:
    """A controller: whatever owns one actor and needs nothing else to start and stop."""

    actor: Actor

    def start(self) -> None:
        """Starts the actor."""
        self.actor.start()

    def stop(self) -> None:
        """Stops the actor and waits for it."""
        self.actor.stop()
        self.actor.join()
