"""What the watch keeps of pods and node jobs, and the feeds it gets them from. No client library is named here.

It keeps far less than a step reads: a cluster has many pods, and a nudge needs to know only that one is going.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from app.domain.facts import NodeView

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPod:
    """A pod that is bound to a node. `going` once its deletion was asked for, `over` once it has finished."""

    namespace: str
    name: str
    uid: str
    node: str
    going: bool = False
    over: bool = False
    exporter: bool = False

    @property
    def full_name(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenNodeJob:
    """A node job of ours."""

    name: str
    uid: str
    node: str
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Event(Generic[T]):
    """One change: the item as it is now, None when it is gone. Without a key only time has passed."""

    version: str
    key: str = ""
    item: T | None = None


class HistoryGone(Exception):
    """The feed cannot tell what came after that version any more: list again."""


class Feed(Protocol[T]):
    """One kind of object, listed and then followed. Used by one thread, but `stop` comes from another."""

    def list(self) -> tuple[Mapping[str, T], str]:
        """All items by key, and the version from which `follow` tells the rest. PortError when it cannot be read."""

    def follow(self, version: str) -> Iterator[Event[T]]:
        """What came after that version, until the server ends the answer, which is ordinary.

        Raises:
            HistoryGone: the version is too old.
            PortError: the server failed, or the connection broke.
        """

    def stop(self) -> None:
        """Wakes a thread that waits in `follow`; it then ends or raises PortError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feeds:
    """What a watch process is wired with. Nodes have their name as key, the others their uid.

    `node_jobs` is None where node jobs are switched off.
    """

    nodes: Feed[NodeView]
    pods: Feed[SeenPod]
    node_jobs: Feed[SeenNodeJob] | None
