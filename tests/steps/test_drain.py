from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from app.domain.deadlines import LOOK_AGAIN
from app.domain.drain_rules import SAFE_TO_EVICT, Do, DrainRule
from app.domain.drains import BARE_PODS, LOCAL_DATA, MIRROR_ANNOTATION, UNFINISHED_WORK
from app.domain.effects import DeletePod, EvictPod
from app.domain.facts import PodView
from app.domain.operations import Operation, begin, hold
from app.domain.outcomes import Act, Done, Failed, NeedsHuman, Outcome, Wait
from app.domain.refusals import Refused, refusal_key
from tests.building import a_node, a_pod, a_policy, a_pool, an_operation, at, remembering
from tests.fakes import FakeCluster
from workers.steps.drain import COUNTED_PODS, DARK_SINCE, Drain, Pods

DRAINING = remembering(an_operation(at_step="drain"))
STAYING = (
    a_pod("dcgm", controller_kind="DaemonSet"),
    a_pod("static", annotations={MIRROR_ANNOTATION: "x"}, controller_kind=""),
    a_pod("over", phase="Succeeded", controller_kind="Job"),
)


def judged(
    *pods: PodView,
    operation: Operation = DRAINING,
    now: datetime | None = None,
    ready: bool = True,
    own: str = "",
    **pool: Any,
) -> Act | Outcome:
    policy = a_policy(a_pool(**pool)) if pool else a_policy()
    return Drain().judge(operation, Pods(a_node(ready=ready), pods, own=own), policy, now or at(1))


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


MARKED = {SAFE_TO_EVICT: "false"}


def test_a_training_job_that_asks_to_end_by_itself_is_waited_for_and_then_a_person_is_asked() -> None:
    """Whatever its grace and however long it has run: nothing of it is evicted before somebody approves."""
    job = a_pod("train-0", annotations=MARKED)
    told = judged(job)
    assert told == Wait(
        "Lets ml/train-0 end by itself, as policy or its owner says, for 1 d at most; "
        "then a person is asked, and until somebody approves it nothing of it is evicted.",
        after=LOOK_AGAIN,
    )
    for hours in (3, 23):
        assert isinstance(judged(job, now=at(hours=hours)), Wait)
    asked = judged(job, now=at(hours=24))
    assert isinstance(asked, NeedsHuman)
    assert asked.asks == UNFINISHED_WORK
    assert "still runs after 1 d" in asked.reason
    approved = remembering(an_operation(at_step="drain", approvals=(f"{UNFINISHED_WORK} {job.uid}",)))
    told = judged(job, operation=approved, now=at(hours=24))
    assert evicted(told) == [job.uid], "it has the whole time of a drain from the approval on"
    assert isinstance(told, Act)
    approved = remembering(approved, **told.memo)
    ending = a_pod("train-0", annotations=MARKED, deleted_at=at(hours=27))
    assert isinstance(judged(ending, operation=approved, now=at(119, hours=24)), Wait)
    assert isinstance(judged(ending, operation=approved, now=at(120, hours=24)), NeedsHuman)


def test_a_job_that_has_ended_by_itself_no_longer_keeps_the_drain() -> None:
    assert isinstance(judged(a_pod(annotations=MARKED, phase="Succeeded")), Done)


def test_others_are_evicted_while_one_is_waited_for_and_their_deadline_is_the_drains() -> None:
    job, other = a_pod("train-0", annotations=MARKED), a_pod("serve-1")
    assert evicted(judged(job, other)) == [other.uid]
    waiting = judged(job, a_pod("serve-1", deleted_at=at(9)))
    assert isinstance(waiting, Wait)
    assert waiting.reason == "Waits for ml/serve-1 to end within its grace. ml/train-0 may end by itself."
    assert isinstance(judged(job, a_pod("serve-1", deleted_at=at(9)), now=at(120)), NeedsHuman)


def test_data_on_the_node_is_asked_about_once_the_others_are_gone() -> None:
    cache = a_pod("cache", empty_dirs=("scratch",))
    assert evicted(judged(cache, a_pod())) == ["uid-train-0"]
    asked = judged(cache)
    assert isinstance(asked, NeedsHuman)
    assert asked.asks == LOCAL_DATA
    assert "ml/cache has data on this node that its eviction deletes (emptyDir scratch)" in asked.reason
    approved = remembering(an_operation(at_step="drain", approvals=(f"{LOCAL_DATA} {cache.uid}",)))
    assert evicted(judged(cache, operation=approved)) == [cache.uid]


