from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
import requests
from kubernetes import client, config, watch

from simulator import cluster
from simulator.clock import Durations
from simulator.cluster import Cluster

Found = TypeVar("Found")
untyped_config: Any = config  # these two parts of the client have no types
untyped_watch: Any = watch


def eventually(condition: Callable[[], Found], timeout_s: float = 20.0) -> Found:
    """What the condition returns as soon as it is truthy; a failed assertion at the deadline."""
    ends = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < ends, f"it did not come true within {timeout_s:g} s"
        cluster.Cluster.clock_tick.wait(0.01)
    return found


class Kubernetes:
    """The official client on one simulated cluster, and a bare session for what that client hides."""

    def __init__(self, a_cluster: Cluster) -> None:
        self.cluster = a_cluster
        # Its models make every field optional, which only the tests know better: hence Any.
        self.api: Any = untyped_config.new_client_from_config(str(a_cluster.kubeconfig))
        self.core: Any = client.CoreV1Api(self.api)
        self.batch: Any = client.BatchV1Api(self.api)
        self.policy: Any = client.PolicyV1Api(self.api)
        self.http = requests.Session()
        self.http.headers["Authorization"] = "Bearer simulator-client"

    def patch(self, path: str, body: str, content_type: str = "application/merge-patch+json") -> requests.Response:
        return self.http.patch(self.cluster.url + path, data=body, headers={"Content-Type": content_type}, timeout=10)

    def control(self, what: str, **body: Any) -> Any:
        answer = self.http.post(f"{self.cluster.url}/simulator/{what}", json=body, timeout=10)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def evict(self, namespace: str, name: str, uid: str = "") -> Any:
        options = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid=uid)) if uid else None
        eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name=name), delete_options=options)
        return self.core.create_namespaced_pod_eviction(name, namespace, eviction)

    def close(self) -> None:
        self.http.close()
        self.api.rest_client.pool_manager.clear()
        self.api.close()


@pytest.fixture
def still() -> Iterator[Kubernetes]:
    """A cluster in which nothing moves by itself: for what the API server alone does."""
    with cluster.start(actors=False) as a_cluster:
        kubernetes = Kubernetes(a_cluster)
        yield kubernetes
        kubernetes.close()


@pytest.fixture(scope="module")
def moving() -> Iterator[Kubernetes]:
    """A whole cluster, four hours a minute, shared by the tests of one module."""
    shorter = Durations(diagnose=240.0, reboot=200.0)
    operator = ("nvidia-device-plugin-daemonset", "nvidia-dcgm-exporter")
    with cluster.start(speed=240, operator=operator, durations=shorter) as a_cluster:
        kubernetes = Kubernetes(a_cluster)
        yield kubernetes
        kubernetes.close()
