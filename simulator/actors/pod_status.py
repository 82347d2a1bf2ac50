"""The status that a kubelet writes for a pod, in each of its phases."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

Object = dict[str, Any]


def now() -> str:
    """The wall clock as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def running(pod: Object, host: str, started: str, *, ready: bool, restarts: int) -> Object:
    """All containers run; `ready` says whether their probes pass."""
    state = {"running": {"startedAt": started}}
    why = {} if ready else {"reason": "ContainersNotReady", "message": "containers with unready status: [main]"}
    address = f"10.244.{sum(host.encode()) % 250}.{sum(pod['metadata']['uid'].encode()) % 250 + 2}"
    return {
        "phase": "Running",
        "hostIP": host,
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": started,
        "conditions": _conditions(started, ready=ready, why=why),
        "containerStatuses": _containers(pod, state, ready=ready, restarts=restarts),
    }


def waiting(pod: Object, reason: str, restarts: int) -> Object:
    """The containers wait to be started, or started again (CrashLoopBackOff)."""
    state = {"waiting": {"reason": reason}}
    why = {"reason": "ContainersNotReady", "message": "containers with unready status: [main]"}
    return {
        "conditions": _conditions(now(), ready=False, why=why),
        "containerStatuses": _containers(pod, state, ready=False, restarts=restarts),
    }


def ended(pod: Object, code: int, started: str, restarts: int) -> Object:
    """The pod is done: Succeeded with exit code 0, else Failed."""
    word = "Completed" if code == 0 else "Error"
    state = {"terminated": {"exitCode": code, "reason": word, "startedAt": started, "finishedAt": now()}}
    why = {"reason": "PodCompleted"} if code == 0 else {"reason": "PodFailed"}
    return {
        "phase": "Succeeded" if code == 0 else "Failed",
        "startTime": started,
        "conditions": _conditions(now(), ready=False, why=why),
        "containerStatuses": _containers(pod, state, ready=False, restarts=restarts),
    }


def refused(reason: str, message: str) -> Object:
    """The kubelet does not take the pod at all."""
    return {"phase": "Failed", "reason": reason, "message": message, "startTime": now()}


def _conditions(at: str, *, ready: bool, why: Object) -> list[Object]:
    def condition(kind: str, *, holds: bool, because: Object) -> Object:
        return {"type": kind, "status": "True" if holds else "False", "lastTransitionTime": at, **because}

    return [
        condition("PodReadyToStartContainers", holds=True, because={}),
        condition("Initialized", holds=True, because={}),
        condition("Ready", holds=ready, because=why),
        condition("ContainersReady", holds=ready, because=why),
        condition("PodScheduled", holds=True, because={}),
    ]


def _containers(pod: Object, state: Object, *, ready: bool, restarts: int) -> list[Object]:
    return [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": ready,
            "started": "running" in state,
            "restartCount": restarts,
            "state": state,
            "lastState": {},
        }
        for container in pod["spec"]["containers"]
    ]


def is_ready(pod: Object) -> bool:
    """Whether the pod's Ready condition is true."""
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def is_over(pod: Object) -> bool:
    """Whether the pod has run to its end."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def gpus_of(pod: Object) -> int:
    """How many GPUs the pod asks for."""
    asked = 0
    for container in pod["spec"]["containers"]:
        resources = container.get("resources") or {}
        asked += int((resources.get("requests") or resources.get("limits") or {}).get("nvidia.com/gpu", 0))
    return asked
