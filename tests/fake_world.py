"""The state of the fake cluster, its clock and what will happen when: shared by the fake ports, used by nothing else.

Nothing happens by itself. What is due happens, in order, when somebody looks or acts after the test moved the clock.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from app.domain.facts import NodeView, PodView
from app.errors import PortError


@dataclass
class FakeClock:
    """The time of a test, which moves only when told to."""

    now: datetime = datetime(2026, 9, 20, 9, 41, tzinfo=UTC)

    def advance(self, **duration: float) -> datetime:
        """Moves on by a timedelta's arguments, `clock.advance(minutes=6)`, and returns the new time."""
        self.now += timedelta(**duration)
        return self.now


@dataclass(frozen=True, slots=True)
class Call:
    """One mutating call as it came in. `changed`: whether the cluster is another one after it."""

    at: datetime
    verb: str
    target: str
    changed: bool


@dataclass
class Machine:
    """How one machine behaves, in the words of the simulated cluster. A test may change them at any time."""

    serials: tuple[str, ...]
    reboot: str = "new-boot"
    """new-boot, same-boot, never-ready, gpu-missing, driver-crash-loop, quick (NotReady never shows) or fails."""
    diagnosis: str = "pass"
    """pass, fail, skip, hang, garbage, silent (nothing is printed) or vanish (the Job is gone before it ended)."""
    bandwidth: str = "ok"
    """ok, slow, wrong or hang."""
    reset: str = "works"
    """works, no-effect, in-use, impossible or hang."""
    recovery: str = "None"
    """What its driver asks for."""
    swapped: tuple[int, ...] = ()
    """Indexes of GPUs that were replaced: their serials and UUIDs are new."""
    faulty_gpu: int = 3
    pulls_images: bool = True
    boots: int = 1


@dataclass
class World:
    """Everything there is, and the counters of what was done to it."""

    clock: FakeClock
    nodes: dict[str, NodeView] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    pods: dict[str, PodView] = field(default_factory=dict)
    """By uid."""
    ends_after: dict[str, timedelta] = field(default_factory=dict)
    """Pod uid to how long it takes to end once told to; its grace if absent, and at most that."""
    history: list[Call] = field(default_factory=list)
    cordons: Counter[str] = field(default_factory=Counter)
    """Node to the number of patches that turned unschedulable on."""
    uncordons: Counter[str] = field(default_factory=Counter)
    evictions: Counter[str] = field(default_factory=Counter)
    """Pod uid to the number of accepted evictions."""
    reboots: Counter[str] = field(default_factory=Counter)
    """Node to the number of times the machine went down."""
    failures: dict[str, list[PortError]] = field(default_factory=dict)
    """Verb to the errors that its next calls raise, before they do anything."""
    time: datetime = field(init=False)
    """The moment of what is happening now: behind the clock while due events are carried out."""

    def __post_init__(self) -> None:
        self.time = self.clock.now
        self._lock = threading.RLock()
        self._due: list[tuple[datetime, int, Callable[[], None]]] = []
        self._numbers = itertools.count(1)

    @contextmanager
    def now(self) -> Iterator[None]:
        """Holds the world still, with everything that is due carried out."""
        with self._lock:
            self.settle()
            yield

    def settle(self) -> None:
        """Carries out what is due, each at its own moment."""
        with self._lock:
            while self._due and self._due[0][0] <= self.clock.now:
                self.time, _, act = heapq.heappop(self._due)
                act()
            self.time = self.clock.now

    def after(self, wait: timedelta, act: Callable[[], None]) -> None:
        """Lets `act` happen later."""
        heapq.heappush(self._due, (self.time + wait, next(self._numbers), act))

    def next_event(self) -> datetime | None:
        """When something will happen by itself, None when nothing will."""
        with self.now():
            return self._due[0][0] if self._due else None

    def called(self, verb: str, target: str) -> None:
        """To be asked first by every mutating call: raises what the test has laid out for it."""
        laid_out = self.failures.get(verb)
        if laid_out:
            error = laid_out.pop(0)
            self.note(verb, target, changed=False)
            raise error

    def note(self, verb: str, target: str, *, changed: bool) -> None:
        """Adds to the history."""
        self.history.append(Call(self.time, verb, target, changed))

    def forget_pod(self, uid: str) -> None:
        """The pod is gone."""
        self.pods.pop(uid, None)

    def number(self) -> int:
        """The next one: for uids and resourceVersions."""
        return next(self._numbers)
