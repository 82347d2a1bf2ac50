"""Hardware tickets: what one is about, what it says, and who may open it. Sending it is an adapter's work.

A ticket is about a cause: one card in one cluster, or one node when no card is to blame. At most one is open for a
cause at any time (P9). When it was closed and the same cause comes again, that is the cause's next ticket, with a
number in its key, since the closed one is still found under the first.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from urllib.parse import quote

from app.domain.effects import Effect, OpenTicket, TicketDraft
from app.domain.facts import TicketRef
from app.domain.faults import Gpu
from app.domain.history import HistoryRow
from app.domain.operations import Operation
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.policies import Policy
from app.domain.timeline import counted, sentence

__all__ = [
    "OutboxEntry",
    "TicketDraft",
    "TicketIntent",
    "TicketRef",
    "TicketState",
    "blamed",
    "cause_key",
    "causes",
    "comment",
    "draft",
    "intent_of",
    "ticket_key",
]

TITLE_LIMIT = 200
"""Characters of a title. Systems end at 255, some of them after a conversion of their own."""
BODY_LIMIT = 30_000
"""Characters of a body; Jira's descriptions end at 32,767."""
FIELD_LIMIT = 250
SHOWN = 20
"""Faults, tried steps and rows of history that a ticket tells of, each."""
_LONGEST_NAME = 120


class TicketState(StrEnum):
    """What its system says of a ticket."""

    OPEN = "open"
    CLOSED = "closed"
    UNKNOWN = "unknown"
    """It cannot be found or read. It counts as open: only a closed ticket gives a node back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketIntent:
    """Written in the store before a ticket is sent: this operation, and no other, opens the cause's ticket `number`.

    `at` is when it was last written, just before the last try.
    """

    cause: str
    number: int
    operation: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxEntry:
    """An intent, the ticket that its operation is known to have, and whether that operation is still open."""

    intent: TicketIntent
    ticket: TicketRef | None
    operation_open: bool


def blamed(operation: Operation) -> Gpu | None:
    """The card that the ticket is about: the first that a fault names by serial or UUID, None when none does."""
    cards = (fault.gpu for fault in operation.faults if fault.gpu is not None and fault.gpu.key is not None)
    return next(cards, None)


def causes(cluster: str, operation: Operation, *, shared: bool = False) -> tuple[str, ...]:
    """The keys of the cause, the one to use first. A card whose serial became known later also has that of its UUID.

    `shared`: several GPUs report its serial, so that names none of them and keys nothing, where there is a UUID.
    """
    card = blamed(operation)
    if card is None:
        return (_cause(cluster, "node", operation.node.name),)
    known = (("serial", None if shared and card.uuid else card.serial), ("uuid", card.uuid))
    return tuple(_cause(cluster, kind, name) for kind, name in known if name)


def cause_key(cluster: str, operation: Operation) -> str:
    """The key of the cause: the cluster with the card's serial, else its UUID, else with the node.

    Plain ASCII, at most 300 characters; it may stand in a path, a header or a file as it is.
    """
    return causes(cluster, operation)[0]


def ticket_key(cause: str, number: int) -> str:
    """The key of a cause's ticket: the cause itself for the first, with a number behind it for those that follow."""
    return cause if number == 1 else f"{cause}:{number}"


def intent_of(effects: Iterable[Effect], operation: Operation, now: datetime) -> TicketIntent | None:
    """What has to be written down in the same commit as the intent of these effects; None when none opens a ticket."""
    opened = next((effect for effect in effects if isinstance(effect, OpenTicket)), None)
    if opened is None:
        return None
    return TicketIntent(cause=opened.cause, number=opened.number, operation=operation.id, at=now)


def draft(operation: Operation, history: Sequence[HistoryRow], policy: Policy, *, key: str = "") -> TicketDraft:
    """The ticket as it is sent. `history` are the card's rows, newest first; `key` defaults to that of the cause.

    Names of workloads appear only where policy allows it: vendors read along.
    """
    cluster, node, card = policy.cluster.name, operation.node.name, blamed(operation)
    codes = ", ".join(dict.fromkeys(fault.code for fault in operation.faults))
    what = f"{card} of {node}" if card else node
    known = {
        "cluster": cluster,
        "node": node,
        "gpu_serial": (card and card.serial) or "",
        "gpu_uuid": (card and card.uuid) or "",
        "gpu_index": "" if card is None or card.index is None else str(card.index),
        "faults": codes,
        "operation": operation.id,
    }
    return TicketDraft(
        key=key or cause_key(cluster, operation),
        title=_cut(f"{what} ({cluster}) needs hardware service: {codes}", TITLE_LIMIT),
        body_markdown=_cut_lines("\n".join(_body(operation, card, history, policy)), BODY_LIMIT),
        fields={name: _cut(value, FIELD_LIMIT) for name, value in known.items() if value},
    )


