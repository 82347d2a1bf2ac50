"""The Job object of a node job: pinned to its machine past the scheduler, run once, and gone an hour after its end.

It asks for no `nvidia.com/gpu`: an unhealthy GPU has left the node's allocatable, and the kubelet would refuse the pod.
What needs GPUs sees all of them through the nvidia runtime instead. What only asks or resets them enters the host:
where that runtime is the default one, `void` keeps it from looking for GPUs, which may fail beside a lost one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from app.domain.effects import NodeJob

MANAGED_BY = "app.kubernetes.io/managed-by"
OURS = "sickbay"
OPERATION_LABEL = "sickbay/operation"
STEP_LABEL = "sickbay/step"
NAME_LABEL = "sickbay/node-job"
CONTAINER = "run"
ACCOUNT = "node-job"
"""The service account of their pods: without rights, and its token is not mounted. The chart makes it."""
HOST = "/host"
SHARED_MEMORY = "8Gi"
KEPT_AFTER_END_S = 3600
"""Seconds in which its output can be read; the API server then deletes it, so that nothing of ours stays behind."""


def manifest(job: NodeJob, namespace: str, pull_secrets: Sequence[str] = ()) -> dict[str, Any]:
    """The batch/v1 Job. Everything in it comes from policy and our own words, nothing from an alert."""
    labels = {
        MANAGED_BY: OURS,
        OPERATION_LABEL: job.operation,
        STEP_LABEL: job.step,
        NAME_LABEL: job.name,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": job.name, "namespace": namespace, "labels": labels},
        "spec": {
            "backoffLimit": 0,  # A second try of a reboot would be a second reboot.
            "podReplacementPolicy": "Failed",  # Nor is a pod that is told to end replaced while it may still act.
            "completions": 1,
            "parallelism": 1,
            "activeDeadlineSeconds": max(1, ceil(job.deadline.total_seconds())),
            "ttlSecondsAfterFinished": KEPT_AFTER_END_S,
            "template": {"metadata": {"labels": labels}, "spec": _pod_spec(job, pull_secrets)},
        },
    }


def _pod_spec(job: NodeJob, pull_secrets: Sequence[str]) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": job.image,
        "command": list(job.argv),
        "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void" if job.runtime_class is None else "all"}],
    }
    spec: dict[str, Any] = {
        "nodeName": job.node,
        "tolerations": [{"operator": "Exists"}],
        "restartPolicy": "Never",
        "serviceAccountName": ACCOUNT,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "containers": [container],
    }
    if pull_secrets:
        spec["imagePullSecrets"] = [{"name": name} for name in pull_secrets]
    if job.runtime_class is not None:
        spec["runtimeClassName"] = job.runtime_class
        # DCGM and NCCL look at all GPUs, lock memory, and share buffers beyond the 64 MiB of a default /dev/shm.
        container["env"].append({"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "all"})
        container["securityContext"] = {"privileged": True}
        memory = {"emptyDir": {"medium": "Memory", "sizeLimit": SHARED_MEMORY}}
        _mount(spec, container, "shm", memory, "/dev/shm")  # noqa: S108 - shared memory
    if job.host:
        spec["hostPID"] = True
        container["securityContext"] = {"privileged": True}
        # The driver's own root file system is a mount below the host's, which may come after this pod.
        _mount(spec, container, "host", {"hostPath": {"path": "/"}}, HOST, mountPropagation="HostToContainer")
    return spec


def _mount(
    spec: dict[str, Any], container: dict[str, Any], name: str, source: dict[str, Any], path: str, **how: str
) -> None:
    spec.setdefault("volumes", []).append({"name": name, **source})
    container.setdefault("volumeMounts", []).append({"name": name, "mountPath": path, **how})
