"""What one GPU has been through, on whichever node: a row per occurrence, kept under its serial."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.domain.faults import Fault, Gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """One fault of one card. `class_` is what the catalogue says of the code; `operation` is empty if none followed.

    `own_act` names the step of that operation that brought the fault about (a stress test, a reset), empty for a fault
    that came by itself: such a row is told and held against nobody.
    """

    gpu: Gpu
    node: str
    code: str
    class_: str
    at: datetime
    evidence: str
    operation: str = ""
    own_act: str = ""


def row_of(fault: Fault, *, class_: str, operation: str = "", own_act: str = "") -> HistoryRow | None:
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
        own_act=own_act,
    )
