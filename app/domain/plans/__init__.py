"""What each kind of operation does, step by step: one module a kind."""

from __future__ import annotations

from typing import Protocol

from app.domain.plans import repair
from app.domain.plans.planned import PlannedStep


class Plan(Protocol):
    """How a plan is drawn."""

    def __call__(self, ladder: tuple[str, ...], *, wait: PlannedStep | None = None) -> tuple[PlannedStep, ...]:
        """The steps for these rungs; `wait` goes first."""


PLANS: dict[str, Plan] = {
    "repair": repair.plan,
}
"""Kind of operation to its plan."""
