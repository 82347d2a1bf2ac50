"""What each kind of operation does, step by step: one module a kind."""

from __future__ import annotations

from collections.abc import Callable

from app.domain.plans import repair
from app.domain.plans.planned import PlannedStep

PLANS: dict[str, Callable[[tuple[str, ...]], tuple[PlannedStep, ...]]] = {
    "repair": repair.plan,
}
"""Kind of operation to its plan, made from the ladder's rungs."""
