"""The fake cluster: `workers.ports` in memory, on a clock that only the test moves.

It keeps what a decision can run into (preconditions, budgets, grace, deadlines, boots), and passes the same contract
suite as the real adapter. Everything a test does to the cluster as somebody else is a method of `FakeCluster`;
everything Sickbay does goes through the ports and is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from app.domain.effects import NodeJob, PatchNode
from app.domain.facts import NodeView, PodView
from app.domain.marks import shown_patch
from app.domain.notices import Notice
from app.domain.operations import State
from app.domain.placement import Inventory, KnownNode
from app.domain.rights import Need
from app.domain.timeline import counted
from app.errors import PortError
from tests.fake_node_jobs import FakeNodeJobs
from tests.fake_world import Call, FakeClock, Machine, World
from workers.ports import NodeChangedError, Ports, Refusal

GPUS = 8
EXPORTER = {"app": "nvidia-dcgm-exporter"}
RESTARTS_AFTER = timedelta(seconds=10)


class FakeCluster:
    """Nodes `gpu-a01` and so on with eight GPUs and an exporter pod each. `ports` is what Sickbay is wired with."""

    def __init__(self, clock: FakeClock | None = None, nodes: int = 4) -> None:
        self.clock = clock or FakeClock()
        self._world = World(self.clock)
        self.nodes = FakeNodes(self._world)
        self.pods = FakePods(self._world)
        self.node_jobs = FakeNodeJobs(self._world)
        self.places = FakePlaces(self._world)
        self.notices = FakeNotices(self._world)
        """Not among `ports`, as in a cluster where only is observed, unless a test puts it there."""
        self.baselines = FakeBaselines()
        self.power = FakePower(self._world, self.node_jobs)
        self.provider = FakeProvider(self._world, self)
        self.ports = Ports(
            nodes=self.nodes,
            pods=self.pods,
            node_jobs=self.node_jobs,
            places=self.places,
            baselines=self.baselines,
            power=self.power,
            provider=self.provider,
        )
        for number in range(1, nodes + 1):
            self.add_node(f"gpu-a{number:02d}")

    # What was done to it

    @property
    def history(self) -> list[Call]:
        """Every mutating call in order."""
        return self._world.history

    @property
    def cordons(self) -> Counter[str]:
        """Node to the number of patches that turned unschedulable on."""
        return self._world.cordons

    @property
    def uncordons(self) -> Counter[str]:
        """Node to the number of patches that turned unschedulable off."""
        return self._world.uncordons

    @property
    def evictions(self) -> Counter[str]:
        """Pod uid to the number of accepted evictions, also of a pod that is ending already."""
        return self._world.evictions

    @property
    def reboots(self) -> Counter[str]:
        """Node to the number of times its machine went down."""
        return self._world.reboots

    def next_event(self) -> datetime | None:
        """When something will happen by itself, None when nothing will."""
        return self._world.next_event()

    # What a test does to it, as somebody else

    def machine(self, node: str) -> Machine:
        """How that machine behaves; to be changed in place."""
        return self._world.machines[node]

    def fail_next(self, verb: str, *errors: PortError) -> None:
        """The next calls of `patch`, `evict`, `start` or `remove` raise these, having done nothing."""
        self._world.failures.setdefault(verb, []).extend(errors)

    def add_node(self, name: str, *, labels: Mapping[str, str] | None = None) -> NodeView:
        """A new machine, or another one of the same name."""
        with self._world.now():
            number = self._world.number()
            node = NodeView(
                name=name,
                uid=f"node-{number}",
                resource_version=str(number),
                labels={"kubernetes.io/hostname": name, "nvidia.com/gpu.present": "true", **(labels or {})},
                boot_id=f"{name}-boot-1",
                addresses=(f"10.0.0.{number % 250}", name),
                gpu_capacity=GPUS,
                gpu_allocatable=GPUS,
            )
            self._world.nodes[name] = node
            serials = tuple(f"165{number:06d}{gpu:04d}" for gpu in range(GPUS))
            self._world.machines[name] = Machine(serials=serials)
            exporter: dict[str, Any] = {"namespace": "gpu-operator", "controller_kind": "DaemonSet", "labels": EXPORTER}
            self.add_pod(name, f"nvidia-dcgm-exporter-{number}", **exporter)
            return node

    def remove_node(self, name: str) -> None:
        """The Node object goes, with its pods and node jobs."""
        with self._world.now():
            del self._world.nodes[name]
            for pod in [one for one in self._world.pods.values() if one.node == name]:
                del self._world.pods[pod.uid]
            self.node_jobs.node_gone(name)

    def change_node(self, name: str, **changes: Any) -> NodeView:
        """Sets fields of a NodeView, as a person, the kubelet or another controller would."""
        with self._world.now():
            return _changed(self._world, replace(self._world.nodes[name], **changes))

    def add_pod(self, node: str, name: str, *, ends_after: float | None = None, **fields: Any) -> PodView:
        """A Running pod, by default of a ReplicaSet in namespace default; `ends_after` seconds once told to end."""
        with self._world.now():
            given = {"namespace": "default", "controller_kind": "ReplicaSet", "controller_name": name, **fields}
            pod = PodView(name=name, uid=f"pod-{self._world.number()}", node=node, **given)
            self._world.pods[pod.uid] = pod
            if ends_after is not None:
                self._world.ends_after[pod.uid] = timedelta(seconds=ends_after)
            return pod

    def remove_pod(self, uid: str) -> None:
        """The pod is gone at once."""
        with self._world.now():
            self._world.forget_pod(uid)

    def set_budget(self, name: str, selector: Mapping[str, str], *, allowed: int, needed: int = 1) -> None:
        """A PodDisruptionBudget, `namespace/name`, and how many evictions it allows now."""
        with self._world.now():
            self.pods.budgets[name] = FakeBudget(dict(selector), allowed, needed)

    def lose_node_job(self, name: str) -> None:
        """Somebody deletes the Job and its pod."""
        self.node_jobs.lose(name)


class FakeBudget:
    """How many evictions of the pods it selects are allowed."""

    def __init__(self, selector: Mapping[str, str], allowed: int, needed: int) -> None:
        self.selector = selector
        self.allowed = allowed
        self.needed = needed

    def selects(self, pod: PodView) -> bool:
        """Whether every label of the selector is on the pod."""
        return self.selector.items() <= dict(pod.labels).items()


class FakeNodes:
    """The port `Nodes`."""

    def __init__(self, world: World) -> None:
        self._world = world

    def get(self, name: str) -> NodeView | None:
        with self._world.now():
            return self._world.nodes.get(name)

    def all(self) -> tuple[NodeView, ...]:
        with self._world.now():
            return tuple(self._world.nodes[name] for name in sorted(self._world.nodes))

    def patch(self, patch: PatchNode) -> None:
        with self._world.now():
            self._world.called("patch", patch.node)
            before = self._world.nodes.get(patch.node)
            if before is None:
                raise NodeChangedError(f"There is no node {patch.node} any more.")
            if (before.uid, before.resource_version) != (patch.uid, patch.resource_version):
                raise NodeChangedError(f"Node {patch.node} has changed since it was read.")
            after = _changed(self._world, _merged(before, patch.body))
            self._world.note("patch", patch.node, changed=after != before)
            if after.unschedulable != before.unschedulable:
                (self._world.cordons if after.unschedulable else self._world.uncordons)[patch.node] += 1


class FakePods:
    """The port `Pods`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.budgets: dict[str, FakeBudget] = {}
        self.deleted_daemon_sets: set[str] = set()
        self.own_pod = ""

    def on_node(self, node: str) -> tuple[PodView, ...]:
        with self._world.now():
            there = [pod for pod in self._world.pods.values() if pod.node == node]
            return tuple(sorted(there, key=lambda pod: pod.full_name))

    def evict(self, namespace: str, name: str, uid: str) -> Refusal | None:
        with self._world.now():
            self._world.called("evict", f"{namespace}/{name}")
            pod = self._world.pods.get(uid)
            if pod is None:
                self._world.note("evict", f"{namespace}/{name}", changed=False)
                return None
            if pod.deleted_at is None and pod.phase == "Running":
                refusal = self._refusal(pod)
                if refusal is not None:
                    self._world.note("evict", pod.full_name, changed=False)
                    return refusal
            self._world.evictions[uid] += 1
            self._world.note("evict", pod.full_name, changed=pod.deleted_at is None)
            if pod.deleted_at is None:
                self._end(pod)
            return None

    def delete(self, namespace: str, name: str, uid: str) -> None:
        with self._world.now():
            self._world.called("delete", f"{namespace}/{name}")
            pod = self._world.pods.get(uid)
            going = pod is not None and pod.deleted_at is None
            self._world.note("delete", f"{namespace}/{name}", changed=going)
            if pod is not None and going:
                self._end(pod)

    def own(self) -> str:
        return self.own_pod

    def orphans(self, pods: Sequence[PodView]) -> frozenset[str]:
        return frozenset(pod.uid for pod in pods if pod.controller_name in self.deleted_daemon_sets)

    def _refusal(self, pod: PodView) -> Refusal | None:
        for full_name, budget in self.budgets.items():
            namespace = full_name.partition("/")[0]
            if namespace != pod.namespace or not budget.selects(pod):
                continue
            if budget.allowed <= 0:
                current = max(0, budget.needed + budget.allowed)
                why = f"needs {counted(budget.needed, 'healthy pod')} and has {current} currently"
                return Refusal(
                    reason=f"Budget {full_name} does not allow the eviction of {pod.full_name} now: it {why}."
                )
            budget.allowed -= 1
        return None

    def _end(self, pod: PodView) -> None:
        grace = timedelta(seconds=pod.grace)
        self._world.pods[pod.uid] = replace(pod, deleted_at=self._world.time + grace)
        takes = min(self._world.ends_after.get(pod.uid, grace), grace)
        self._world.after(takes, lambda: self._world.forget_pod(pod.uid))


