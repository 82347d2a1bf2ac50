"""An operation whose record was lost, opened anew from the mark on its node: a person decides how it ends.

The mark tells whose the node is and what was there before, so it can be given back; what was done and proven it does
not tell. So nothing is repeated, and nothing is released without a person.
"""

from __future__ import annotations

import re
from datetime import datetime

from app.domain.facts import NodeView
from app.domain.marks import ANNOTATION, NOTED, NOTED_UID, Mark, read_mark
from app.domain.operations import NodeRef, Operation, ask
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.timeline import Entry

_ID = re.compile(r"op-[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
"""Ids that we may have given: they become keys, paths and names of objects."""


def rebuilt(node: NodeView, *, pool: str, now: datetime) -> tuple[Operation, tuple[Entry, ...]] | None:
    """The operation that holds this node, before a person; None when the node carries no mark that can be ours."""
    mark = read_mark(node)
    if mark is None or not _ID.fullmatch(mark.operation):
        return None
    memo = {NOTED: node.annotations[ANNOTATION], NOTED_UID: node.uid}
    done = StepState.DONE
    cordon = PlannedStep(step="cordon", state=done, attempt=1, started_at=now, finished_at=now, memo=memo)
    opened = Operation(
        id=mark.operation,
        kind="repair",
        node=NodeRef(name=node.name, uid=node.uid),
        pool=pool,
        plan=(cordon,),
        faults=(),
        ladder=(),
        opened_at=now,
    )
    return ask(opened, _question(node, mark), asks="", now=now)


def _question(node: NodeView, mark: Mark) -> str:
    booted = "has booted since its cordon" if node.boot_id != mark.boot_id else "has not booted since its cordon"
    return (
        f"{node.name} carries the mark of {mark.operation}, at step {mark.step}, which the store does not know: its "
        f"record was lost. The node {booted}. Nothing is repeated and nothing released: look at it, then cancel or "
        "release this operation."
    )
