from __future__ import annotations

import pytest

from app.domain.facts import NodeView, PodView
from app.domain.gpu_counts import COUNT, PRODUCT
from app.domain.outcomes import Done
from tests.building import a_node, a_pod, a_policy, an_operation, at
from workers.steps.evidence import Evidence, Seen


def noted(node: NodeView, *pods: PodView, when_well: int | None = 8) -> Done:
    told = Evidence().judge(an_operation(at_step="evidence"), Seen(node, pods, when_well), a_policy(), at(1))
    assert isinstance(told, Done)
    return told


def test_boot_gpus_and_pods_are_noted_before_anything_is_changed() -> None:
    told = noted(a_node(gpu_allocatable=7), a_pod(), a_pod("dcgm", controller_kind="DaemonSet"))
    assert told.reason == "Evidence noted: 7 of 8 GPUs allocatable, 1 pod at work (ml/train-0), Ready."
    assert told.memo == {"gpus": "8", "cards": "8", "boot_id": "b-111", "pods": "ml/train-0"}


def test_an_idle_node_that_is_down_is_evidence_too() -> None:
    told = noted(a_node(ready=False, boot_id="", gpu_allocatable=0))
    assert told.reason == "Evidence noted: 0 of 8 GPUs allocatable, 0 pods at work, not Ready."


def test_many_pods_are_noted_by_the_first_few() -> None:
    told = noted(a_node(), *(a_pod(f"p{number}") for number in range(300)))
    assert "300 pods at work (ml/p0, ml/p1, " in told.reason
    assert told.reason.endswith("ml/p7, …), Ready.")
    assert len(told.memo["pods"]) < 200
    eight = noted(a_node(), *(a_pod(f"p{number}") for number in range(8)))
    assert eight.reason.endswith("ml/p7), Ready.")


@pytest.mark.parametrize(
    ("capacity", "label", "gpus"),
    [(8, None, "8"), (7, "8", "8"), (8, "7", "8"), (0, "8", "8"), (8, "eight", "8"), (0, None, "0")],
)
def test_a_lost_gpu_does_not_lower_what_the_node_must_have_again(capacity: int, label: str | None, gpus: str) -> None:
    labels = {COUNT: label} if label else {}
    assert noted(a_node(gpu_capacity=capacity, labels=labels), when_well=None).memo["gpus"] == gpus


def test_work_that_is_ending_or_has_no_controller_is_work_all_the_same() -> None:
    told = noted(a_node(), a_pod("notebook", controller_kind=""), a_pod(deleted_at=at(9)))
    assert "2 pods at work (ml/train-0, ml/notebook)" in told.reason


def test_what_a_node_had_while_it_was_well_counts_and_never_having_seen_it_so_is_said() -> None:
    broken, at_evidence = a_node(gpu_capacity=7, gpu_allocatable=7), an_operation(at_step="evidence")
    known = Evidence().judge(at_evidence, Seen(broken, (), 8), a_policy(), at(1))
    assert isinstance(known, Done)
    assert (known.memo["gpus"], known.reason) == (
        "8",
        "Evidence noted: 7 of 8 GPUs allocatable, 0 pods at work, Ready.",
    )
    unknown = Evidence().judge(at_evidence, Seen(broken, ()), a_policy(), at(1))
    assert isinstance(unknown, Done)
    assert unknown.memo["gpus"] == "7"
    assert unknown.reason.endswith("How many GPUs it has when it is well was never seen: what shows now counts.")


@pytest.mark.parametrize(
    ("product", "label", "when_well", "cards"),
    [
        ("NVIDIA-H100-80GB-HBM3-SHARED", "8", None, "8"),
        ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "56", None, "0"),
        ("NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", "56", 8, "8"),
    ],
)
def test_parts_of_gpus_are_offered_again_and_are_no_gpus(
    product: str, label: str, when_well: int | None, cards: str
) -> None:
    node = a_node(gpu_capacity=56, gpu_allocatable=56, labels={PRODUCT: product, COUNT: label})
    told = noted(node, when_well=when_well)
    assert (told.memo["gpus"], told.memo["cards"]) == ("56", cards)
