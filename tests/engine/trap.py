"""The crash trap: kills the worker before or after its nth mutating call, whichever step made it.

It wraps whole objects: every method that is not a known read counts, so that a new step or a new port is covered
without anybody registering it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from app.store import Store
from workers.ports import Ports

READS = frozenset(
    {"get", "all", "on_node", "of_operation", "inventory", "peers"}
    | {
        "load",
        "open_on",
        "due",
        "page",
        "budgets",
        "last_disruption",
        "read",
        "nodes",
        "of",
        "last",
        "alive",
        "sentence",
        "find",
        "state",
    },
)


class Killed(BaseException):
    """The process is gone. No `except Exception` may stop it."""


@dataclass
class Trap:
    """Springs at call `at` (from 1), before or after it. With `at` 0 it only counts."""

    at: int = 0
    after: bool = False
    calls: int = 0

    def around(self, call: Any, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.calls == self.at and not self.after:
            raise Killed
        answer = call(*args, **kwargs)
        if self.calls == self.at and self.after:
            raise Killed
        return answer


class Trapped:
    """An object whose every call but reads goes through the trap; its attributes are trapped in turn."""

    def __init__(self, target: Any, trap: Trap) -> None:
        self._target = target
        self._trap = trap

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found):
            return Trapped(found, self._trap)
        if name in READS:
            return found
        return lambda *args, **kwargs: self._trap.around(found, *args, **kwargs)


def trapped_ports(ports: Ports, trap: Trap) -> Ports:
    """The same ports, trapped."""
    return replace(ports, **{port.name: Trapped(getattr(ports, port.name), trap) for port in fields(ports)})


def trapped_store(store: Store, trap: Trap) -> Any:
    """The same store, trapped."""
    return Trapped(store, trap)
