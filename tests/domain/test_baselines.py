from __future__ import annotations

from app.domain.baselines import PRODUCT_LABEL, baseline_key
from tests.building import a_node


def test_nodes_are_compared_within_pool_product_and_count() -> None:
    h100 = a_node(labels={PRODUCT_LABEL: "NVIDIA-H100-80GB-HBM3"})
    assert baseline_key(h100, "train") == "train/NVIDIA-H100-80GB-HBM3/8"
    assert baseline_key(a_node(gpu_capacity=4), "train") == "train/unknown/4"
