"""What the step `evidence` noted of an operation's node: after the cordon, and before any pod is moved."""

from __future__ import annotations

from app.domain.operations import Operation


def gpus_noted(operation: Operation) -> int:
    """How many GPUs the node has when it is well, as its capacity and labels told then; 0 when that was not noted."""
    evidence = operation.last("evidence")
    told = evidence.memo.get("gpus", "") if evidence else ""
    return int(told) if told.isdecimal() else 0
