from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from app.domain.deadlines import LOOK_AGAIN
from app.domain.drains import MIRROR_ANNOTATION, refusal_key
from app.domain.effects import EvictPod
from app.domain.facts import PodView
from app.domain.operations import Operation, begin, hold
from app.domain.outcomes import Act, Done, NeedsHuman, Outcome, Wait
from tests.building import a_node, a_pod, a_policy, an_operation, at, remembering
from workers.steps.drain import BARE_PODS, COUNTED_PODS, Drain, Pods

DRAINING = remembering(an_operation(at_step="drain"))
STAYING = (
    a_pod("dcgm", controller_kind="DaemonSet"),
    a_pod("static", annotations={MIRROR_ANNOTATION: "x"}, controller_kind=""),
    a_pod("over", phase="Succeeded", controller_kind="Job"),
)


def judged(*pods: PodView, operation: Operation = DRAINING, now: datetime | None = None) -> Act | Outcome:
    return Drain().judge(operation, Pods(a_node(), pods), a_policy(), now or at(1))


def evicted(told: Act | Outcome) -> list[str]:
    assert isinstance(told, Act)
    assert all(isinstance(effect, EvictPod) for effect in told.effects)
    return [effect.uid for effect in told.effects if isinstance(effect, EvictPod)]


def refused(pod: PodView, until: datetime, reason: str = "Budget ml/train does not allow it.") -> dict[str, str]:
    return {refusal_key(pod.uid): f"{until.isoformat()} {reason}"}


def test_what_works_on_the_node_is_evicted_by_uid_and_what_belongs_there_is_left() -> None:
    told = judged(*STAYING, a_pod(), a_pod("serve-1", controller_kind="ReplicaSet"))
    assert evicted(told) == ["uid-train-0", "uid-serve-1"]
    assert isinstance(told, Act)
    assert told.reason == "Evicts ml/train-0, ml/serve-1."
    assert told.memo == {"asked": "uid-serve-1,uid-train-0"}


def test_an_evicted_pod_is_waited_for_until_its_uid_is_gone() -> None:
    leaving = a_pod(deleted_at=at(9))
    told = judged(leaving, operation=remembering(an_operation(at_step="drain"), asked=leaving.uid))
    assert told == Wait("Waits for ml/train-0 to end within its grace.", after=LOOK_AGAIN)


def test_a_pod_of_the_same_name_and_another_uid_is_another_pod() -> None:
    operation = remembering(an_operation(at_step="drain"), asked="uid-train-0")
    told = judged(a_pod(uid="uid-again"), operation=operation)
    assert evicted(told) == ["uid-again"]
    assert isinstance(told, Act)
    assert told.memo == {"asked": "uid-again,uid-train-0"}


def test_an_empty_node_is_drained_and_says_what_was_left() -> None:
    operation = remembering(an_operation(at_step="drain"), asked="uid-train-0,uid-serve-1")
    assert judged(*STAYING, operation=operation) == Done(
        "Drained: 2 pods evicted, 3 pods of DaemonSets or finished left in place."
    )
    assert judged() == Done("Drained: 0 pods evicted, 0 pods of DaemonSets or finished left in place.")


def test_a_refused_eviction_is_asked_again_in_time_and_the_budget_is_named() -> None:
    pod = a_pod()
    operation = remembering(an_operation(at_step="drain"), **refused(pod, at(1, seconds=5)))
    assert judged(pod, operation=operation) == Wait(
        "Waits: Budget ml/train does not allow it.", after=timedelta(seconds=5)
    )
    assert evicted(judged(pod, operation=operation, now=at(1, seconds=5))) == [pod.uid]


def test_one_refused_pod_does_not_keep_the_others() -> None:
    pod, other = a_pod(), a_pod("serve-1")
    operation = remembering(an_operation(at_step="drain"), **refused(pod, at(5)))
    assert evicted(judged(pod, other, operation=operation)) == [other.uid]


def test_a_refusal_that_cannot_be_read_does_not_keep_a_pod_for_ever() -> None:
    pod = a_pod()
    operation = remembering(an_operation(at_step="drain"), **{refusal_key(pod.uid): "soon perhaps"})
    assert evicted(judged(pod, operation=operation)) == [pod.uid]


