"""Clusters that answer to the same words: the fake one behind the ports, and over HTTP the simulated and a real one.

What a test does here it does as somebody else than Sickbay; what Sickbay does goes through `ports`.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

import requests

from app.domain.facts import NodeView, PodView
from simulator import objects
from simulator.cluster import Cluster
from tests.fakes import FakeCluster
from workers.adapters.kubernetes.client import Client, connect
from workers.adapters.kubernetes.node_jobs import NAMESPACE, KubernetesNodeJobs
from workers.adapters.kubernetes.nodes import KubernetesNodes
from workers.adapters.kubernetes.notices import KubernetesNotices
from workers.adapters.kubernetes.places import KubernetesPlaces
from workers.adapters.kubernetes.pods import KubernetesPods
from workers.ports import NodeJobs, Nodes, Notices, Places, Pods

NODE = "gpu-a01"
OTHER_NODE = "gpu-a02"
MERGE = "application/merge-patch+json"
PATIENCE_S = 60.0
_pause = threading.Event()


class Answer(NamedTuple):
    """What an API server said."""

    code: int
    body: dict[str, Any]

    @property
    def status(self) -> tuple[int, str, str]:
        """Code, reason and message of a Status."""
        return self.code, self.body.get("reason", ""), self.body.get("message", "")


class ClusterUnderTest(Protocol):
    """What the contract needs of a cluster."""

    nodes: Nodes
    pods: Pods
    node_jobs: NodeJobs
    places: Places
    notices: Notices

    def sentences(self) -> list[str]:
        """What the Events on NODE say, in any order."""

    def until(self, condition: Callable[[], bool]) -> None:
        """Lets time pass until the condition holds; fails when it never does."""

    def add_pod(self, name: str, *, labels: dict[str, str] | None = None, grace: int = 30) -> str:
        """A running pod of a controller on NODE, in namespace default; its uid."""

    def set_budget(self, name: str, labels: dict[str, str], *, needed: int, healthy: int) -> None:
        """A budget in namespace default, by which `needed` of the `healthy` pods that are there have to stay."""

    def behave(self, **behaviours: str) -> None:
        """How NODE's machine answers the next node job."""

    def lose_node_job(self, name: str) -> None:
        """Somebody deletes a node job that Sickbay started."""

    def change_node(self) -> NodeView:
        """Somebody else changes NODE."""


class Fake:
    """The fake cluster."""

    def __init__(self) -> None:
        self.cluster = FakeCluster(nodes=2)
        self.nodes: Nodes = self.cluster.nodes
        self.pods: Pods = self.cluster.pods
        self.node_jobs: NodeJobs = self.cluster.node_jobs
        self.places: Places = self.cluster.places
        self.notices: Notices = self.cluster.notices

    def sentences(self) -> list[str]:
        return self.cluster.notices.sentences.get(NODE, [])

    def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            due = self.cluster.next_event()
            assert due is not None, "nothing will happen any more"
            self.cluster.clock.now = due

    def add_pod(self, name: str, *, labels: dict[str, str] | None = None, grace: int = 30) -> str:
        return self.cluster.add_pod(NODE, name, labels=labels or {}, grace=grace, ends_after=5).uid

    def set_budget(self, name: str, labels: dict[str, str], *, needed: int, healthy: int) -> None:
        self.cluster.set_budget(f"default/{name}", labels, allowed=healthy - needed, needed=needed)

    def behave(self, **behaviours: str) -> None:
        for what, how in behaviours.items():
            setattr(self.cluster.machine(NODE), what, how)

    def lose_node_job(self, name: str) -> None:
        self.cluster.lose_node_job(name)

    def change_node(self) -> NodeView:
        node = self.cluster.nodes.get(NODE)
        assert node is not None
        return self.cluster.change_node(NODE, labels={**node.labels, "somebody": "else"})


