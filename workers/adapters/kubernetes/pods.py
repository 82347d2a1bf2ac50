"""Pods of a node, read into `PodView`, their eviction, and their deletion where policy asks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec

from app.domain.facts import PodView
from workers.adapters.kubernetes.answers import Right, error_of
from workers.adapters.kubernetes.budgets import never_allows
from workers.adapters.kubernetes.client import Client, segment
from workers.adapters.kubernetes.evictions import EVICT, budget_of, is_another, refusal_of
from workers.adapters.kubernetes.lists import Page, read_list
from workers.ports import Refusal

PATH = "/api/v1/pods"
DAEMON_SETS_PATH = "/apis/apps/v1/daemonsets"
DEFAULT_GRACE_S = 30
GPU = "nvidia.com/gpu"
MIG = "nvidia.com/mig-"
DELETE = Right("delete", "pods")
KNOWN_FOR = timedelta(minutes=1)
"""How long a DaemonSet that was there counts as there; the garbage collector ends its pods about as soon."""


class Owner(msgspec.Struct):
    """An owner reference; the controlling one has `controller` true."""

    kind: str
    name: str
    uid: str = ""
    controller: bool | None = None


class PodMetadata(msgspec.Struct):
    """Of a pod."""

    name: str
    namespace: str
    uid: str
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owners: list[Owner] | None = msgspec.field(default=None, name="ownerReferences")
    deleted_at: datetime | None = msgspec.field(default=None, name="deletionTimestamp")
    deletion_grace: int | None = msgspec.field(default=None, name="deletionGracePeriodSeconds")
    finalizers: list[str] | None = None


class EmptyDir(msgspec.Struct):
    """A directory that is empty at the pod's start, on disk or (medium Memory) in memory."""

    medium: str | None = None


class Volume(msgspec.Struct):
    """A volume; only emptyDir matters, since its content dies with the pod."""

    name: str
    empty_dir: EmptyDir | None = msgspec.field(default=None, name="emptyDir")

    @property
    def on_disk(self) -> bool:
        """Whether it is an emptyDir that may hold data; one in memory is what training uses as /dev/shm."""
        return self.empty_dir is not None and self.empty_dir.medium != "Memory"


class Claim(msgspec.Struct):
    """A resource claim that the pod uses, by its name inside the pod."""

    name: str


class Resources(msgspec.Struct):
    """What a container asks for; extended resources have equal requests and limits."""

    limits: dict[str, str | int] | None = None


class Container(msgspec.Struct):
    """A container; only the GPUs that it holds matter."""

    resources: Resources | None = None

    @property
    def gpus(self) -> int:
        """`nvidia.com/gpu` and MIG slices, whole ones by nature."""
        limits = (self.resources and self.resources.limits) or {}
        return sum(int(count) for name, count in limits.items() if name == GPU or name.startswith(MIG))


class PodSpec(msgspec.Struct):
    """Where it runs, what it holds, and how long it may take to end."""

    node: str | None = msgspec.field(default=None, name="nodeName")
    grace: int | None = msgspec.field(default=None, name="terminationGracePeriodSeconds")
    volumes: list[Volume] | None = None
    containers: list[Container] | None = None
    claims: list[Claim] | None = msgspec.field(default=None, name="resourceClaims")


class PodStatus(msgspec.Struct):
    """How far it is."""

    phase: str | None = None


class Pod(msgspec.Struct):
    """The parts of a Pod that Sickbay decides by. Any list or map may be null."""

    metadata: PodMetadata
    spec: PodSpec | None = None
    status: PodStatus | None = None

    def view(self) -> PodView:
        """Narrowed to the domain's words."""
        metadata, spec = self.metadata, self.spec or PodSpec()
        controller = next((owner for owner in metadata.owners or [] if owner.controller), None)
        grace = metadata.deletion_grace if metadata.deletion_grace is not None else spec.grace
        return PodView(
            namespace=metadata.namespace,
            name=metadata.name,
            uid=metadata.uid,
            node=spec.node or "",
            phase=(self.status and self.status.phase) or "Unknown",
            labels=metadata.labels or {},
            annotations=metadata.annotations or {},
            controller_kind=controller.kind if controller else "",
            controller_name=controller.name if controller else "",
            deleted_at=metadata.deleted_at,
            grace=DEFAULT_GRACE_S if grace is None else grace,
            empty_dirs=tuple(volume.name for volume in spec.volumes or [] if volume.on_disk),
            gpus=sum(container.gpus for container in spec.containers or []),
            claims=tuple(claim.name for claim in spec.claims or []),
            controller_uid=controller.uid if controller else "",
            finalizers=tuple(metadata.finalizers or []),
        )


class DaemonSetMetadata(msgspec.Struct):
    """Of a DaemonSet."""

    uid: str


class DaemonSet(msgspec.Struct):
    """A DaemonSet; that it is there is all that matters."""

    metadata: DaemonSetMetadata


PODS = msgspec.json.Decoder(Page[Pod])
DAEMON_SETS = msgspec.json.Decoder(Page[DaemonSet])


class KubernetesPods:
    """The port `Pods`. `clock` gives UTC now, for when a refused eviction may be asked again; `own` names our pod."""

    def __init__(self, client: Client, clock: Callable[[], datetime], own: str = "") -> None:
        self._client = client
        self._clock = clock
        self._own = own
        self._daemon_sets: frozenset[str] = frozenset()
        self._listed_at: datetime | None = None

    def on_node(self, node: str) -> tuple[PodView, ...]:
        """Every pod bound to that node, from a list that no earlier write is missing in."""
        query = {"fieldSelector": f"spec.nodeName={node}"}
        pods, _ = read_list(self._client, PATH, Right("list", "pods"), PODS, query)
        return tuple(pod.view() for pod in pods)

    def evict(self, namespace: str, name: str, uid: str) -> Refusal | None:
        """Asks for the eviction of exactly that pod; it keeps its own grace. After a budget's no the budget is read."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        answer = self._client.ask("POST", f"{_path(namespace, name)}/eviction", EVICT, body=body)
        refusal = refusal_of(answer, namespace, name, self._clock())
        budget = budget_of(answer)
        if refusal is None or budget is None:
            return refusal
        never = never_allows(self._client, namespace, budget)
        return replace(refusal, reason=f"{refusal.reason} {never}", never=True) if never else refusal

    def delete(self, namespace: str, name: str, uid: str) -> None:
        """Tells exactly that pod to end; another one of its name is left alone, and one that is gone is fine."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
        answer = self._client.ask("DELETE", _path(namespace, name), DELETE, body=body)
        if not answer.ok and answer.code != 404 and not is_another(answer):
            raise error_of(answer, DELETE)

    def own(self) -> str:
        """As it was told at the start."""
        return self._own

    def orphans(self, pods: Sequence[PodView]) -> frozenset[str]:
        """Asks for all DaemonSets once in a while, and at once when a pod names one that is not known."""
        owned = {pod.uid: pod.controller_uid for pod in pods if pod.controller_kind == "DaemonSet"}
        now = self._clock()
        old = self._listed_at is None or now - self._listed_at > KNOWN_FOR
        if owned and (old or not self._daemon_sets.issuperset(owned.values())):
            found, _ = read_list(self._client, DAEMON_SETS_PATH, Right("list", "daemonsets"), DAEMON_SETS, {})
            self._daemon_sets, self._listed_at = frozenset(one.metadata.uid for one in found), now
        known = self._daemon_sets
        return frozenset(uid for uid, controller in owned.items() if controller not in known)


def _path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{segment(namespace)}/pods/{segment(name)}"
