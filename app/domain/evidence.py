"""What the step `evidence` noted of an operation's node: after the cordon, and before any pod is moved."""

from __future__ import annotations

from app.domain.operations import Operation


def gpus_noted(operation: Operation) -> int:
    """How many `nvidia.com/gpu` the node offers when it is well, as it told then; 0 when that was not noted.

    They are parts of GPUs where the node offers those.
    """
    return _noted(operation, "gpus") or 0


def cards_noted(operation: Operation) -> int:
    """How many GPUs the node has when it is well, as it told then; 0 when that was not noted, or could not be told."""
    cards = _noted(operation, "cards")
    return gpus_noted(operation) if cards is None else cards


def _noted(operation: Operation, key: str) -> int | None:
    evidence = operation.last("evidence")
    told = evidence.memo.get(key, "") if evidence else ""
    return int(told) if told.isdecimal() else None
