"""`sickbay bench`: what Sickbay does in a second, each figure beside a bare limit measured in the same run.

Absolute times are those of this machine at this moment, the simulated API server included, and mean nothing
elsewhere; what a reader can take away is the ratio to the limit. Nothing is asserted here.
"""

from __future__ import annotations

import functools
import http.client
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
from rich.console import Console
from rich.table import Table

from simulator import cluster as clusters
from simulator import valkey
from simulator.actors.alert_bodies import Part, body_of, xid_labels
from simulator.bench_limits import empty_flask
from simulator.cluster import Cluster
from simulator.sickbay_components import SickbayComponents
from simulator.signals import Ended, ended_by_signals

Object = dict[str, Any]
POLICY = Path(__file__).parent / "bench.policy.yaml"
CONNECTIONS = 4
STORM_NODES = 200
SINGLE_ALERTS = 50
LONGEST_S = 120.0
BARE = (
    "Bare: for the webhook an empty Flask route behind the same server; for one alert and a first cordon one PATCH of "
    f"a node; for the rest of the storm a PATCH of every node over {CONNECTIONS} connections."
)


@click.command()
@click.option("--seconds", type=click.FloatRange(min=1), default=5.0, show_default=True, help="Per webhook figure.")
@click.option("--nodes", type=click.IntRange(10, 999), default=STORM_NODES, show_default=True, help="In the storm.")
def command(seconds: float, nodes: int) -> None:
    """Measure the receiver, single alerts and a storm on a simulated cluster.

    Takes about a minute. Beside each figure stands what the same machine did in the same run with nothing of Sickbay
    in it: an empty Flask route behind the same server, and bare PATCH calls on the same nodes.
    """
    try:
        with ended_by_signals():
            _measure(seconds, nodes)
    except Ended as ended:
        sys.exit(ended.exit_code)


def _measure(seconds: float, nodes: int) -> None:
    console = Console()
    table = Table("what", "Sickbay", "bare", "compared", box=None, pad_edge=False)
    with _house(nodes, workers=1) as (cluster, sickbay):
        console.print(f"Webhook: bodies of one alert each, for {2 * seconds:g} s …", style="dim")
        _webhook(table, sickbay, seconds)
    with _house(nodes, workers=1) as (cluster, sickbay):
        console.print(f"{min(nodes, SINGLE_ALERTS)} alerts, each sent when the one before is cordoned …", style="dim")
        _singles(table, cluster, sickbay, cluster.nodes[:SINGLE_ALERTS])
    with _house(nodes, workers=2) as (cluster, sickbay):
        console.print(f"A storm: one body with an alert for each of {nodes} nodes, two workers …", style="dim")
        _storm(table, cluster, sickbay)
    console.print(table)
    console.print(BARE, style="dim")
    console.print("Times are this machine's at this moment, the simulated API server's included: compare within a run.")


@contextmanager
def _house(nodes: int, *, workers: int) -> Iterator[tuple[Cluster, SickbayComponents]]:
    """A fresh store and cluster without actors: what is measured is Sickbay and the API, not kubelets."""
    with (
        tempfile.TemporaryDirectory(prefix="sickbay-bench-") as made,
        valkey.start() as store,
        clusters.start(nodes=[f"gpu-b{number:03d}" for number in range(1, nodes + 1)], actors=False) as cluster,
        SickbayComponents(Path(made), store.url, cluster.kubeconfig, POLICY, workers=workers) as sickbay,
    ):
        sickbay.wait_for_nodes()
        yield cluster, sickbay


def _webhook(table: Table, sickbay: SickbayComponents, seconds: float) -> None:
    token = sickbay.webhook_token_file.read_text().strip()
    numbers = iter(range(10**9))
    lock = threading.Lock()

    def body() -> bytes:
        with lock:
            number = next(numbers)
        labels = {"alertname": "GpuXid", "Hostname": f"gpu-b{number % 200 + 1:03d}", "gpu": "3", "err_code": "31"}
        return _body([labels | {"replica": str(number)}])

    with empty_flask(sickbay.directory) as bare:
        limit = _rate(f"{bare}/", "", body, seconds)
    ours = _rate(sickbay.webhook_url, token, body, seconds)
    table.add_row("webhook bodies a second", f"{ours:.0f}", f"{limit:.0f}", _share(ours, limit))


def _rate(url: str, token: str, body: Callable[[], bytes], seconds: float) -> float:
    """Answers a second over four kept-open connections."""
    ends = time.monotonic() + seconds

    def one(_: int) -> int:
        with _connection(url) as (connection, path):
            answers = 0
            while time.monotonic() < ends:
                answers += _post(connection, path, token, body())
            return answers

    began = time.monotonic()
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        answers = sum(threads.map(one, range(CONNECTIONS)))
    return answers / (time.monotonic() - began)


