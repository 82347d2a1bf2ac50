"""The domain's records as the API's JSON, described in docs/reference/http.md. A change here changes an interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from app.domain.facts import TicketRef
from app.domain.faults import Fault, Gpu
from app.domain.history import HistoryRow
from app.domain.offenders import Offenders, count, is_offender, score
from app.domain.operations import Operation, Result
from app.domain.plans.planned import PlannedStep
from app.domain.timeline import Entry
from app.offending import Card
from app.store import AlertRecord, Baseline, NodeSummary, Standing

STAGES: Final = {"repair": "repair", "burn-in": "validate", "maintain": "maintain", "retire": "retire"}
"""Where an open operation of each kind puts its node in its life."""

Shape = dict[str, Any]


def when(at: datetime | None) -> str | None:
    """RFC 3339 in UTC with microseconds."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def of_operation(
    operation: Operation, timeline: Sequence[Entry] | None = None, orders: Mapping[str, str] | None = None
) -> Shape:
    """An operation; in lists without its timeline, and without the orders that it would take."""
    shape: Shape = {
        "id": operation.id,
        "kind": operation.kind,
        "node": {"name": operation.node.name, "uid": operation.node.uid, "stage": stage(operation)},
        "state": operation.state,
        "result": operation.result,
        "reason": operation.whole_reason,
        "asks": operation.asks or None,
        "opened_at": when(operation.opened_at),
        "finished_at": when(operation.finished_at),
        "next_check_at": when(operation.next_check_at),
        "version": operation.version,
        "plan": [_of_step(step) for step in operation.plan],
        "faults": [_of_fault(fault) for fault in operation.faults],
        "ticket": _of_ticket(operation.ticket),
    }
    if orders is not None:
        shape["orders"] = dict(orders)
    return shape if timeline is None else {**shape, "timeline": [_of_entry(entry) for entry in timeline]}


def stage(operation: Operation) -> str:
    """Where the node stood in its life while this operation was open, or stands since."""
    if operation.finished:
        return "retire" if operation.result is Result.RETIRED else "ready"
    return STAGES[operation.kind]


def of_node(node: NodeSummary, operation: str | None) -> Shape:
    """A node as the watch last saw it, with the operation that is open on it."""
    return {
        "name": node.name,
        "uid": node.uid,
        "pool": node.pool,
        "ready": node.ready,
        "unschedulable": node.unschedulable,
        "marked_by_us": node.marked_by_us,
        "gpus": {"capacity": node.gpu_capacity, "allocatable": node.gpu_allocatable, "product": node.product},
        "driver_version": node.driver_version,
        "rack": node.rack,
        "zone": node.zone,
        "boot_id": node.boot_id,
        "operation": operation,
    }


def of_alert(record: AlertRecord) -> Shape:
    """One delivery and what became of it."""
    return {
        "at": when(record.at),
        "name": record.name,
        "fingerprint": record.fingerprint,
        "status": record.status,
        "decision": record.decision,
        "reason": record.reason,
        "node": record.node,
        "operation": record.operation,
    }


def of_row(row: HistoryRow) -> Shape:
    """One fault of a card."""
    return {
        "at": when(row.at),
        "gpu": of_gpu(row.gpu),
        "node": row.node or None,
        "code": row.code,
        "class": row.class_,
        "evidence": row.evidence,
        "operation": row.operation or None,
        "own_act": row.own_act or None,
    }


def of_baseline(baseline: Baseline) -> Shape:
    """What a node measured."""
    return {"key": baseline.key, "node": baseline.node, "bus_bandwidth_gb_s": baseline.gb_s, "at": when(baseline.at)}


def of_standing(standing: Standing, tripped: str | None) -> Shape:
    """Whether anything keeps all of Sickbay from acts that hurt: a person's pause, or the breaker's sentence."""
    pause = standing.pause
    told: Shape = {"paused": pause is not None, "sentence": pause and pause.sentence, "breaker": tripped}
    told["about"] = standing.about
    return told if pause is None else {**told, "actor": pause.actor, "reason": pause.reason, "at": when(pause.at)}


def of_history(gpu: Gpu, rows: Sequence[HistoryRow], rules: Offenders, now: datetime) -> Shape:
    """A card with its faults, what each adds to its score, and the sentence by which it is an offender."""
    return {
        "gpu": of_gpu(gpu),
        "score": score(rows, rules, now),
        "limit": rules.limit,
        "offender": is_offender(rows, rules, now),
        "history": [{**of_row(one.row), "weight": one.weight} for one in count(rows, rules, now)],
    }


def of_offender(card: Card) -> Shape:
    """A card in the list of those that fail often. `reason` is null while it is below the limit."""
    return {
        "gpu": of_gpu(card.gpu),
        "score": card.score,
        "faults": card.faults,
        "nodes": list(card.nodes),
        "last_at": when(card.last_at),
        "reason": card.reason,
    }


def of_gpu(gpu: Gpu | None) -> Shape | None:
    """A card as far as it is known."""
    return None if gpu is None else {"serial": gpu.serial, "uuid": gpu.uuid, "index": gpu.index}


def _of_step(step: PlannedStep) -> Shape:
    return {
        "step": step.step,
        "rung": step.rung or None,
        "state": step.state,
        "attempt": step.attempt,
        "started_at": when(step.started_at),
        "finished_at": when(step.finished_at),
        "reason": step.reason,
    }


def _of_ticket(ticket: TicketRef | None) -> Shape | None:
    return None if ticket is None else {"system": ticket.system, "key": ticket.key, "url": ticket.url or None}


def _of_fault(fault: Fault) -> Shape:
    return {
        "code": fault.code,
        "gpu": of_gpu(fault.gpu),
        "at": when(fault.at),
        "source": fault.source,
        "evidence": fault.evidence,
    }


def _of_entry(entry: Entry) -> Shape:
    return {"at": when(entry.at), "actor": entry.actor, "text": entry.text}
