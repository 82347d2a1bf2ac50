"""Others that repair nodes by themselves. Two of them on one node undo each other's cordons and spoil their proofs.

A sign is what anybody may read: a group of the API that their custom resources live in, labels of their pods, labels
that a cloud puts on its nodes. Sources: NVIDIA/NVSentinel docs/configuration and docs/cancelling-breakfix.md,
medik8s/node-healthcheck-operator, kubereboot/kured kured-ds.yaml, the node labels of GKE, AKS, EKS and HyperPod.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Remediator:
    """One of them, and its signs. `spares` is the node label by which a node is kept from it."""

    called: str
    groups: tuple[str, ...] = ()
    pods: tuple[tuple[str, str], ...] = ()
    nodes: Mapping[str, str | None] = field(default_factory=dict)
    """Label of a node to its value, None for any."""
    spares: tuple[str, str] | None = None


REMEDIATORS: Final[Mapping[str, Remediator]] = {
    "nvsentinel": Remediator(
        called="NVSentinel",
        groups=("janitor.dgxc.nvidia.com",),
        spares=("k8saas.nvidia.com/ManagedByNVSentinel", "false"),
    ),
    "node-health-check": Remediator(called="NodeHealthCheck", groups=("remediation.medik8s.io",)),
    "kured": Remediator(called="kured", pods=(("name", "kured"), ("app.kubernetes.io/name", "kured"))),
    "gke": Remediator(called="GKE's node auto-repair", nodes={"cloud.google.com/gke-nodepool": None}),
    "aks": Remediator(called="AKS' node auto-repair", nodes={"kubernetes.azure.com/agentpool": None}),
    "eks": Remediator(
        called="EKS' node auto-repair",
        pods=(("app.kubernetes.io/name", "eks-node-monitoring-agent"),),
        nodes={"eks.amazonaws.com/compute-type": "auto"},
    ),
    "hyperpod": Remediator(
        called="HyperPod's auto-recovery", nodes={"sagemaker.amazonaws.com/node-health-status": None}
    ),
}
"""By the word that a pool's `beside` has for it."""


def beside(
    nodes: Mapping[str, Mapping[str, str]], groups: Collection[str], nodes_of_pods: Mapping[str, Collection[str]]
) -> Mapping[str, tuple[str, ...]]:
    """Which of them may repair which of these nodes, by name.

    Args:
        nodes: labels by name of node.
        groups: the groups of the API that the cluster serves.
        nodes_of_pods: by remediator, the nodes on which its pods run.
    """
    found = {}
    for word, other in REMEDIATORS.items():
        everywhere = any(group in groups for group in other.groups)
        there = nodes_of_pods.get(word, ())
        shared = tuple(
            sorted(
                name
                for name, labels in nodes.items()
                if not _spared(other, labels) and (everywhere or name in there or _labelled(other, labels))
            )
        )
        if shared:
            found[word] = shared
    return found


def _spared(other: Remediator, labels: Mapping[str, str]) -> bool:
    return other.spares is not None and labels.get(other.spares[0]) == other.spares[1]


def _labelled(other: Remediator, labels: Mapping[str, str]) -> bool:
    return any(name in labels and value in (None, labels[name]) for name, value in other.nodes.items())
