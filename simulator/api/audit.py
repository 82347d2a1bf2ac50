"""The record of every request that may have changed something or read a log: who did what, and what the answer was."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

KEPT = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One request; `at` is the wall clock in seconds, `verb` as Kubernetes names it, `sent` the body of a write."""

    number: int
    at: float
    user: str
    agent: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    sent: Any = None


class Audit:
    """The last acts, oldest first. Reads (get, list, watch) are counted and not kept."""

    def __init__(self) -> None:
        self._acts: deque[Act] = deque(maxlen=KEPT)
        self._lock = threading.Lock()
        self._number = 0

    def note(self, **act: Any) -> None:
        """Writes down one act, numbered."""
        with self._lock:
            self._number += 1
            self._acts.append(Act(number=self._number, **act))

    def acts(self, *, after: int = 0, user: str = "", resource: str = "", name: str = "") -> list[dict[str, Any]]:
        """The acts with a higher number, narrowed where asked."""
        with self._lock:
            acts = list(self._acts)
        return [
            asdict(act)
            for act in acts
            if act.number > after
            and (not user or act.user == user)
            and (not resource or act.resource == resource)
            and (not name or act.name == name)
        ]
