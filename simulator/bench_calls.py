"""The calls that benches make: alerts to Sickbay, bare patches to the API server, each over kept-open connections."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from urllib.parse import urlsplit

from simulator.actors.alert_bodies import Part, body_of, xid_labels
from simulator.cluster import Cluster

CONNECTIONS = 4


@contextmanager
def connection(url: str) -> Iterator[tuple[http.client.HTTPConnection, str]]:
    """A kept-open connection, and the path of the URL."""
    parts = urlsplit(url)
    kept = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        yield kept, parts.path
    finally:
        kept.close()


def api_connection(cluster: Cluster, timeout_s: float = 30) -> http.client.HTTPConnection:
    """A connection to the API server of this cluster, whether simulated or real. The caller closes it."""
    parts = urlsplit(cluster.url)
    if cluster.real is None:
        return http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
    context = ssl.create_default_context(cafile=str(cluster.real.ca))
    return http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=timeout_s, context=context)


def bearer(cluster: Cluster) -> dict[str, str]:
    """The header of somebody who may do everything there."""
    return {"Authorization": f"Bearer {cluster.real.actors if cluster.real else 'simulator-actors'}"}


def patch(cluster: Cluster, nodes: Sequence[str], connections: int = CONNECTIONS) -> None:
    """The bare limit: the same kind of write on each node, and nothing around it."""
    body = json.dumps({"metadata": {"annotations": {"bench": "1"}}, "spec": {"unschedulable": True}}).encode()
    headers = {**bearer(cluster), "Content-Type": "application/merge-patch+json"}

    def some(first: int) -> None:
        kept = api_connection(cluster)
        for node in nodes[first::connections]:
            kept.request("PATCH", f"/api/v1/nodes/{node}", body, headers)
            answer = kept.getresponse()
            answer.read()
            if answer.status >= 300:
                raise RuntimeError(f"a bare PATCH of {node} was answered with {answer.status}")
        kept.close()

    with ThreadPoolExecutor(connections) as threads:
        list(threads.map(some, range(connections)))


def post(kept: http.client.HTTPConnection, path: str, token: str, body: bytes) -> int:
    """Sends a body to the webhook, or to whatever stands beside it; 1 when it was taken."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    kept.request("POST", path, body, headers)
    answer = kept.getresponse()
    answer.read()
    if answer.status >= 300:
        raise RuntimeError(f"POST {path} answered {answer.status}")
    return 1


def fallen(cluster: Cluster, node: str) -> dict[str, str]:
    """The labels of an alert that a GPU of this node has fallen off the bus."""
    card = cluster.machines[node].gpus[3]
    return xid_labels(node, card, f"nvidia-dcgm-exporter-{node}", "bench") | {"err_code": "79"}


def message(labels: Sequence[dict[str, str]]) -> bytes:
    """A body of Alertmanager with an alert, firing since now, for each of these labels."""
    now = datetime.now(UTC)
    parts: list[Part] = [("firing", each | {"cluster": "bench"}, {}, now, None) for each in labels]
    return body_of(parts, "first notification")


def timed(act: Callable[[], None]) -> float:
    """Seconds."""
    began = time.monotonic()
    act()
    return time.monotonic() - began
