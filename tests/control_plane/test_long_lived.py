"""Clients that live for months: their token is replaced, their watches end, the API server is away for a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import kubernetes.config
import pytest
from kubernetes.config import incluster_config
from structlog.testing import capture_logs

from app.domain.facts import NodeView
from simulator.cluster import Cluster, start
from tests.control_plane.emptying import emptied
from tests.control_plane.plane import API_SERVER, ControlPlane
from tests.watch.listening import Listener
from workers.adapters.kubernetes import watching
from workers.adapters.kubernetes.client import Client, connect
from workers.adapters.kubernetes.nodes import KubernetesNodes
from workers.adapters.kubernetes.watching import feeds
from workers.watch.seen import HistoryGone
from workers.watch.stream import Pace
from workers.watch.streams import Streams

PATIENCE_S = 180.0
NODE = "gpu-a01"


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[Cluster]:
    """Nodes on which nothing moves."""
    with emptied(control_plane) as api, start(nodes=3, actors=False, real=api) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Cluster) -> Iterator[Client]:
    client = connect(cluster.kubeconfig)
    yield client
    client.close()


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < ends, "it did not come true in time"
        time.sleep(0.05)


@contextmanager
def followed(client: Client) -> Iterator[Listener]:
    """The streams at their own pace."""
    listener = Listener()
    streams = Streams(feeds(client), on_nudge=listener.nudge, on_inventory=listener.inventory, pace=Pace(debounce=0.02))
    streams.start()
    try:
        assert listener.hears(lambda: bool(listener.nodes))
        yield listener
    finally:
        streams.stop()


def all_nodes(client: Client) -> dict[str, NodeView]:
    return {node.name: node for node in KubernetesNodes(client).all()}


def test_a_pod_goes_on_with_the_token_that_its_kubelet_puts_in_place_of_the_old_one(
    control_plane: ControlPlane, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    control_plane.account("long-lived", {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]})
    secrets, token = "/api/v1/namespaces/default/secrets", tmp_path / "token"
    control_plane.ask("POST", secrets, {"metadata": {"name": "bound-to"}}).raise_for_status()
    first = control_plane.service_account_token("default", "long-lived", bound_to="bound-to")
    token.write_text(first)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(control_plane.ca))
    monkeypatch.setattr(kubernetes.config, "KUBE_CONFIG_DEFAULT_LOCATION", str(tmp_path / "none"))
    host, _, port = control_plane.url.removeprefix("https://").partition(":")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
    client = connect()
    nodes = KubernetesNodes(client)
    assert nodes.get(NODE) is not None

    # A token is worth nothing once what it was bound to is gone, as at the end of its time.
    control_plane.ask("DELETE", f"{secrets}/bound-to").raise_for_status()
    until(lambda: control_plane.ask("GET", "/api/v1/nodes/x", token=first).status_code == 401)
    token.write_text(control_plane.service_account_token("default", "long-lived"))

    assert nodes.get(NODE) is not None
    client.close()


def test_a_watch_that_the_server_ends_goes_on_where_it_was(
    control_plane: ControlPlane, cluster: Cluster, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "WATCH_S", (1, 1))
    seen = control_plane.audit.from_now_on()

    def of_nodes(verb: str) -> int:
        return sum((one["verb"], one["resource"]) == (verb, "nodes") for one in seen.requests(user=cluster_user()))

    with followed(client) as listener:
        until(lambda: of_nodes("watch") >= 3)
        cluster.person.patch("nodes", "", NODE, {"spec": {"unschedulable": True}})
        assert listener.hears_nudge(NODE, "it was cordoned")
        assert of_nodes("list") == 1


def cluster_user() -> str:
    return "system:serviceaccount:sickbay:sickbay"


def test_after_a_while_without_an_api_server_the_state_is_that_of_a_fresh_list(
    control_plane: ControlPlane, cluster: Cluster, client: Client
) -> None:
    with capture_logs() as logs, followed(client) as listener:

        def failures(kind: str) -> int:
            return sum(one["event"] == "watch interrupted" and one["kind"] == kind for one in logs)

        control_plane.end(API_SERVER)
        began = time.monotonic()
        until(lambda: failures("nodes") >= 4)
        control_plane.start(API_SERVER)
        cluster.person.patch("nodes", "", NODE, {"metadata": {"labels": {"somebody": "else"}}})
        cluster.person.delete("nodes", "", "gpu-a03")

        assert listener.hears(lambda: "gpu-a03" not in listener.nodes)
        assert listener.hears(lambda: listener.nodes == all_nodes(client))
        # Pauses grow from half a second: ten of them last more than a minute.
        tries = max(failures(kind) for kind in ("nodes", "pods", "node-jobs"))
        assert tries <= 3 + (time.monotonic() - began) / 2, "it was asked again and again"

        # The history of before is gone with the old process, and the adapter says so.
        with pytest.raises(HistoryGone):
            next(iter(feeds(client).nodes.follow("1")))
