"""How many GPUs a node has when it is well, told from looks at it while it was: a lost one must not lower the count.

Once a GPU is gone and the node has booted, capacity and labels show the smaller number as if it had always been so.
"""

from __future__ import annotations

from app.domain.facts import NodeView

MIG_CONFIG, PRODUCT = "nvidia.com/mig.config", "nvidia.com/gpu.product"


def gpus_if_well(node: NodeView) -> int | None:
    """The node's GPUs if this look at it may count: Ready, taking work, and with all that it has on offer.

    None where `nvidia.com/gpu` counts slices or shares of GPUs, whose number changes with a label.
    """
    product = node.labels.get(PRODUCT, "")
    sliced = node.labels.get(MIG_CONFIG, "all-disabled") != "all-disabled" or "-MIG-" in product or "-SHARED" in product
    if sliced or not node.ready or node.unschedulable:
        return None
    return node.gpu_capacity if node.gpu_allocatable >= node.gpu_capacity > 0 else None
