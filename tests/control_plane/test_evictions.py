"""What a real API server answers to an eviction where the fakes have only learnt it: throttling and missing rights."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from app.errors import PermanentPortError, TemporaryPortError
from simulator import objects
from simulator.cluster import Cluster, start
from tests.control_plane.emptying import emptied
from tests.control_plane.plane import ControlPlane
from workers.adapters.kubernetes.client import Client, connect
from workers.adapters.kubernetes.pods import KubernetesPods

NODE = "gpu-a01"
EVICT: dict[str, Any] = {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}
LIST: dict[str, Any] = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1"
PATIENCE_S = 60.0


@pytest.fixture
def cluster(control_plane: ControlPlane) -> Iterator[Cluster]:
    """Nodes on which nothing moves."""
    with emptied(control_plane) as api, start(nodes=1, actors=False, real=api) as cluster:
        yield cluster


def as_account(plane: ControlPlane, name: str, *rules: dict[str, Any]) -> Client:
    return connect(plane.kubeconfig(plane.account(name, *rules), f"{name}.kubeconfig"))


def pods_of(client: Client) -> KubernetesPods:
    return KubernetesPods(client, lambda: datetime.now(UTC))


def test_a_missing_right_is_named(control_plane: ControlPlane, cluster: Cluster) -> None:
    client = as_account(control_plane, "may-not-evict", LIST)
    made = cluster.api.create("pods", "default", objects.pod("web-1", node=NODE))

    assert [pod.name for pod in pods_of(client).on_node(NODE)] == ["web-1"]
    with pytest.raises(PermanentPortError, match=r"the right 'create' on 'pods/eviction' is missing"):
        pods_of(client).evict("default", "web-1", made["metadata"]["uid"])

    client.close()


def test_a_throttled_eviction_is_no_budgets_refusal_and_says_how_long_to_wait(
    control_plane: ControlPlane, cluster: Cluster
) -> None:
    client = as_account(control_plane, "throttled", EVICT)
    throttle(control_plane, "throttled")

    def asked(_: int) -> TemporaryPortError | None:
        try:
            pods_of(client).evict("default", "none", "nobody")
        except TemporaryPortError as wrong:
            return wrong
        return None

    refusals: list[TemporaryPortError] = []
    ends = time.monotonic() + PATIENCE_S
    with ThreadPoolExecutor(max_workers=32) as pool:
        # Until the server has taken note of the new level, and more than its few seats are asked for.
        while not refusals:
            assert time.monotonic() < ends
            refusals = [refusal for refusal in pool.map(asked, range(64)) if refusal is not None]

    refusal = refusals[0]
    assert refusal.retry_after is not None
    assert refusal.retry_after.total_seconds() >= 1
    assert "asks for patience" in str(refusal)
    client.close()


def throttle(plane: ControlPlane, account: str) -> None:
    """Leaves this account a few seats at once, and no queue to wait in."""
    level = {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}}
    level["limited"] |= {"lendablePercent": 0, "borrowingLimitPercent": 0}  # type: ignore[operator]
    who = {"kind": "ServiceAccount", "serviceAccount": {"namespace": "default", "name": account}}
    what = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
    flow = {
        "priorityLevelConfiguration": {"name": account},
        "matchingPrecedence": 2,
        "rules": [{"subjects": [who], "resourceRules": [what]}],
    }
    for kind, spec in (("prioritylevelconfigurations", level), ("flowschemas", flow)):
        plane.ask("POST", f"{FLOWS}/{kind}", {"metadata": {"name": account}, "spec": spec}).raise_for_status()
