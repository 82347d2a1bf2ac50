"""What there is in the simulated cluster, as one document for page, demo and tests. It only reads."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from simulator.actors.operands import NAMESPACE as OPERATOR
from simulator.actors.pod_status import gpus_of, is_over, is_ready
from simulator.actors.view import key_of
from simulator.hardware import Machine
from simulator.objects import GPU

if TYPE_CHECKING:
    from simulator.cluster import Cluster

Object = dict[str, Any]
OF_INTEREST = ("sickbay/", "nvidia.com/gpu.deploy.")
"""Beginnings of the labels that are shown; of those of the operands only the ones that pause something."""
KERNEL_LINES = 20


def state_of(cluster: Cluster) -> Object:
    """Everything."""
    pods = cluster.view.all("pods")
    return {
        "clock": {"speed": cluster.clock.speed, "simulated_s": round(cluster.clock.simulated(), 1)},
        "nodes": [_node(cluster, machine) for machine in cluster.machines.values()],
        "pods": [_pod(cluster, pod) for pod in pods if pod["metadata"]["namespace"] not in (OPERATOR, "kube-system")],
        "operands": [_operand(pod) for pod in pods if pod["metadata"]["namespace"] == OPERATOR],
        "checkpoints": cluster.kubelet.storage.checkpoints,
        "budgets": [_budget(one) for one in cluster.view.all("poddisruptionbudgets")],
        "alerts": cluster.alerting.shown(),
    }


def _node(cluster: Cluster, machine: Machine) -> Object:
    found = cluster.view.get("nodes", ("", machine.name))
    node = found or {"metadata": {}, "spec": {}, "status": {}}
    labels = node["metadata"].get("labels") or {}
    return {
        "name": machine.name,
        "registered": found is not None,
        "up": machine.up,
        "power": "on" if machine.powered else "off",
        "ready": is_ready(node),
        "unschedulable": bool(node["spec"].get("unschedulable")),
        "labels": {
            key: value
            for key, value in labels.items()
            if key.startswith(OF_INTEREST) and not (key.startswith(OF_INTEREST[1]) and value == "true")
        },
        "rack": labels.get("topology.kubernetes.io/rack", ""),
        "boot_id": machine.boot_id,
        "boots": machine.boots,
        "allocatable": (node["status"].get("allocatable") or {}).get(GPU, "0"),
        "behaviours": asdict(machine.behaviours),
        "kernel": machine.kernel[-KERNEL_LINES:],
        "gpus": [asdict(card) | {"bus_id": card.bus_id} for card in machine.gpus],
    }


def _pod(cluster: Cluster, pod: Object) -> Object:
    metadata, status = pod["metadata"], pod.get("status") or {}
    key = key_of(pod)
    return {
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "node": pod["spec"].get("nodeName", ""),
        "phase": status.get("phase", ""),
        "ready": is_ready(pod),
        "terminating": "deletionTimestamp" in metadata,
        "asks": gpus_of(pod),
        "gpus": [] if is_over(pod) else cluster.kubelet.gpus_of(key),
        "says": cluster.kubelet.last_line(key),
    }


def _operand(pod: Object) -> Object:
    return {
        "name": (pod["metadata"].get("labels") or {}).get("app", pod["metadata"]["name"]),
        "node": pod["spec"].get("nodeName", ""),
        "ready": is_ready(pod),
        "terminating": "deletionTimestamp" in pod["metadata"],
    }


def _budget(budget: Object) -> Object:
    return {
        "namespace": budget["metadata"]["namespace"],
        "name": budget["metadata"]["name"],
        **(budget["status"] or {}),
    }
