from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from app.domain.effects import PatchNode
from app.domain.facts import NodeView, PodView
from app.domain.marks import DEPLOY_LABELS
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, Outcome, Wait
from tests.building import GPU_LABEL, a_fault, a_node, a_pod, a_policy, an_operation, at, patched, remembering
from workers.steps.pause_operands import Holders, PauseOperands, is_operand
from workers.steps.restore_operands import RestoreOperands

FAULT = a_fault("xid-48")
TO_PAUSE = an_operation(FAULT, ladder=("reset",), at_step="pause-operands")
PAUSING = remembering(TO_PAUSE)
TO_RESTORE = an_operation(FAULT, ladder=("reset",), at_step="restore-operands")
RESTORING = remembering(TO_RESTORE)
RUNNING = a_node(labels={**GPU_LABEL, **dict.fromkeys(DEPLOY_LABELS, "true")})
PAUSED = a_node(labels={**GPU_LABEL, **DEPLOY_LABELS})


def an_operand(name: str = "nvidia-dcgm-exporter") -> PodView:
    return a_pod(f"{name}-x1", namespace="gpu-operator", controller_kind="DaemonSet", controller_name=name)


def paused(
    node: NodeView, *pods: PodView, operation: Operation = PAUSING, now: datetime | None = None
) -> Act | Outcome:
    return PauseOperands().judge(operation, Holders(node, pods), a_policy(), now or at(1))


def restored(node: NodeView, *, operation: Operation = RESTORING, now: datetime | None = None) -> Act | Outcome:
    return RestoreOperands().judge(operation, node, a_policy(), now or at(1))


def the_patch(told: Act | Outcome) -> PatchNode:
    assert isinstance(told, Act)
    (patch,) = told.effects
    assert isinstance(patch, PatchNode)
    return patch


def test_what_holds_the_gpus_open_is_paused_by_its_labels_in_one_patch() -> None:
    told = paused(RUNNING, an_operand(), operation=TO_PAUSE)
    patch = the_patch(told)
    assert patched(RUNNING, dict(patch.body)) == PAUSED
    assert (patch.uid, patch.resource_version) == ("uid-1", "7")
    assert isinstance(told, Act)
    assert told.reason == "Pauses device-plugin, dcgm, dcgm-exporter, gpu-feature-discovery on gpu-a01."


def test_an_operand_that_the_site_has_switched_off_stays_off() -> None:
    node = replace(RUNNING, labels={**RUNNING.labels, "nvidia.com/gpu.deploy.dcgm": "false"})
    after = patched(node, dict(the_patch(paused(node)).body))
    assert after.labels["nvidia.com/gpu.deploy.dcgm"] == "false"


def test_the_reset_begins_when_no_operand_is_left() -> None:
    assert paused(PAUSED) == Done("4 operands paused: nothing of the GPU Operator holds the GPUs.")
    assert paused(a_node()) == Done("0 operands paused: nothing of the GPU Operator holds the GPUs.")
    assert paused(PAUSED, an_operand()) == Wait("Waits for 1 operand to leave gpu-a01.")
    assert paused(PAUSED, an_operand(), operation=TO_PAUSE, now=at(60)) == Wait("Waits for 1 operand to leave gpu-a01.")


def test_operands_that_do_not_leave_or_are_not_left_paused_fail_the_step_in_time() -> None:
    assert isinstance(paused(PAUSED, an_operand(), now=at(4.9)), Wait)
    assert paused(PAUSED, an_operand(), now=at(5)) == Failed(
        "gpu-operator/nvidia-dcgm-exporter-x1 did not leave gpu-a01 within 5 min."
    )
    one_back = replace(PAUSED, labels={**PAUSED.labels, "nvidia.com/gpu.deploy.dcgm": "true"})
    assert isinstance(paused(one_back, now=at(4.9)), Act)
    assert paused(one_back, now=at(5)) == Failed("Somebody keeps dcgm of gpu-a01 running: they were not paused.")
    assert isinstance(paused(PAUSED, now=at(60)), Done)


@pytest.mark.parametrize(
    ("name", "kind", "operand"),
    [
        ("nvidia-device-plugin-daemonset", "DaemonSet", True),
        ("nvidia-dcgm", "DaemonSet", True),
        ("nvidia-dcgm-exporter", "DaemonSet", True),
        ("gpu-feature-discovery", "DaemonSet", True),
        ("dcgm-exporter", "DaemonSet", True),
        ("nvidia-driver-daemonset", "DaemonSet", False),
        ("nvidia-mig-manager", "DaemonSet", False),
        ("node-exporter", "DaemonSet", False),
        ("nvidia-dcgm-exporter", "ReplicaSet", False),
        ("", "", False),
    ],
)
def test_operands_are_known_by_their_daemonsets(name: str, kind: str, operand: bool) -> None:
    assert is_operand(a_pod(controller_kind=kind, controller_name=name)) is operand


def test_operands_get_their_labels_back_in_one_patch() -> None:
    told = restored(PAUSED, operation=TO_RESTORE)
    assert patched(PAUSED, dict(the_patch(told).body)) == RUNNING
    assert isinstance(told, Act)
    assert told.reason == "Gives the operands of gpu-a01 their labels back."


@pytest.mark.parametrize("minutes", [0, 10, 600])
def test_labels_are_given_back_however_late_it_is(minutes: float) -> None:
    assert isinstance(restored(PAUSED, now=at(minutes)), Act)


@pytest.mark.parametrize(
    ("fields", "minutes", "outcome", "reason"),
    [
        ({}, 1, Done, "The operands of gpu-a01 run again and offer 8 GPUs."),
        ({"gpu_allocatable": 7}, 9.9, Wait, "Waits for the operands of gpu-a01 to offer its GPUs again."),
        # That GPUs stay away is for the proofs to find; the undo ends all the same.
        (
            {"gpu_allocatable": 7},
            10,
            Done,
            "The operands of gpu-a01 have their labels back; 7 of 8 GPUs are offered after 10 min.",
        ),
    ],
)
def test_the_undo_ends_when_the_gpus_are_offered_again_or_after_a_while(
    fields: dict[str, Any], minutes: float, outcome: type[Outcome], reason: str
) -> None:
    told = restored(replace(RUNNING, **fields), now=at(minutes))
    assert isinstance(told, outcome)
    assert told.reason == reason


def test_an_undo_that_has_not_begun_waits_however_late_the_operation_is() -> None:
    assert isinstance(restored(replace(RUNNING, gpu_allocatable=0), operation=TO_RESTORE, now=at(600)), Wait)
