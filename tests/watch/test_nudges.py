"""Which changes are worth a look, as a table of before and after."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.domain.facts import NodeView
from app.domain.marks import ANNOTATION, cordon_patch, shown_patch
from app.domain.operations import State
from tests.building import patched
from workers.watch.nudges import Nudge, of_node, of_node_job, of_pod
from workers.watch.seen import SeenNodeJob, SeenPod

NODE = NodeView(
    name="gpu-a01", uid="u1", resource_version="1", boot_id="b1", gpu_capacity=8, gpu_allocatable=8, labels={"a": "1"}
)
POD = SeenPod(namespace="train", name="llama-0", uid="p1", node="gpu-a01")
JOB = SeenNodeJob(name="op-1-reboot", uid="j1", node="gpu-a01")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"uid": "u2", "ready": False}, "another machine has its name"),
        ({"ready": False}, "it is not Ready any more"),
        ({"boot_id": "b2"}, "its boot id changed"),
        ({"unschedulable": True}, "it was cordoned"),
        ({"annotations": {ANNOTATION: "{}"}}, "its mark changed"),
        ({"labels": {"a": "1", "sickbay/exclude": "true"}}, "label sickbay/exclude changed"),
        (
            {"labels": {"a": "1", "nvidia.com/gpu-driver-upgrade-state": "drain-required"}},
            "label nvidia.com/gpu-driver-upgrade-state changed",
        ),
        ({"gpu_allocatable": 7}, "7 of 8 GPUs are allocatable"),
        ({"gpu_capacity": 0, "gpu_allocatable": 0}, "0 of 0 GPUs are allocatable"),
        ({"ready": False, "boot_id": "b2"}, "it is not Ready any more, its boot id changed"),
    ],
)
def test_a_change_that_a_step_may_wait_for_nudges(change: dict[str, Any], why: str) -> None:
    assert of_node(NODE, replace(NODE, **change)) == Nudge("gpu-a01", why)


def test_the_way_back_nudges_too() -> None:
    out = replace(NODE, ready=False, unschedulable=True)

    assert of_node(out, NODE) == Nudge("gpu-a01", "it is Ready, it was uncordoned")


@pytest.mark.parametrize(
    "change",
    [{"resource_version": "2"}, {"labels": {"a": "2"}}, {"annotations": {"else": "x"}}, {"addresses": ("10.0.0.1",)}],
)
def test_a_change_that_nobody_waits_for_does_not(change: dict[str, Any]) -> None:
    assert of_node(NODE, replace(NODE, **change)) is None


def test_the_step_that_we_write_into_our_own_mark_does_not_and_another_operation_in_it_does() -> None:
    held = patched(NODE, cordon_patch(NODE, "op-1"))
    shown = shown_patch(held, "op-1", State.WAITING, "reboot")
    assert shown is not None

    assert of_node(held, patched(held, shown)) is None
    assert of_node(held, patched(held, cordon_patch(held, "op-2"))) == Nudge("gpu-a01", "its mark changed")
    gone = patched(held, {"metadata": {"annotations": {ANNOTATION: None}}})
    assert of_node(held, gone) == Nudge("gpu-a01", "its mark changed")


def test_joining_and_leaving_nudge() -> None:
    assert of_node(None, NODE) == Nudge("gpu-a01", "it has joined")
    assert of_node(NODE, None) == Nudge("gpu-a01", "it was deleted")
    assert of_node(None, None) is None


def test_a_node_without_gpus_never_nudges() -> None:
    plain = replace(NODE, gpu_capacity=0, gpu_allocatable=0)

    assert of_node(plain, replace(plain, ready=False)) is None
    assert of_node(None, plain) is None


def test_a_node_whose_gpus_are_all_gone_is_still_a_gpu_node() -> None:
    bare = replace(NODE, gpu_capacity=0, gpu_allocatable=0, labels={"nvidia.com/gpu.present": "true"})

    assert of_node(bare, replace(bare, ready=False)) == Nudge("gpu-a01", "it is not Ready any more")


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (POD, replace(POD, going=True), "pod train/llama-0 is told to end"),
        (POD, None, "pod train/llama-0 is gone"),
        (replace(POD, going=True), None, "pod train/llama-0 is gone"),
        (POD, replace(POD, over=True), "pod train/llama-0 has finished"),
    ],
)
def test_a_pod_on_its_way_out_nudges(before: SeenPod, after: SeenPod | None, why: str) -> None:
    assert of_pod(before, after) == Nudge("gpu-a01", why)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, POD),
        (None, None),
        (POD, POD),
        (replace(POD, going=True), replace(POD, going=True)),
        (replace(POD, over=True), None),
        (replace(POD, over=True), replace(POD, over=True, going=True)),
    ],
)
def test_a_pod_that_changes_nothing_for_a_drain_does_not(before: SeenPod | None, after: SeenPod | None) -> None:
    assert of_pod(before, after) is None


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (JOB, replace(JOB, ended=True), "node job op-1-reboot has ended"),
        (None, replace(JOB, ended=True), "node job op-1-reboot has ended"),
        (JOB, None, "node job op-1-reboot was deleted"),
    ],
)
def test_a_node_job_that_is_over_nudges(before: SeenNodeJob | None, after: SeenNodeJob | None, why: str) -> None:
    assert of_node_job(before, after) == Nudge("gpu-a01", why)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, JOB),
        (JOB, JOB),
        (replace(JOB, ended=True), replace(JOB, ended=True)),
        (replace(JOB, ended=True), None),
        (None, None),
    ],
)
def test_a_node_job_that_runs_or_is_cleared_away_does_not(
    before: SeenNodeJob | None, after: SeenNodeJob | None
) -> None:
    assert of_node_job(before, after) is None
