"""The policy: what leads to what, and the limits. Reading and checking the file is `app.policy_file`'s work.

Every field below is a key of `config/policy.yaml`, where its unit, default and consequence are written beside it.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

from app.domain.breaker import Breaker
from app.domain.drain_rules import DrainRule
from app.domain.offenders import Offenders
from app.domain.plans.repair import RUNGS
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


class When(StrEnum):
    """When the first rung of a ladder is taken."""

    NOW = "now"
    """At once: the node is cordoned and drained."""
    IDLE = "idle"
    """Once no GPU pod is left: nothing is evicted, and the node is cordoned only then."""


class Then(StrEnum):
    """What happens at the deadline of a rung that waits until the node is idle."""

    HOLD = "hold"
    """Ask a person."""
    DRAIN = "drain"
    """Go on as if it were due now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One answer to a fault; in the file its name alone, or a mapping. `when` counts for the first rung of a ladder."""

    rung: str
    when: When = When.NOW
    deadline: timedelta = timedelta(hours=24)
    """How long a rung waits until the node is idle."""
    then: Then = Then.HOLD

    @property
    def gravity(self) -> int:
        """Its place among all rungs, 0 for the mildest."""
        return list(RUNGS).index(self.rung)


Ladder = tuple[Rung, ...]


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
class Rate:
    """How fast: so many nodes within any such time."""

    nodes: int
    within: timedelta = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """How many nodes may be out at once, over the whole cluster, and how fast."""

    cordons: int = 20
    """Nodes that Sickbay has cordoned, but for those that wait for a vendor."""
    cordon_rate: Rate | None = Rate(nodes=20)
    """Nodes that it cordons within a time; None: as fast as they come."""
    with_vendor: int = 10
    """Nodes that wait for a vendor; they no longer count as cordoned or disrupted."""
    disruptions: int = 3
    """Nodes being drained, rebooted or validated, with those of pools that are out by anyone's hand or NotReady."""
    disruptions_per_rack: int | None = None
    """The same, of the nodes of one rack; None leaves it to the cluster's budget."""
    disruptions_per_driver: int | None = None
    """The same, of the nodes with one driver version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """How long a step may take before it counts as failed or is brought before a person."""

    drain: timedelta = timedelta(hours=2)
    completion: timedelta = timedelta(hours=24)
    """For pods that a drain lets end by themselves; then a person is asked."""
    dark: timedelta = timedelta(minutes=10)
    """How long a drain waits for a node that is not Ready, once every pod was told to end."""
    reset: timedelta = timedelta(minutes=10)
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
    pull_secrets: tuple[str, ...] = ()
    """Secrets in that namespace by which the images are pulled."""


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
    drain: Mapping[str, DrainRule] = field(default_factory=dict)
    """What a drain does about which pods, by a name for the rule; the first that matches a pod counts."""
    driver_root: str = "/run/nvidia/driver"
    """The directory on the machine that is a root file system with driver and `nvidia-smi`; `/` for the host's own."""
    beside: tuple[str, ...] = ()
    """Others that repair these nodes too, by their names in `app.domain.remediators`; a person has looked at them."""
    capabilities: tuple[str, ...] = ("restart-plugin", "reset", "reboot", "ticket")
    """Rungs that may be taken here; the others are passed over."""
    ladders: Mapping[XidClass, Ladder] = field(default_factory=dict)
    """Ladders of this pool, before the policy's own."""
    faults: Mapping[str, Ladder | None] = field(default_factory=dict)
    """Ladders of single codes in this pool, before everything else."""

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether a node with these labels belongs to the pool."""
        return all(labels.get(name) == value for name, value in self.selector.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """How often a node or a card is repaired within a window before only a ticket is left."""

    window: timedelta = timedelta(days=7)
    per_node: int = 6
    per_gpu: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Tickets:
    """Where hardware tickets go. `system` is a key of the registry of ticket systems; None opens no tickets."""

    system: str | None = None
    directory: str = ""
    """For `file`: the directory in which each ticket is a file."""
    url: str = ""
    """For `webhook`: where drafts are posted to."""
    secret_file: str = ""
    """For `webhook`: a file with the secret by which posts are signed."""
    poll: timedelta = timedelta(minutes=5)
    """How often an open ticket is looked at."""
    workloads: bool = False
    """Whether a ticket may name the work that was on the node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A signed HTTP call to something of the site's own, by the contract in docs/reference/hooks.md."""

    url: str
    secret_file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The whole file."""

    cluster: ClusterName
    alerts: AlertNames
    pools: tuple[Pool, ...]
    ladders: Mapping[XidClass, Ladder]
    """Rungs per class of Xid, first to last; a class that is absent is only noted. No rungs: cordon, drain and ask."""
    own_acts: Mapping[str, tuple[str, ...]]
    """Step to fault codes that Sickbay's own act may raise on its node; they are no new faults. The file must say it: a
    silent default would hide faults that nobody agreed to hide, or none, and then a stress test of ours counts."""
    faults: Mapping[str, Ladder | None] = field(default_factory=dict)
    """Rungs per fault code, before those of its class; None only notes it."""
    budgets: Budgets = field(default_factory=Budgets)
    breaker: Breaker = field(default_factory=Breaker)
    node_jobs: NodeJobs = field(default_factory=NodeJobs)
    observe_for: timedelta = timedelta(hours=24)
    """How long an operation in observe mode stays open before it ends as `noted`."""
    fault_modes: Mapping[str, Mode] = field(default_factory=dict)
    """The freest mode for single codes, whatever the pool says."""
    attempts: Attempts = field(default_factory=Attempts)
    probation: timedelta = timedelta(hours=24)
    """How long after a release a rung that did not hold is not taken again for the same card."""
    offenders: Offenders = field(default_factory=Offenders)
    tickets: Tickets = field(default_factory=Tickets)
    power: Hook | None = None
    """What takes a machine's power away and gives it back; None: no rung power-cycle."""
    provider: Hook | None = None
    """Who provides machines; None: no rung replace."""
    inventory_max_age: timedelta = timedelta(minutes=5)
    """An older inventory places no alert; workers then read the nodes afresh."""

    def ladder_of(self, xid: Xid, pool: Pool | None = None) -> Ladder | None:
        """The rungs for this Xid in that pool; None when it is only noted, which an unknown one always is (P1)."""
        code = f"xid-{xid.number}"
        for by_code in (pool.faults if pool else {}, self.faults):
            if code in by_code:
                return by_code[code]
        if xid.class_ is XidClass.UNKNOWN:
            return None
        ladders = {**self.ladders, **(pool.ladders if pool else {})}
        return ladders.get(xid.class_)

    def mode_for(self, pool: Pool, codes: Iterable[str]) -> Mode:
        """How far Sickbay may go in that pool for these faults together: as far as the freest of them allows."""
        allowed = [min(pool.mode, self.fault_modes.get(code, pool.mode), key=lambda mode: mode.rank) for code in codes]
        return max(allowed, key=lambda mode: mode.rank, default=pool.mode)

    def is_own_act(self, step: str, code: str) -> bool:
        """Whether a fault of that code on the node is to be expected while this step runs there."""
        return code in self.own_acts.get(step, ())

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
