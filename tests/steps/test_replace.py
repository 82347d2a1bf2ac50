from __future__ import annotations

from datetime import datetime, timedelta

from app.domain.effects import ReplaceNode
from app.domain.facts import NodeView
from app.domain.guards import Hurts
from app.domain.operations import Operation, begin, hold
from app.domain.outcomes import Act, Done, Failed, Learned, NeedsHuman, Outcome, Wait
from tests.building import a_node, a_policy, an_operation, at, remembering
from workers.steps.replace import Replace

TO_DO = an_operation(ladder=("replace",), at_step="replace")
ASKED = remembering(TO_DO, asked_at=at().isoformat())
SENT = remembering(TO_DO, asked_at=at().isoformat(), sent=at().isoformat())


def judged(node: NodeView, *, operation: Operation = SENT, now: datetime | None = None) -> Act | Outcome:
    return Replace().judge(operation, node, a_policy(), now or at(1))


def test_another_machine_is_asked_for_under_one_key() -> None:
    told = judged(a_node(), operation=TO_DO)
    assert told == Act(
        (ReplaceNode(key="op-1-3-replace-1", node="gpu-a01"),),
        "Asks for another machine in place of gpu-a01.",
        {"asked_at": at(1).isoformat()},
    )
    assert Replace.hurts is Hurts.RUNNING_WORK


def test_a_request_whose_answer_was_lost_is_made_again_and_its_time_still_counts() -> None:
    told = judged(a_node(), operation=ASKED, now=at(50))
    assert isinstance(told, Act)
    assert (told.effects[0].key, told.memo) == ("op-1-3-replace-1", {"asked_at": at().isoformat()})


def test_the_same_machine_is_waited_for_to_go_and_the_next_rung_taken_in_the_end() -> None:
    assert judged(a_node(), now=at(119)) == Wait(
        "Waits for another machine in place of gpu-a01.", after=timedelta(minutes=1)
    )
    told = judged(a_node(), now=at(120))
    assert told == Failed("gpu-a01 is still the same machine 2 h after another one was asked for.")


def test_a_request_without_a_time_is_not_late() -> None:
    assert isinstance(judged(a_node(), operation=remembering(TO_DO, sent="yes"), now=at(600)), Wait)


def test_another_uid_under_the_name_is_another_machine_whose_faults_are_not_the_old_ones() -> None:
    told = judged(a_node(uid="uid-2"), now=at(600))
    assert told == Done(
        "Another machine has taken the name gpu-a01; it is validated as new.",
        learned=Learned(replaced=True, node_uid="uid-2"),
    )
    rebooted = judged(a_node(boot_id="b-222"))
    assert isinstance(rebooted, Wait)


def test_a_provider_that_never_answers_is_brought_before_a_person_but_a_pause_is_not_its_fault() -> None:
    told = judged(a_node(), operation=ASKED, now=at(120))
    assert told == NeedsHuman(
        "Another machine in place of gpu-a01 could not be asked for within 2 h: see to the provider's hook, then retry."
    )
    paused, _ = hold(ASKED, "Paused by ana.", now=at(30), after=timedelta(minutes=2))
    assert isinstance(judged(a_node(), operation=paused, now=at(hours=9)), Act)


def test_what_was_held_before_the_request_is_not_added_to_its_time() -> None:
    begun = remembering(TO_DO)
    held, _ = hold(begun, "Paused by ana.", now=at(1), after=timedelta(minutes=2))
    act = judged(a_node(), operation=held, now=at(60))
    assert isinstance(act, Act)
    asked, _ = begin(held, act, now=at(60))
    assert isinstance(judged(a_node(), operation=asked, now=at(179)), Act)
    assert isinstance(judged(a_node(), operation=asked, now=at(180)), NeedsHuman)


def test_the_last_look_is_at_the_deadline() -> None:
    told = judged(a_node(), now=at(119, seconds=50))
    assert isinstance(told, Wait)
    assert told.after == timedelta(seconds=10)
