"""The commit by which an alert opens an operation on its node."""

from __future__ import annotations

import secrets
from typing import Final

from app.cases import Case
from app.domain.breaker import Breaker, fell_ill
from app.domain.folding import open_repair
from app.domain.operations import NodeRef, Operation
from app.domain.placement import KnownNode
from app.domain.timeline import Entry
from app.domain.triage import Decision
from app.store import Change, FellIll

_ID_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz234567"


def opening(case: Case, node: KnownNode, pool: str, rules: Breaker) -> Change:
    """A new repair for the fault of this alert, by those rules of the breaker."""
    operation, entries = open_repair(
        case.triage.fault(case.alert, node.name),
        id=new_operation_id(),
        node=NodeRef(name=node.name, uid=node.uid),
        pool=pool,
        ladder=case.triage.ladder,
        now=case.now,
    )
    ill = fell_ill(node.name, node.labels, code=case.triage.code or "", at=case.now)
    opened = FellIll(opened=ill, rules=rules)
    return change_of(case, operation, 0, entries, case.reason, decision=Decision.REPAIR, ill=opened)


def change_of(
    case: Case,
    operation: Operation,
    expected: int,
    entries: tuple[Entry, ...],
    reason: str,
    *,
    decision: Decision,
    ill: FellIll | None = None,
) -> Change:
    """The operation as this alert leaves it, with all that is kept of the alert."""
    if case.alert.remarks and decision is Decision.REPAIR:
        remarks = "; ".join(case.alert.remarks)
        entries = (*entries, Entry(case.now, "alert", f"Of this alert: {remarks}."))
    node = operation.node.name
    return Change(
        operation=operation,
        expected_version=expected,
        now=case.now,
        entries=entries,
        occurrence=case.alert.occurrence,
        pending_id=case.pending,
        alert=case.record(decision, reason, node=node, operation=operation.id),
        history=case.rows(node=node, operation=operation.id),
        ill=ill,
    )


def new_operation_id() -> str:
    """`op-` and 8 letters or digits of base 32: short enough to say aloud, and fit for names and labels."""
    return "op-" + "".join(secrets.choice(_ID_LETTERS) for _ in range(8))
