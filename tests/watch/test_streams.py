"""The streams on a simulated cluster, through the real adapter, and on a server that fails as told."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.domain.effects import NodeJob, PatchNode
from app.domain.facts import NodeView
from app.domain.marks import cordon_patch
from app.errors import StoreUnavailable
from simulator import objects
from simulator.cluster import Cluster, start
from tests.contract.server import Told, telling
from tests.control_plane.emptying import emptied
from tests.watch.listening import Listener
from workers.adapters.kubernetes.client import Client, connect
from workers.adapters.kubernetes.node_jobs import KubernetesNodeJobs
from workers.adapters.kubernetes.nodes import KubernetesNodes
from workers.adapters.kubernetes.pods import KubernetesPods
from workers.adapters.kubernetes.watching import KubernetesFeed, WatchedNode, feeds
from workers.watch.stream import Pace, Stream
from workers.watch.streams import Streams

QUICK = Pace(first_pause=0.01, longest_pause=0.05, shortest_follow=0.01, debounce=0.02)
NODE = "gpu-a01"


@pytest.fixture(params=["simulated", "real"])
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Two machines, under the simulated control plane and under a real one."""
    plane = request.getfixturevalue("control_plane") if request.param == "real" else None
    with (
        nullcontext() if plane is None else emptied(plane) as api,
        start(nodes=2, speed=1000, workloads=False, operator=("nvidia-dcgm-exporter",), real=api) as cluster,
    ):
        yield cluster


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    client = connect(cluster.kubeconfig)
    yield client
    client.close()


@contextmanager
def watching(client: Client, listener: Listener, pace: Pace = QUICK) -> Iterator[Streams]:
    streams = Streams(feeds(client), on_nudge=listener.nudge, on_inventory=listener.inventory, pace=pace)
    streams.start()
    try:
        assert listener.hears(lambda: bool(listener.nodes))
        yield streams
    finally:
        streams.stop()


def cordon(client: Client) -> None:
    nodes = KubernetesNodes(client)
    node = nodes.get(NODE)
    assert node is not None
    body = cordon_patch(node, "op-1")
    nodes.patch(PatchNode(key="k", node=node.name, uid=node.uid, resource_version=node.resource_version, body=body))


def test_the_inventory_is_told_at_the_start_and_soon_after_a_change(cluster: Cluster, client: Client) -> None:
    listener = Listener()
    with watching(client, listener):
        assert set(listener.nodes) == {"control-1", "gpu-a01", "gpu-a02"}
        assert listener.hears(lambda: set(listener.exporter_pods.values()) == {"gpu-a01", "gpu-a02"})

        cluster.person.patch("nodes", "", NODE, {"spec": {"unschedulable": True}})

        assert listener.hears(lambda: listener.nodes[NODE].unschedulable)


def test_the_inventory_is_told_again_although_nothing_changes(client: Client) -> None:
    listener = Listener()
    with watching(client, listener, Pace(debounce=0.02, inventory_every=0.1)):
        told = listener.inventories
        assert listener.hears(lambda: listener.inventories > told + 1)


def test_a_cordon_by_anybody_nudges(cluster: Cluster, client: Client) -> None:
    listener = Listener()
    with watching(client, listener):
        cluster.person.patch("nodes", "", NODE, {"spec": {"unschedulable": True}})
        assert listener.hears_nudge(NODE, "it was cordoned")

        cluster.person.patch("nodes", "", NODE, {"spec": {"unschedulable": None}})
        assert listener.hears_nudge(NODE, "it was uncordoned")


def test_a_node_that_is_held_is_looked_at_when_the_watch_begins(client: Client) -> None:
    cordon(client)
    listener = Listener()
    with watching(client, listener):
        assert listener.hears_nudge(NODE, "the watch has begun")
        assert not [node for node, why in listener.nudges if node != NODE and "begun" in why]