def comment(operation: Operation) -> str:
    """What is added to a ticket that is open for the same cause; the same text however often it is asked for."""
    codes = ", ".join(dict.fromkeys(_md(fault.code) for fault in operation.faults))
    node, which = _md(operation.node.name), _md(operation.id)
    return f"{codes} on {node} is about the same hardware: operation {which} of Sickbay waits for this ticket too."


def _body(operation: Operation, card: Gpu | None, history: Sequence[HistoryRow], policy: Policy) -> list[str]:
    node = _md(operation.node.name)
    lines = [f"* Cluster: {_md(policy.cluster.name)}", f"* Node: {node}", *_card_lines(card)]
    lines += ["", "## How to hand the node back", ""]
    lines.append(
        f"Mend or replace the hardware, start the node, and close this ticket. Sickbay then reads the serial numbers "
        f"of the GPUs, and {node} takes work again once it has passed its validation. Until then it stays cordoned; "
        f"please do not uncordon it by hand, since that ends the operation without a validation."
    )
    lines += ["", "## What is wrong", ""]
    for fault in operation.faults[:SHOWN]:
        lines.append(f"* {_at(fault.at)}, {_md(fault.code)}: {_md(sentence(fault.evidence))} ({_md(fault.source)})")
    lines += _more(len(operation.faults), "fault")
    lines += ["", "## What was tried", ""]
    tried = _tried(operation.plan)
    lines += [f"* {_step(step)}" for step in tried[-SHOWN:]] or ["Nothing: software cannot repair this."]
    lines += ["", "## Bandwidth", "", _bandwidth(operation)]
    lines += ["", "## What this GPU has been through", ""]
    rows = [f"* {_at(row.at)}, {_md(row.node)}, {_md(row.code)}: {_md(sentence(row.evidence))}" for row in history]
    lines += rows[:SHOWN] or ["Nothing is known of it." if card else "No single GPU is to blame."]
    lines += _more(len(rows), "row")
    evidence = operation.last("evidence")
    pods = evidence.memo.get("pods", "") if evidence and policy.tickets.workloads else ""
    if pods:
        lines += ["", "## Work that was on the node", "", _md(pods)]
    return [*lines, "", f"Opened by Sickbay, operation {_md(operation.id)}.", ""]


def _card_lines(card: Gpu | None) -> list[str]:
    if card is None:
        return ["* GPU: no single one is to blame"]
    known = (("index", card.index), ("serial", card.serial), ("UUID", card.uuid))
    return [f"* GPU {name}: {_md(str(value))}" for name, value in known if value is not None]


def _tried(plan: Sequence[PlannedStep]) -> list[PlannedStep]:
    """The steps of rungs that came to an end: those before them tell of workloads, and of nothing that was tried."""
    return [step for step in plan if step.rung and step.state in {StepState.DONE, StepState.FAILED}]


def _step(step: PlannedStep) -> str:
    at = f"{_at(step.finished_at)}, " if step.finished_at else ""
    return f"{at}{_md(step.step)} (rung {_md(step.rung)}): {step.state}. {_md(sentence(step.reason))}"


def _bandwidth(operation: Operation) -> str:
    last = next((step for step in reversed(_tried(operation.plan)) if step.step == "benchmark"), None)
    return _md(sentence(last.reason)) if last else "Not measured."


def _more(number: int, noun: str) -> list[str]:
    return [f"* and {counted(number - SHOWN, noun)} more"] if number > SHOWN else []


def _cause(cluster: str, kind: str, name: str) -> str:
    return f"{_plain(cluster)}:{kind}:{_plain(name)}"


def _plain(name: str) -> str:
    """The name without anything that could leave its place; a long one keeps its beginning and a hash of the whole."""
    quoted = quote(name, safe="", errors="replace")
    if len(quoted) <= _LONGEST_NAME:
        return quoted
    return f"{quoted[:60]}~{hashlib.sha256(quoted.encode()).hexdigest()[:32]}"


_MARKUP = re.compile(r"([\\`*_\[\]<>|#!~&$])")


def _md(text: str) -> str:
    """A foreign text as one line of Markdown that shows it as it is, and means nothing else."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return _MARKUP.sub(r"\\\1", line)


def _cut(text: str, limit: int) -> str:
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _cut_lines(text: str, limit: int) -> str:
    """Whole lines up to the limit, so that no mark-up is cut in two."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 80].rsplit("\n", 1)[0]
    return f"{kept}\n\nThe rest is left out: the ticket would be too long.\n"


def _at(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
