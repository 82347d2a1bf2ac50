"""Where a pod may run, and where best: pure rules over nodes and pods. The scheduler applies them.

Source of the rules: the scheduler's plugins NodeUnschedulable, TaintToleration, NodeAffinity, NodeResourcesFit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from simulator.actors.pod_status import gpus_of, is_over
from simulator.objects import GPU

Object = dict[str, Any]


def tolerates(tolerations: Iterable[Object], taint: Object) -> bool:
    """Whether one of the tolerations covers the taint."""
    return any(
        (not one.get("key") or one["key"] == taint["key"])
        and (not one.get("effect") or one["effect"] == taint["effect"])
        and (one.get("operator") == "Exists" or one.get("value", "") == taint.get("value", ""))
        for one in tolerations
    )


def why_not(pod: Object, node: Object, used_gpus: int) -> str:
    """Why the pod may not run on the node, in the scheduler's words; empty when it may."""
    spec = pod["spec"]
    tolerations = spec.get("tolerations") or []
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    if node["spec"].get("unschedulable") and not tolerates(tolerations, cordon):
        return "node(s) were unschedulable"
    for taint in node["spec"].get("taints") or []:
        if taint["effect"] != "PreferNoSchedule" and not tolerates(tolerations, taint):
            return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
    if not selects(spec, node):
        return "node(s) didn't match Pod's node affinity/selector"
    asked = gpus_of(pod)
    if asked and asked > int((node["status"].get("allocatable") or {}).get(GPU, 0)) - used_gpus:
        return f"Insufficient {GPU}"
    return ""


def selects(spec: Object, node: Object) -> bool:
    """Whether a pod's nodeSelector and required node affinity take this node."""
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or any(_term(term, node) for term in required["nodeSelectorTerms"])


def score(pod: Object, node: Object, pods_there: Iterable[Object], free_gpus: int) -> tuple[int, int, int]:
    """How well the node suits the pod; higher is better: preferred affinity, few of its own kind, free GPUs."""
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or []
    weight = sum(one["weight"] for one in preferred if _term(one["preference"], node))
    app = (pod["metadata"].get("labels") or {}).get("app")
    same = sum(1 for other in pods_there if app and (other["metadata"].get("labels") or {}).get("app") == app)
    return weight, -same, free_gpus


def gpus_used(pods: Iterable[Object]) -> int:
    """The GPUs that these pods hold."""
    return sum(gpus_of(pod) for pod in pods if not is_over(pod))


def _term(term: Object, node: Object) -> bool:
    labels = node["metadata"].get("labels") or {}
    fields = {"metadata.name": node["metadata"]["name"]}
    return all(_holds(one, labels) for one in term.get("matchExpressions") or []) and all(
        _holds(one, fields) for one in term.get("matchFields") or []
    )


def _holds(expression: Object, labels: Object) -> bool:
    found, values = labels.get(expression["key"]), expression.get("values") or []
    match expression["operator"]:
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case _:
            return found is None
