from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from app.domain.facts import NodeView
from app.domain.interruptions import Away, CordonAgain, Disputed, Interruption, interruption
from app.domain.marks import ANNOTATION
from app.domain.operations import Operation, Result, State, apply, cordon_again, give_back, learn
from app.domain.outcomes import Done, Learned, Wait
from app.domain.policies import Mode, Policy
from app.domain.uncordons import UPGRADE_STATE
from tests.building import a_fault, a_node, a_policy, a_pool, an_operation, at, cordoned, patched, remembering

HELD = cordoned()
UNCORDONED = replace(HELD, unschedulable=False)
MARK_TAKEN = patched(HELD, {"metadata": {"annotations": {ANNOTATION: None}}})
BEFORE_DONE = remembering(an_operation())
"""The cordon's intent is stored; whether its patch was sent is not known."""


def stops(
    operation: Operation, node: NodeView | None, *, policy: Policy | None = None, now: datetime | None = None
) -> Interruption | Disputed | CordonAgain | Away | None:
    policy = policy or a_policy()
    pool = policy.pool_of(node.labels) if node else None
    return interruption(operation, node, pool=pool, policy=policy, now=now or at(10))


@pytest.mark.parametrize("begun", ["", "drain", "release"])
def test_a_node_that_is_gone_or_another_one_overtakes_the_operation(begun: str) -> None:
    operation = an_operation(at_step=begun)
    assert stops(operation, None) == Interruption(
        Result.OVERTAKEN, "gpu-a01 was deleted from the cluster.", clean_up=False
    )
    assert stops(operation, a_node(uid="uid-2")) == Interruption(
        Result.OVERTAKEN, "gpu-a01 was recreated: the node of that name is another one now.", clean_up=False
    )


@pytest.mark.parametrize(
    ("operation", "node"),
    [
        (an_operation(), a_node()),
        (an_operation(), a_node(unschedulable=True)),
        (an_operation(), cordoned(operation="op-0")),
        (BEFORE_DONE, a_node()),
        (BEFORE_DONE, HELD),
        (an_operation(at_step="drain"), HELD),
        (an_operation(at_step="release"), HELD),
        # Our release takes mark and cordon in one patch; a worker that died after it must not blame a person.
        (an_operation(at_step="release"), a_node()),
        (an_operation(at_step="release"), a_node(unschedulable=True)),
    ],
)
def test_an_operation_goes_on_while_the_node_is_as_it_left_it(operation: Operation, node: NodeView) -> None:
    assert stops(operation, node) is None


@pytest.mark.parametrize(
    ("operation", "node"),
    [
        (BEFORE_DONE, UNCORDONED),
        (an_operation(at_step="evidence"), UNCORDONED),
        (an_operation(at_step="drain"), UNCORDONED),
        (an_operation(at_step="reboot"), a_node()),
        (an_operation(at_step="benchmark"), UNCORDONED),
        (an_operation(at_step="release"), UNCORDONED),
    ],
)
def test_a_persons_uncordon_wins_and_our_marks_are_taken_away(operation: Operation, node: NodeView) -> None:
    assert stops(operation, node) == Interruption(
        Result.CANCELLED,
        "gpu-a01 was uncordoned by a person, so the operation stops and takes its marks away.",
        clean_up=True,
    )


def test_an_ordered_release_is_not_stopped_by_the_uncordon_that_led_to_it() -> None:
    ordered, _ = give_back(
        an_operation(at_step="drain"), Result.CANCELLED, actor="sickbay", reason="Uncordoned.", now=at(10)
    )
    assert stops(ordered, UNCORDONED) is None


def test_a_mark_that_somebody_took_away_while_the_cordon_stays_is_brought_before_a_person() -> None:
    told = stops(an_operation(at_step="drain"), MARK_TAKEN)
    assert isinstance(told, Disputed)
    assert told.reason.endswith("Cancel this operation to let go of it.")
    assert isinstance(stops(an_operation(at_step="drain"), cordoned(operation="op-2")), Disputed)


def test_an_operation_that_waits_for_a_person_at_its_plans_end_notices_an_uncordon() -> None:
    stuck, _ = apply(an_operation(ladder=(), at_step="drain"), Done("Drained."), now=at(5))
    assert stuck.current is None
    assert isinstance(stops(stuck, UNCORDONED), Interruption)
    assert stops(stuck, HELD) is None


OBSERVING = a_policy(a_pool(mode=Mode.OBSERVE), observe_for=timedelta(hours=1))
LATE = replace(an_operation(), faults=(a_fault(), a_fault("xid-48", at=at(59))))
"""A second fault has joined just before the first was observed for long enough."""


