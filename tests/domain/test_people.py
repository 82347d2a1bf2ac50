from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.folding import join
from app.domain.operations import Operation, Result, State, apply, finish, pass_over
from app.domain.outcomes import Done, Failed, NeedsHuman, Wait
from app.domain.people import ORDERS, OrderRefusedError, give
from app.domain.policies import Then, When
from tests.building import a_fault, an_operation, at, remembering, rungs, states


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


# Rungs that owe an undo

RESETTING = an_operation(ladder=("reset",), at_step="reset")


def reset_failed(begun: str = "reset", ladder: tuple[str, ...] = ("reset",)) -> Operation:
    """Stuck, its operands running again."""
    failed, _ = apply(an_operation(ladder=ladder, at_step=begun), Failed("In use."), now=at(30))
    restored, _ = apply(failed, Done("They run again."), now=at(31))
    return restored


def ahead(operation: Operation) -> list[str]:
    return [step.step for step in operation.plan if not step.over]


@pytest.mark.parametrize("order", ["cancel", "release"])
@pytest.mark.parametrize("operation", [RESETTING, remembering(RESETTING)])
def test_a_person_who_ends_it_while_operands_are_paused_gets_them_back_first(operation: Operation, order: str) -> None:
    given = ordered(operation, order)
    assert ahead(given) == ["restore-operands", "release"]
    for again in ("cancel", "release"):
        with pytest.raises(OrderRefusedError, match="op-1 gives its node back already"):
            give(given, again, actor="ann", reason="x", now=at(41))


def test_a_reset_that_is_skipped_is_still_undone() -> None:
    skipped = ordered(remembering(RESETTING), "skip")
    assert ahead(skipped) == ["restore-operands", "diagnose", "benchmark", "release"]


def test_an_undo_cannot_be_skipped() -> None:
    restoring = remembering(an_operation(ladder=("reset",), at_step="restore-operands"))
    with pytest.raises(OrderRefusedError, match="op-1 is at no step that can be skipped"):
        give(restoring, "skip", actor="ann", reason="x", now=at(41))


@pytest.mark.parametrize("begun", ["pause-operands", "reset"])
def test_a_reset_that_is_retried_pauses_the_operands_again_and_owes_their_undo_again(begun: str) -> None:
    again = ordered(reset_failed(begun), "retry")
    assert ahead(again) == ["pause-operands", "reset", "restore-operands", "diagnose", "benchmark", "release"]
    assert again.reason == f"Retries {begun}: I have looked at it."
    pause, restore = again.last("pause-operands"), again.last("restore-operands")
    assert pause is not None
    assert restore is not None
    assert (pause.run, restore.run) == (2, 2)
    owing, _ = apply(again, Failed("They do not leave."), now=at(42))
    assert ahead(owing) == ["restore-operands"]


def test_a_failed_reset_that_is_skipped_goes_on_to_its_proofs() -> None:
    assert ahead(ordered(reset_failed(), "skip")) == ["restore-operands", "diagnose", "benchmark", "release"]


@pytest.mark.parametrize("order", ["retry", "skip"])
def test_what_is_reopened_ends_with_its_own_release_and_begins_no_rung_behind_it(order: str) -> None:
    passed, _ = pass_over(reset_failed(ladder=("reset", "reboot")), "Passes over reboot: enough.", now=at(32))
    going = ordered(passed, order)
    assert ahead(going)[-1] == "release"
    assert not {step.rung for step in going.plan if not step.over} & {"reboot"}
    while going.current is not None:
        going, _ = apply(going, Done("It went well."), now=at(50))
    assert (going.state, going.result) == (State.FINISHED, Result.RELEASED)


@pytest.mark.parametrize("order", ["retry", "cancel"])
def test_an_undo_that_waits_is_retried_without_bringing_back_what_was_cut_short(order: str) -> None:
    failed, _ = apply(an_operation(ladder=("reset", "reboot"), at_step="reset"), Failed("In use."), now=at(30))
    waiting, _ = apply(failed, Wait("The GPUs are not back."), now=at(31))
    going = ordered(waiting, order)
    expected = ["restore-operands", "reboot", "diagnose", "benchmark", "release"]
    assert ahead(going) == (expected if order == "retry" else ["restore-operands", "release"])


def test_a_wait_until_idle_keeps_its_deadline_when_it_is_retried_and_ends_when_it_is_skipped() -> None:
    idle = an_operation(ladder=rungs("reset", when=When.IDLE, then=Then.DRAIN))
    asked, _ = apply(idle, NeedsHuman("It is not idle.", asks="drain-although-busy"), now=at(30))
    again = ordered(asked, "retry").current
    assert again is not None
    assert (again.run, again.memo) == (2, {"deadline_s": "86400", "then": "drain"})
    assert ahead(ordered(asked, "skip"))[0] == "cordon"


def test_a_retry_releases_nothing_once_a_fault_has_joined_that_software_cannot_repair() -> None:
    joined = join(reset_failed(), a_fault("xid-64"), ladder=(), now=at(32))
    assert joined is not None
    again = ordered(joined[0], "retry")
    assert ahead(again) == ["pause-operands", "reset", "restore-operands", "diagnose", "benchmark"]
    while again.current is not None:
        again, _ = apply(again, Done("It went well."), now=at(50))
    assert (again.state, again.result) == (State.NEEDS_HUMAN, None)


@pytest.mark.parametrize("order", ["retry", "skip"])
def test_a_failure_that_a_later_rung_came_after_is_over(order: str) -> None:
    failed, _ = apply(an_operation(ladder=("reset", "reboot"), at_step="reset"), Failed("In use."), now=at(30))
    joined = join(failed, a_fault("xid-64"), ladder=(), now=at(31))
    assert joined is not None
    operation = joined[0]
    while operation.current is not None:
        operation, _ = apply(operation, Done("It went well."), now=at(40))
    with pytest.raises(OrderRefusedError):
        give(operation, order, actor="ann", reason="x", now=at(41))
