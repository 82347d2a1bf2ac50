from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.operations import Operation, Result, State, apply, finish
from app.domain.outcomes import Done, Failed, NeedsHuman, Wait
from app.domain.people import ORDERS, OrderRefusedError, give
from tests.building import an_operation, at, remembering, states


def ordered(operation: Operation, order: str, reason: str = "I have looked at it") -> Operation:
    changed, entries = give(operation, order, actor="ann", reason=reason, now=at(40))
    assert [entry.actor for entry in entries] == ["ann"]
    assert entries[0].text.endswith(".")
    return changed


def stuck(begun: str = "diagnose") -> Operation:
    operation, _ = apply(an_operation(at_step=begun), Failed("It failed."), now=at(30))
    return operation


@pytest.mark.parametrize("order", ORDERS)
def test_a_finished_operation_takes_no_orders(order: str) -> None:
    over, _ = finish(an_operation(), Result.NOTED, "Noted.", now=at(1))
    with pytest.raises(OrderRefusedError, match=r"op-1 is finished \(noted\): nothing is left to order\."):
        give(over, order, actor="ann", reason="x", now=at(2))


def test_an_approval_allows_what_was_asked_and_nothing_more() -> None:
    operation = ordered(an_operation(asks="drain", state=State.NEEDS_HUMAN), "approve")
    assert (operation.approvals, operation.asks, operation.state) == (("drain",), "", State.RUNNING)
    assert operation.reason == "Approved drain: I have looked at it."
    with pytest.raises(OrderRefusedError, match=r"op-1 asks for no approval now; its state is running\."):
        give(operation, "approve", actor="ann", reason="x", now=at(41))


def test_a_retry_begins_the_step_anew_under_another_number() -> None:
    operation = ordered(remembering(an_operation(at_step="reboot"), boot_id="b-111"), "retry")
    step = operation.current
    assert step is not None
    assert (step.step, step.rung, step.run, step.memo, step.started_at) == ("reboot", "reboot", 2, {}, None)


def test_a_retry_of_what_failed_puts_its_proofs_back_before_the_release() -> None:
    operation = ordered(stuck("reboot"), "retry")
    assert states(operation) == {
        "cordon": "done",
        "evidence": "done",
        "drain": "done",
        "reboot": "pending",
        "diagnose": "pending",
        "benchmark": "pending",
        "release": "pending",
    }


def test_what_was_tried_and_left_to_a_person_can_be_retried() -> None:
    asked, _ = apply(an_operation(at_step="benchmark"), NeedsHuman("Inconclusive."), now=at(30))
    assert ordered(asked, "retry").current == replace(an_operation(at_step="benchmark").plan[5], attempt=1)


@pytest.mark.parametrize(
    "operation", [an_operation(), apply(an_operation(ladder=(), at_step="drain"), Done("Drained."), now=at(9))[0]]
)
def test_what_was_never_tried_or_is_done_cannot_be_retried(operation: Operation) -> None:
    with pytest.raises(OrderRefusedError, match=r"op-1 has no step that was tried and is not done\."):
        give(operation, "retry", actor="ann", reason="x", now=at(2))


def test_a_skip_is_kept_with_the_name_of_who_ordered_it() -> None:
    operation = ordered(stuck("benchmark"), "skip", "slow cable, known")
    skipped = operation.last("benchmark")
    assert skipped is not None
    assert (skipped.state, skipped.reason) == ("skipped", "ann: slow cable, known")
    assert operation.current is not None
    assert operation.current.step == "release"
    assert operation.reason == "Skips benchmark: slow cable, known."


def test_a_skipped_diagnosis_does_not_skip_the_benchmark() -> None:
    operation = ordered(stuck("diagnose"), "skip")
    assert states(operation) | {"diagnose": "skipped", "benchmark": "pending", "release": "pending"} == states(
        operation
    )


@pytest.mark.parametrize(
    "operation",
    [
        an_operation(at_step="drain"),
        remembering(an_operation()),
        remembering(an_operation(at_step="release")),
        apply(an_operation(ladder=(), at_step="drain"), Done("Drained."), now=at(9))[0],
    ],
)
def test_cordon_release_and_what_was_not_tried_cannot_be_skipped(operation: Operation) -> None:
    with pytest.raises(OrderRefusedError, match="op-1 is at no step that can be skipped"):
        give(operation, "skip", actor="ann", reason="x", now=at(2))


@pytest.mark.parametrize(("order", "result"), [("cancel", Result.CANCELLED), ("release", Result.RELEASED)])
@pytest.mark.parametrize("operation", [remembering(an_operation(at_step="drain")), stuck()])
def test_a_person_may_end_it_and_the_node_is_given_back(order: str, result: Result, operation: Operation) -> None:
    given = ordered(operation, order)
    assert given.current is not None
    assert given.current.step == "release"
    over, _ = apply(given, Done("Handed back."), now=at(41))
    assert (over.state, over.result) == (State.FINISHED, result)


def test_a_node_is_given_back_once_and_a_stuck_release_keeps_its_order_when_retried() -> None:
    given = ordered(remembering(an_operation(at_step="drain")), "cancel")
    for order in ("cancel", "release"):
        with pytest.raises(OrderRefusedError, match="op-1 gives its node back already"):
            give(given, order, actor="ann", reason="x", now=at(41))
    tried, _ = apply(given, Wait("The server is away."), now=at(41))
    again = ordered(tried, "retry").current
    assert again is not None
    assert again.memo == {"ordered": "Cancelled, the node is given back as it was: I have looked at it."}
