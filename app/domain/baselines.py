"""What a node is compared with: peers of the same pool with the same GPUs, measured the same way."""

from __future__ import annotations

from app.domain.facts import NodeView

PRODUCT_LABEL = "nvidia.com/gpu.product"


def baseline_key(node: NodeView, pool: str) -> str:
    """Pool, GPU product and GPU count: nodes that share it should measure alike."""
    return f"{pool}/{node.labels.get(PRODUCT_LABEL, 'unknown')}/{node.gpu_capacity}"
