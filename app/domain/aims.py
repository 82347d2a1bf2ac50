"""What an order would be about now, as a short text: whoever gives it names what they saw, and a change refuses it.

It holds what matters to that order and nothing else. An approval is for what is asked, a retry or a skip for one try of
one step, a release for the faults it vouches for and how far the repair is, a cancel for the faults that stay. That a
step only looked once more, or that the timeline grew, changes none of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from app.domain import questions
from app.domain.operations import Operation
from app.domain.people import ORDERS, OrderRefusedError, give, tried
from app.domain.plans.planned import PlannedStep


def aim(operation: Operation, order: str) -> str:
    """`reboot`, `reset/diagnose#2`, `xid-79 at reboot`; empty when the order would be about nothing."""
    match order:
        case "approve":
            asks, step = operation.asks, operation.current
            return _numbered(questions.called(step, asks), step) if asks else ""
        case "retry" | "skip":
            return _named(tried(operation))
        case "release":
            at = _named(operation.current or tried(operation))
            return f"{_wrong(operation)} at {at}" if at else _wrong(operation)
    return _wrong(operation)


def possible(operation: Operation, now: datetime) -> Mapping[str, str]:
    """Each order that would be taken now, with its aim."""
    return {order: aim(operation, order) for order in ORDERS if _is_taken(operation, order, now)}


def _is_taken(operation: Operation, order: str, now: datetime) -> bool:
    try:
        give(operation, order, actor="", reason="", now=now)
    except OrderRefusedError:
        return False
    return True


def _named(step: PlannedStep | None) -> str:
    if step is None:
        return ""
    name = step.step if step.rung in {"", step.step} else f"{step.rung}/{step.step}"
    return _numbered(name, step)


def _numbered(name: str, step: PlannedStep | None) -> str:
    """With the number of the try from the second on: who allowed the first has not allowed another."""
    return f"{name}#{step.run}" if step is not None and step.run > 1 else name


def _wrong(operation: Operation) -> str:
    return ", ".join(fault.code for fault in operation.faults) or operation.kind
