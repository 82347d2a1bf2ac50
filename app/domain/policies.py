"""The policy: what leads to what, and the limits. Reading and checking the file is `app.policy_file`'s work.

Every field below is a key of `config/policy.yaml`, where its unit, default and consequence are written beside it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

from app.domain.xids import Xid, XidClass

CONTROL_PLANE_LABELS = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
EXCLUDE_LABEL = "sickbay/exclude"


class Mode(StrEnum):
    """How far Sickbay may go, each word including those before it."""

    OBSERVE = "observe"
    """Decide as `act` would and touch nothing."""
    CORDON = "cordon"
    """Cordon and gather evidence, then ask."""
    APPROVE = "approve"
    """Ask before each disruption."""
    ACT = "act"
    """Do what the plan says."""

    @property
    def rank(self) -> int:
        """Its place in that order, 0 for observe."""
        return list(Mode).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterName:
    """Which cluster this is. Alerts of another one are ignored; with `label` set, one that lacks it is refused."""

    name: str
    label: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertNames:
    """Alert names as shell patterns: `xid` for rules with an Xid label, `watchdog` for the one that always fires."""

    xid: tuple[str, ...]
    watchdog: tuple[str, ...] = ("Watchdog",)

    def is_xid(self, name: str) -> bool:
        """Whether alerts of this name are judged at all."""
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.xid)

    def is_watchdog(self, name: str) -> bool:
        """Whether this is the always-firing alert whose silence is the news."""
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.watchdog)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """How many nodes may be out at once, over the whole cluster."""

    cordons: int = 20
    """Nodes that Sickbay has cordoned."""
    disruptions: int = 3
    """Nodes being drained, rebooted or validated, with those that are out by anyone's hand or NotReady."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """How long a step may take before it counts as failed or is brought before a person."""

    drain: timedelta = timedelta(hours=2)
    reboot: timedelta = timedelta(minutes=30)
    diagnose: timedelta = timedelta(minutes=45)
    benchmark: timedelta = timedelta(minutes=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What a node must pass before it takes work again."""

    diagnose_level: int = 3
    required_tests: tuple[str, ...] = ()
    """Tests that must have passed on every GPU; empty takes the default set of the level."""
    inconclusive_tries: int = 2
    """How often an inconclusive proof is tried before it is brought before a person."""
    bandwidth_floor: float | None = None
    """Least bus bandwidth in GB/s, whatever the peers do; None leaves it to them."""
    bandwidth_tolerance: float = 0.1
    """How far below the median of its peers a node may measure, as a fraction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeJobs:
    """Images and place of what runs on the machines."""

    namespace: str = "sickbay-node-jobs"
    host_image: str = "docker.io/library/busybox:1.37.0"
    diagnose_image: str = "nvcr.io/nvidia/cloud-native/dcgm:4.6.0-1-ubuntu24.04"
    benchmark_image: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Nodes by label, and what may be done to them."""

    name: str
    selector: Mapping[str, str]
    mode: Mode = Mode.OBSERVE
    disruptions: int | None = None
    """Nodes of this pool that may be disrupted at once; None leaves it to the cluster's budget."""
    cooldown: timedelta = timedelta(minutes=10)
    """Least time between the end of one disruption of a node and the start of the next."""
    validation: Validation = field(default_factory=Validation)
    deadlines: Deadlines = field(default_factory=Deadlines)

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether a node with these labels belongs to the pool."""
        return all(labels.get(name) == value for name, value in self.selector.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The whole file."""

    cluster: ClusterName
    alerts: AlertNames
    pools: tuple[Pool, ...]
    ladders: Mapping[XidClass, tuple[str, ...]]
    """Rungs per class of Xid, first to last; a class that is absent is only noted. No rungs: cordon, drain and ask."""
    faults: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    """Rungs per fault code, before those of its class; None only notes it."""
    budgets: Budgets = field(default_factory=Budgets)
    node_jobs: NodeJobs = field(default_factory=NodeJobs)
    observe_for: timedelta = timedelta(hours=24)
    """How long an operation in observe mode stays open before it ends as `noted`."""
    inventory_max_age: timedelta = timedelta(minutes=5)
    """An older inventory places no alert; workers then read the nodes afresh."""

    def ladder_of(self, xid: Xid) -> tuple[str, ...] | None:
        """The rungs for this Xid; None when it is only noted, which an unknown one always is (P1)."""
        code = f"xid-{xid.number}"
        if code in self.faults:
            return self.faults[code]
        return None if xid.class_ is XidClass.UNKNOWN else self.ladders.get(xid.class_)

    def pool_of(self, labels: Mapping[str, str]) -> Pool | None:
        """The first pool that selects a node with these labels; never one for a control-plane node."""
        if any(label in labels for label in CONTROL_PLANE_LABELS):
            return None
        return next((pool for pool in self.pools if pool.selects(labels)), None)

    def rules_for(self, labels: Mapping[str, str]) -> Pool:
        """The pool of a node with these labels, or the defaults of one when a changed policy no longer has it."""
        return self.pool_of(labels) or Pool(name="", selector={})

    def pool_named(self, name: str) -> Pool | None:
        """The pool of that name, None if the policy no longer has it."""
        return next((pool for pool in self.pools if pool.name == name), None)

    def lowered_to(self, mode: Mode | None) -> Policy:
        """This policy with every pool's mode at most `mode`; None changes nothing. A mode is never raised."""
        if mode is None:
            return self
        pools = tuple(replace(pool, mode=min(pool.mode, mode, key=lambda m: m.rank)) for pool in self.pools)
        return replace(self, pools=pools)
