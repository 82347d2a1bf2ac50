from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.domain.effects import EvictPod
from app.domain.facts import NodeView, PodView
from app.domain.guards import Hurts
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, Outcome, Wait
from app.domain.refusals import refusal_key
from tests.building import a_fault, a_node, a_pod, a_policy, an_operation, at, remembering
from workers.steps.restart_plugin import Plugin, RestartPlugin

TO_DO = an_operation(a_fault("xid-31"), ladder=("restart-plugin",), at_step="restart-plugin")
ASKED = remembering(TO_DO, asked="uid-plugin-1")
ILL = a_node(gpu_allocatable=7)


def a_plugin(name: str = "plugin-1", **fields: Any) -> PodView:
    return a_pod(name, namespace="gpu-operator", controller_kind="DaemonSet", **fields)


def judged(node: NodeView, *pods: PodView, operation: Operation = ASKED, now: datetime | None = None) -> Act | Outcome:
    return RestartPlugin().judge(operation, Plugin(node, pods), a_policy(), now or at(1))


def test_the_plugin_that_runs_is_evicted_and_remembered_by_uid() -> None:
    told = judged(ILL, a_plugin(), operation=TO_DO)
    assert told == Act(
        (EvictPod(key="op-1/evict/uid-plugin-1", namespace="gpu-operator", name="plugin-1", uid="uid-plugin-1"),),
        "Restarts the device plugin of gpu-a01.",
        {"asked": "uid-plugin-1"},
    )
    assert RestartPlugin.hurts is Hurts.NEW_WORK


def test_without_a_plugin_there_is_nothing_to_restart() -> None:
    assert judged(ILL, operation=TO_DO) == Failed("No device plugin runs on gpu-a01 that could be restarted.")


def test_a_worker_that_died_before_the_eviction_asks_again() -> None:
    assert isinstance(judged(ILL, a_plugin()), Act)


@pytest.mark.parametrize(
    ("node", "pods", "minutes", "outcome", "reason"),
    [
        (a_node(), [a_plugin("plugin-2")], 1, Done, "The device plugin restarted: all 8 GPUs are allocatable."),
        (a_node(), [], 1, Done, "The device plugin restarted: all 8 GPUs are allocatable."),
        # The old pod still ends: what it offered is not yet what its successor offers.
        (a_node(), [a_plugin(deleted_at=at(2))], 1, Wait, "Waits for the device plugin of gpu-a01 to offer"),
        (ILL, [a_plugin("plugin-2")], 9.9, Wait, "Waits for the device plugin of gpu-a01 to offer all its GPUs again."),
        (
            ILL,
            [a_plugin("plugin-2")],
            10,
            Failed,
            "The device plugin of gpu-a01 was restarted: 7 of 8 GPUs are allocatable.",
        ),
        (
            a_node(gpu_capacity=0, gpu_allocatable=0),
            [a_plugin("plugin-2")],
            10,
            Failed,
            "The device plugin of gpu-a01 was restarted: 0 of 0 GPUs are allocatable.",
        ),
        (ILL, [a_plugin()], 10, Failed, "The device plugin of gpu-a01 could not be restarted: 7 of 8"),
    ],
)
def test_a_restart_is_done_when_every_gpu_is_allocatable_and_failed_at_its_deadline(
    node: NodeView, pods: list[PodView], minutes: float, outcome: type[Outcome], reason: str
) -> None:
    told = judged(node, *pods, now=at(minutes))
    assert isinstance(told, outcome)
    assert told.reason.startswith(reason)


def test_a_refused_eviction_is_not_asked_again_before_its_time() -> None:
    refused = remembering(
        TO_DO, asked="uid-plugin-1", **{refusal_key("uid-plugin-1"): f"{at(2).isoformat()} Budget x does not allow it."}
    )
    assert judged(ILL, a_plugin(), operation=refused) == Wait(
        "Waits to restart the device plugin of gpu-a01: Budget x does not allow it.", after=timedelta(seconds=30)
    )
    assert isinstance(judged(ILL, a_plugin(), operation=refused, now=at(2)), Act)


def test_a_step_that_was_not_begun_is_never_late() -> None:
    waiting = replace(ASKED, plan=tuple(replace(step, started_at=None) for step in ASKED.plan))
    assert isinstance(judged(ILL, a_plugin("plugin-2"), operation=waiting, now=at(600)), Wait)
