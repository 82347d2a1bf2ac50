"""What an order is about: the same while nothing that matters has changed, another one as soon as something has."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.domain.aims import aim, possible
from app.domain.faults import Fault
from app.domain.folding import open_repair
from app.domain.operations import NodeRef, Operation, State
from app.domain.plans.planned import StepState
from app.domain.policies import Rung

NOW = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)


def at(step: str, tried: StepState = StepState.PENDING, attempt: int = 0, **other: object) -> Operation:
    """A repair at this step, all before it done."""
    fault = Fault(code="xid-95", node="gpu-1", gpu=None, at=NOW, source="alert GpuXid", evidence="Xid 95")
    ladder = (Rung(rung="reset"), Rung(rung="reboot"))
    made, _ = open_repair(fault, id="op-1", node=NodeRef(name="gpu-1", uid="u"), pool="p", ladder=ladder, now=NOW)
    place = [planned.step for planned in made.plan].index(step)
    done = tuple(replace(before, state=StepState.DONE, attempt=1) for before in made.plan[:place])
    there = replace(made.plan[place], state=tried, attempt=attempt)
    return replace(made, plan=(*done, there, *made.plan[place + 1 :]), **other)  # type: ignore[arg-type]


WAITING = StepState.WAITING


@pytest.mark.parametrize(
    ("operation", "order", "about"),
    [
        (at("reset", asks="reset"), "approve", "reset"),
        (at("drain", WAITING, 1, asks="bare-pods"), "approve", "bare-pods"),
        (at("drain", StepState.PENDING, 1, asks="drain"), "approve", "drain#2"),
        (at("drain"), "approve", ""),
        (at("drain", WAITING, 1), "retry", "drain"),
        (at("drain", WAITING, 3), "skip", "drain#3"),
        (at("reset", WAITING, 1), "retry", "reset"),
        (at("diagnose", WAITING, 1), "skip", "reset/diagnose"),
        (at("drain"), "retry", ""),
        (at("diagnose", StepState.RUNNING, 1), "release", "xid-95 at reset/diagnose"),
        (at("diagnose", WAITING, 1), "release", "xid-95 at reset/diagnose"),
        (replace(at("drain"), plan=()), "release", "xid-95"),
        (at("diagnose", WAITING, 1), "cancel", "xid-95"),
        (replace(at("drain"), faults=()), "cancel", "repair"),
    ],
)
def test_an_order_is_about_what_matters_to_it(operation: Operation, order: str, about: str) -> None:
    assert aim(operation, order) == about


def test_only_orders_that_would_be_taken_have_an_aim_to_give() -> None:
    assert possible(at("drain", WAITING, 1, asks="bare-pods", state=State.NEEDS_HUMAN), NOW) == {
        "approve": "bare-pods",
        "retry": "drain",
        "skip": "drain",
        "cancel": "xid-95",
        "release": "xid-95 at drain",
    }
    assert possible(at("drain", state=State.FINISHED), NOW) == {}
