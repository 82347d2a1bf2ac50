"""One keyed, idempotent write to the world each. A step's judgement returns them; `workers.acts` carries them out.

An effect's `key` names what it does, so that the intent can be stored before it and doing it twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from app.domain.facts import TicketRef


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchNode:
    """A merge patch, refused by the API server if the node is another one (uid) or has changed (resource_version)."""

    key: str
    node: str
    uid: str
    resource_version: str
    body: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictPod:
    """An eviction of exactly this pod (uid), which its budgets may refuse. The pod keeps its own grace."""

    key: str
    namespace: str
    name: str
    uid: str
    tries: int = 0
    """How often it was refused so far: the pause before the next try grows with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePod:
    """A deletion of exactly this pod, which no budget refuses. The pod keeps its own grace and its finalizers."""

    key: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeJob:
    """What runs on a machine: fixed argv in a pinned image. Nothing of it may come from an alert's labels."""

    name: str
    operation: str
    step: str
    node: str
    image: str
    argv: tuple[str, ...]
    deadline: timedelta
    runtime_class: str | None = None
    """`nvidia` for what needs the GPUs; None where a lost GPU would keep that runtime from starting."""
    host: bool = False
    """Whether it enters the host, whose root file system it finds at /host (list of GPUs, reset, reboot)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartNodeJob:
    """Creates the node job; one that already has its name is left alone."""

    key: str
    job: NodeJob


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveNodeJob:
    """Deletes a node job and its pod; one that is gone already is fine."""

    key: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclePower:
    """Takes the machine's power away and gives it back. The backend does it once for each key."""

    key: str
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceNode:
    """Asks whoever provides machines for another one under this name. Done once for each key."""

    key: str
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketDraft:
    """What a ticket is opened with. `key` is what it is found by; `fields` are small texts that a system may file."""

    key: str
    title: str
    body_markdown: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTicket:
    """Opens the ticket, or finds the one that has its draft's key.

    Before it is carried out, the store has written down that this operation opens the ticket `number` of `cause`, and
    that nobody else may.
    """

    key: str
    cause: str
    number: int
    draft: TicketDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentTicket:
    """Adds a text to a ticket; a text that it has already is not added again."""

    key: str
    ticket: TicketRef
    text: str


Effect = (
    CyclePower
    | ReplaceNode
    | PatchNode
    | EvictPod
    | DeletePod
    | StartNodeJob
    | RemoveNodeJob
    | OpenTicket
    | CommentTicket
)