@pytest.mark.parametrize(
    ("operation", "node", "policy", "minutes", "noted"),
    [
        (an_operation(), a_node(), OBSERVING, 60, True),
        (an_operation(), a_node(), OBSERVING, 59.9, False),
        (LATE, a_node(), OBSERVING, 60, False),
        (LATE, a_node(), OBSERVING, 118.9, False),
        (LATE, a_node(), OBSERVING, 119, True),
        (an_operation(), a_node(), a_policy(), 600, False),
        (an_operation(), a_node(labels={}), OBSERVING, 600, False),
        (BEFORE_DONE, HELD, OBSERVING, 600, False),
        (an_operation(at_step="drain"), HELD, OBSERVING, 600, False),
        (an_operation(at_step="release"), a_node(), OBSERVING, 600, False),
        (apply(an_operation(), Wait("The server is away."), now=at(1))[0], a_node(), OBSERVING, 60, True),
    ],
)
def test_what_is_only_observed_ends_as_noted_after_a_set_time(
    operation: Operation, node: NodeView, policy: Policy, minutes: float, noted: bool
) -> None:
    told = stops(operation, node, policy=policy, now=at(minutes))
    expected = Interruption(
        Result.NOTED, "Noted: observed for 1 h in mode observe, nothing was touched.", clean_up=False
    )
    assert told == (expected if noted else None)


def test_a_human_uncordons_while_the_drain_waits_and_a_later_fault_opens_a_new_operation() -> None:
    draining = remembering(an_operation(at_step="drain"), asked="uid-train-0")
    told = stops(draining, UNCORDONED, now=at(11))
    assert isinstance(told, Interruption)
    stopped, _ = give_back(draining, told.result, actor="sickbay", reason=told.reason, now=at(11))
    assert [step.step for step in stopped.plan if not step.over] == ["release"]
    over, _ = apply(stopped, Done("Handed back."), now=at(11))
    assert (over.state, over.result) == (State.FINISHED, Result.CANCELLED)
    assert stops(an_operation(a_fault(at=at(40))), a_node(), now=at(40)) is None


# A service that uncordons

BY_OPERATOR = replace(UNCORDONED, labels={**UNCORDONED.labels, UPGRADE_STATE: "uncordon-required"})
ONCE = "gpu-a01 was uncordoned by the GPU Operator, not by a person: Sickbay cordons it again."


@pytest.mark.parametrize("begun", ["evidence", "drain", "reboot", "benchmark", "release"])
def test_a_services_uncordon_is_put_right_and_told(begun: str) -> None:
    operation = remembering(an_operation(at_step=begun))
    assert stops(operation, BY_OPERATOR) == CordonAgain(ONCE)
    owed, entries = cordon_again(operation, ONCE, now=at(11))
    assert [entry.text for entry in entries] == [ONCE]
    assert owed.current is not None
    assert (owed.current.step, owed.current.attempt, owed.state) == ("cordon", 1, State.RUNNING)
    # It is not stopped anew before its patch is there, whoever looks.
    assert stops(owed, BY_OPERATOR) is None
    assert stops(owed, UNCORDONED) is None
    going, _ = apply(owed, Done("Cordoned again."), now=at(12))
    assert going.current is not None
    assert (going.current.step, going.holds_node) == (begun, True)
    assert stops(going, HELD) is None


def test_a_service_that_insists_is_brought_before_a_person_and_a_persons_uncordon_still_wins() -> None:
    owed, _ = cordon_again(remembering(an_operation(at_step="drain")), ONCE, now=at(11))
    again, _ = apply(owed, Done("Cordoned again."), now=at(12))
    told = stops(again, BY_OPERATOR, now=at(13))
    assert isinstance(told, Disputed)
    assert told.reason.startswith("gpu-a01 was uncordoned by the GPU Operator although Sickbay had cordoned it again.")
    assert isinstance(stops(again, UNCORDONED, now=at(13)), Interruption)


def test_an_operation_at_its_plans_end_has_its_cordon_put_right_too() -> None:
    stuck, _ = apply(an_operation(ladder=(), at_step="drain"), Done("Drained."), now=at(5))
    assert stops(stuck, BY_OPERATOR) == CordonAgain(ONCE)
    owed, _ = cordon_again(stuck, ONCE, now=at(6))
    again, _ = apply(owed, Done("Cordoned again."), now=at(7))
    assert (again.state, again.current, again.holds_node) == (State.NEEDS_HUMAN, None, True)


def test_a_first_cordon_that_a_service_takes_away_before_it_was_seen_is_tried_again() -> None:
    assert stops(BEFORE_DONE, BY_OPERATOR) is None


