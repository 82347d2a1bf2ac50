"""Nodes: read into `NodeView`, and patched under the condition that they are still what was read."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import msgspec

from app.domain.effects import PatchNode
from app.domain.facts import NodeView, Write
from app.domain.uncordons import UPGRADE_STATE
from workers.adapters.kubernetes.answers import Answer, Right, error_of
from workers.adapters.kubernetes.client import MERGE_PATCH, Client, segment
from workers.adapters.kubernetes.lists import Page, decoded, read_list
from workers.ports import NodeChangedError

PATH = "/api/v1/nodes"
GPU = "nvidia.com/gpu"


class Metadata(msgspec.Struct):
    """Of any object."""

    name: str
    uid: str
    version: str = msgspec.field(default="", name="resourceVersion")
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Spec(msgspec.Struct):
    """What is wanted of the node."""

    unschedulable: bool | None = None


class Address(msgspec.Struct):
    """One of the node's addresses or host names."""

    address: str


class Condition(msgspec.Struct):
    """One condition, True, False or Unknown."""

    type: str
    status: str


class NodeInfo(msgspec.Struct):
    """What the kubelet reports of the machine."""

    boot_id: str | None = msgspec.field(default=None, name="bootID")


class NodeStatus(msgspec.Struct):
    """What the kubelet and the node controller report."""

    addresses: list[Address] | None = None
    conditions: list[Condition] | None = None
    node_info: NodeInfo | None = msgspec.field(default=None, name="nodeInfo")
    capacity: dict[str, str | int] | None = None
    allocatable: dict[str, str | int] | None = None


class Node(msgspec.Struct):
    """The parts of a Node that Sickbay decides by."""

    metadata: Metadata
    spec: Spec | None = None
    status: NodeStatus | None = None

    def view(self) -> NodeView:
        """Narrowed to the domain's words."""
        status = self.status or NodeStatus()
        conditions = status.conditions or []
        names = [one.address for one in status.addresses or []]
        return NodeView(
            name=self.metadata.name,
            uid=self.metadata.uid,
            resource_version=self.metadata.version,
            labels=self.metadata.labels or {},
            annotations=self.metadata.annotations or {},
            unschedulable=bool(self.spec and self.spec.unschedulable),
            ready=any(one.type == "Ready" and one.status == "True" for one in conditions),
            boot_id=(status.node_info and status.node_info.boot_id) or "",
            addresses=tuple(dict.fromkeys(names)),
            gpu_capacity=_count(status.capacity),
            gpu_allocatable=_count(status.allocatable),
        )


class WantedFields(msgspec.Struct):
    """Of a writer's fields, the one of the spec that counts here. Each is there or not; its value says nothing."""

    unschedulable: msgspec.Raw | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name="f:unschedulable")


class LabelFields(msgspec.Struct):
    """Of a writer's labels, the one that counts here."""

    upgrade_state: msgspec.Raw | msgspec.UnsetType = msgspec.field(default=msgspec.UNSET, name=f"f:{UPGRADE_STATE}")


class MetadataFields(msgspec.Struct):
    """Of a writer's metadata."""

    labels: LabelFields | None = msgspec.field(default=None, name="f:labels")


class Fields(msgspec.Struct):
    """What a writer was the last to set (FieldsV1)."""

    spec: WantedFields | None = msgspec.field(default=None, name="f:spec")
    metadata: MetadataFields | None = msgspec.field(default=None, name="f:metadata")


class Writer(msgspec.Struct):
    """One entry of metadata.managedFields."""

    manager: str | None = None
    time: datetime | None = None
    subresource: str | None = None
    fields: Fields | None = msgspec.field(default=None, name="fieldsV1")

    def write(self) -> Write | None:
        """Its last write; nothing for that of a status, or one without a time."""
        if self.subresource or self.time is None:
            return None
        fields = self.fields or Fields()
        spec, metadata = fields.spec or WantedFields(), fields.metadata or MetadataFields()
        return Write(
            by=self.manager or "",
            at=self.time,
            unschedulable=spec.unschedulable is not msgspec.UNSET,
            upgrade_state=(metadata.labels or LabelFields()).upgrade_state is not msgspec.UNSET,
        )


class WrittenMetadata(Metadata):
    """With who wrote it: read of one node only, since in a long list it is most of the bytes."""

    writers: list[Writer] | None = msgspec.field(default=None, name="managedFields")


class WrittenNode(Node):
    """A Node with its writers."""

    metadata: WrittenMetadata

    def view(self) -> NodeView:
        """Narrowed to the domain's words."""
        writes = (writer.write() for writer in self.metadata.writers or [])
        return replace(super().view(), writes=tuple(write for write in writes if write is not None))


NODE = msgspec.json.Decoder(WrittenNode)
NODES = msgspec.json.Decoder(Page[Node])


class KubernetesNodes:
    """The port `Nodes`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def get(self, name: str) -> NodeView | None:
        """The node as it is now, None when there is none of that name."""
        right = Right("get", "nodes")
        body = self._client.get(f"{PATH}/{segment(name)}", right)
        return None if body is None else decoded(NODE, body, right).view()

    def all(self) -> tuple[NodeView, ...]:
        """Every node."""
        nodes, _ = read_list(self._client, PATH, Right("list", "nodes"), NODES)
        return tuple(node.view() for node in nodes)

    def patch(self, patch: PatchNode) -> None:
        """A merge patch that the server applies only to exactly the node that was read."""
        right = Right("patch", "nodes")
        metadata = patch.body.get("metadata")
        given = dict(metadata) if isinstance(metadata, dict) else {}
        conditions = {"uid": patch.uid, "resourceVersion": patch.resource_version}
        body = {**patch.body, "metadata": {**given, **conditions}}
        answer = self._client.ask("PATCH", f"{PATH}/{segment(patch.node)}", right, body=body, content_type=MERGE_PATCH)
        if answer.ok:
            return
        if answer.code in {404, 409} or _other_uid(answer):
            told = answer.status.message or "it has changed"
            raise NodeChangedError(f"Node {patch.node} is not as it was read: {told}")
        raise error_of(answer, right)


def _other_uid(answer: Answer) -> bool:
    """Whether a patch was found invalid because the uid in it is another node's."""
    return answer.code == 422 and any(cause.field == "metadata.uid" for cause in answer.status.causes)


def _count(resources: dict[str, str | int] | None) -> int:
    told = str((resources or {}).get(GPU, 0))
    return int(told) if told.isdecimal() else 0
