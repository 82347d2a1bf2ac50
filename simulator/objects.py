"""Builds the objects of the simulated cluster: nodes, pods and what owns them. For the actors, and for tests too.

Labels and names are those that GPU feature discovery, the GPU Operator and a managed cluster set on an H100 node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]

PRODUCT = "NVIDIA-H100-80GB-HBM3"
MODEL = "NVIDIA H100 80GB HBM3"
DRIVER = "580.105.08"
GPUS = 8
GPU = "nvidia.com/gpu"
CUDA = "nvcr.io/nvidia/cuda:13.0.1-base-ubuntu24.04"

OPERANDS = ("driver", "container-toolkit", "device-plugin", "dcgm", "dcgm-exporter", "gpu-feature-discovery")


def node_names(count: int) -> list[str]:
    """gpu-a01 to gpu-a04 for the small cluster; gpu-b001 and on for a large one."""
    if count <= 9:
        return [f"gpu-a{number:02}" for number in range(1, count + 1)]
    return [f"gpu-b{number:03}" for number in range(1, count + 1)]


def address_of(name: str) -> str:
    """A stable private address for a node, from the number in its name."""
    number = int("".join(filter(str.isdigit, name)) or 0)
    group = 20 if name.startswith("gpu-b") else 10
    return f"10.{group}.{number // 250}.{number % 250 + 10}"


def gpu_labels(rack: str, driver: str = DRIVER) -> dict[str, str]:
    """The labels of a node with eight H100s whose operands run."""
    major, minor, revision = driver.split(".")
    return {
        "feature.node.kubernetes.io/pci-10de.present": "true",
        "nvidia.com/cuda.driver-version.full": driver,
        "nvidia.com/cuda.driver-version.major": major,
        "nvidia.com/cuda.driver-version.minor": minor,
        "nvidia.com/cuda.driver-version.revision": revision,
        "nvidia.com/gpu.compute.major": "9",
        "nvidia.com/gpu.compute.minor": "0",
        "nvidia.com/gpu.count": str(GPUS),
        "nvidia.com/gpu.family": "hopper",
        "nvidia.com/gpu.machine": "HGX-H100",
        "nvidia.com/gpu.memory": "81559",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": PRODUCT,
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu-driver-upgrade-state": "upgrade-done",
        "nvidia.com/mig.capable": "true",
        "nvidia.com/mig.config": "all-disabled",
        "nvidia.com/mig.config.state": "success",
        "nvidia.com/mig.strategy": "single",
        **{f"nvidia.com/gpu.deploy.{operand}": "true" for operand in (*OPERANDS, "operator-validator")},
        "node.kubernetes.io/instance-type": "hgx-h100-8",
        "topology.kubernetes.io/region": "eu-north",
        "topology.kubernetes.io/zone": "eu-north-1a",
        "topology.kubernetes.io/rack": rack,
    }


def node(
    name: str,
    *,
    boot_id: str,
    gpus: int = GPUS,
    kubelet_port: int = 10250,
    rack: str = "",
    labels: Mapping[str, str] | None = None,
    taints: list[Object] | None = None,
    ready: bool = True,
) -> Object:
    """A node as the kubelet registers it; `gpus=0` makes one without any (a control plane, say)."""
    number = int("".join(filter(str.isdigit, name)) or 1)
    base = {"kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    if gpus:
        base |= gpu_labels(rack or f"rack-{(number - 1) // 2 + 1:02}")
    capacity = {"cpu": "192", "memory": "2113386Ki", "ephemeral-storage": "7500000000Ki", "pods": "110"}
    if gpus:
        capacity[GPU] = str(gpus)
    spec: Object = {"podCIDR": f"10.244.{number % 250}.0/24", "providerID": f"simulated://{name}"}
    if taints:
        spec["taints"] = taints
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": {**base, **(labels or {})}, "annotations": {}},
        "spec": spec,
        "status": {
            "capacity": capacity,
            "allocatable": dict(capacity),
            "conditions": conditions(ready=ready, at=""),
            "addresses": [
                {"type": "InternalIP", "address": address_of(name)},
                {"type": "Hostname", "address": name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet_port}},
            "nodeInfo": node_info(name, boot_id),
        },
    }


def control_plane(name: str = "control-1", *, boot_id: str, kubelet_port: int = 10250) -> Object:
    """The control-plane node: no GPU, tainted, and nobody's to touch."""
    labels = {"node-role.kubernetes.io/control-plane": "", "node.kubernetes.io/instance-type": "m5.xlarge"}
    taints = [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]
    return node(name, boot_id=boot_id, gpus=0, kubelet_port=kubelet_port, labels=labels, taints=taints)


