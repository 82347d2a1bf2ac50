"""Pods of a node, read into `PodView`, and their eviction."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from app.domain.facts import PodView
from workers.adapters.kubernetes.answers import Right
from workers.adapters.kubernetes.client import Client, segment
from workers.adapters.kubernetes.evictions import EVICT, refusal_of
from workers.adapters.kubernetes.lists import Page, read_list
from workers.ports import Refusal

PATH = "/api/v1/pods"
DEFAULT_GRACE_S = 30
GPU = "nvidia.com/gpu"
MIG = "nvidia.com/mig-"


class Owner(msgspec.Struct):
    """An owner reference; the controlling one has `controller` true."""

    kind: str
    name: str
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


class EmptyDir(msgspec.Struct):
    """A directory that is empty at the pod's start."""


class Volume(msgspec.Struct):
    """A volume; only emptyDir matters, since its content dies with the pod."""

    name: str
    empty_dir: EmptyDir | None = msgspec.field(default=None, name="emptyDir")


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
            empty_dirs=tuple(volume.name for volume in spec.volumes or [] if volume.empty_dir is not None),
            gpus=sum(container.gpus for container in spec.containers or []),
        )


PODS = msgspec.json.Decoder(Page[Pod])


class KubernetesPods:
    """The port `Pods`. `clock` gives UTC now, for when a refused eviction may be asked again."""

    def __init__(self, client: Client, clock: Callable[[], datetime]) -> None:
        self._client = client
        self._clock = clock

    def on_node(self, node: str) -> tuple[PodView, ...]:
        """Every pod bound to that node, from a list that no earlier write is missing in."""
        query = {"fieldSelector": f"spec.nodeName={node}"}
        pods, _ = read_list(self._client, PATH, Right("list", "pods"), PODS, query)
        return tuple(pod.view() for pod in pods)

    def evict(self, namespace: str, name: str, uid: str) -> Refusal | None:
        """Asks for the eviction of exactly that pod; it keeps its own grace."""
        path = f"/api/v1/namespaces/{segment(namespace)}/pods/{segment(name)}/eviction"
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        answer = self._client.ask("POST", path, EVICT, body=body)
        return refusal_of(answer, namespace, name, self._clock())
