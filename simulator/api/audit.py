"""The record of every request that may have changed something or read a log: who did what, and what the answer was."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

KEPT = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One request; `at` is the wall clock in seconds, `verb` as Kubernetes names it, `sent` its body."""

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
    sent: bytes


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
            {**asdict(act), "name": act.name or _name(sent), "sent": sent}
            for act in acts
            for sent in (_decoded(act.sent),)
            if act.number > after
            and (not user or act.user == user)
            and (not resource or act.resource == resource)
            and (not name or name in (act.name, _name(sent)))
        ]


def _decoded(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body) if body else None
    except msgspec.DecodeError:
        return body.decode(errors="replace")


def _name(sent: Any) -> str:
    """The name of an object that was created: its path does not have it."""
    return str((sent.get("metadata") or {}).get("name") or "") if isinstance(sent, dict) else ""