def test_a_mark_without_a_cordon_in_the_plan_is_let_go_like_any_other() -> None:
    skipped = replace(an_operation(), plan=tuple(step for step in an_operation().plan if step.step != "cordon"))
    assert isinstance(stops(skipped, UNCORDONED), Interruption)
    assert stops(skipped, BY_OPERATOR) is None


# Operands that are paused


@pytest.mark.parametrize("begun", ["pause-operands", "reset", "restore-operands"])
def test_a_node_that_is_uncordoned_while_operands_are_paused_gets_them_back_before_it_is_let_go(begun: str) -> None:
    operation = remembering(an_operation(ladder=("reset", "reboot"), at_step=begun))
    told = stops(operation, UNCORDONED)
    assert isinstance(told, Interruption)
    given, _ = give_back(operation, told.result, actor="sickbay", reason=told.reason, now=at(11))
    assert [step.step for step in given.plan if not step.over] == ["restore-operands", "release"]
    # It is not stopped anew at each look: that would put off the undo for ever.
    for node in (UNCORDONED, MARK_TAKEN, HELD):
        assert stops(given, node) is None
    restored, _ = apply(given, Done("They run again."), now=at(12))
    over, _ = apply(restored, Done("Handed back."), now=at(13))
    assert (over.state, over.result) == (State.FINISHED, Result.CANCELLED)


def test_a_node_that_is_gone_or_another_one_while_it_is_given_back_owes_nothing() -> None:
    operation = remembering(an_operation(ladder=("reset",), at_step="reset"))
    given, _ = give_back(operation, Result.CANCELLED, actor="ann", reason="Enough.", now=at(11))
    for node in (None, a_node(uid="uid-2")):
        told = stops(given, node)
        assert isinstance(told, Interruption)
        assert (told.result, told.clean_up) == (Result.OVERTAKEN, False)


# A machine that is replaced

ASKED = remembering(an_operation(ladder=("replace",), at_step="replace"), asked_at=at(0).isoformat())
REPLACING = remembering(ASKED, sent=at(0).isoformat())
ANOTHER = a_node(uid="uid-2", boot_id="b-999")


def test_a_node_that_goes_because_it_is_replaced_is_waited_for() -> None:
    assert stops(REPLACING, None) == Away("gpu-a01 is gone, as asked; waits for the machine that takes its name.")
    assert stops(REPLACING, ANOTHER) is None
    assert stops(REPLACING, HELD) is None


def test_a_node_that_goes_before_it_was_asked_to_overtakes_the_operation() -> None:
    not_asked = an_operation(ladder=("replace",), at_step="replace")
    for node in (None, ANOTHER):
        told = stops(not_asked, node)
        assert isinstance(told, Interruption)
        assert told.result is Result.OVERTAKEN


def test_a_machine_that_never_comes_is_brought_before_a_person() -> None:
    told = interruption(REPLACING, None, pool=a_pool(), policy=a_policy(), now=at(121))
    assert told == Away("gpu-a01 is gone, as asked, and no machine took its name within 2 h.", overdue=True)


def test_a_request_whose_answer_was_lost_may_have_been_taken_on() -> None:
    lost, _ = apply(ASKED, Wait("The replace of gpu-a01 was not answered. It is tried again."), now=at(1))
    for asked in (ASKED, lost):
        told = stops(asked, None)
        assert isinstance(told, Away)
        assert "is gone, as asked" in told.reason
        assert stops(asked, ANOTHER) is None


def test_a_person_may_still_uncordon_a_node_that_waits_to_be_replaced() -> None:
    assert isinstance(stops(REPLACING, UNCORDONED), Interruption)
    assert isinstance(stops(REPLACING, MARK_TAKEN), Disputed)


def test_the_machine_that_came_is_not_missed_to_be_cordoned_before_we_cordon_it() -> None:
    came, _ = apply(
        learn(REPLACING, Learned(replaced=True, node_uid="uid-2")), Done("Another machine has come."), now=at(20)
    )
    assert not came.holds_node
    assert stops(came, ANOTHER) is None
    held, _ = apply(came, Done("Cordoned."), now=at(21))
    assert held.holds_node
    assert isinstance(stops(held, ANOTHER), Interruption)
    assert stops(held, cordoned(ANOTHER)) is None


def test_faults_that_policy_keeps_to_observe_end_as_noted_in_a_pool_that_acts() -> None:
    policy = a_policy(fault_modes={"xid-79": Mode.OBSERVE}, observe_for=timedelta(hours=1))
    told = stops(an_operation(), a_node(), policy=policy, now=at(60))
    assert isinstance(told, Interruption)
    assert told.result is Result.NOTED
    assert stops(an_operation(a_fault("xid-48")), a_node(), policy=policy, now=at(60)) is None
