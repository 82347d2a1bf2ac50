from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain.facts import TicketRef
from app.domain.faults import Gpu
from app.domain.folding import MAX_FAULTS, attach, join
from app.domain.operations import (
    LOOK_AGAIN,
    PICKED_UP_WITHIN,
    Changed,
    NodeRef,
    Operation,
    Result,
    State,
    apply,
    ask,
    begin,
    finish,
    give_back,
    hold,
    learn,
    next_rung,
    note,
    pass_over,
)
from app.domain.outcomes import Act, Done, Failed, Learned, NeedsHuman, Outcome, Wait
from app.domain.plans.planned import StepState
from app.domain.policies import Ladder, Then, When
from tests.building import a_fault, a_gpu, an_operation, at, named, remembering, rungs, states

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
    told = "it joins this operation as a tail of its root cause, xid-79 on GPU 3."
    assert changed[1][0].text == f"GpuXid firing: xid-74 on GPU 3; {told}"


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
    assert changed[1][0].text == "GpuXid firing again after the repair: xid-79 on GPU 3."
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
    assert named(step for step in going.plan if not step.over) == [
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


def test_a_proof_that_found_another_card_ends_as_replaced_and_leaves_the_faults_with_the_old_one() -> None:
    operation = an_operation(a_fault(gpu=a_gpu(3, None, "GPU-0103")), at_step="release")
    found = learn(operation, Learned(replaced=True, gpus=(Gpu(serial="S9", index=3),)))
    assert (found.ending, found.faults) == (Result.REPLACED, operation.faults)
    assert learn(found, Learned(gpus=(Gpu(serial="S9", index=3),))) == found
    assert worked_on(found, Done("Released.")).result is Result.REPLACED


def test_what_a_person_ordered_ends_so_whatever_a_proof_finds() -> None:
    ordered, _ = give_back(an_operation(at_step="drain"), Result.CANCELLED, actor="ann", reason="Enough.", now=at(9))
    assert learn(ordered, Learned(replaced=True)).ending is Result.CANCELLED


def test_a_ticket_and_another_node_of_the_name_are_learnt() -> None:
    ticket = TicketRef(system="file", key="SB-1")
    learned = learn(an_operation(), Learned(ticket=ticket, node_uid="uid-2"))
    assert (learned.ticket, learned.node) == (ticket, NodeRef(name="gpu-a01", uid="uid-2"))


def test_a_wait_for_a_vendor_is_told_apart_from_other_waits() -> None:
    waiting = worked_on(an_operation(ladder=("ticket",), at_step="await-ticket"), Wait("Open.", with_vendor=True))
    assert (waiting.state, waiting.asks) == (State.WITH_VENDOR, "")
    assert worked_on(waiting, Wait("The server is away.")).state is State.WAITING


# Bursts

RESET_48 = a_fault("xid-48", gpu=a_gpu(3))
LOST = a_fault("xid-79", gpu=a_gpu(1, None, "GPU-0101"))


def keys(operation: Operation, *, ahead: bool = True) -> list[str]:
    return named(step for step in operation.plan if not (ahead and step.over))


@pytest.mark.parametrize(
    ("ours", "theirs", "rung", "ladder"),
    [
        (("reset", "reboot"), ("reboot", "ticket"), "reboot", ("reboot", "ticket")),
        (("reboot", "ticket"), ("reset", "reboot"), "reboot", ("reboot", "ticket")),
        (("reset",), ("reset", "reboot"), "reset", ("reset", "reboot")),
        (("restart-plugin",), ("reset", "ticket"), "reset", ("reset", "ticket")),
        (("reset",), ("restart-plugin", "ticket"), "reset", ("reset", "ticket")),
        (("reset", "ticket"), ("power-cycle",), "power-cycle", ("power-cycle", "ticket")),
    ],
)
@pytest.mark.parametrize("begun", ["", "evidence"])
def test_of_several_faults_the_gravest_rung_is_taken_first(
    begun: str, ours: tuple[str, ...], theirs: tuple[str, ...], rung: str, ladder: tuple[str, ...]
) -> None:
    operation = joined(join(an_operation(RESET_48, ladder=ours, at_step=begun), LOST, ladder=rungs(*theirs), now=at(2)))
    assert operation.ladder == ladder
    assert list(dict.fromkeys(step.rung for step in operation.plan if step.rung)) == [rung]
    assert keys(operation, ahead=False) == keys(an_operation(ladder=ladder), ahead=False)


def test_a_node_that_was_drained_for_a_milder_rung_is_not_drained_again_for_a_graver_one() -> None:
    drained = an_operation(RESET_48, ladder=("reset",), at_step="pause-operands")
    operation = joined(join(drained, LOST, ladder=rungs("reboot"), now=at(5)))
    assert keys(operation) == ["reboot/reboot", "reboot/diagnose", "reboot/benchmark", "release"]


def test_a_rung_that_was_begun_is_finished_and_a_graver_ladder_follows_if_it_does_not_help() -> None:
    resetting = remembering(an_operation(RESET_48, ladder=("reset",), at_step="reset"))
    operation = joined(join(resetting, LOST, ladder=rungs("reboot", "ticket"), now=at(5)))
    assert keys(operation) == keys(resetting)
    assert operation.ladder == ("reset", "reboot", "ticket")
    going = worked_on(operation, Failed("It is in use."))
    assert keys(going)[:2] == ["reset/restore-operands", "reboot/reboot"]


@pytest.mark.parametrize("begun", ["recovery-check", "restart-plugin"])
def test_a_restarted_plugin_does_not_release_a_node_on_which_a_graver_fault_has_come(begun: str) -> None:
    restarting = remembering(an_operation(RESET_48, ladder=("restart-plugin",), at_step=begun))
    operation = joined(join(restarting, LOST, ladder=rungs("reboot"), now=at(5)))
    assert keys(operation) == ["drain", "reboot/reboot", "reboot/diagnose", "reboot/benchmark", "release"]


def test_the_light_proof_of_a_plugin_is_enough_for_a_fault_that_asks_for_no_more() -> None:
    restarting = remembering(an_operation(RESET_48, ladder=("restart-plugin",), at_step="restart-plugin"))
    operation = joined(join(restarting, LOST, ladder=rungs("restart-plugin", "reboot"), now=at(5)))
    assert keys(operation) == keys(restarting)


def test_a_release_of_a_restarted_plugin_that_may_be_under_way_is_left_to_look_again() -> None:
    releasing = remembering(an_operation(RESET_48, ladder=("restart-plugin",), at_step="release"))
    operation = joined(join(releasing, replace(LOST, at=at(20)), ladder=rungs("reboot"), now=at(20)))
    assert keys(operation) == ["release"]
    failed = worked_on(operation, Failed("It stays cordoned."))
    assert keys(failed) == ["drain", "reboot/reboot", "reboot/diagnose", "reboot/benchmark", "release"]


def test_a_plugin_whose_next_rung_is_under_way_is_not_cut_short_again() -> None:
    operation = worked_on(
        remembering(an_operation(RESET_48, ladder=("restart-plugin", "reset"), at_step="restart-plugin")),
        Failed("The plugin did not come back."),
    )
    assert keys(operation)[:2] == ["drain", "reset/pause-operands"]
    again = joined(join(operation, LOST, ladder=rungs("reboot"), now=at(31)))
    assert keys(again) == keys(operation)
    assert again.ladder == ("restart-plugin", "reset", "reboot")


def test_a_plan_without_a_release_gets_none_from_a_graver_fault() -> None:
    restarting = remembering(an_operation(RESET_48, ladder=("restart-plugin",), at_step="restart-plugin"))
    bare = replace(restarting, plan=restarting.plan[:-1])
    assert joined(join(bare, LOST, ladder=rungs("reboot"), now=at(5))).plan == bare.plan


def test_a_fault_that_joins_while_a_node_is_given_back_changes_no_plan() -> None:
    given, _ = give_back(
        remembering(an_operation(RESET_48, ladder=("restart-plugin",), at_step="restart-plugin")),
        Result.RELEASED,
        actor="ann",
        reason="It is well.",
        now=at(5),
    )
    operation = joined(join(given, LOST, ladder=rungs("reboot"), now=at(6)))
    assert keys(operation) == ["release"]
    assert keys(worked_on(operation, Failed("It failed."))) == []


def test_a_tail_is_told_and_changes_nothing() -> None:
    operation = an_operation()
    attached, said = attach(operation, OTHER, "it is the tail of xid-79", now=at(1))
    assert attached == operation
    assert [(entry.actor, entry.text) for entry in said] == [
        ("alert", "GpuXid firing: xid-74 on GPU 3; it is the tail of xid-79.")
    ]


# Waiting until the node is idle

IDLE = an_operation(
    RESET_48, ladder=rungs("reset", "reboot", when=When.IDLE, deadline=timedelta(hours=2), then=Then.DRAIN)
)


def test_a_rung_that_may_wait_until_the_node_is_idle_waits_before_the_cordon() -> None:
    assert keys(IDLE)[:3] == ["await-idle", "cordon", "evidence"]
    assert IDLE.plan[0].memo == {"deadline_s": "7200", "then": "drain"}


@pytest.mark.parametrize(
    ("theirs", "waits"),
    [
        (rungs("reboot"), False),
        (rungs("reset"), False),
        ((), False),
        (rungs("reboot", when=When.IDLE), True),
        (rungs("reset", when=When.IDLE), True),
        # A milder fault would not have disrupted the node at all, so it does not hurry a graver one.
        (rungs("restart-plugin"), True),
    ],
)
@pytest.mark.parametrize("operation", [IDLE, remembering(IDLE)])
def test_the_wait_ends_when_a_fault_joins_that_is_as_grave_and_does_not_wait(
    theirs: Ladder, waits: bool, operation: Operation
) -> None:
    changed = joined(join(operation, LOST, ladder=theirs, now=at(5)))
    assert (changed.current is changed.plan[0]) is waits
    if not waits:
        assert (changed.plan[0].state, changed.plan[0].reason) == (
            StepState.SKIPPED,
            "A fault has joined that does not wait.",
        )
        assert keys(changed)[0] == "cordon"


def test_a_fault_that_waits_does_not_stop_one_that_does_not() -> None:
    now_due = an_operation(RESET_48, ladder=("reset",))
    operation = joined(join(now_due, LOST, ladder=rungs("reboot", when=When.IDLE), now=at(1)))
    assert operation.last("await-idle") is None


def test_a_node_that_was_only_waited_for_needs_no_release() -> None:
    over, _ = give_back(remembering(IDLE), Result.CANCELLED, actor="ann", reason="Enough.", now=at(9))
    assert (over.state, over.result) == (State.FINISHED, Result.CANCELLED)


# Rungs


@pytest.mark.parametrize(
    ("operation", "rung"),
    [
        (an_operation(), None),
        (an_operation(at_step="reboot"), "reboot"),
        (remembering(an_operation(at_step="reboot")), None),
        (an_operation(at_step="diagnose"), None),
        (an_operation(at_step="release"), None),
        (an_operation(ladder=("reset",), at_step="pause-operands"), "reset"),
        (an_operation(ladder=("reset",), at_step="reset"), None),
        (an_operation(ladder=("reset",), at_step="restore-operands"), None),
        (worked_on(an_operation(ladder=(), at_step="drain"), Done("Drained.")), None),
    ],
)
def test_a_rung_is_next_until_its_first_step_is_begun(operation: Operation, rung: str | None) -> None:
    assert next_rung(operation) == rung


def test_an_undo_begins_no_rung_even_when_nothing_else_of_it_was_tried() -> None:
    operation = an_operation(ladder=("reset",), at_step="restore-operands")
    untried = replace(operation, plan=tuple(replace(step, attempt=0) for step in operation.plan))
    assert next_rung(untried) is None


def test_a_rung_that_is_passed_over_leads_to_the_one_after_it() -> None:
    operation = an_operation(ladder=("reset", "reboot"), at_step="pause-operands")
    passed, said = pass_over(operation, "Passes over reset: no UUID.", now=at(9))
    assert keys(passed)[0] == "reboot/reboot"
    assert {step.reason for step in passed.plan if step.rung == "reset"} == {"Passes over reset: no UUID."}
    assert [entry.text for entry in said] == ["Passes over reset: no UUID.", "The next rung is reboot."]
    assert next_rung(passed) == "reboot"


def test_a_ladder_that_is_passed_over_to_its_end_asks_a_person_and_says_why() -> None:
    operation = an_operation(ladder=("reset",), at_step="pause-operands")
    asked, said = pass_over(operation, "Passes over reset: no UUID.", now=at(9))
    assert (asked.state, asked.current) == (State.NEEDS_HUMAN, None)
    assert [entry.text for entry in said] == [
        "Passes over reset: no UUID. No rung of its ladder is left: the node stays cordoned until a person decides."
    ]


def test_a_failure_is_what_a_stuck_ladder_tells_also_when_more_was_passed_over_since() -> None:
    failed = worked_on(an_operation(ladder=("reset", "reboot"), at_step="diagnose"), Failed("GPU 3 failed memory."))
    asked, said = pass_over(failed, "Passes over reboot: enough.", now=at(31))
    assert asked.reason.startswith("GPU 3 failed memory. No rung of its ladder is left")
    assert [entry.text for entry in said] == ["Passes over reboot: enough.", asked.reason]


# Undos that are owed

PAUSED = an_operation(RESET_48, ladder=("reset", "reboot"), at_step="reset")
PAUSING = remembering(an_operation(RESET_48, ladder=("reset", "reboot"), at_step="pause-operands"))


@pytest.mark.parametrize("operation", [PAUSED, remembering(PAUSED), PAUSING])
def test_whatever_fails_while_operands_are_paused_they_come_back_before_the_next_rung(operation: Operation) -> None:
    going = worked_on(operation, Failed("It did not work."))
    assert keys(going)[:2] == ["reset/restore-operands", "reboot/reboot"]
    assert keys(worked_on(going, Done("They run again.")))[0] == "reboot/reboot"


@pytest.mark.parametrize("operation", [PAUSED, PAUSING])
def test_at_the_ladders_end_operands_come_back_before_a_person_is_asked(operation: Operation) -> None:
    last = replace(operation, ladder=("reset",))
    going = worked_on(last, Failed("It did not work."))
    assert (keys(going), going.state) == (["reset/restore-operands"], State.RUNNING)
    assert going.next_check_at == at(30) + PICKED_UP_WITHIN
    asked = worked_on(going, Done("They run again."))
    assert (asked.state, asked.current) == (State.NEEDS_HUMAN, None)
    assert asked.reason.startswith("It did not work. No rung of its ladder is left")


@pytest.mark.parametrize("result", [Result.CANCELLED, Result.RELEASED])
@pytest.mark.parametrize("operation", [PAUSED, PAUSING])
def test_a_node_is_given_back_after_its_operands_are(operation: Operation, result: Result) -> None:
    given, _ = give_back(operation, result, actor="ann", reason="Enough.", now=at(9))
    assert keys(given) == ["reset/restore-operands", "release"]
    assert given.giving_back
    over = worked_on(given, Done("They run again."), Done("Handed back."))
    assert (over.state, over.result) == (State.FINISHED, result)


def test_a_release_ends_the_operation_whatever_stands_behind_it() -> None:
    operation = an_operation(at_step="release")
    longer = replace(operation, plan=(*operation.plan, *an_operation(ladder=("power-cycle",)).plan))
    over = worked_on(longer, Done("Released."))
    assert (over.state, over.result, over.current) == (State.FINISHED, Result.RELEASED, None)


@pytest.mark.parametrize(
    ("operation", "holds"),
    [
        (an_operation(), False),
        (an_operation(at_step="evidence"), True),
        (an_operation(ladder=("replace",), at_step="replace"), True),
        (worked_on(an_operation(ladder=("replace",), at_step="replace"), Done("Another machine.")), False),
        (
            worked_on(
                an_operation(ladder=("replace",), at_step="replace"), Done("Another machine."), Done("Cordoned.")
            ),
            True,
        ),
        # A machine that was not replaced is still the one that was cordoned.
        (worked_on(an_operation(ladder=("replace", "ticket"), at_step="replace"), Failed("Nobody came.")), True),
        (worked_on(an_operation(ladder=("replace",), at_step="replace"), Failed("Nobody came.")), True),
        (finish(an_operation(at_step="drain"), Result.OVERTAKEN, "Deleted.", now=at(9))[0], False),
    ],
)
def test_a_node_is_held_from_its_cordon_on_and_a_new_machine_from_its_own(operation: Operation, holds: bool) -> None:
    assert operation.holds_node is holds


def test_a_fault_that_joins_after_a_rung_has_failed_brings_no_milder_one() -> None:
    failed = worked_on(an_operation(LOST, ladder=("reboot", "power-cycle"), at_step="diagnose"), Failed("GPU 1 fails."))
    operation = joined(join(failed, RESET_48, ladder=rungs("restart-plugin", "ticket"), now=at(31)))
    going = worked_on(operation, Failed("It did not boot."))
    assert named(step for step in going.plan if not step.over)[0] == "ticket/open-ticket"


def test_another_machine_keeps_the_approval_of_its_rung_and_none_that_was_about_the_old_one() -> None:
    operation = replace(
        an_operation(ladder=("replace",)), approvals=("drain", "bare-pods", "foreign-cordon", "replace")
    )
    assert learn(operation, Learned(replaced=True, node_uid="uid-2")).approvals == ("replace",)
    assert learn(operation, Learned(replaced=True)).approvals == operation.approvals