def test_a_bare_pod_is_asked_about_once_the_others_are_gone() -> None:
    bare = a_pod("notebook", controller_kind="")
    assert evicted(judged(bare, a_pod())) == ["uid-train-0"]
    waiting = judged(bare, a_pod(deleted_at=at(9)))
    assert isinstance(waiting, Wait)
    assert waiting.reason == "Waits for ml/train-0 to end within its grace. ml/notebook has no controller."
    asked = judged(bare)
    assert isinstance(asked, NeedsHuman)
    assert (asked.asks, asked.of) == (BARE_PODS, {bare.uid: "ml/notebook"})
    assert "ml/notebook has no controller" in asked.reason


def test_an_approval_lets_the_bare_pod_be_evicted() -> None:
    bare = a_pod("notebook", controller_kind="")
    approved = remembering(an_operation(at_step="drain", approvals=(f"{BARE_PODS} {bare.uid}",)))
    assert evicted(judged(bare, operation=approved)) == [bare.uid]


def test_a_bare_pod_that_comes_after_the_approval_is_asked_about_by_itself() -> None:
    bare, later = a_pod("notebook", controller_kind=""), a_pod("debug", controller_kind="")
    approved = remembering(an_operation(at_step="drain", approvals=(BARE_PODS, f"{BARE_PODS} {bare.uid}")))
    assert evicted(judged(bare, later, operation=approved)) == [bare.uid]
    asked = judged(later, operation=approved)
    assert isinstance(asked, NeedsHuman)
    assert asked.of == {later.uid: "ml/debug"}


@pytest.mark.parametrize(
    ("pods", "memo"),
    [
        ((a_pod(),), {}),
        ((a_pod(deleted_at=at(9)),), {}),
        ((a_pod("notebook", controller_kind=""),), {}),
        ((a_pod(),), refused(a_pod(), at(500))),
    ],
)
def test_past_the_deadline_nothing_more_is_evicted_and_a_person_decides(
    pods: tuple[PodView, ...], memo: dict[str, Any]
) -> None:
    operation = remembering(an_operation(at_step="drain"), **memo)
    told = judged(*pods, operation=operation, now=at(120))
    assert isinstance(told, NeedsHuman)
    assert told.asks == ""
    assert told.reason.startswith("The drain is past its deadline. ")
    assert told.reason.endswith(" Retry it or cancel.")
    assert pods[0].full_name in told.reason or "Budget ml/train" in told.reason


def test_a_drain_that_came_to_its_end_late_is_still_done() -> None:
    assert isinstance(judged(now=at(500)), Done)


def test_a_drain_that_has_not_begun_has_no_deadline_yet() -> None:
    assert evicted(judged(a_pod(), operation=an_operation(at_step="drain"), now=at(500))) == ["uid-train-0"]


def test_pods_that_come_back_for_ever_do_not_fill_the_memo() -> None:
    asked = ",".join(f"uid-{number:05}" for number in range(COUNTED_PODS))
    told = judged(a_pod(uid="uid-zzz"), operation=remembering(an_operation(at_step="drain"), asked=asked))
    assert isinstance(told, Act)
    assert told.memo["asked"].count(",") == COUNTED_PODS - 1


@pytest.mark.parametrize(
    ("pods", "words"),
    [
        (5, "Evicts ml/p0, ml/p1, ml/p2, ml/p3, ml/p4."),
        (9, "Evicts ml/p0, ml/p1, ml/p2, ml/p3, ml/p4 and 4 more."),
    ],
)
def test_many_pods_are_named_by_the_first_few(pods: int, words: str) -> None:
    told = judged(*(a_pod(f"p{number}") for number in range(pods)))
    assert isinstance(told, Act)
    assert told.reason == words


def test_the_look_after_an_eviction_comes_no_later_than_the_deadline() -> None:
    told = judged(a_pod(deleted_at=at(200)), now=at(119, seconds=48))
    assert isinstance(told, Wait)
    assert told.after == timedelta(seconds=12)


def test_hours_in_which_a_guard_held_the_drain_are_not_taken_from_its_own() -> None:
    held, _ = hold(DRAINING, "Paused by ana.", now=at(30), after=timedelta(minutes=2))
    pod = a_pod()
    assert evicted(judged(pod, operation=held, now=at(hours=9))) == [pod.uid]
    going, _ = begin(held, Act((), "Evicts ml/train-0."), now=at(hours=10))
    assert evicted(judged(pod, operation=going, now=at(89, hours=10))) == [pod.uid]
    assert isinstance(judged(pod, operation=going, now=at(90, hours=10)), NeedsHuman)
