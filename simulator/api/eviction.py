"""The Eviction API: a deletion that a PodDisruptionBudget may forbid.

Source: k8s.io/kubernetes, pkg/registry/core/pod/storage/eviction.go. The budget is decremented together with the
deletion, so two evictions at once cannot both take its last place; the disruption controller counts afresh later.
"""

from __future__ import annotations

from typing import Any

from simulator.api.kinds import BUDGETS, PODS
from simulator.api.selectors import selected
from simulator.api.statuses import Refused, bad_request, over_budget, success
from simulator.api.store import Key, Store, Stored
from simulator.api.writes import check, delete, existing, timestamp

Object = dict[str, Any]


def evict(store: Store, key: Key, eviction: Any) -> Object:
    """Evicts the pod and returns the Status 201.

    Raises:
        Refused: 400, 404, 409 (uid precondition), 429 (the budget says no) or 500 (more than one budget).
    """
    if not isinstance(eviction, dict) or (eviction.get("metadata") or {}).get("name", key[1]) != key[1]:
        raise bad_request("name in URL does not match name in Eviction object")
    options = eviction.get("deleteOptions") or {}
    with store.lock:
        pod = existing(store, PODS, key).object
        check(PODS, key[1], pod, options.get("preconditions"))
        if not _budget_may_be_ignored(pod):
            _take_place(store, key, pod)
        delete(store, PODS, key, options)
    return success(201)


def _budget_may_be_ignored(pod: Object) -> bool:
    gone = "deletionTimestamp" in pod["metadata"]
    return gone or pod["status"].get("phase") in ("Succeeded", "Failed", "Pending")


def _take_place(store: Store, key: Key, pod: Object) -> None:
    budgets = budgets_of(store, pod)
    if not budgets:
        return
    if len(budgets) > 1:
        raise Refused(
            500, "", "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    budget = budgets[0].object
    name, status = budget["metadata"]["name"], budget["status"]
    if not _ready(pod):
        healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow" or healthy >= desired > 0:
            return
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise over_budget(f"The disruption budget {name} is still being processed by the server.", 10)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed <= 0:
        needed, current = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        raise over_budget(f"The disruption budget {name} needs {needed} healthy pods and has {current} currently")
    disrupted = {**(status.get("disruptedPods") or {}), key[1]: timestamp()}
    counted = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}
    store.put(BUDGETS, (key[0], name), {**budget, "status": counted})


def budgets_of(store: Store, pod: Object) -> list[Stored]:
    """The budgets whose selector takes this pod."""
    labels = pod["metadata"].get("labels") or {}
    _, budgets = store.all(BUDGETS, pod["metadata"]["namespace"])
    return [one for one in budgets if selected(one.object["spec"].get("selector"), labels)]


def _ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
