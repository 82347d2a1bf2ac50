"""What the engine and the steps need of the world, each port a few questions and acts. No client library is named here.

Reads return what is there now. Acts are idempotent: done twice they change nothing, and what is gone already
counts as done. Every failure is a `PortError`: temporary (wait, back off) or permanent (fail).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from app.domain.effects import NodeJob, PatchNode
from app.domain.facts import NodeJobView, NodeView, PodView
from app.domain.faults import Gpu
from app.domain.history import HistoryRow
from app.domain.notices import Notice
from app.domain.placement import Inventory
from app.domain.rights import Need
from app.domain.tickets import OutboxEntry, TicketDraft, TicketRef, TicketState


class NodeChangedError(Exception):
    """The node is not as it was when it was read (another uid or resourceVersion): nothing was written, look again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An eviction that was not accepted: why, in a sentence, and when to ask again if the server said.

    `never`: as things stand no later try can go well either, so that a person should hear of it at once.
    """

    reason: str
    retry_at: datetime | None = None
    never: bool = False


class Nodes(Protocol):
    """Nodes, read and marked."""

    def get(self, name: str) -> NodeView | None:
        """The node as it is now, None when there is none of that name."""

    def all(self) -> tuple[NodeView, ...]:
        """Every node."""

    def patch(self, patch: PatchNode) -> None:
        """A merge patch. NodeChangedError when uid or resourceVersion differ, or the node is gone."""


class Pods(Protocol):
    """Pods of a node, and their eviction."""

    def on_node(self, node: str) -> tuple[PodView, ...]:
        """Every pod bound to that node."""

    def evict(self, namespace: str, name: str, uid: str) -> Refusal | None:
        """Asks for the eviction of exactly that pod. None when accepted or when it is gone already."""

    def delete(self, namespace: str, name: str, uid: str) -> None:
        """Tells exactly that pod to end, past its budget, within its own grace."""

    def orphans(self, pods: Sequence[PodView]) -> frozenset[str]:
        """The uids of those that name a DaemonSet as their controller which is not there any more."""

    def own(self) -> str:
        """The uid of the pod that this worker runs in, empty outside of a cluster."""


class NodeJobs(Protocol):
    """Kubernetes Jobs on a machine."""

    def start(self, job: NodeJob) -> None:
        """Creates it, or finds the one that has its name."""

    def get(self, name: str) -> NodeJobView | None:
        """How it stands, with its output once it has ended; None when there is none of that name."""

    def of_operation(self, operation: str) -> tuple[NodeJobView, ...]:
        """Those that an operation has started and that still exist, without output; removed ones until they end."""

    def remove(self, name: str) -> None:
        """Deletes it with its pod. It is gone from `get` at once, and from `of_operation` when its pod has ended."""


class Places(Protocol):
    """Fresh reads for placing an alert."""

    def inventory(self) -> Inventory:
        """All nodes and exporter pods as they are now."""


class Access(Protocol):
    """What the cluster lets this process do, and what else is there. For `sickbay doctor`; nothing is changed."""

    def allowed(self, need: Need) -> bool:
        """Whether this process has that right."""

    def groups(self) -> frozenset[str]:
        """The groups of the API that the cluster serves."""

    def nodes_of_pods(self, label: str, value: str) -> frozenset[str]:
        """The nodes on which pods with that label run."""

    def refusal_of(self, job: NodeJob) -> str | None:
        """Why the cluster would not take that node job, None when it would."""


class Power(Protocol):
    """What feeds the machines."""

    def cycle(self, node: str, key: str) -> None:
        """Off and on, once for this key however often it is asked."""


class Provider(Protocol):
    """Who provides machines."""

    def replace(self, node: str, key: str) -> None:
        """Asks for another machine under this name, once for this key."""


class Tickets(Protocol):
    """Where hardware tickets are kept. Each call ends, or fails, within the time the engine grants one.

    A time-out after sending is a TemporaryPortError: whether the ticket is there, only `find` tells.
    """

    def find(self, key: str) -> TicketRef | None:
        """The ticket with that key, open or closed; None only when its system says that there is none."""

    def open(self, draft: TicketDraft) -> TicketRef:
        """Opens it, or gives the one that has its key already."""

    def comment(self, ref: TicketRef, text: str) -> None:
        """Adds a text, once however often it is asked."""

    def state(self, ref: TicketRef) -> TicketState:
        """Open, closed, or unknown when it is gone or cannot be read."""


class Notices(Protocol):
    """What people see on a node with kubectl. The only port that may fail unheard: nothing is decided by it."""

    def tell(self, notice: Notice) -> None:
        """Shows it soon, or not at all. Returns at once and raises nothing."""


class Outbox(Protocol):
    """Who may open the ticket of a cause. The store answers this one; commits write it."""

    def of(self, cause: str) -> OutboxEntry | None:
        """What was last written for that cause, None when nothing was."""


class CardHistory(Protocol):
    """What cards have been through. The store answers this one."""

    def of(self, card: Gpu, limit: int) -> Sequence[HistoryRow]:
        """The faults of a card as far as it is known, newest first."""

    def is_shared(self, serial: str) -> bool:
        """Whether several GPUs have reported that serial."""


class GpuCounts(Protocol):
    """How many GPUs nodes have. The store answers this one."""

    def when_well(self, uid: str) -> int | None:
        """The most that the node was seen with while it was well; None when it was never seen so."""


class Baselines(Protocol):
    """What peers measured. The store answers this one."""

    def peers(self, key: str, *, besides: str) -> tuple[float, ...]:
        """The last bus bandwidth in GB/s of each other node measured alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The bundle a worker is wired with."""

    nodes: Nodes
    pods: Pods
    node_jobs: NodeJobs
    places: Places
    baselines: Baselines
    power: Power | None = None
    provider: Provider | None = None
    tickets: Tickets | None = None
    outbox: Outbox | None = None
    history: CardHistory | None = None
    gpu_counts: GpuCounts | None = None
    notices: Notices | None = None