def node_info(name: str, boot_id: str) -> Object:
    """What the kubelet reports of the machine; `bootID` is new after each boot."""
    return {
        "machineID": f"{abs(hash_of(name)):032x}",
        "systemUUID": f"4c4c4544-0000-0000-0000-{abs(hash_of(name)) % 10**12:012}",
        "bootID": boot_id,
        "kernelVersion": "6.8.0-60-generic",
        "osImage": "Ubuntu 24.04.3 LTS",
        "containerRuntimeVersion": "containerd://2.1.4",
        "kubeletVersion": "v1.36.3",
        "kubeProxyVersion": "v1.36.3",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }


def hash_of(name: str) -> int:
    """A number for a name that is the same in every run."""
    value = 7
    for letter in name.encode():
        value = (value * 1000003 + letter) % 2**61
    return value


def conditions(*, ready: bool, at: str) -> list[Object]:
    """The node conditions; `at` is the time of the heartbeat (left out when empty)."""
    times = {"lastHeartbeatTime": at, "lastTransitionTime": at} if at else {}
    calm = [
        ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ]
    found = [{"type": kind, "status": "False", **times, "reason": why, "message": text} for kind, why, text in calm]
    word, why, text = (
        ("True", "KubeletReady", "kubelet is posting ready status")
        if ready
        else ("False", "KubeletNotReady", "container runtime is not ready")
    )
    return [*found, {"type": "Ready", "status": word, **times, "reason": why, "message": text}]


def container(
    name: str,
    *,
    image: str = CUDA,
    gpus: int = 0,
    command: list[str] | None = None,
    args: list[str] | None = None,
) -> Object:
    """A container that asks for so many GPUs."""
    built: Object = {"name": name, "image": image}
    if command:
        built["command"] = command
    if args:
        built["args"] = args
    if gpus:
        built["resources"] = {"limits": {GPU: str(gpus)}, "requests": {GPU: str(gpus)}}
    return built


def pod(
    name: str,
    namespace: str = "default",
    *,
    node: str = "",
    gpus: int = 0,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    containers: list[Object] | None = None,
    **spec: Any,
) -> Object:
    """A pod; `node` binds it at once, `spec` takes further fields of the pod's spec."""
    built: Object = {"containers": containers or [container("main", gpus=gpus)], **spec}
    if node:
        built["nodeName"] = node
    metadata: Object = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": built}


def node_job(name: str, namespace: str, node: str, argv: list[str], **spec: Any) -> Object:
    """A Job that runs one command on one node, whatever its taints: the usual way to reach a machine."""
    template = {
        "nodeName": node,
        "restartPolicy": "Never",
        "tolerations": [{"operator": "Exists"}],
        "containers": [container("main", command=argv)],
    }
    return {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"backoffLimit": 0, "template": {"spec": template}, **spec},
    }


def budget(name: str, namespace: str, labels: Mapping[str, str], **limit: int | str) -> Object:
    """A PodDisruptionBudget with `minAvailable` or `maxUnavailable`."""
    return {
        "kind": "PodDisruptionBudget",
        "apiVersion": "policy/v1",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": dict(labels)}, **limit},
    }
