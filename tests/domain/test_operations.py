from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain.faults import Gpu
from app.domain.operations import (
    LOOK_AGAIN,
    MAX_FAULTS,
    PICKED_UP_WITHIN,
    Changed,
    Operation,
    Result,
    State,
    apply,
    ask,
    begin,
    finish,
    give_back,
    hold,
    join,
    learn,
    note,
)
from app.domain.outcomes import Act, Done, Failed, Learned, NeedsHuman, Outcome, Wait
from app.domain.plans.planned import StepState
from tests.building import a_fault, a_gpu, an_operation, at, remembering, rungs, states

OTHER = a_fault("xid-74", gpu=a_gpu(1, None, "GPU-0101"))
LATER = a_fault("xid-74", gpu=a_gpu(1, None, "GPU-0101"), at=at(20))


def joined(changed: Changed | None) -> Operation:
    assert changed is not None
    return changed[0]


def worked_on(operation: Operation, *outcomes: Outcome) -> Operation:
    for outcome in outcomes:
        operation, _ = apply(operation, outcome, now=at(30))
    return operation


# Opening and joining


def test_an_operation_opens_with_its_whole_plan_and_says_why() -> None:
    operation = an_operation()
    assert (operation.state, operation.result, operation.reason) == (State.RUNNING, None, "xid-79 on GPU 3.")
    assert operation.next_check_at == at() + PICKED_UP_WITHIN
    assert set(states(operation).values()) == {"pending"}
    assert operation.current is operation.plan[0]
    assert not operation.finished
    assert not operation.holds_node


def test_a_new_fault_joins_and_is_told() -> None:
    changed = join(an_operation(), OTHER, ladder=rungs("reboot"), now=at(2))
    operation = joined(changed)
    assert changed is not None
    assert [fault.code for fault in operation.faults] == ["xid-79", "xid-74"]
    assert operation.next_check_at == at(2) + PICKED_UP_WITHIN
    assert changed[1][0].text == "alert GpuXid firing: xid-74 on GPU 3; it joins this operation."


def test_a_fault_told_again_changes_nothing() -> None:
    assert join(an_operation(), a_fault(at=at(5)), ladder=rungs("reboot"), now=at(5)) is None


def test_a_fault_told_again_may_complete_its_card() -> None:
    operation = joined(join(an_operation(), OTHER, ladder=rungs("reboot"), now=at(1)))
    changed = join(operation, a_fault(gpu=a_gpu(3, "S1")), ladder=rungs("reboot"), now=at(5))
    assert joined(changed).faults == (a_fault(gpu=a_gpu(3, "S1")), OTHER)
    assert changed is not None
    assert changed[1] == ()


def test_a_joined_fault_adds_rungs_to_the_ladder_once() -> None:
    operation = joined(join(an_operation(), OTHER, ladder=rungs("reboot", "power-cycle"), now=at(2)))
    assert operation.ladder == ("reboot", "power-cycle")


@pytest.mark.parametrize("begun", ["cordon", "drain", "reboot", "diagnose", "benchmark", "release"])
def test_a_fault_that_software_cannot_repair_takes_the_release_away(begun: str) -> None:
    operation = joined(join(an_operation(at_step=begun), OTHER, ladder=(), now=at(9)))
    assert operation.ladder == ()
    while operation.current is not None:
        assert operation.current.step != "release"
        operation = worked_on(operation, Done("Went well."))
    assert (operation.state, operation.result) == (State.NEEDS_HUMAN, None)


def test_a_release_that_may_be_under_way_is_left_to_look_again_by_itself() -> None:
    releasing = remembering(an_operation(at_step="release"))
    operation = joined(join(releasing, LATER, ladder=(), now=at(20)))
    assert operation.current is not None
    assert operation.current.step == "release"
    assert operation.uncovered_faults == (LATER,)


def test_a_fault_with_rungs_that_joins_one_without_does_not_bring_a_release() -> None:
    operation = joined(join(an_operation(ladder=()), OTHER, ladder=rungs("reboot"), now=at(2)))
    assert operation.ladder == ()
    assert operation.last("release") is None


def test_an_ordered_release_stays_when_a_fault_joins_late() -> None:
    ordered, _ = give_back(an_operation(at_step="drain"), Result.CANCELLED, actor="ann", reason="Enough.", now=at(9))
    operation = joined(join(ordered, OTHER, ladder=(), now=at(9)))
    assert operation.current is not None
    assert operation.current.memo == {"ordered": "Enough."}


def test_faults_are_bounded_and_the_last_place_goes_to_the_latest() -> None:
    operation = an_operation()
    for number in range(100):
        fault = a_fault(f"xid-{1000 + number}", at=at(number))
        changed = join(operation, fault, ladder=rungs("reboot"), now=at(number))
        operation = changed[0] if changed else operation
    assert len(operation.faults) == MAX_FAULTS
    assert operation.faults[0].code == "xid-79"
    assert operation.faults[-1].code == "xid-1099"
    assert join(operation, a_fault("xid-1070", at=at(70)), ladder=rungs("reboot"), now=at(100)) is None


