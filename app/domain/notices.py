"""What people see of an operation on its node with kubectl: Events with the timeline's sentences, and its state.

Nothing is decided by it, and nothing waits for it: a notice that is lost is still in the record.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from app.domain.operations import NodeRef, Operation, State
from app.domain.timeline import Entry

ENDED = "end"
"""Shown as the step of an operation whose plan is done and that waits for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """`sentences` are new in the timeline, each with its time; there may be none."""

    operation: str
    kind: str
    node: NodeRef
    state: State
    step: str
    sentences: tuple[tuple[datetime, str], ...] = ()

    @property
    def calls_for_attention(self) -> bool:
        """Whether somebody should look: it cannot go on by itself."""
        return self.state in {State.HELD, State.NEEDS_HUMAN}


def notice_of(operation: Operation, entries: Iterable[Entry]) -> Notice:
    """What is to be shown after these entries were stored with the operation."""
    return Notice(
        operation=operation.id,
        kind=operation.kind,
        node=operation.node,
        state=operation.state,
        step=operation.current.step if operation.current else ENDED,
        sentences=tuple((entry.at, entry.text) for entry in entries),
    )