class Served:
    """A cluster with an API server, simulated or real, spoken to by the real adapter through a kubeconfig."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.client: Client = connect(cluster.kubeconfig)
        self.nodes: Nodes = KubernetesNodes(self.client)
        self.pods: Pods = KubernetesPods(self.client, lambda: datetime.now(UTC))
        self.node_jobs: NodeJobs = KubernetesNodeJobs(self.client)
        self.places: Places = KubernetesPlaces(self.client)
        self._notices = KubernetesNotices(self.client)
        self.notices: Notices = self._notices
        self._numbers = itertools.count(1)
        self._budgets: set[str] = set()

    def events(self) -> list[dict[str, Any]]:
        """The Events on NODE that Sickbay has told, in the form of events.k8s.io."""
        found = self.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events").body["items"]
        ours = [event for event in found if event.get("reportingController") == "sickbay"]
        return [event for event in ours if event["regarding"]["name"] == NODE]

    def sentences(self) -> list[str]:
        return [event["note"] for event in self.events()]

    def close(self) -> None:
        """Ends what it has begun."""
        self._notices.close()
        self.client.close()

    def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Answer:
        """One bare request as somebody who may do everything."""
        real = self.cluster.real
        headers = {
            "Authorization": f"Bearer {real.actors if real else 'simulator-actors'}",
            "Content-Type": content_type,
        }
        answer = requests.request(
            method,
            self.cluster.url + path,
            data=None if body is None else json.dumps(body),
            headers=headers,
            verify=str(real.ca) if real else True,
            timeout=10,
        )
        found = answer.json()
        return Answer(answer.status_code, found if isinstance(found, dict) else {})

    def until(self, condition: Callable[[], bool]) -> None:
        ends = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < ends, "it did not come true in time"
            _pause.wait(0.01)

    def add_pod(self, name: str, *, labels: dict[str, str] | None = None, grace: int = 30) -> str:
        owner = {"apiVersion": "example.org/v1", "kind": "TrainingRun", "name": "run", "uid": "1", "controller": True}
        pod = objects.pod(name, node=NODE, labels=labels, terminationGracePeriodSeconds=grace)
        pod["metadata"]["ownerReferences"] = [owner]
        uid: str = self.cluster.api.create("pods", "default", pod)["metadata"]["uid"]
        self.until(lambda: any(one.uid == uid and one.phase == "Running" for one in self.pods.on_node(NODE)))
        return uid

    def set_budget(self, name: str, labels: dict[str, str], *, needed: int, healthy: int) -> None:
        limit = {"minAvailable": needed}
        api = self.cluster.api
        if name in self._budgets:
            api.patch("poddisruptionbudgets", "default", name, {"spec": limit})
        else:
            api.create("poddisruptionbudgets", "default", objects.budget(name, "default", labels, **limit))
            self._budgets.add(name)
        self.until(lambda: self._counted(name, needed, healthy))

    def _counted(self, name: str, needed: int, healthy: int) -> bool:
        budget: dict[str, Any] = self.cluster.api.get("poddisruptionbudgets", "default", name)
        status = budget.get("status") or {}
        if status.get("observedGeneration") != budget["metadata"].get("generation"):
            return False
        return (status.get("currentHealthy"), status.get("disruptionsAllowed")) == (healthy, healthy - needed)

    def behave(self, **behaviours: str) -> None:
        for what, how in behaviours.items():
            setattr(self.cluster.machines[NODE].behaviours, what, how)

    def lose_node_job(self, name: str) -> None:
        self.cluster.person.delete("jobs", NAMESPACE, name, propagationPolicy="Background")

    def change_node(self) -> NodeView:
        self.cluster.person.patch("nodes", "", NODE, {"metadata": {"labels": {"somebody": "else"}}})
        node = self.nodes.get(NODE)
        assert node is not None
        return node


def pod_named(cluster: ClusterUnderTest, name: str) -> PodView | None:
    """The pod of that name on NODE."""
    return next((pod for pod in cluster.pods.on_node(NODE) if pod.name == name), None)
