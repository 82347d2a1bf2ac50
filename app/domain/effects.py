"""One keyed, idempotent write to the world each. A step's judgement returns them; `workers.acts` carries them out.

An effect's `key` names what it does, so that the intent can be stored before it and doing it twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta


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
    """Whether it enters the host's namespaces (reboot)."""


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


Effect = PatchNode | EvictPod | StartNodeJob | RemoveNodeJob
