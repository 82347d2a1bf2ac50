"""Which pods are dcgm-exporters: alerts often carry the exporter pod's name where the node's is wanted."""

from __future__ import annotations

from collections.abc import Mapping

EXPORTER_LABELS = {"app": "nvidia-dcgm-exporter", "app.kubernetes.io/name": "dcgm-exporter"}
"""What the GPU Operator and the exporter's own Helm chart set; one of them is enough."""


def is_exporter(labels: Mapping[str, str]) -> bool:
    """Whether a pod with these labels is an exporter."""
    return any(labels.get(label) == value for label, value in EXPORTER_LABELS.items())
