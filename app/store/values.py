"""What the store takes and gives beside the domain's own records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from app.domain import node_labels
from app.domain.alerts import Alert
from app.domain.breaker import Breaker, Opened
from app.domain.budgets import Budget, Limit
from app.domain.history import HistoryRow
from app.domain.operations import Operation
from app.domain.tickets import TicketIntent
from app.domain.timeline import Entry
from app.domain.triage import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRecord:
    """One delivery of an alert and what became of it, for the list of last alerts."""

    at: datetime
    name: str
    fingerprint: str
    status: str
    decision: Decision
    reason: str
    node: str | None = None
    operation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingAlert:
    """An alert that waits for a worker to place it. `occurrence` is claimed by it already."""

    id: str
    alert: Alert
    occurrence: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """Take the claim for `owner`, or prolong it, up to `until`."""

    owner: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Who alone may act for an operation, until when. `fence` grows with each new holder."""

    owner: str
    until: datetime
    fence: int


@dataclass(frozen=True, slots=True)
class FellIll:
    """That the node of a new operation fell ill, and the rules by which that may trip the breaker."""

    opened: Opened
    rules: Breaker


@dataclass(frozen=True, slots=True, kw_only=True)
class Trip:
    """When the breaker tripped. Why is told from what fell ill around then (`store.breaker.sentence`)."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One commit: everything in it is stored, or nothing.

    * `operation` is written with version `expected_version` + 1; 0 expects that it is not there yet.
    * `claim` takes or prolongs the claim, `drop_claim_of` gives that owner's back, and `held_claim` (owner, fence)
      makes the commit depend on that claim being the stored one. Without any of them the version alone decides.
    * `worker` names the worker whose look this is the outcome of; it is refused while another one's claim is valid.
    * `occurrence` is the alert's that led here; `pending_id` says that it waited and that its occurrence is ours.
    * `places` are the budgets in which the node takes a place until the operation is finished.
    * `gives_back` are budgets in which it keeps no place any longer; `disruptions` means those of pools too.
    * `disrupted` remembers `now` as a disruption of the node by this operation.
    * `attempt` is the rung that this commit begins; it counts once for the node and for each card with a fault.
    * `ill` says that the node fell ill, which may trip the breaker of those rules.
    * `hurts`: it is the intent of an act that hurts, which a tripped breaker refuses.
    * `joins` are cards (UUID, serial) whose records stand under the serial from now on.
    * `baseline` is what the node measured.
    * `ticket` takes the right to open that ticket. It is refused as a Conflict while another open operation has it.
    """

    operation: Operation
    expected_version: int
    now: datetime
    entries: tuple[Entry, ...] = ()
    claim: ClaimRequest | None = None
    held_claim: tuple[str, int] | None = None
    drop_claim_of: str | None = None
    worker: str | None = None
    occurrence: str | None = None
    pending_id: str | None = None
    alert: AlertRecord | None = None
    history: tuple[HistoryRow, ...] = ()
    places: tuple[Limit, ...] = ()
    gives_back: tuple[str, ...] = ()
    disrupted: bool = False
    attempt: str | None = None
    ill: FellIll | None = None
    hurts: bool = False
    ticket: TicketIntent | None = None
    joins: tuple[tuple[str, str], ...] = ()
    baseline: Baseline | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    """Stored. `version` is the one to expect next time, `fence` that of the claim."""

    version: int
    fence: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """Somebody else was first: load again and decide again.

    `version` is the stored one, 0 if there is none. `open_operation` is set when another one is open on the node.
    """

    version: int
    open_operation: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimedBy:
    """Another owner may act now, or took the claim over since."""

    owner: str
    until: datetime


@dataclass(frozen=True, slots=True)
class NoPlace:
    """This budget is full, or it is not known how many nodes are out by other hands. It says which."""

    budget: Budget


@dataclass(frozen=True, slots=True)
class Duplicate:
    """This occurrence was dealt with before, in `operation` if it led to one. Nothing else was stored."""

    operation: str | None


@dataclass(frozen=True, slots=True)
class Tripped:
    """The breaker has tripped, so nothing begins that hurts. `store.breaker.sentence` says why."""


CommitResult = Committed | Conflict | ClaimedBy | NoPlace | Tripped | Duplicate


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Who paused Sickbay, when and why."""

    actor: str
    reason: str
    at: datetime

    @property
    def sentence(self) -> str:
        """The same at any time of asking, so that a page that shows it does not change by itself."""
        return f"Paused by {self.actor} since {self.at:%Y-%m-%d %H:%M} UTC: {self.reason.rstrip('.')}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What keeps all of Sickbay from acts that hurt: a person's pause, a tripped breaker, both or neither."""

    pause: Pause | None = None
    trip: Trip | None = None

    @property
    def about(self) -> str:
        """What a resume would be about, so that it lifts nothing that was not there when it was decided."""
        told = (("pause", self.pause), ("trip", self.trip))
        return ", ".join(f"{name} of {one.at.isoformat()}" for name, one in told if one is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The bus bandwidth, in GB/s, that a node measured when it last passed. `key` says what is comparable with it."""

    key: str
    node: str
    gb_s: float
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenNodes:
    """One writing of the inventory: the nodes, and each exporter pod (`namespace/name`) with its node."""

    nodes: tuple[NodeSummary, ...]
    exporter_pods: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSummary:
    """A node as the watch last saw it. `marked_by_us` says that it carries Sickbay's mark."""

    name: str
    uid: str
    pool: str | None = None
    ready: bool = True
    unschedulable: bool = False
    marked_by_us: bool = False
    gpu_capacity: int = 0
    gpu_allocatable: int = 0
    boot_id: str = ""
    addresses: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def product(self) -> str:
        """The GPU's model, as GPU feature discovery labels it."""
        return self.labels.get("nvidia.com/gpu.product", "")

    @property
    def driver_version(self) -> str:
        """The driver's version, empty when unknown."""
        return node_labels.driver_version(self.labels)

    @property
    def zone(self) -> str:
        """The zone, by Kubernetes' well-known label."""
        return self.labels.get("topology.kubernetes.io/zone", "")

    @property
    def rack(self) -> str:
        """The rack, empty when unknown."""
        return node_labels.rack(self.labels)

    @property
    def out_by_others(self) -> bool:
        """Whether it takes no work, and not through us."""
        return (self.unschedulable or not self.ready) and not self.marked_by_us

    @property
    def out(self) -> bool:
        """Whether it uses the disruptions budgets up without a place of ours: a node of ours does while NotReady."""
        return self.pool is not None and (self.out_by_others or not self.ready)
