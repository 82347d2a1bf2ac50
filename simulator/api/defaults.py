"""What the API server fills in when an object is created. One function for each kind that has something to fill in.

Source: k8s.io/kubernetes, pkg/apis/{core,batch,apps}/v1/defaults.go, and the admission plugin DefaultTolerationSeconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from simulator.api.kinds import BUDGETS, DAEMON_SETS, DEPLOYMENTS, JOBS, NAMESPACES, NODES, PODS, Kind

Object = dict[str, Any]


def filled(kind: Kind, an_object: Object) -> Object:
    """The object with the defaults of its kind; a status that came with it is dropped where the server owns it."""
    fill = _DEFAULTS.get(kind)
    return fill(an_object) if fill else an_object


def _pod(pod: Object) -> Object:
    spec = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
        "securityContext": {},
        **pod["spec"],
    }
    spec["tolerations"] = [*(spec.get("tolerations") or []), *_default_tolerations(spec.get("tolerations") or [])]
    return {**pod, "spec": spec, "status": {"phase": "Pending", "qosClass": _qos(spec)}}


def _default_tolerations(given: list[Object]) -> list[Object]:
    """Five minutes on a node that is not ready or unreachable, unless the pod says otherwise."""

    def covered(key: str) -> bool:
        return any(one.get("key", key) == key and one.get("effect", "NoExecute") == "NoExecute" for one in given)

    return [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        if not covered(key)
    ]


def _qos(spec: Object) -> str:
    resources = [container.get("resources") or {} for container in spec["containers"]]
    return "Burstable" if any(one.get("limits") or one.get("requests") for one in resources) else "BestEffort"


def _node(node: Object) -> Object:
    # The kubelet registers a node with its status; an unset spec is an empty one.
    return {"kind": node["kind"], "apiVersion": node["apiVersion"], "metadata": node["metadata"], "spec": {}, **node}


def _job(job: Object) -> Object:
    uid = job["metadata"]["uid"]
    name = job["metadata"]["name"]
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
    spec: Object = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
    }
    spec |= {"manualSelector": False, "podReplacementPolicy": "TerminatingOrFailed", **job["spec"]}
    template = spec["template"]
    metadata = template.get("metadata") or {}
    metadata = {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}
    spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    spec["template"] = {**template, "metadata": metadata}
    return {
        **job,
        "metadata": {**job["metadata"], "labels": {**labels, **(job["metadata"].get("labels") or {})}},
        "spec": spec,
        "status": {},
    }


def _counted_set(a_set: Object) -> Object:
    return {**a_set, "spec": {"replicas": 1, **a_set["spec"]}, "status": {}}


def _daemon_set(a_set: Object) -> Object:
    zero = {"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0}
    return {**a_set, "status": zero}


def _budget(budget: Object) -> Object:
    zero = {"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}
    return {**budget, "status": zero}


def _namespace(namespace: Object) -> Object:
    labels = {
        **(namespace["metadata"].get("labels") or {}),
        "kubernetes.io/metadata.name": namespace["metadata"]["name"],
    }
    return {
        **namespace,
        "metadata": {**namespace["metadata"], "labels": labels},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def new_uid() -> str:
    """A fresh object uid."""
    return str(uuid4())


_DEFAULTS: dict[Kind, Callable[[Object], Object]] = {
    PODS: _pod,
    NODES: _node,
    JOBS: _job,
    BUDGETS: _budget,
    DAEMON_SETS: _daemon_set,
    DEPLOYMENTS: _counted_set,
    NAMESPACES: _namespace,
}