def test_a_pod_that_goes_nudges_when_told_and_when_it_has_ended(cluster: Cluster, client: Client) -> None:
    listener = Listener()
    created = cluster.api.create("pods", "default", objects.pod("llama-0", node=NODE))
    with watching(client, listener):
        KubernetesPods(client, lambda: datetime.now(UTC)).evict("default", "llama-0", created["metadata"]["uid"])

        assert listener.hears_nudge(NODE, "pod default/llama-0 is told to end")
        # The kubelet tells how it ended before it is gone, and from then on a drain need not wait for it.
        assert listener.hears_nudge(NODE, "pod default/llama-0 has finished")


def test_a_reboot_nudges_by_its_node_job_and_by_the_node(client: Client) -> None:
    listener = Listener()
    job = NodeJob(
        name="op-1-reboot",
        operation="op-1",
        step="reboot",
        node=NODE,
        image="registry.example/tool@sha256:0",
        argv=("chroot", "/host", "systemctl", "reboot"),
        deadline=timedelta(hours=1),
    )
    with watching(client, listener):
        KubernetesNodeJobs(client).start(job)

        assert listener.hears_nudge(NODE, "node job op-1-reboot has ended")
        assert listener.hears_nudge(NODE, "its boot id changed")
        assert listener.hears(lambda: listener.nodes[NODE].ready)


# How a real one loses its history is in tests/control_plane.
@pytest.mark.parametrize("cluster", ["simulated"], indirect=True)
def test_a_watch_whose_history_is_gone_lists_again_and_misses_nothing(cluster: Cluster, client: Client) -> None:
    listener = Listener()
    with watching(client, listener):
        cluster.store.compact()
        cluster.store.end_watches()
        cluster.person.patch("nodes", "", NODE, {"metadata": {"labels": {"sickbay/exclude": "true"}}})

        assert listener.hears_nudge(NODE, "label sickbay/exclude changed")


def watchers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("sickbay-watch-")]


def test_stopping_ends_every_thread_at_once(client: Client) -> None:
    with watching(client, Listener()):
        assert len(watchers()) == 4
        asked_at = time.monotonic()

    assert time.monotonic() - asked_at < 2, "a waiting watch was not woken"
    assert watchers() == []


def test_a_callback_that_finds_no_store_costs_that_word_only(cluster: Cluster, client: Client) -> None:
    listener = Listener()
    fails = [True, True]

    def nudge(node: str, why: str) -> None:
        if "cordoned" in why and fails.pop():
            raise StoreUnavailable("Redis is away.")
        listener.nudge(node, why)

    def inventory(nodes: tuple[NodeView, ...], exporter_pods: dict[str, str]) -> None:
        if len(fails) == 2 and not listener.inventories:
            listener.inventories = 1
            raise StoreUnavailable("Redis is away.")
        listener.inventory(nodes, exporter_pods)

    pace = Pace(debounce=0.02, inventory_every=0.05)
    streams = Streams(feeds(client), on_nudge=nudge, on_inventory=inventory, pace=pace)
    streams.start()
    try:
        assert listener.hears(lambda: bool(listener.nodes))
        cluster.person.patch("nodes", "", NODE, {"spec": {"unschedulable": True}})
        cluster.person.patch("nodes", "", NODE, {"metadata": {"labels": {"sickbay/exclude": "true"}}})
        assert listener.hears_nudge(NODE, "label sickbay/exclude changed")
        assert streams.alive
    finally:
        streams.stop()


def a_list(*names: str, version: str = "5") -> Told:
    items = [{"metadata": {"name": name, "uid": name, "labels": {"nvidia.com/gpu.present": "true"}}} for name in names]
    return Told(200, {"metadata": {"resourceVersion": version}, "items": items})


def lines(*events: dict[str, Any]) -> Told:
    return Told(200, b"".join(json.dumps(event).encode() + b"\n" for event in events))


