"""How many GPUs a node has when it is well, told from looks at it while it was: a lost one must not lower the count.

Once a GPU is gone and the node has booted, capacity and labels show the smaller number as if it had always been so.
"""

from __future__ import annotations

from app.domain.facts import NodeView

MIG_CONFIG, PRODUCT = "nvidia.com/mig.config", "nvidia.com/gpu.product"
COUNT = "nvidia.com/gpu.count"
"""GPU Feature Discovery's count of GPUs; where all of them are cut alike by MIG, of their slices instead."""


def gpus_if_well(node: NodeView) -> int | None:
    """The node's GPUs if this look at it may count: Ready, taking work, and with all that it has on offer.

    None where `nvidia.com/gpu` counts slices or shares of GPUs, whose number changes with a label.
    """
    if offers_parts(node) or not node.ready or node.unschedulable:
        return None
    return node.gpu_capacity if node.gpu_allocatable >= node.gpu_capacity > 0 else None


def offers_parts(node: NodeView) -> bool:
    """Whether its capacity counts slices or shares of GPUs, and so says nothing of how many GPUs there are."""
    product = node.labels.get(PRODUCT, "")
    cut = node.labels.get(MIG_CONFIG, "all-disabled") != "all-disabled" or "-MIG-" in product
    return cut or "-SHARED" in product


def cards(node: NodeView) -> int:
    """How many GPUs its labels and capacity tell of, 0 when they tell of none, or of parts alone."""
    told = node.labels.get(COUNT, "")
    labelled = int(told) if told.isdecimal() and "-MIG-" not in node.labels.get(PRODUCT, "") else 0
    return labelled if offers_parts(node) else max(node.gpu_capacity, labelled)
