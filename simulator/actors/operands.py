"""The GPU Operator's DaemonSets, with the tolerations that they really have: `nvidia.com/gpu`, and no other.

So they run on a cordoned node (the DaemonSet controller adds that toleration) and leave one with any other taint.
"""

from __future__ import annotations

from typing import Any

from simulator.objects import container

Object = dict[str, Any]
NAMESPACE = "gpu-operator"

# DaemonSet, its deploy label, image. Source: NVIDIA/gpu-operator, assets/ and deployments/gpu-operator/values.yaml.
_OPERANDS = (
    ("nvidia-driver-daemonset", "driver", "nvcr.io/nvidia/driver:580.105.08-ubuntu24.04"),
    ("nvidia-container-toolkit-daemonset", "container-toolkit", "nvcr.io/nvidia/k8s/container-toolkit:v1.18.1"),
    ("nvidia-device-plugin-daemonset", "device-plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"),
    ("nvidia-dcgm", "dcgm", "nvcr.io/nvidia/cloud-native/dcgm:4.2.3-1-ubuntu22.04"),
    ("nvidia-dcgm-exporter", "dcgm-exporter", "nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless"),
    ("gpu-feature-discovery", "gpu-feature-discovery", "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"),
    ("nvidia-operator-validator", "operator-validator", "nvcr.io/nvidia/gpu-operator:v26.3.0"),
)


def operands(names: tuple[str, ...] = ()) -> list[Object]:
    """The DaemonSets, all of them or those named."""
    return [_operand(name, label, image) for name, label, image in _OPERANDS if not names or name in names] + (
        [_kube_proxy()] if not names else []
    )


def runtime_class() -> Object:
    """The class by which pods ask for the NVIDIA runtime; without the object the API server takes none of them."""
    return {
        "kind": "RuntimeClass",
        "apiVersion": "node.k8s.io/v1",
        "metadata": {"name": "nvidia"},
        "handler": "nvidia",
    }


def _operand(name: str, label: str, image: str) -> Object:
    spec = {
        "nodeSelector": {f"nvidia.com/gpu.deploy.{label}": "true"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "priorityClassName": "system-node-critical",
        "containers": [container(name, image=image)],
    }
    return _daemon_set(name, NAMESPACE, spec)


def _kube_proxy() -> Object:
    proxy = container("kube-proxy", image="registry.k8s.io/kube-proxy:v1.36.3")
    spec = {"tolerations": [{"operator": "Exists"}], "hostNetwork": True, "containers": [proxy]}
    return _daemon_set("kube-proxy", "kube-system", spec)


def _daemon_set(name: str, namespace: str, spec: Object) -> Object:
    labels = {"app": name}
    return {
        "kind": "DaemonSet",
        "apiVersion": "apps/v1",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
            "updateStrategy": {"type": "OnDelete" if name == "nvidia-driver-daemonset" else "RollingUpdate"},
        },
    }
