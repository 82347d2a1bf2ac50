"""Which of several faults is named as the root cause, and which as its tails."""

from __future__ import annotations

import pytest

from app.domain.faults import Fault
from app.domain.folding import join
from app.domain.operations import State, hold
from app.domain.root_causes import is_tail, root_cause, told
from tests.building import a_fault, a_gpu, an_operation, at, rungs

PEER = a_gpu(1, None, "GPU-0101")


def fault(code: str, minute: float = 0, rung: str = "reboot", **fields: object) -> Fault:
    return a_fault(code, at=at(minute), rung=rung, **fields)


@pytest.mark.parametrize(
    ("faults", "root"),
    [
        ([fault("xid-48", 0, "reset"), fault("xid-79", 1)], "xid-79"),  # the gravest rung
        ([fault("xid-79", 0), fault("xid-48", 1, "reset")], "xid-79"),
        ([fault("xid-74", 1, "reset"), fault("xid-48", 0, "reset")], "xid-48"),  # the earliest of them
        ([fault("xid-48", 0, "reset"), fault("xid-74", 0, "reset")], "xid-48"),  # as they were told
        ([fault("xid-79", 0, "ticket"), fault("xid-64", 1, "")], "xid-64"),  # what software cannot repair
    ],
)
def test_the_root_cause_is_the_earliest_of_the_gravest_rung(faults: list[Fault], root: str) -> None:
    assert root_cause(faults).code == root


@pytest.mark.parametrize(
    ("root", "later", "expected"),
    [
        (fault("xid-48"), fault("xid-63", 1), True),
        (fault("xid-48"), fault("xid-63", 0), True),  # the clock of an evaluation is coarse
        (fault("xid-48", 1), fault("xid-63", 0), False),  # what came first follows from nothing
        (fault("xid-48"), fault("xid-63", 1, gpu=PEER), False),  # another card's
        (fault("xid-48"), fault("xid-63", 1, gpu=None), True),
        (fault("xid-48", gpu=None), fault("xid-63", 1), True),
        (fault("xid-48"), fault("xid-79", 1), False),
        (fault("xid-31"), fault("xid-45", 1), True),  # 45 is never alone
        (fault("xid-79"), fault("xid-74", 1, gpu=PEER), True),  # the peers of a GPU that left the bus
        (fault("xid-79"), fault("xid-74", 1), False),
    ],
)
def test_tails_are_what_the_field_knows_to_follow(root: Fault, later: Fault, expected: bool) -> None:
    assert is_tail(root, later) is expected
    assert not is_tail(root, root)


def test_a_single_fault_needs_no_naming() -> None:
    assert told([fault("xid-79")]) is None
    assert an_operation().whole_reason == an_operation().reason


def test_the_root_cause_and_its_tails_are_told() -> None:
    burst = [fault("xid-79"), fault("xid-119", 1), fault("xid-48", 1, "reset")]
    assert told(burst) == "The root cause of 3 faults is xid-79 on GPU 3. Its tail: xid-119 on GPU 3."
    peers = [fault("xid-74", 1, gpu=a_gpu(index, None, f"GPU-{index}")) for index in range(4, 10)]
    assert told([fault("xid-79"), *peers]) == (
        "The root cause of 7 faults is xid-79 on GPU 3. Its tails: "
        "xid-74 on GPU 3; xid-74 on GPU 3; xid-74 on GPU 3; xid-74 on GPU 3 and 2 more."
    )


@pytest.mark.parametrize(
    ("first", "then", "ladder", "said"),
    [
        (fault("xid-48", 0, "reset"), fault("xid-79", 1), rungs("reboot"), "it joins this operation as its root cause"),
        (
            fault("xid-48", 0, "reset"),
            fault("xid-63", 1, "reset"),
            rungs("reset"),
            "it joins this operation as a tail of its root cause, xid-48 on GPU 3",
        ),
        (
            fault("xid-79", 0),
            fault("xid-48", 1, "reset"),
            rungs("reset"),
            "it joins this operation, whose root cause is xid-79 on GPU 3",
        ),
    ],
)
def test_what_joins_is_told_as_what_it_is(first: Fault, then: Fault, ladder: object, said: str) -> None:
    changed = join(an_operation(first), then, ladder=ladder, now=at(2))  # type: ignore[arg-type]  # the table's column
    assert changed is not None
    operation, (entry,) = changed
    assert entry.text == f"GpuXid firing: {then.code} on GPU 3; {said}."
    assert operation.reason == told(operation.faults) == operation.whole_reason


def test_a_hold_keeps_saying_why_and_the_root_cause_is_told_behind_it() -> None:
    held, _ = hold(an_operation(fault("xid-79")), "3 of 3 disruptions are in use.", now=at(1), after=at(2) - at(1))
    changed = join(held, fault("xid-48", 2, "reset"), ladder=rungs("reset"), now=at(2))
    assert changed is not None
    operation, _ = changed
    assert (operation.state, operation.reason) == (State.HELD, "3 of 3 disruptions are in use.")
    burst = "The root cause of 2 faults is xid-79 on GPU 3."
    assert operation.whole_reason == f"3 of 3 disruptions are in use. {burst}"
