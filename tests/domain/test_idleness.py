from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.folding import join
from app.domain.idleness import NOT_IDLE, holders, judge_idleness, waits_for_idle
from app.domain.operations import Operation, apply
from app.domain.outcomes import Done, NeedsHuman, Wait
from app.domain.people import give
from app.domain.policies import When
from tests.building import a_fault, a_pod, an_operation, at, remembering, rungs

LADDER = rungs("reset", when=When.IDLE, deadline=timedelta(hours=2))
WAITING = an_operation(a_fault("xid-63"), ladder=LADDER)
IDLE, _ = apply(WAITING, Done("It is idle."), now=at(1))
"""The wait is over and its cordon is next."""


def test_only_pods_that_hold_gpus_and_have_not_finished_count() -> None:
    assert holders([a_pod(claims=("gpus",)), a_pod(claims=("gpus",), phase="Failed")]) == (a_pod(claims=("gpus",)),)
    busy = a_pod("train-0", gpus=1)
    over = (a_pod("over-0", gpus=1, phase="Succeeded"), a_pod("over-1", gpus=1, phase="Failed"))
    assert holders([a_pod("web-0"), busy, *over]) == (busy,)


def test_the_cordon_of_a_repair_that_waits_depends_on_an_idle_node() -> None:
    assert waits_for_idle(WAITING)
    assert waits_for_idle(IDLE)
    assert waits_for_idle(remembering(IDLE))


def skipped() -> Operation:
    return give(remembering(WAITING), "skip", actor="ana", reason="Never mind.", now=at(2))[0]


def hurried(*rungs_of_theirs: str) -> Operation:
    changed = join(IDLE, a_fault("xid-79"), ladder=rungs(*rungs_of_theirs), now=at(2))
    assert changed is not None
    return changed[0]


@pytest.mark.parametrize(
    "operation",
    [
        an_operation(),
        skipped(),
        hurried("reset"),
        hurried("reboot"),
        hurried(),
        an_operation(ladder=rungs("replace", when=When.IDLE), at_step="replace"),
        an_operation(ladder=rungs("reset", when=When.IDLE), plan=()),
    ],
)
def test_it_does_not_when_nothing_waits_or_waits_any_more(operation: Operation) -> None:
    assert not waits_for_idle(operation)


def test_work_that_came_since_is_waited_for_until_the_same_deadline() -> None:
    wait, busy = IDLE.plan[0], (a_pod(gpus=8),)
    assert isinstance(judge_idleness(IDLE, wait, (), at(60)), Done)
    told = judge_idleness(IDLE, wait, busy, at(119, seconds=48))
    assert isinstance(told, Wait)
    assert told.after == timedelta(seconds=12)
    assert judge_idleness(IDLE, wait, busy, at(120)) == NeedsHuman(
        "gpu-a01 was not idle within 2 h: approve its drain, or cancel.", asks=NOT_IDLE
    )