# Faults after the repair


@pytest.mark.parametrize(
    ("begun", "minute", "uncovered"),
    [("reboot", 3, False), ("diagnose", 3, False), ("diagnose", 4.1, True), ("release", 20, True)],
)
def test_a_fault_that_began_after_the_repair_is_not_covered_by_its_proof(
    begun: str, minute: float, uncovered: bool
) -> None:
    fault = replace(OTHER, at=at(minute))
    operation = joined(join(an_operation(at_step=begun), fault, ladder=rungs("reboot"), now=at(21)))
    assert operation.uncovered_faults == ((fault,) if uncovered else ())


def test_a_known_fault_that_comes_back_after_the_repair_is_uncovered_and_told() -> None:
    changed = join(an_operation(at_step="release"), a_fault(at=at(20)), ladder=rungs("reboot"), now=at(21))
    operation = joined(changed)
    assert [fault.at for fault in operation.uncovered_faults] == [at(20)]
    assert changed is not None
    assert changed[1][0].text == "alert GpuXid firing again after the repair: xid-79 on GPU 3."
    assert join(operation, a_fault(at=at(25)), ladder=rungs("reboot"), now=at(26)) is None


def test_the_repair_ends_with_the_last_step_of_a_rung() -> None:
    assert an_operation(at_step="reboot").repaired_at is None
    assert an_operation(at_step="diagnose").repaired_at == at(4)


# Outcomes


def test_an_intent_is_remembered_before_its_act() -> None:
    act = Act((), "Reboots gpu-a01.", {"boot_id": "b-111"})
    operation, said = begin(an_operation(at_step="reboot", asks="x"), act, now=at(10))
    step = operation.current
    assert step is not None
    assert (step.state, step.attempt, step.started_at, step.memo) == (
        StepState.RUNNING,
        1,
        at(10),
        {"boot_id": "b-111"},
    )
    assert (operation.state, operation.reason, operation.asks) == (State.RUNNING, "Reboots gpu-a01.", "")
    assert [entry.text for entry in said] == ["Reboots gpu-a01."]
    again, said = begin(operation, act, now=at(11))
    assert said == ()
    assert again.current == step


def test_a_step_that_waits_is_told_once_and_looked_at_in_time() -> None:
    waiting, said = apply(an_operation(), Wait("Waits.", after=timedelta(minutes=2), memo={"a": "1"}), now=at(1))
    assert (waiting.state, waiting.next_check_at) == (State.WAITING, at(3))
    assert states(waiting)["cordon"] == "waiting"
    assert [entry.text for entry in said] == ["Waits."]
    again, said = apply(waiting, Wait("Waits.", memo={"b": "2"}), now=at(2))
    assert said == ()
    assert again.current is not None
    assert (again.current.attempt, again.current.memo) == (1, {"a": "1", "b": "2"})


def test_what_is_done_leads_to_the_next_step() -> None:
    operation, said = apply(an_operation(), Done("Cordoned gpu-a01.", {"a": "1"}), now=at(1))
    assert operation.plan[0].memo == {"a": "1"}
    assert (operation.plan[0].state, operation.plan[0].finished_at) == (StepState.DONE, at(1))
    assert operation.current is not None
    assert operation.current.step == "evidence"
    assert (operation.state, operation.next_check_at) == (State.RUNNING, at(1) + PICKED_UP_WITHIN)
    assert [entry.text for entry in said] == ["Cordoned gpu-a01."]
    assert operation.holds_node


def test_a_release_that_is_done_ends_the_operation() -> None:
    operation = worked_on(an_operation(at_step="release"), Done("Released."))
    assert (operation.state, operation.result, operation.reason) == (State.FINISHED, Result.RELEASED, "Released.")
    assert (operation.finished_at, operation.next_check_at) == (at(30), None)
    assert not operation.holds_node


def test_what_needs_a_person_counts_as_tried_so_that_a_person_can_retry_it() -> None:
    operation = worked_on(an_operation(), NeedsHuman("No right to patch nodes.", asks="x"))
    assert (operation.state, operation.asks, operation.next_check_at) == (
        State.NEEDS_HUMAN,
        "x",
        at(30) + LOOK_AGAIN,
    )
    assert (operation.plan[0].state, operation.plan[0].attempt) == (StepState.WAITING, 1)


def test_a_failed_proof_at_the_ladders_end_keeps_the_node_and_never_walks_on() -> None:
    operation, said = apply(an_operation(at_step="diagnose"), Failed("GPU 3 failed memory."), now=at(30))
    assert (operation.state, operation.current) == (State.NEEDS_HUMAN, None)
    assert states(operation) | {"diagnose": "failed", "benchmark": "skipped", "release": "skipped"} == states(operation)
    assert [entry.text for entry in said] == [
        "GPU 3 failed memory. No rung of its ladder is left: the node stays cordoned until a person decides."
    ]
    with pytest.raises(ValueError, match="op-1 has no step to go on with"):
        apply(operation, Done("Released."), now=at(31))


