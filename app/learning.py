"""What a proof has learned, as the commit of its outcome stores it beside the operation."""

from __future__ import annotations

from datetime import datetime

from app.domain.operations import Operation
from app.domain.outcomes import Learned
from app.store import Baseline


def cards_by_both_names(operation: Operation) -> tuple[tuple[str, str], ...]:
    """UUID and serial of each card of its faults that is known by both: their histories are one from now on."""
    cards = dict.fromkeys(fault.gpu for fault in operation.faults if fault.gpu)
    return tuple((card.uuid, card.serial) for card in cards if card.uuid and card.serial)


def measured(operation: Operation, learned: Learned, at: datetime) -> Baseline | None:
    """What peers will be compared with, None when nothing was measured."""
    if learned.bus_bandwidth is None or not learned.baseline:
        return None
    return Baseline(key=learned.baseline, node=operation.node.name, gb_s=learned.bus_bandwidth, at=at)
