"""What an operation noted of its node before anything was changed on it."""

from __future__ import annotations

from app.domain.operations import Operation


def gpus_noted(operation: Operation) -> int:
    """How many GPUs the node had when the operation began, 0 when that was not noted."""
    evidence = operation.last("evidence")
    told = evidence.memo.get("gpus", "") if evidence else ""
    return int(told) if told.isdecimal() else 0
