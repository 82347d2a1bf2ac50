"""What a fault does to the operations of its node: it opens one, joins the one that is open, or is only told.

Pure, like `app.domain.operations`, whose operations it takes and returns. Whether an alert is a fault at all is judged
before (`app.domain.triage`); `app.intake` stores what comes out.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from app.domain import root_causes
from app.domain.faults import Fault
from app.domain.operations import (
    PICKED_UP_WITHIN,
    Changed,
    NodeRef,
    Operation,
    State,
    ask,
    next_of_ladder,
    take_next_rung,
)
from app.domain.plans import PLANS, repair
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.policies import Ladder, When
from app.domain.root_causes import place_in_burst
from app.domain.timeline import Entry, sentence

SKEW = timedelta(seconds=30)
"""How far the clocks of the monitoring and of the workers may differ; machines that keep time are far below it."""

MAX_FAULTS = 64
"""Faults kept on one operation; a storm on one node adds nothing by its length."""


def open_repair(fault: Fault, *, id: str, node: NodeRef, pool: str, ladder: Ladder, now: datetime) -> Changed:  # noqa: A002 - the field's name
    """A new repair for this fault, its whole plan drawn."""
    fault = replace(fault, at=min(fault.at, now))
    rungs = repair.by_gravity(rung.rung for rung in ladder)
    operation = Operation(
        id=id,
        kind="repair",
        node=node,
        pool=pool,
        plan=PLANS["repair"](rungs, wait=_wait_of(ladder)),
        faults=(fault,),
        ladder=rungs,
        opened_at=now,
        next_check_at=now + PICKED_UP_WITHIN,
        reason=sentence(fault.evidence),
    )
    return operation, (Entry(now, "alert", f"{fault.alert} firing: {sentence(fault.evidence)}"),)


def join(operation: Operation, fault: Fault, *, ladder: Ladder, now: datetime) -> Changed | None:
    """The operation with this fault in it, or None when nothing new follows from it.

    The gravest rung counts: while none was begun, or only one whose proof is too light for it, the plan is drawn anew
    from it. An operation that stands at the end of its ladder goes on if the fault brings a graver rung than were
    tried. A known fault that comes again after the repair is told and keeps the node from being released. One that
    software cannot repair (no rungs) takes the release out of the plan: what was begun is finished, then a person
    decides. Among several, one is named as their root cause (`app.domain.root_causes`).
    """
    for place, known in enumerate(operation.faults):
        if known.is_same_as(fault):
            return _again(operation, place, fault, now=now)
    fault = replace(fault, at=_began(operation, fault.at, now))
    faults = _kept(operation.faults, fault)
    if faults is None:
        return None
    joined = replace(operation, faults=faults, next_check_at=now + PICKED_UP_WITHIN)
    if operation.ladder and ladder:
        joined = _regraded(joined, ladder)
    elif operation.ladder:
        plan = tuple(step for step in _unwaiting(joined.plan) if not _is_open_release(step))
        joined = replace(joined, ladder=(), plan=plan)
    told = Entry(now, "alert", f"{fault.alert} firing: {fault.evidence}; {place_in_burst(faults, fault)}.")
    if joined.current is None and operation.current is not None:
        reason = f"{fault.evidence}: software cannot repair it, so the node stays cordoned until a person decides."
        asked, entries = ask(joined, reason, asks="", now=now)
        return asked, (told, *entries)
    if operation.current is None and next_of_ladder(joined) is not None:
        return take_next_rung(joined, told, now)
    if operation.state in {State.RUNNING, State.WAITING}:  # a hold, and what a person is asked, keep saying why
        joined = replace(joined, reason=root_causes.told(faults) or joined.reason)
    return joined, (told,)


def attach(operation: Operation, fault: Fault, why: str, *, now: datetime) -> Changed:
    """The operation with a fault told that changes nothing: the tail of another one, or what its own act raised."""
    return operation, (Entry(now, "alert", f"{fault.alert} firing: {fault.evidence}; {why}."),)


def _wait_of(ladder: Ladder) -> PlannedStep | None:
    first = min(ladder, key=lambda rung: rung.gravity, default=None)
    if first is None or first.when is not When.IDLE:
        return None
    memo = {"deadline_s": str(int(first.deadline.total_seconds())), "then": str(first.then)}
    return PlannedStep(step=repair.WAIT, memo=memo)


def _regraded(operation: Operation, ladder: Ladder) -> Operation:
    """The operation with both ladders as one. Before its first rung it starts at the graver of the two first rungs."""
    theirs = repair.by_gravity(rung.rung for rung in ladder)
    begun = operation.current is None or any(step.rung and step.attempt for step in operation.plan)
    order = list(repair.RUNGS)
    first = max(order.index(operation.ladder[0]), order.index(theirs[0]))
    rungs = tuple(rung for rung in repair.by_gravity(operation.ladder + theirs) if begun or order.index(rung) >= first)
    if operation.giving_back:
        return replace(operation, ladder=rungs)
    if begun:
        return _proven_in_full(replace(operation, ladder=rungs), theirs[0])
    plan = operation.plan
    if _wait_of(ladder) is None and rungs[0] == theirs[0]:
        plan = _unwaiting(plan)
    if rungs[0] != operation.ladder[0]:
        kept = tuple(step for step in plan if not step.rung and step.step != repair.RELEASE)
        plan = kept + repair.rung_steps(rungs[0], kept)
    return replace(operation, ladder=rungs, plan=plan)


def _proven_in_full(operation: Operation, rung: str) -> Operation:
    """With the rung under way cut short if its light proof would not do for a fault that asks for `rung`."""
    at = operation.current
    if at is None or rung in repair.UNDRAINED or operation.last(repair.RELEASE) is None:
        return operation
    *_, last = (step.rung for step in operation.plan if step.rung)
    releasing = at.step == repair.RELEASE and at.state is StepState.RUNNING
    following = repair.rung_after(operation.ladder, operation.plan)
    if last not in repair.UNDRAINED or releasing or following is None:
        return operation
    before = repair.cut_short(operation.plan)
    return replace(operation, plan=before + repair.rung_steps(following, before))


def _unwaiting(plan: tuple[PlannedStep, ...]) -> tuple[PlannedStep, ...]:
    """The plan no longer waiting until the node is idle; its cordon would else ask for that once more."""
    why = "A fault has joined that does not wait."
    return tuple(
        step
        if step.step != repair.WAIT
        else replace(step, memo={**step.memo, repair.WAITED_ENOUGH: why})
        if step.over
        else replace(step, state=StepState.SKIPPED, reason=why)
        for step in plan
    )


def _began(operation: Operation, at: datetime, now: datetime) -> datetime:
    """When a fault that is told `now` counts as begun.

    `at` is read off a clock of the monitoring, the end of a repair off a worker's, and they differ. What is told after
    the repair, and began so shortly before its end that the clocks may only say so, counts as begun after it: then the
    proof does not cover it and the node stays, where the opposite mistake would give an ill node back. What was told
    before the repair's end needs no clock: it was there first. No fault begins after it was told.
    """
    repaired_at = operation.repaired_at
    if repaired_at is None or at <= repaired_at - SKEW:
        return min(at, now)
    return max(min(at, now) if at > repaired_at else now, repaired_at + timedelta(microseconds=1))


def _again(operation: Operation, place: int, fault: Fault, *, now: datetime) -> Changed | None:
    """A known fault told anew: its card may be known better, and it may have come back after the repair.

    Replicas of the monitoring begin one occurrence seconds apart, so only a later one is asked when it began.
    """
    known, repaired_at = operation.faults[place], operation.repaired_at
    better = known.known_better_by(fault)
    at = _began(operation, fault.at, now) if fault.at > known.at + SKEW else fault.at
    came_back = repaired_at is not None and known.at <= repaired_at < at
    if came_back:
        better = replace(better, at=at)
    if better == known:
        return None
    faults = (*operation.faults[:place], better, *operation.faults[place + 1 :])
    said = Entry(now, "alert", f"{known.alert} firing again after the repair: {sentence(known.evidence)}")
    return replace(operation, faults=faults), (said,) if came_back else ()


def _kept(faults: tuple[Fault, ...], fault: Fault) -> tuple[Fault, ...] | None:
    """The faults with a new one, MAX_FAULTS at most. The last place goes to the latest, which a release must know."""
    if len(faults) < MAX_FAULTS:
        return (*faults, fault)
    return (*faults[:-1], fault) if fault.at > faults[-1].at else None


def _is_open_release(step: PlannedStep) -> bool:
    # One whose patch may be under way is left to look again: it holds by itself a node with uncovered faults.
    open_yet = step.state in {StepState.PENDING, StepState.WAITING}
    return step.step == repair.RELEASE and open_yet and "ordered" not in step.memo
