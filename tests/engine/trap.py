"""The trap: springs before or after a worker's nth mutating call, whichever step made it, and lets something happen.

Most often the worker is killed there; it may also be that somebody else acts at that very moment. It wraps whole
objects: every method that is not a known read counts, so that a new step or a new port is covered without anybody
registering it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from typing import Any, Protocol

from app.store import Store
from workers.ports import Ports

READS = frozenset(
    {"get", "all", "on_node", "orphans", "own", "of_operation", "inventory", "peers"}
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
        "tell",  # a notice: nothing is decided by it, and a kill at the commit before it loses the same
    },
)


class Killed(BaseException):
    """The process is gone. No `except Exception` may stop it."""


def die() -> None:
    """What happens in the trap if nothing else is said."""
    raise Killed


class Around(Protocol):
    """Whatever stands between a worker and what it calls."""

    def around(self, call: Any, *args: Any, **kwargs: Any) -> Any:
        """Makes the call, or not."""


@dataclass
class Trap:
    """Springs once, at call `at` (from 1), before or after it. With `at` 0 it only counts."""

    at: int = 0
    after: bool = False
    springs: Callable[[], None] = die
    calls: int = 0

    def around(self, call: Any, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        here = self.calls == self.at
        if here and not self.after:
            self.springs()
        answer = call(*args, **kwargs)
        if here and self.after:
            self.springs()
        return answer


@dataclass
class Situations:
    """Springs never; it tells the calls apart that are made in another situation than any before them.

    A commit is another one if the operation's state, or that of one of its steps, is another; every other call if it is
    another one since a commit of that kind. So of a hundred looks at a diagnosis that runs, one is left.
    """

    calls: int = 0
    first: dict[object, int] = field(default_factory=dict)
    """Situation to the number of the first call in it."""
    _since: tuple[object, ...] = ()

    def around(self, call: Any, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if call.__name__ == "commit":
            operation, claimed = args[0].operation, args[0].claim is not None
            plan = tuple((step.step, step.state, step.attempt, len(step.memo)) for step in operation.plan)
            self._since = ((operation.state, plan, claimed),)
        else:
            self._since = (*self._since, call.__qualname__)
        self.first.setdefault(self._since, self.calls)
        return call(*args, **kwargs)


class Trapped:
    """An object whose every call but reads goes through the trap; its attributes are trapped in turn."""

    def __init__(self, target: Any, trap: Around) -> None:
        self._target = target
        self._trap = trap

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found):
            return Trapped(found, self._trap)
        if name in READS:
            return found

        @wraps(found)
        def called(*args: Any, **kwargs: Any) -> Any:
            return self._trap.around(found, *args, **kwargs)

        return called


def trapped_ports(ports: Ports, trap: Around) -> Ports:
    """The same ports, trapped; one that is absent stays so."""
    there = {port.name: getattr(ports, port.name) for port in fields(ports)}
    return replace(ports, **{name: Trapped(port, trap) for name, port in there.items() if port is not None})


def trapped_store(store: Store, trap: Around) -> Any:
    """The same store, trapped."""
    return Trapped(store, trap)