GONE = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}
FAILING = {"type": "ERROR", "object": {"kind": "Status", "code": 500, "message": "etcd is away"}}


def bookmark(version: str) -> dict[str, Any]:
    return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": version}}}


def event(kind: str, name: str, version: str) -> dict[str, Any]:
    return {"type": kind, "object": {"metadata": {"name": name, "uid": name, "resourceVersion": version}}}


def run(tmp_path: Path, asked: int, *answers: Told) -> tuple[list[str], list[tuple[str, str]], float]:
    """Runs a stream of nodes until so many requests were made; what was asked, what changed, and how long it took."""
    changes: list[tuple[str, str]] = []
    enough = threading.Event()

    def changed(before: NodeView | None, after: NodeView | None) -> None:
        changes.append((before.name if before else "", after.name if after else ""))

    with telling(tmp_path, *answers) as (client, server):
        server.after(asked, enough.set)
        feed = KubernetesFeed(client, "/api/v1/nodes", "nodes", WatchedNode)
        stream: Stream[NodeView] = Stream("nodes", feed, changed, lambda _: None, QUICK)
        began = time.monotonic()
        stream.start()
        assert enough.wait(20)
        took = time.monotonic() - began
        stream.stop()
        stream.join()
        return [one.path for one in server.asked[:asked]], changes, took


def test_a_watch_goes_on_from_the_last_version_it_saw(tmp_path: Path) -> None:
    asked, changes, _ = run(
        tmp_path,
        4,
        a_list("a"),
        lines(event("ADDED", "b", "6"), event("MODIFIED", "b", "7")),
        lines(event("DELETED", "a", "8"), bookmark("20")),
        lines(),
    )

    assert "limit=" in asked[0]
    assert ["resourceVersion=5" in asked[1], "resourceVersion=7" in asked[2], "resourceVersion=20" in asked[3]] == [
        True,
        True,
        True,
    ]
    assert changes == [("", "b"), ("b", "b"), ("a", "")]


@pytest.mark.parametrize("gone", [lines(GONE), Told(410, {"kind": "Status", "code": 410})], ids=["event", "answer"])
def test_after_a_lost_history_the_difference_of_the_lists_is_told(tmp_path: Path, gone: Told) -> None:
    asked, changes, _ = run(tmp_path, 4, a_list("a", "b"), gone, a_list("b", "c", version="9"), lines())

    assert ["watch=1" in path for path in asked] == [False, True, False, True]
    assert sorted(changes) == [("", "c"), ("a", "")]


@pytest.mark.parametrize(
    "failing",
    [Told(403, {}), Told(500, {}), lines(FAILING), Told(hang_up=True), Told(200, b"no json\n"), lines(GONE), lines()],
    ids=["403", "500", "error event", "hang-up", "garbage", "always gone", "always empty"],
)
def test_a_failing_server_is_never_asked_in_a_tight_loop(tmp_path: Path, failing: Told) -> None:
    _, changes, took = run(tmp_path, 12, a_list("a"), failing)

    assert changes == []
    assert took > 0.05, "twelve requests without a pause"


def test_a_list_that_fails_is_tried_again(tmp_path: Path) -> None:
    asked, changes, _ = run(tmp_path, 4, Told(500, {}), Told(hang_up=True), a_list("a"), a_list("a"), lines())

    assert changes == []
    assert ["watch=1" in path for path in asked] == [False, False, False, True]


def test_where_node_jobs_are_off_none_are_followed_and_the_rest_is(cluster: Cluster, client: Client) -> None:
    listener = Listener()
    streams = Streams(feeds(client, None), on_nudge=listener.nudge, on_inventory=listener.inventory, pace=QUICK)
    streams.start()
    try:
        assert listener.hears(lambda: bool(listener.nodes))
        assert streams.alive
        assert not [name for name in (thread.name for thread in threading.enumerate()) if name.endswith("node-jobs")]
    finally:
        streams.stop()
