"""One step of a plan as it is stored: what is to be done, how far it is, and what it must not forget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class StepState(StrEnum):
    """Where a step stands."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


OVER = frozenset({StepState.DONE, StepState.FAILED, StepState.SKIPPED})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """`rung` names the rung of the ladder it serves, empty for what every repair has.

    `memo` is what the step must remember over a crash (the boot id before a reboot); small texts only.
    """

    step: str
    rung: str = ""
    state: StepState = StepState.PENDING
    attempt: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    reason: str = ""
    memo: Mapping[str, str] = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in OVER

    @property
    def key(self) -> str:
        """How an approval names it: a rung is allowed as a whole, other steps by their own name."""
        return self.rung or self.step

    @property
    def run(self) -> int:
        """Which try this is or would be, from 1: part of the name of what it starts in the world."""
        return self.attempt + 1 if self.state is StepState.PENDING else self.attempt