class FakeNotices:
    """The port `Notices`: shown at once, and each sentence of an operation kept once."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.told: list[Notice] = []
        self.sentences: dict[str, list[str]] = {}
        """Node to what its Events say."""

    def tell(self, notice: Notice) -> None:
        with self._world.now():
            self.told.append(notice)
            said = self.sentences.setdefault(notice.node.name, [])
            said += [sentence for _, sentence in notice.sentences if sentence not in said]
            node = self._world.nodes.get(notice.node.name)
            if node is None or node.uid != notice.node.uid or notice.state is State.RUNNING:
                return
            body = shown_patch(node, notice.operation, notice.state, notice.step)
            if body is not None:
                _changed(self._world, _merged(node, body))


class FakePlaces:
    """The port `Places`."""

    def __init__(self, world: World) -> None:
        self._world = world

    def inventory(self) -> Inventory:
        with self._world.now():
            known = [
                KnownNode(name=node.name, uid=node.uid, addresses=node.addresses, labels=node.labels)
                for node in self._world.nodes.values()
            ]
            exporters = [pod for pod in self._world.pods.values() if EXPORTER.items() <= dict(pod.labels).items()]
            return Inventory(nodes=tuple(known), exporter_pods={pod.full_name: pod.node for pod in exporters})


class FakePower:
    """The port `Power`: one cycle for each key, however often it is asked."""

    def __init__(self, world: World, node_jobs: FakeNodeJobs) -> None:
        self._world = world
        self._node_jobs = node_jobs
        self.keys: list[str] = []

    def cycle(self, node: str, key: str) -> None:
        with self._world.now():
            self._world.called("cycle", node)
            self._world.note("cycle", node, changed=key not in self.keys)
            if key not in self.keys:
                self.keys.append(key)
                self._node_jobs.cycle_power(node)


class FakeProvider:
    """The port `Provider`: a minute after the first call for a key the node goes, and a minute later another comes."""

    def __init__(self, world: World, cluster: FakeCluster) -> None:
        self._world = world
        self._cluster = cluster
        self.keys: list[str] = []
        self.gets_work: tuple[str, ...] = ()
        """Pods that are bound to the new machine in the moment it joins."""

    def replace(self, node: str, key: str) -> None:
        with self._world.now():
            self._world.called("replace", node)
            self._world.note("replace", node, changed=key not in self.keys)
            if key not in self.keys:
                self.keys.append(key)
                self._world.after(timedelta(minutes=1), lambda: self._goes(node))

    def _goes(self, node: str) -> None:
        self._cluster.remove_node(node)
        self._world.after(timedelta(minutes=1), lambda: self._joins(node))

    def _joins(self, node: str) -> None:
        self._cluster.add_node(node)
        for name in self.gets_work:
            self._cluster.add_pod(node, name, gpus=1, ends_after=5)


class FakeBaselines:
    """The port `Baselines`: what a test says the peers measured, whatever the key."""

    def __init__(self) -> None:
        self.measured: dict[str, float] = {}
        """Node to GB/s."""

    def peers(self, key: str, *, besides: str) -> tuple[float, ...]:
        return tuple(gb_s for node, gb_s in self.measured.items() if node != besides)


def _changed(world: World, after: NodeView) -> NodeView:
    """Stores the node, with a new resourceVersion if it is another one."""
    before = world.nodes[after.name]
    if after != before:
        after = replace(after, resource_version=str(world.number()))
        world.nodes[after.name] = after
    return after


def _merged(node: NodeView, body: Mapping[str, object]) -> NodeView:
    """RFC 7386 on the parts of a node that Sickbay writes. Anything else in the body is a mistake of ours."""
    changes: dict[str, Any] = {}
    left = {part: dict(value) if isinstance(value, Mapping) else value for part, value in body.items()}
    metadata: Any = left.pop("metadata", {})
    spec: Any = left.pop("spec", {})
    for part in ("labels", "annotations"):
        merged = {**getattr(node, part), **metadata.pop(part, {})}
        changes[part] = {key: value for key, value in merged.items() if value is not None}
    if "unschedulable" in spec:
        changes["unschedulable"] = bool(spec.pop("unschedulable"))
    unknown = [*left, *metadata, *spec]
    assert not unknown, f"the fake cluster cannot patch {unknown}"
    return replace(node, **changes)


class FakeAccess:
    """The port `Access`: all that the chart grants by itself is allowed, and nobody else is there.

    A test may say otherwise.
    """

    def __init__(self) -> None:
        self.missing: set[Need] = {Need("delete", "pods")}
        self.served: set[str] = {"apps", "nvidia.com"}
        self.pods: dict[tuple[str, str], frozenset[str]] = {}
        self.refuses: str | None = None
        self.fails: PortError | None = None

    def allowed(self, need: Need) -> bool:
        if self.fails is not None:
            raise self.fails
        return need not in self.missing

    def groups(self) -> frozenset[str]:
        return frozenset(self.served)

    def nodes_of_pods(self, label: str, value: str) -> frozenset[str]:
        return self.pods.get((label, value), frozenset())

    def refusal_of(self, job: NodeJob) -> str | None:
        return self.refuses
