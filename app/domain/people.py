"""What a person may order of an operation, by name and with a reason: approve, retry, skip, cancel, release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from app.domain import questions
from app.domain.operations import PICKED_UP_WITHIN, Changed, Operation, Result, State, give_back
from app.domain.plans import repair
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.timeline import Entry, sentence

PLANNED_MEMO = frozenset({"ordered", "deadline_s", "then", repair.UNCORDONED})
"""What a step keeps in its memo when it is tried anew."""


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
    given = questions.allowed_by(operation.current, operation.asks)
    allowed = replace(operation, approvals=tuple(dict.fromkeys((*operation.approvals, *given))), asks="")
    return _going(allowed, f"Approved {operation.asks}: {reason}", actor, now)


def _retry(operation: Operation, actor: str, reason: str, now: datetime) -> Changed:
    place = _tried(operation)
    if place is None:
        raise OrderRefusedError(f"{operation.id} has no step that was tried and is not done.")
    first = _undone_since(operation.plan, place)
    anew = tuple(_anew(step) for step in operation.plan[first : place + 1])
    text = f"Retries {operation.plan[place].step}: {reason}"
    return _going(_reopened(operation, first, *anew), text, actor, now)


def _skip(operation: Operation, actor: str, reason: str, now: datetime) -> Changed:
    place = _tried(operation)
    if place is None or operation.plan[place].step in {"cordon", repair.RELEASE, *repair.UNDOES}:
        raise OrderRefusedError(f"{operation.id} is at no step that can be skipped; cancel it or release the node.")
    skipped = replace(operation.plan[place], state=StepState.SKIPPED, finished_at=now, reason=f"{actor}: {reason}")
    return _going(_reopened(operation, place, skipped), f"Skips {skipped.step}: {reason}", actor, now)


def tried(operation: Operation) -> PlannedStep | None:
    """The step that a retry or a skip would be about, None when there is none."""
    place = _tried(operation)
    return None if place is None else operation.plan[place]


def _tried(operation: Operation) -> int | None:
    """The place of the step it is at, or of the one that failed last if no later rung was begun since."""
    if operation.current is not None:
        return next((place for place, step in enumerate(operation.plan) if step.attempt and not step.over), None)
    failed = [place for place, step in enumerate(operation.plan) if step.state is StepState.FAILED]
    last = max(failed, default=len(operation.plan))
    since = (step for step in operation.plan[last + 1 :] if step.rung and step.step not in repair.UNDOES)
    return None if not failed or any(step.attempt for step in since) else last


def _undone_since(plan: tuple[PlannedStep, ...], place: int) -> int:
    """Where a retry of the step at `place` begins: at the act before it that an undo behind it has taken back."""
    acts = {
        act
        for undo, act in repair.UNDOES.items()
        for later in plan[place + 1 :]
        if later.step == undo and later.rung == plan[place].rung and later.over
    }
    return next((at for at, step in enumerate(plan[:place]) if step.step in acts), place)


def _anew(step: PlannedStep) -> PlannedStep:
    """The step as it was planned, under the number of its next try; what its tries remembered is gone."""
    memo = {key: value for key, value in step.memo.items() if key in PLANNED_MEMO}
    return PlannedStep(step=step.step, rung=step.rung, attempt=step.attempt, memo=memo)


def _reopened(operation: Operation, place: int, *steps: PlannedStep) -> Operation:
    """The operation with these steps from that place on, and what was skipped because of their failure pending again.

    Only as far as the release that follows: behind it stands another rung, which was passed over or has failed. An
    undo is due once more since what it undoes is.
    """
    behind = operation.plan[place + len(steps) :]
    if operation.current is not None:  # it has not failed: what is skipped behind it was so for other reasons
        return replace(operation, plan=(*operation.plan[:place], *steps, *behind))
    release = next((at for at, later in enumerate(behind, 1) if later.step == repair.RELEASE), len(behind))
    reopened = tuple(_anew(later) if _is_due_again(later, operation) else later for later in behind[:release])
    return replace(operation, plan=(*operation.plan[:place], *steps, *reopened, *behind[release:]))


def _is_due_again(step: PlannedStep, operation: Operation) -> bool:
    if step.step == repair.RELEASE and not operation.ladder:
        return False  # a fault has joined that software cannot repair: only a person's own order releases the node
    return step.step in repair.UNDOES or not step.attempt


def _cancel(operation: Operation, actor: str, reason: str, now: datetime) -> Changed:
    _refuse_twice(operation)
    text = sentence(f"Cancelled, the node is given back as it was: {reason}")
    return give_back(operation, Result.CANCELLED, actor=actor, reason=text, now=now)


def _release(operation: Operation, actor: str, reason: str, now: datetime) -> Changed:
    _refuse_twice(operation)
    text = sentence(f"Released by a person without further validation: {reason}")
    return give_back(operation, Result.RELEASED, actor=actor, reason=text, now=now)


def _refuse_twice(operation: Operation) -> None:
    if operation.giving_back:
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
