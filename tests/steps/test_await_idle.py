from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from app.domain.facts import PodView
from app.domain.idleness import NOT_IDLE
from app.domain.operations import Operation
from app.domain.outcomes import Done, NeedsHuman, Outcome, Wait
from app.domain.policies import Then, When
from tests.building import a_fault, a_node, a_pod, a_policy, an_operation, at, remembering, rungs
from tests.fakes import FakeCluster
from workers.steps.await_idle import AwaitIdle, Work


def waiting(then: Then = Then.HOLD, **fields: object) -> Operation:
    ladder = rungs("reset", when=When.IDLE, deadline=timedelta(hours=2), then=then)
    return replace(remembering(an_operation(a_fault("xid-48"), ladder=ladder)), **fields)  # type: ignore[arg-type]


def judged(*holders: PodView, operation: Operation | None = None, now: datetime | None = None) -> Outcome:
    return AwaitIdle().judge(operation or waiting(), Work(a_node(), holders), a_policy(), now or at(1))


BUSY = a_pod(gpus=8)


@pytest.mark.parametrize("minutes", [1, 600])
def test_an_idle_node_is_repaired_at_once(minutes: float) -> None:
    assert judged(now=at(minutes)) == Done("No pod holds a GPU of gpu-a01: the repair begins.")


def test_work_is_waited_for_until_the_deadline_and_named() -> None:
    pods = [a_pod(f"train-{number}", gpus=1) for number in range(7)]
    told = judged(*pods, now=at(119))
    assert told == Wait(
        "Waits until gpu-a01 is idle, for 2 h at most: ml/train-0, ml/train-1, ml/train-2, ml/train-3, ml/train-4.",
        after=timedelta(minutes=1),
    )


def test_at_the_deadline_a_person_is_asked_or_the_node_drained_as_policy_says() -> None:
    assert judged(BUSY, now=at(120)) == NeedsHuman(
        "gpu-a01 was not idle within 2 h: approve its drain, or cancel.", asks=NOT_IDLE
    )
    assert judged(BUSY, operation=waiting(Then.DRAIN), now=at(120)) == Done(
        "gpu-a01 was not idle within 2 h; by policy it is drained now."
    )


@pytest.mark.parametrize("minutes", [1, 600])
def test_a_person_may_go_on_although_it_is_busy(minutes: float) -> None:
    told = judged(BUSY, operation=waiting(approvals=(NOT_IDLE,)), now=at(minutes))
    assert told == Done("A person approved going on although 1 pod still works.")


def test_a_wait_whose_deadline_was_never_planned_lasts_a_day_and_then_asks() -> None:
    bare = waiting()
    bare = replace(bare, plan=(replace(bare.plan[0], memo={}), *bare.plan[1:]))
    assert isinstance(judged(BUSY, operation=bare, now=at(hours=23)), Wait)
    assert isinstance(judged(BUSY, operation=bare, now=at(hours=24)), NeedsHuman)


def test_only_pods_that_hold_gpus_and_have_not_finished_keep_a_node_busy() -> None:
    cluster = FakeCluster(nodes=2)
    node = cluster.ports.nodes.get("gpu-a01")
    assert node is not None
    holder = cluster.add_pod("gpu-a01", "train-0", gpus=1)
    cluster.add_pod("gpu-a01", "web-0")
    cluster.add_pod("gpu-a01", "over-0", gpus=1, phase="Succeeded")
    cluster.add_pod("gpu-a01", "over-1", gpus=1, phase="Failed")
    cluster.add_pod("gpu-a02", "train-1", gpus=1)
    assert AwaitIdle().look(waiting(), node, cluster.ports).holders == (holder,)