def _singles(table: Table, cluster: Cluster, sickbay: SickbayComponents, nodes: Sequence[str]) -> None:
    token = sickbay.webhook_token_file.read_text().strip()
    cordoned = _Cordons(cluster)
    ours = []
    with _connection(sickbay.webhook_url) as (connection, path):
        for node in nodes:
            began = time.monotonic()
            _post(connection, path, token, _body([_labels(cluster, node)]))
            ours.append(cordoned.wait(node) - began)
    bare = [_timed(functools.partial(_patch, cluster, [node], 1)) for node in nodes]
    for name, quantile in (("P50", 50), ("P99", 99)):
        mine, limit = _percentile(ours, quantile), _percentile(bare, quantile)
        table.add_row(
            f"one alert until its cordon, {name}",
            f"{mine * 1000:.1f} ms",
            f"{limit * 1000:.1f} ms",
            _times(mine, limit),
        )


def _storm(table: Table, cluster: Cluster, sickbay: SickbayComponents) -> None:
    token = sickbay.webhook_token_file.read_text().strip()
    cordoned = _Cordons(cluster)
    with _connection(sickbay.webhook_url) as (connection, path):
        began = time.monotonic()
        _post(connection, path, token, _body([_labels(cluster, node) for node in cluster.nodes]))
    at = sorted(cordoned.wait(node) - began for node in cluster.nodes)
    alone = _timed(lambda: _patch(cluster, cluster.nodes[:1], 1))
    whole = _timed(lambda: _patch(cluster, cluster.nodes, CONNECTIONS))
    ours, limit = len(at) / at[-1], len(at) / whole
    first, one, storm = at[0] * 1000, alone * 1000, f"storm of {len(at)}"
    table.add_row(f"{storm}, first cordon", f"{first:.0f} ms", f"{one:.1f} ms", _times(first, one))
    table.add_row(f"{storm}, last cordon", f"{at[-1]:.2f} s", f"{whole:.2f} s", _times(at[-1], whole))
    table.add_row(f"{storm}, cordons a second", f"{ours:.0f}", f"{limit:.0f}", _share(ours, limit))


class _Cordons:
    """When each node was first seen unschedulable, by the API server's own watch."""

    def __init__(self, cluster: Cluster) -> None:
        self._seen: dict[str, float] = {}
        self._changed = threading.Condition()
        url = urlsplit(cluster.url)
        self._connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=LONGEST_S)
        self._connection.request("GET", "/api/v1/nodes?watch=1", headers={"Authorization": "Bearer simulator-actors"})
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


def _labels(cluster: Cluster, node: str) -> dict[str, str]:
    card = cluster.machines[node].gpus[3]
    return xid_labels(node, card, f"nvidia-dcgm-exporter-{node}", "bench") | {"err_code": "79"}


def _body(labels: Sequence[dict[str, str]]) -> bytes:
    now = datetime.now(UTC)
    parts: list[Part] = [("firing", each | {"cluster": "bench"}, {}, now, None) for each in labels]
    return body_of(parts, "first notification")


def _patch(cluster: Cluster, nodes: Sequence[str], connections: int) -> None:
    """The bare limit: the same kind of write, and nothing around it."""
    patch = json.dumps({"metadata": {"annotations": {"bench": "1"}}, "spec": {"unschedulable": True}}).encode()
    headers = {"Authorization": "Bearer simulator-client", "Content-Type": "application/merge-patch+json"}

    def some(first: int) -> None:
        with _connection(cluster.url) as (connection, _):
            for node in nodes[first::connections]:
                connection.request("PATCH", f"/api/v1/nodes/{node}", patch, headers)
                connection.getresponse().read()

    with ThreadPoolExecutor(connections) as threads:
        list(threads.map(some, range(connections)))


@contextmanager
def _connection(url: str) -> Iterator[tuple[http.client.HTTPConnection, str]]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        yield connection, parts.path
    finally:
        connection.close()


def _post(connection: http.client.HTTPConnection, path: str, token: str, body: bytes) -> int:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    connection.request("POST", path, body, headers)
    answer = connection.getresponse()
    answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"POST {path} answered {answer.status}")
    return 1


def _timed(act: Callable[[], None]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _percentile(values: Sequence[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def _times(ours: float, limit: float) -> str:
    return f"{ours / limit:.1f} times as long"


def _share(ours: float, limit: float) -> str:
    return f"{100 * ours / limit:.0f} % of it"