def test_a_bare_pod_is_asked_about_before_data() -> None:
    asked = judged(a_pod("cache", empty_dirs=("scratch",)), a_pod("notebook", controller_kind=""))
    assert isinstance(asked, NeedsHuman)
    assert asked.asks == BARE_PODS


def test_a_rule_may_leave_pods_where_they_are() -> None:
    assert isinstance(judged(a_pod(), drain={"ml": DrainRule(namespaces=("ml",), do=Do.LEAVE)}), Done)


def test_by_rule_a_pod_is_deleted_past_its_budget_but_only_after_its_time() -> None:
    pod, other = a_pod(), a_pod("serve-1", namespace="serve")
    rules = {"ml": DrainRule(namespaces=("ml",), do=Do.DELETE, after=timedelta(minutes=30))}
    assert evicted(judged(pod, other, drain=rules)) == [pod.uid, other.uid]
    operation = remembering(
        an_operation(at_step="drain"), asked=f"{pod.uid},{other.uid}", **refused(pod, at(40)), **refused(other, at(40))
    )
    waiting = judged(pod, other, operation=operation, now=at(29, seconds=50), drain=rules)
    assert isinstance(waiting, Wait)
    assert waiting.after == timedelta(seconds=10)
    told = judged(pod, other, operation=operation, now=at(30), drain=rules)
    assert isinstance(told, Act)
    assert [(type(effect), getattr(effect, "uid", "")) for effect in told.effects] == [(DeletePod, pod.uid)]
    assert told.reason == "Deletes ml/train-0 past its budget, as policy says, with its own grace."


def test_without_a_rule_no_pod_is_ever_deleted() -> None:
    operation = remembering(an_operation(at_step="drain"), **refused(a_pod(), at(5)))
    for minutes in range(120):
        told = judged(a_pod(), operation=operation, now=at(minutes))
        assert not isinstance(told, Act) or all(isinstance(effect, EvictPod) for effect in told.effects)


def test_asking_again_what_was_refused_is_told_once_and_counted() -> None:
    pod = a_pod()
    memo = {refusal_key(pod.uid): Refused(until=at(2), why="Budget ml/train says no.", tries=4).written()}
    operation = remembering(an_operation(at_step="drain"), asked=pod.uid, **memo)
    waiting = judged(pod, operation=operation)
    told = judged(pod, operation=operation, now=at(2))
    assert isinstance(waiting, Wait)
    assert isinstance(told, Act)
    assert told.reason == waiting.reason == "Waits: Budget ml/train says no."
    assert [effect.tries for effect in told.effects if isinstance(effect, EvictPod)] == [4]


def test_an_eviction_that_can_never_be_allowed_is_told_at_once_and_keeps_no_other_pod() -> None:
    pod, other = a_pod(), a_pod("serve-1")
    memo = {
        refusal_key(pod.uid): Refused(until=at(30), why="Budget ml/train can never allow it.", never=True).written()
    }
    operation = remembering(an_operation(at_step="drain"), **memo)
    assert evicted(judged(pod, other, operation=operation)) == [other.uid]
    told = judged(pod, a_pod("serve-1", deleted_at=at(9)), operation=operation)
    assert isinstance(told, NeedsHuman)
    assert "Budget ml/train can never allow it." in told.reason
    assert told.asks == ""


def test_a_pod_that_is_stuck_is_named_with_what_holds_it() -> None:
    held = a_pod("csi-user", deleted_at=at(1), finalizers=("example.com/flush",))
    silent = a_pod("mute", deleted_at=at(1))
    told = judged(held, now=at(5))
    assert isinstance(told, Wait)
    assert told.reason == (
        "ml/csi-user should have ended 4 min ago: held by example.com/flush, which only its owner may take away."
    )
    told = judged(silent, a_pod(deleted_at=at(hours=1)), now=at(5))
    assert isinstance(told, Wait)
    assert told.reason == (
        "Waits for ml/train-0 to end within its grace. "
        "ml/mute should have ended 4 min ago: its kubelet has not said that it ended."
    )


def test_an_hour_of_grace_is_an_hour() -> None:
    pod = a_pod(deleted_at=at(hours=1), grace=3600)
    told = judged(pod, now=at(59))
    assert isinstance(told, Wait)
    assert told.reason == "Waits for ml/train-0 to end within its grace."


