"""What one GPU has been through, on whichever node: a row per occurrence, kept under its serial."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.domain.faults import Fault, Gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """One fault of one card. `class_` is what the catalogue says of the code; `operation` is empty if none followed."""

    gpu: Gpu
    node: str
    code: str
    class_: str
    at: datetime
    evidence: str
    operation: str = ""


def row_of(fault: Fault, *, class_: str, operation: str = "") -> HistoryRow | None:
    """The row for this fault, None when no card is known by serial or UUID: strangers must not share a history."""
    if fault.gpu is None or fault.gpu.key is None:
        return None
    return HistoryRow(
        gpu=fault.gpu,
        node=fault.node,
        code=fault.code,
        class_=class_,
        at=fault.at,
        evidence=fault.evidence,
        operation=operation,
    )