def test_a_failed_rung_leads_to_the_next_with_its_own_proof() -> None:
    failing = an_operation(at_step="diagnose", ladder=("reboot", "power-cycle"))
    going, said = apply(failing, Failed("GPU 3 failed memory."), now=at(30))
    assert [step.key for step in going.plan if not step.over] == [
        "power-cycle/power-cycle",
        "power-cycle/diagnose",
        "power-cycle/benchmark",
        "release",
    ]
    assert (going.state, going.next_check_at) == (State.RUNNING, at(30) + PICKED_UP_WITHIN)
    assert [entry.text for entry in said] == ["GPU 3 failed memory.", "The next rung is power-cycle."]


def test_an_operation_without_rungs_ends_drained_before_a_person() -> None:
    operation = worked_on(an_operation(ladder=(), at_step="drain"), Done("Drained."))
    assert operation.state is State.NEEDS_HUMAN
    assert operation.reason.startswith("Drained. No rung of its ladder is left")


def test_a_failure_while_a_node_is_given_back_tries_no_further_rung() -> None:
    longer = an_operation(at_step="drain", ladder=("reboot", "power-cycle"))
    ordered, _ = give_back(longer, Result.CANCELLED, actor="ann", reason="Enough.", now=at(5))
    operation = worked_on(ordered, Failed("The patch was refused."))
    assert (operation.state, operation.current) == (State.NEEDS_HUMAN, None)


def test_a_hold_says_why_once_and_is_asked_again() -> None:
    held, said = hold(an_operation(asks="x"), "Full.", now=at(1), after=timedelta(seconds=15))
    assert (held.state, held.reason, held.asks) == (State.HELD, "Full.", "")
    assert held.next_check_at == at(1, seconds=15)
    assert len(said) == 1
    assert hold(held, "Full.", now=at(2), after=timedelta(seconds=15))[1] == ()


def test_a_question_is_put_once() -> None:
    asked, said = ask(an_operation(), "May I?", asks="drain", now=at(1))
    assert (asked.state, asked.asks, len(said)) == (State.NEEDS_HUMAN, "drain", 1)
    assert ask(asked, "May I?", asks="drain", now=at(2))[1] == ()


def test_a_note_stays_with_the_current_step() -> None:
    operation = note(remembering(an_operation(), a="1"), {"b": "2"})
    assert operation.plan[0].memo == {"a": "1", "b": "2"}


def test_an_end_from_outside_skips_what_was_not_done() -> None:
    operation, said = finish(an_operation(at_step="drain"), Result.OVERTAKEN, "Deleted.", now=at(9))
    assert (operation.state, operation.result, operation.next_check_at) == (State.FINISHED, Result.OVERTAKEN, None)
    assert list(states(operation).values()) == ["done", "done"] + ["skipped"] * 5
    assert [entry.actor for entry in said] == ["sickbay"]


# Giving back


def test_a_node_that_was_never_touched_needs_no_release() -> None:
    operation, said = give_back(an_operation(), Result.CANCELLED, actor="ann", reason="Enough.", now=at(1))
    assert (operation.state, operation.result) == (State.FINISHED, Result.CANCELLED)
    assert [(entry.actor, entry.text) for entry in said] == [("ann", "Enough.")]


@pytest.mark.parametrize("begun", ["evidence", "drain", "reboot", "benchmark", "release"])
def test_a_node_that_was_touched_is_given_back_and_nothing_else_is_done(begun: str) -> None:
    ordered, said = give_back(an_operation(at_step=begun), Result.CANCELLED, actor="ann", reason="Enough.", now=at(20))
    assert ordered.current is ordered.plan[-1]
    assert ordered.current is not None
    assert (ordered.current.step, ordered.current.memo) == ("release", {"ordered": "Enough."})
    assert (ordered.state, len(said)) == (State.RUNNING, 1)
    over = worked_on(ordered, Done("Handed back."))
    assert (over.state, over.result) == (State.FINISHED, Result.CANCELLED)


def test_a_cordon_that_may_have_been_sent_counts_as_touching() -> None:
    sent, _ = begin(an_operation(), Act((), "Cordons gpu-a01."), now=at(1))
    operation, _ = give_back(sent, Result.CANCELLED, actor="ann", reason="Enough.", now=at(1))
    assert operation.current is not None
    assert operation.current.step == "release"


# Cards


def test_a_proof_teaches_the_serials_of_the_cards_it_saw() -> None:
    operation = joined(join(an_operation(), OTHER, ladder=rungs("reboot"), now=at(1)))
    operation = joined(join(operation, a_fault("xid-62", gpu=None), ladder=rungs("reboot"), now=at(1)))
    seen = Learned(gpus=(Gpu(serial="S3", index=3), Gpu(serial="S5", index=5)))
    assert [fault.gpu for fault in learn(operation, seen).faults] == [
        a_gpu(3, "S3"),
        a_gpu(1, None, "GPU-0101"),
        None,
    ]


def test_a_known_serial_is_not_replaced_by_the_card_that_now_has_its_index() -> None:
    operation = an_operation(a_fault(gpu=a_gpu(3, "S3")))
    assert learn(operation, Learned(gpus=(Gpu(serial="S9", index=3),))) == operation
