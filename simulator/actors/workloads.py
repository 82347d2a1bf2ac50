"""The people's work on the cluster: a training run, an inference service with a budget, and a batch job.

The training run and one inference replica prefer one node, so that draining it shows everything a drain can meet.
"""

from __future__ import annotations

from typing import Any

from simulator.objects import budget, container

Object = dict[str, Any]
SCENE_NODE = 2  # the third node of the small cluster: gpu-a03


def workloads(nodes: list[str]) -> list[tuple[str, Object]]:
    """(resource, object), in the order in which they are created, for a cluster of these nodes."""
    scene = nodes[min(SCENE_NODE, len(nodes) - 1)]
    first = nodes[0]
    return [
        ("statefulsets", _training(scene)),
        ("poddisruptionbudgets", budget("vllm-chat", "serve", {"app": "vllm-chat"}, minAvailable=1)),
        ("deployments", _inference([scene, first])),
        ("jobs", _batch(first)),
    ]


NAMESPACES = ("train", "serve", "batch")


def _training(prefers: str) -> Object:
    """Four GPUs, a long grace: on SIGTERM it saves a checkpoint, from which it goes on elsewhere."""
    labels = {"app": "llama-ft"}
    argv = ["torchrun", "--nproc-per-node=4", "finetune.py", "--resume=auto"]
    spec = {
        "affinity": _prefer([prefers]),
        "terminationGracePeriodSeconds": 600,
        "containers": [container("trainer", image="registry.example/llama-ft:2.3", gpus=4, command=argv)],
    }
    return {
        "kind": "StatefulSet",
        "apiVersion": "apps/v1",
        "metadata": {"name": "llama-ft", "namespace": "train", "labels": labels},
        "spec": {
            "replicas": 1,
            "serviceName": "llama-ft",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _inference(prefers: list[str]) -> Object:
    labels = {"app": "vllm-chat"}
    serve = container("vllm", image="docker.io/vllm/vllm-openai:v0.12.0", gpus=2, args=["--tensor-parallel-size=2"])
    spec = {"affinity": _prefer(prefers), "terminationGracePeriodSeconds": 60, "containers": [serve]}
    return {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "vllm-chat", "namespace": "serve", "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def _batch(prefers: str) -> Object:
    embed = container("embed", image="registry.example/embed:1.8", gpus=1, command=["python", "embed.py"])
    spec = {"affinity": _prefer([prefers]), "restartPolicy": "Never", "containers": [embed]}
    return {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {"name": "embed-docs", "namespace": "batch", "labels": {"app": "embed"}},
        "spec": {
            "completions": 4,
            "parallelism": 2,
            "backoffLimit": 6,
            "template": {"metadata": {"labels": {"app": "embed"}}, "spec": spec},
        },
    }


def _prefer(names: list[str]) -> Object:
    where = [{"key": "kubernetes.io/hostname", "operator": "In", "values": names}]
    preferred = [{"weight": 50, "preference": {"matchExpressions": where}}]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
