"""The whole house for a story: embedded Valkey, simulated cluster, and Sickbay's own processes. Only HTTP is spoken."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from simulator import cluster as clusters
from simulator import valkey
from simulator.cluster import Cluster
from simulator.real_api import RealApi
from simulator.sickbay_components import SickbayComponents
from simulator.valkey import EmbeddedValkey

Object = dict[str, Any]
POLICY = Path(__file__).parent / "story.policy.yaml"
SPEED = 240.0
PATIENCE_S = 180.0
POLL_S = 0.05
SICKBAY = "system:serviceaccount:sickbay:sickbay"


@dataclass
class House:
    """What a story plays with."""

    cluster: Cluster
    sickbay: SickbayComponents
    valkey: EmbeddedValkey
    user: str = SICKBAY
    """Whose writes are Sickbay's."""

    def strike(self, what: str, **body: Any) -> None:
        """Lets something befall the cluster through the simulator's control API."""
        requests.post(f"{self.cluster.control_url}/{what}", json=body, timeout=10).raise_for_status()

    def post(self, *alerts: Object, status: str = "firing") -> Object:
        """Posts these alerts as Alertmanager would; what Sickbay answers."""
        body: Object = {"version": "4", "status": status, "receiver": "sickbay", "alerts": list(alerts)}
        body |= {"groupLabels": {}, "commonLabels": {}, "commonAnnotations": {}, "groupKey": "{}", "truncatedAlerts": 0}
        return self.post_body(json.dumps(body))

    def post_body(self, body: str) -> Object:
        """Posts this very body."""
        token = self.sickbay.webhook_token_file.read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        answer = requests.post(self.sickbay.webhook_url, data=body.encode(), headers=headers, timeout=10)
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    def get(self, path: str, **query: str) -> Any:
        """What the API says."""
        answer = requests.get(f"{self.sickbay.url}/api/v1/{path}", params=query, timeout=10)
        answer.raise_for_status()
        return answer.json()

    def order(self, operation_id: str, order: str, reason: str = "looked at it") -> Object:
        """A person's order through the API."""
        headers = {"Authorization": f"Bearer {self.sickbay.api_token_file.read_text().strip()}"}
        url = f"{self.sickbay.url}/api/v1/operations/{operation_id}/{order}"
        answer = requests.post(url, json={"reason": reason}, headers=headers, timeout=10)
        answer.raise_for_status()
        return dict(answer.json())

    def operation(self, node: str) -> Object | None:
        """The latest operation on the node, with its timeline."""
        found = self.get("operations", node=node, limit="1")["operations"]
        return self.get(f"operations/{found[0]['id']}") if found else None

    def until(self, node: str, *, state: str = "", words: str = "", patience: float = PATIENCE_S) -> Object:
        """The operation on that node once it is in this state and its reason has these words."""
        seen: Object | None = None

        def there() -> bool:
            nonlocal seen
            seen = self.operation(node)
            return seen is not None and (not state or seen["state"] == state) and words in seen["reason"]

        eventually(there, lambda: f"{node} is not {state} {words!r}: {_told(seen)}", patience)
        assert seen is not None
        return seen

    def until_at_work(self, node: str, *workloads: str) -> None:
        """Returns once a pod of each workload runs on the node: schedulers place them a moment after the start."""

        def missing() -> list[str]:
            at_work = [pod["name"] for pod in self.cluster_state()["pods"] if _runs_on(pod, node)]
            return [one for one in workloads if not any(name.startswith(one) for name in at_work)]

        eventually(lambda: not missing(), lambda: f"not at work on {node}: {', '.join(missing())}")

    def cluster_state(self) -> Object:
        """Machines, pods and checkpoints, as the simulator tells them."""
        return dict(requests.get(f"{self.cluster.control_url}/state", timeout=10).json())

    def node(self, name: str) -> Object:
        """The Node object."""
        return self.cluster.api.get("nodes", "", name)

    def writes(self, *, node: str = "") -> list[Object]:
        """Sickbay's accepted writes to the cluster, in order, without those that only tell people."""
        acts = self.cluster.audit.acts(after=0, user=self.user)
        changing = [act for act in acts if act["verb"] not in {"get", "list", "watch"} and act["code"] < 300]
        return [act for act in changing if (not node or act["name"] == node) and not _only_tells(act)]


def an_alert(node: str, *, xid: int | str = 79, gpu: int = 3, starts_at: str = "", **labels: str) -> Object:
    """A member of `alerts`, as dcgm-exporter's series and Alertmanager make it."""
    given = {
        "alertname": "GpuXid",
        "cluster": "demo",
        "severity": "critical",
        "Hostname": node,
        "gpu": str(gpu),
        "UUID": f"GPU-{node}-{gpu}",
        "err_code": str(xid),
        **labels,
    }
    return {
        "status": "firing",
        "labels": given,
        "annotations": {},
        "startsAt": starts_at or time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus.example/graph",
        "fingerprint": f"{hash(tuple(sorted(given.items()))) & (2**64 - 1):016x}",
    }


def eventually(true: Callable[[], bool], why: Callable[[], str], patience: float = PATIENCE_S) -> None:
    """Returns once it is true; AssertionError with `why` when that takes too long."""
    ends = time.monotonic() + patience
    while not true():
        assert time.monotonic() < ends, why()
        time.sleep(POLL_S)


@contextmanager
def a_house(
    directory: Path,
    *,
    nodes: int = 4,
    workers: int = 1,
    environ: Mapping[str, str] | None = None,
    workloads: bool = True,
    real: RealApi | None = None,
    kubeconfigs: Mapping[str, Path] | None = None,
) -> Iterator[House]:
    """A house that is ready: watch has written the inventory, workers live, alerts go to the receiver.

    With `real` its cluster has a real control plane, with `kubeconfigs` components have accounts of their own there.
    """
    with (
        valkey.start() as store,
        clusters.start(nodes=nodes, speed=SPEED, workloads=workloads, real=real) as cluster,
        SickbayComponents(
            directory,
            store.url,
            cluster.kubeconfig,
            POLICY,
            workers=workers,
            environ=environ or {},
            kubeconfigs=kubeconfigs or {},
        ) as sickbay,
    ):
        house = House(cluster, sickbay, store, user=f"{SICKBAY}-worker" if kubeconfigs else SICKBAY)
        sickbay.wait_for_nodes()
        cluster.alerting.send_to(sickbay.webhook_url, sickbay.webhook_token_file)
        yield house


def _runs_on(pod: Object, node: str) -> bool:
    return (pod["node"], pod["phase"]) == (node, "Running")


def _only_tells(act: Object) -> bool:
    """Whether it is an Event, or shows on a node where its operation stands."""
    labels = ((act["sent"] or {}).get("metadata") or {}).get("labels") or {} if act["verb"] == "patch" else {}
    return act["resource"] == "events" or labels.keys() == {"sickbay/state"}


def _told(operation: Object | None) -> str:
    if operation is None:
        return "there is no operation"
    lines = [f"{entry['at']} {entry['actor']} {entry['text']}" for entry in operation["timeline"]]
    return f"{operation['state']} {operation['reason']}\n" + "\n".join(lines)