def test_many_refusals_make_a_sentence_of_bounded_length() -> None:
    pods = [a_pod(f"p{number}") for number in range(40)]
    memo = {key: text for pod in pods for key, text in refused(pod, at(9), f"Budget {pod.name} says no.").items()}
    told = judged(*pods, operation=remembering(an_operation(at_step="drain"), **memo))
    assert isinstance(told, Wait)
    assert told.reason.endswith("35 more evictions are refused.")


LADDERS = [
    (("power-cycle",), Done),
    (("replace",), Done),
    (("ticket",), Done),
    (("reset", "power-cycle"), Failed),
    (("reboot",), Failed),
]


@pytest.mark.parametrize(("ladder", "kind"), LADDERS)
def test_a_node_that_is_not_ready_goes_on_to_power_once_every_pod_was_told_to_end(
    ladder: tuple[str, ...], kind: type
) -> None:
    lost = a_pod("lost", deleted_at=at(1))
    operation = remembering(an_operation(ladder=ladder, at_step="drain"))
    waiting = judged(lost, operation=operation, now=at(2), ready=False)
    assert isinstance(waiting, Wait)
    assert waiting.memo == {DARK_SINCE: at(2).isoformat()}
    operation = remembering(an_operation(ladder=ladder, at_step="drain"), **waiting.memo)
    before = judged(lost, operation=operation, now=at(11, seconds=55), ready=False)
    assert isinstance(before, Wait)
    assert before.after == timedelta(seconds=5)
    told = judged(lost, operation=operation, now=at(12), ready=False)
    assert isinstance(told, kind)
    assert told.reason.startswith("gpu-a01 has not been Ready for 10 min, so nobody can say whether ml/lost has ended")


@pytest.mark.parametrize(
    "other",
    [
        a_pod("refused"),
        a_pod("job", annotations=MARKED),
        a_pod("notebook", controller_kind=""),
        a_pod("cache", empty_dirs=("scratch",)),
        a_pod("slow", deleted_at=at(hours=1)),
    ],
)
def test_a_node_that_is_not_ready_is_never_powered_off_under_a_pod_that_may_still_work(other: PodView) -> None:
    operation = remembering(
        an_operation(ladder=("power-cycle",), at_step="drain"),
        **{DARK_SINCE: at(1).isoformat()},
        **refused(other, at(99)),
    )
    told = judged(a_pod("lost", deleted_at=at(1)), other, operation=operation, now=at(40), ready=False)
    assert isinstance(told, Wait | NeedsHuman)


def test_a_node_that_is_ready_again_starts_its_darkness_anew() -> None:
    operation = remembering(an_operation(ladder=("power-cycle",), at_step="drain"), **{DARK_SINCE: at(1).isoformat()})
    told = judged(a_pod(deleted_at=at(1)), operation=operation, now=at(40))
    assert isinstance(told, Wait)
    assert told.memo == {DARK_SINCE: ""}
    operation = remembering(operation, **told.memo)
    told = judged(a_pod(deleted_at=at(1)), operation=operation, now=at(41), ready=False)
    assert isinstance(told, Wait)
    assert told.memo == {DARK_SINCE: at(41).isoformat()}


def test_a_worker_leaves_its_own_pod_to_another_worker() -> None:
    own, other = a_pod("worker-1", namespace="sickbay"), a_pod()
    assert evicted(judged(own, other, own=own.uid)) == [other.uid]
    waiting = judged(own, a_pod(deleted_at=at(9)), own=own.uid)
    assert isinstance(waiting, Wait)
    told = judged(own, own=own.uid)
    assert isinstance(told, Wait)
    assert told.after <= timedelta(seconds=5)
    assert told.reason.startswith(
        "sickbay/worker-1 is the worker that carries out this drain: it leaves its own eviction"
    )
    assert evicted(judged(own, own="uid-of-another-worker")) == [own.uid]
    assert isinstance(judged(own, own=own.uid, now=at(120)), NeedsHuman)


def test_a_drain_looks_at_the_daemon_sets_and_at_its_own_pod() -> None:
    cluster = FakeCluster(nodes=1)
    pod = cluster.add_pod("gpu-a01", "left", controller_kind="DaemonSet", controller_name="deleted")
    cluster.pods.deleted_daemon_sets.add("deleted")
    cluster.pods.own_pod = "uid-own"
    node = cluster.nodes.get("gpu-a01")
    assert node is not None

    seen = Drain().look(DRAINING, node, cluster.ports)

    assert (seen.orphans, seen.own) == (frozenset({pod.uid}), "uid-own")
    told = Drain().judge(DRAINING, seen, a_policy(), at(1))
    assert isinstance(told, NeedsHuman)
    assert told.asks == BARE_PODS
