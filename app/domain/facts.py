"""What a look saw: nodes, pods and node jobs, narrowed to what Sickbay decides by.

Adapters fill these from Kubernetes; the names follow its API. A missing text is empty, a missing map is an empty map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """The last write to a node by one writer, of what is wanted or marked, never of a status.

    `at` has whole seconds, as the API server keeps it. `unschedulable` and `upgrade_state` say whether this writer was
    the last to set the cordon, and the GPU Operator's upgrade state; who takes a field away is not kept.
    """

    by: str
    at: datetime
    unschedulable: bool = False
    upgrade_state: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """A node at one resourceVersion. `gpu_capacity` and `gpu_allocatable` count whole `nvidia.com/gpu`."""

    name: str
    uid: str
    resource_version: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    unschedulable: bool = False
    ready: bool = True
    boot_id: str = ""
    addresses: tuple[str, ...] = ()
    gpu_capacity: int = 0
    gpu_allocatable: int = 0
    writes: tuple[Write, ...] = field(default=(), compare=False)
    """Who last wrote to it; only read where one node is looked at, and no part of how the node is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodView:
    """A pod on a node. `controller_kind` is the kind of its controlling owner, empty for a bare pod."""

    namespace: str
    name: str
    uid: str
    node: str = ""
    phase: str = "Running"
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    controller_kind: str = ""
    controller_name: str = ""
    deleted_at: datetime | None = None
    """When its grace ends, once deletion was asked for; None before."""
    grace: int = 30
    """Seconds between SIGTERM and SIGKILL."""
    empty_dirs: tuple[str, ...] = ()
    """Names of its emptyDir volumes on disk, whose content dies with it; those in memory are no place for data."""
    gpus: int = 0
    """Whole GPUs or MIG slices that it holds, by its requests."""
    claims: tuple[str, ...] = ()
    """Names of its resource claims (dynamic resource allocation), by which it may hold GPUs that no request counts."""
    controller_uid: str = ""
    finalizers: tuple[str, ...] = ()
    """What has to be done before it is removed from the record; never taken away by Sickbay."""

    @property
    def full_name(self) -> str:
        """`namespace/name`, as people write it."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TicketRef:
    """A ticket in its system. `url` is for people, empty when the system has none."""

    system: str
    key: str
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeJobView:
    """A Kubernetes Job on a node, as it stands. `output` is read once it has ended, cut to a size limit."""

    name: str
    uid: str
    step: str
    node: str
    active: bool
    succeeded: bool = False
    failed: bool = False
    started: bool = False
    """Whether its container ever ran."""
    exit_code: int | None = None
    reason: str = ""
    """Why it cannot start, or ended, in Kubernetes' words (`ImagePullBackOff: …`, `DeadlineExceeded`)."""
    created_at: datetime | None = None
    output: str | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.succeeded or self.failed
