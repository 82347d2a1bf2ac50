"""From alert to cordon, one after another and all at once, on the simulated API server or on a real one."""

from __future__ import annotations

import functools
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from simulator import bench_calls as calls
from simulator import cluster as clusters
from simulator import valkey
from simulator.cluster import Cluster
from simulator.real_api import RealApi
from simulator.sickbay_components import SickbayComponents

POLICY = Path(__file__).parent / "bench.policy.yaml"
SINGLE_ALERTS = 50
LONGEST_S = 120.0


@contextmanager
def house(nodes: int, *, workers: int, real: RealApi | None = None) -> Iterator[tuple[Cluster, SickbayComponents]]:
    """A fresh store and cluster without actors: what is measured is Sickbay and the API, not kubelets."""
    names = [f"gpu-b{number:03d}" for number in range(1, nodes + 1)]
    with (
        tempfile.TemporaryDirectory(prefix="sickbay-bench-") as made,
        valkey.start() as store,
        clusters.start(nodes=names, actors=False, real=real) as cluster,
        SickbayComponents(Path(made), store.url, cluster.kubeconfig, POLICY, workers=workers) as sickbay,
    ):
        sickbay.wait_for_nodes()
        yield cluster, sickbay


def singles(console: Console, table: Table, nodes: int, real: RealApi | None = None) -> None:
    """Alerts of one node each, each sent when the one before is cordoned."""
    with house(nodes, workers=1, real=real) as (cluster, sickbay):
        sick = cluster.nodes[:SINGLE_ALERTS]
        console.print(f"{len(sick)} alerts, each sent when the one before is cordoned …", style="dim")
        token = sickbay.webhook_token_file.read_text().strip()
        cordoned = _Cordons(cluster)
        ours = []
        with calls.connection(sickbay.webhook_url) as (kept, path):
            for node in sick:
                body = calls.message([calls.fallen(cluster, node)])
                began = time.monotonic()
                calls.post(kept, path, token, body)
                ours.append(cordoned.wait(node) - began)
        bare = [calls.timed(functools.partial(calls.patch, cluster, [node], 1)) for node in sick]
    for name, quantile in (("P50", 50), ("P99", 99)):
        mine, limit = _percentile(ours, quantile), _percentile(bare, quantile)
        told = f"{mine * 1000:.1f} ms", f"{limit * 1000:.1f} ms", _times(mine, limit)
        table.add_row(f"one alert until its cordon, {name}", *told)


def storm(console: Console, table: Table, nodes: int, real: RealApi | None = None) -> None:
    """One body with an alert of every node."""
    with house(nodes, workers=2, real=real) as (cluster, sickbay):
        console.print(f"A storm: one body with an alert for each of {nodes} nodes, two workers …", style="dim")
        token = sickbay.webhook_token_file.read_text().strip()
        cordoned = _Cordons(cluster)
        body = calls.message([calls.fallen(cluster, node) for node in cluster.nodes])
        with calls.connection(sickbay.webhook_url) as (kept, path):
            began = time.monotonic()
            calls.post(kept, path, token, body)
        at = sorted(cordoned.wait(node) - began for node in cluster.nodes)
        alone = calls.timed(lambda: calls.patch(cluster, cluster.nodes[:1], 1))
        whole = calls.timed(lambda: calls.patch(cluster, cluster.nodes))
    ours, limit = len(at) / at[-1], len(at) / whole
    first, one, named = at[0] * 1000, alone * 1000, f"storm of {len(at)}"
    table.add_row(f"{named}, first cordon", f"{first:.0f} ms", f"{one:.1f} ms", _times(first, one))
    table.add_row(f"{named}, last cordon", f"{at[-1]:.2f} s", f"{whole:.2f} s", _times(at[-1], whole))
    table.add_row(f"{named}, cordons a second", f"{ours:.0f}", f"{limit:.0f}", share(ours, limit))


class _Cordons:
    """When each node was first seen unschedulable, by the API server's own watch."""

    def __init__(self, cluster: Cluster) -> None:
        self._seen: dict[str, float] = {}
        self._changed = threading.Condition()
        self._connection = calls.api_connection(cluster, LONGEST_S)
        self._connection.request("GET", "/api/v1/nodes?watch=1", headers=calls.bearer(cluster))
        self._answer = self._connection.getresponse()
        threading.Thread(target=self._follow, daemon=True).start()

    def wait(self, node: str) -> float:
        """The moment (monotonic). TimeoutError when it does not come."""
        with self._changed:
            if not self._changed.wait_for(lambda: node in self._seen, LONGEST_S):
                raise TimeoutError(f"{node} was not cordoned within {LONGEST_S:.0f} s")
            return self._seen[node]

    def _follow(self) -> None:
        while line := self._answer.readline():
            node = json.loads(line)["object"]
            if node.get("spec", {}).get("unschedulable"):
                with self._changed:
                    self._seen.setdefault(node["metadata"]["name"], time.monotonic())
                    self._changed.notify_all()


def share(ours: float, limit: float) -> str:
    """How much of the limit that is, where more is better."""
    return f"{100 * ours / limit:.0f} % of it"


def _percentile(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def _times(ours: float, limit: float) -> str:
    return f"{ours / limit:.1f} times as long"
