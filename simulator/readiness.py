"""Whether the cluster has come to rest: what was created is there, and runs. For the start alone."""

from __future__ import annotations

from typing import Any

from simulator.actors.pod_status import is_ready
from simulator.actors.view import ClusterView, key_of

Object = dict[str, Any]


def not_ready(view: ClusterView, nodes: int, created: list[tuple[str, Object]]) -> list[str]:
    """What is still missing, by name; empty when all is ready.

    Args:
        view: the cluster as its actors see it.
        nodes: how many GPU nodes there will be.
        created: (resource, object) of everything that was created.
    """
    there = nodes + 1  # the control plane's
    ready = sum(map(is_ready, view.all("nodes")))
    missing = [f"{there - ready} of {there} nodes"] if ready < there else []
    for resource, wanted in created:
        found = view.get(resource, key_of(wanted))
        if found is None or not _runs(resource, found, nodes):
            missing.append(f"{resource} {wanted['metadata']['name']}")
    return missing


def _runs(resource: str, found: Object, nodes: int) -> bool:
    status = found.get("status") or {}
    match resource:
        case "daemonsets":
            # A controller that has not seen every node yet wants fewer.
            wanted = status.get("desiredNumberScheduled", 0)
            return bool(wanted >= nodes and status.get("numberReady") == wanted)
        case "deployments" | "statefulsets":
            return bool(status.get("readyReplicas", 0) >= found["spec"].get("replicas", 1))
        case "jobs":
            return bool(status.get("ready", 0) >= found["spec"]["parallelism"] or status.get("succeeded"))
        case _:
            return bool(status.get("disruptionsAllowed"))
