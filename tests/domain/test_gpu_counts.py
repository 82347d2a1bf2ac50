from __future__ import annotations

import pytest

from app.domain.facts import NodeView
from app.domain.gpu_counts import COUNT, MIG_CONFIG, PRODUCT, cards, gpus_if_well
from tests.building import a_node


@pytest.mark.parametrize(
    ("node", "gpus"),
    [
        (a_node(), 8),
        (a_node(labels={MIG_CONFIG: "all-disabled", PRODUCT: "NVIDIA-H100-80GB-HBM3"}), 8),
        (a_node(gpu_allocatable=7), None),
        (a_node(gpu_capacity=0, gpu_allocatable=0), None),
        (a_node(ready=False), None),
        (a_node(unschedulable=True), None),
        (a_node(labels={MIG_CONFIG: "all-1g.10gb"}, gpu_capacity=56, gpu_allocatable=56), None),
        (a_node(labels={PRODUCT: "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"}), None),
        (a_node(labels={PRODUCT: "Tesla-T4-SHARED"}), None),
    ],
)
def test_only_a_look_at_a_node_that_is_well_and_whole_counts_its_gpus(node: NodeView, gpus: int | None) -> None:
    assert gpus_if_well(node) == gpus


@pytest.mark.parametrize(
    ("labels", "count"),
    [
        ({}, 56),
        ({COUNT: "8"}, 56),
        ({COUNT: "64"}, 64),
        ({PRODUCT: "Tesla-T4-SHARED", COUNT: "8"}, 8),
        ({PRODUCT: "Tesla-T4-SHARED"}, 0),
        ({PRODUCT: "Tesla-T4-SHARED", COUNT: "eight"}, 0),
        ({MIG_CONFIG: "all-balanced", COUNT: "8"}, 8),
        ({MIG_CONFIG: "all-1g.10gb", PRODUCT: "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", COUNT: "56"}, 0),
    ],
)
def test_slices_and_shares_are_no_gpus(labels: dict[str, str], count: int) -> None:
    assert cards(a_node(gpu_capacity=56, gpu_allocatable=56, labels=labels)) == count
