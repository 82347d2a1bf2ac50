"""What a person may order of an operation, by name and with a reason: approve, retry, skip, cancel, release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from app.domain.operations import PICKED_UP_WITHIN, Changed, Operation, Result, State, give_back
from app.domain.plans import repair
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.timeline import Entry, sentence


class OrderRefusedError(Exception):
    """The order makes no sense for this operation now; the message says why and what would."""


def give(operation: Operation, order: str, *, actor: str, reason: str, now: datetime) -> Changed:
    """The operation after a person's order, or OrderRefusedError. `order` is a key of ORDERS."""
    if operation.finished:
        raise OrderRefusedError(f"{operation.id} is finished ({operation.result}): nothing is left to order.")
    return ORDERS[order](operation, actor, reason, now)


def _approve(operation: Operation, actor: str, reason: str, now: datetime) -> Changed:
    if not operation.asks:
        raise OrderRefusedError(f"{operation.id} asks for no approval now; its state is {operation.state}.")
    allowed = replace(operation, approvals=(*operation.approvals, operation.asks), asks="")
    return _going(allowed, f"Approved {operation.asks}: {reason}", actor, now)


def _retry(operation: Operation, actor: str, reason: str, now: datetime) -> Changed:
    place = _tried(operation)
    if place is None:
        raise OrderRefusedError(f"{operation.id} has no step that was tried and is not done.")
    tried = operation.plan[place]
    memo = {"ordered": tried.memo["ordered"]} if "ordered" in tried.memo else {}
    again = PlannedStep(step=tried.step, rung=tried.rung, attempt=tried.attempt, memo=memo)
    return _going(_reopened(operation, place, again), f"Retries {tried.step}: {reason}", actor, now)


def _skip(operation: Operation, actor: str, reason: str, now: datetime) -> Changed:
    place = _tried(operation)
    if place is None or operation.plan[place].step in {"cordon", repair.RELEASE}:
        raise OrderRefusedError(f"{operation.id} is at no step that can be skipped; cancel it or release the node.")
    skipped = replace(operation.plan[place], state=StepState.SKIPPED, finished_at=now, reason=f"{actor}: {reason}")
    return _going(_reopened(operation, place, skipped), f"Skips {skipped.step}: {reason}", actor, now)


def _tried(operation: Operation) -> int | None:
    """The place of the step it is at, or of the last one that failed."""
    at = (place for place, step in enumerate(operation.plan) if step.attempt and not step.over)
    failed = (place for place, step in enumerate(operation.plan) if step.state is StepState.FAILED)
    return next(at, None) if operation.current else max(failed, default=None)


def _reopened(operation: Operation, place: int, step: PlannedStep) -> Operation:
    """The operation with `step` at that place, and what was skipped behind it because of it pending again."""
    behind = tuple(
        later if later.attempt else replace(later, state=StepState.PENDING) for later in operation.plan[place + 1 :]
    )
    return replace(operation, plan=(*operation.plan[:place], step, *behind))


def _cancel(operation: Operation, actor: str, reason: str, now: datetime) -> Changed:
    _refuse_twice(operation)
    text = sentence(f"Cancelled, the node is given back as it was: {reason}")
    return give_back(operation, Result.CANCELLED, actor=actor, reason=text, now=now)


def _release(operation: Operation, actor: str, reason: str, now: datetime) -> Changed:
    _refuse_twice(operation)
    text = sentence(f"Released by a person without further validation: {reason}")
    return give_back(operation, Result.RELEASED, actor=actor, reason=text, now=now)


def _refuse_twice(operation: Operation) -> None:
    step = operation.current
    if step is not None and "ordered" in step.memo:
        raise OrderRefusedError(f"{operation.id} gives its node back already; retry that if it is stuck.")


def _going(operation: Operation, told: str, actor: str, now: datetime) -> Changed:
    text = sentence(told)
    going = replace(operation, state=State.RUNNING, reason=text, next_check_at=now + PICKED_UP_WITHIN)
    return going, (Entry(now, actor, text),)


ORDERS: dict[str, Callable[[Operation, str, str, datetime], Changed]] = {
    "approve": _approve,
    "retry": _retry,
    "skip": _skip,
    "cancel": _cancel,
    "release": _release,
}
