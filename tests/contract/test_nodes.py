"""What any cluster behind the port `Nodes` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.domain.effects import PatchNode
from app.domain.facts import NodeView
from app.domain.marks import cordon_patch, read_mark, release_patch
from tests.contract.clusters import NODE, OTHER_NODE, ClusterUnderTest, Served
from workers.ports import NodeChangedError


def seen(cluster: ClusterUnderTest) -> NodeView:
    node = cluster.nodes.get(NODE)
    assert node is not None
    return node


def patch_of(node: NodeView, body: Mapping[str, object]) -> PatchNode:
    return PatchNode(key="k", node=node.name, uid=node.uid, resource_version=node.resource_version, body=body)


def patched(cluster: ClusterUnderTest, body: Callable[[NodeView], Mapping[str, object]]) -> NodeView:
    """Patches what is there, again when controllers change the node in between, as they do after a cordon."""

    def went_well() -> bool:
        node = seen(cluster)
        try:
            cluster.nodes.patch(patch_of(node, body(node)))
        except NodeChangedError:
            return False
        return True

    cluster.until(went_well)
    return seen(cluster)


def test_a_node_is_read_with_what_decisions_need(cluster: ClusterUnderTest) -> None:
    node = seen(cluster)

    assert node.name == NODE
    assert node.uid
    assert node.resource_version
    assert node.boot_id
    assert node.ready
    assert not node.unschedulable
    assert (node.gpu_capacity, node.gpu_allocatable) == (8, 8)
    assert NODE in node.addresses
    assert node.labels["kubernetes.io/hostname"] == NODE


def test_an_unknown_node_is_none(cluster: ClusterUnderTest) -> None:
    assert cluster.nodes.get("gpu-z99") is None


def test_a_name_cannot_leave_its_place_in_the_path(cluster: ClusterUnderTest) -> None:
    assert cluster.nodes.get(f"../nodes/{NODE}") is None


def test_all_nodes_are_listed(cluster: ClusterUnderTest) -> None:
    assert {NODE, OTHER_NODE} <= {node.name for node in cluster.nodes.all()}


def test_a_cordon_marks_and_a_release_takes_every_mark_away(cluster: ClusterUnderTest) -> None:
    before = seen(cluster)

    held = patched(cluster, lambda node: cordon_patch(node, "op-1"))
    mark = read_mark(held)
    assert held.unschedulable
    assert mark is not None
    assert mark.operation == "op-1"

    after = patched(cluster, lambda node: release_patch(node, mark))
    assert not after.unschedulable
    assert replace(after, resource_version="") == replace(before, resource_version="")


def test_null_takes_a_key_away_and_leaves_the_others(cluster: ClusterUnderTest) -> None:
    patched(cluster, lambda _: {"metadata": {"annotations": {"one": "1", "two": "2"}}})

    node = patched(cluster, lambda _: {"metadata": {"annotations": {"one": None, "absent": None}}})

    assert "one" not in node.annotations
    assert node.annotations["two"] == "2"


def test_a_node_that_somebody_changed_meanwhile_is_not_patched(cluster: ClusterUnderTest) -> None:
    node = seen(cluster)
    changed = cluster.change_node()

    with pytest.raises(NodeChangedError):
        cluster.nodes.patch(patch_of(node, cordon_patch(node, "op-1")))

    assert seen(cluster) == changed


def test_another_machine_of_the_same_name_is_not_patched(cluster: ClusterUnderTest) -> None:
    node = seen(cluster)

    with pytest.raises(NodeChangedError):
        cluster.nodes.patch(patch_of(replace(node, uid="another"), cordon_patch(node, "op-1")))

    assert seen(cluster) == node


def test_a_node_that_is_gone_is_not_patched(cluster: ClusterUnderTest) -> None:
    node = replace(seen(cluster), name="gpu-z99")

    with pytest.raises(NodeChangedError):
        cluster.nodes.patch(patch_of(node, cordon_patch(node, "op-1")))


def test_who_set_the_cordon_and_the_upgrade_state_is_read_with_the_time(served: Served) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    patched(served, lambda node: cordon_patch(node, "op-1"))
    labels = {"nvidia.com/gpu-driver-upgrade-state": "validation-required"}
    served.cluster.person.patch("nodes", "", NODE, {"metadata": {"labels": labels}})

    writes = seen(served).writes

    (cordon,) = [write for write in writes if write.unschedulable]
    (state,) = [write for write in writes if write.upgrade_state]
    assert cordon.by == "sickbay"
    assert state.by != "sickbay"
    assert before <= cordon.at <= state.at <= datetime.now(UTC)
    assert served.nodes.all()[0].writes == ()


def test_an_uncordon_leaves_no_writer_behind(served: Served) -> None:
    patched(served, lambda node: cordon_patch(node, "op-1"))
    served.cluster.person.patch("nodes", "", NODE, {"spec": {"unschedulable": None}})

    assert [write for write in seen(served).writes if write.unschedulable] == []


def test_a_patch_that_changes_nothing_leaves_the_version(cluster: ClusterUnderTest) -> None:
    node = seen(cluster)

    cluster.nodes.patch(patch_of(node, {"metadata": {"labels": {"kubernetes.io/hostname": NODE}}}))

    assert seen(cluster) == node
