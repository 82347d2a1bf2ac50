"""The RQ jobs: advance operations, place alerts, reopen lost records. Their names are stored in queues, so they stay.

A job is a hint (P5): it may be lost, run twice or die midway, and the record says what is left to do. Its arguments
are ids only.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import structlog
from rq import get_current_job

from app.errors import SickbayError
from app.queue import URGENT
from workers import lost_records
from workers.wiring import Wiring, own_wiring

log = structlog.get_logger("sickbay.jobs")

THREADS = 4
"""Operations that one job advances side by side: the API server is the limit, and more only queue up there."""


def advance(ids: list[str]) -> None:
    """Do all that can be done now for these operations.

    From the urgent queue only what keeps new work away: the rest goes to the steady queue, so that in a storm every
    cordon comes before any drain.
    """
    wiring = own_wiring()
    job = get_current_job()
    _advance(wiring, ids, only_urgent=job is not None and job.origin == URGENT)


def place(pending: list[str]) -> None:
    """Find the node of alerts that the inventory did not know, from fresh reads; what has none is noted."""
    wiring = own_wiring()
    inventory = wiring.ports.places.inventory()
    opened = set()
    for each in pending:
        try:
            taken = wiring.intake.place_pending(each, inventory, wiring.clock())
        except SickbayError as error:  # it waits on; its siblings do not wait with it
            log.warning("not placed", pending=each, reason=str(error))
            continue
        if taken is not None and taken.operation and taken.urgent:
            opened.add(taken.operation)
    _advance(wiring, sorted(opened), only_urgent=True)


def reopen(nodes: list[str]) -> None:
    """Open the record anew of nodes that carry our mark while no operation is open on them."""
    wiring = own_wiring()
    for node in nodes:
        try:
            lost_records.reopen(node, wiring.store, wiring.ports.nodes, wiring.policy, wiring.clock())
        except SickbayError as error:  # the watch finds it again
            log.warning("not opened anew", node=node, reason=str(error))


def _advance(wiring: Wiring, ids: list[str], *, only_urgent: bool) -> None:
    def one(operation_id: str) -> bool:
        return wiring.engine.advance(operation_id, only_urgent=only_urgent)

    if len(ids) == 1:
        unfinished = [each for each in ids if one(each)]
    else:
        with ThreadPoolExecutor(THREADS, thread_name_prefix="advance") as threads:
            unfinished = [each for each, more in zip(ids, threads.map(one, ids), strict=True) if more]
    if unfinished:
        wiring.queues.advance(unfinished)
