from __future__ import annotations

import json
from typing import Any

import pytest
from kubernetes import client

from simulator import objects
from tests.simulator.conftest import Kubernetes

READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def pods_behind_budgets(kubernetes: Kubernetes, *, allowed: int, budgets: int = 1, ready: bool = True) -> None:
    """Two running pods, a and b, and budgets that let so many of them go."""
    for name in "ab":
        kubernetes.core.create_namespaced_pod("default", objects.pod(name, node="gpu-a01", labels={"app": "web"}))
        status = READY if ready else {"phase": "Running"}
        kubernetes.patch(f"/api/v1/namespaces/default/pods/{name}/status", json.dumps({"status": status}))
    for number in range(budgets):
        budget = objects.budget(f"web-{number}", "default", {"app": "web"}, minAvailable=2 - allowed)
        kubernetes.policy.create_namespaced_pod_disruption_budget("default", budget)
        counted = {"currentHealthy": 2, "desiredHealthy": 2 - allowed, "disruptionsAllowed": allowed}
        body = json.dumps({"status": {**counted, "expectedPods": 2, "observedGeneration": 1}})
        kubernetes.patch(f"/apis/policy/v1/namespaces/default/poddisruptionbudgets/web-{number}/status", body)


def refusal(kubernetes: Kubernetes, name: str = "a", uid: str = "") -> tuple[int, Any]:
    with pytest.raises(client.ApiException) as refused:
        kubernetes.evict("default", name, uid)
    return refused.value.status, json.loads(str(refused.value.body))


def test_an_eviction_begins_a_graceful_deletion(still: Kubernetes) -> None:
    pods_behind_budgets(still, allowed=1)
    still.evict("default", "a")
    assert still.core.read_namespaced_pod("a", "default").metadata.deletion_timestamp is not None


def test_a_budget_without_room_answers_429_in_the_real_servers_words(still: Kubernetes) -> None:
    pods_behind_budgets(still, allowed=0)
    code, body = refusal(still)
    assert code == 429
    assert body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Cannot evict pod as it would violate the pod's disruption budget.",
        "reason": "TooManyRequests",
        "details": {
            "causes": [
                {
                    "reason": "DisruptionBudget",
                    "message": "The disruption budget web-0 needs 2 healthy pods and has 2 currently",
                }
            ]
        },
        "code": 429,
    }


def test_two_evictions_cannot_share_the_last_place_of_a_budget(still: Kubernetes) -> None:
    pods_behind_budgets(still, allowed=1)
    still.evict("default", "a")
    assert refusal(still, "b")[0] == 429
    budget = still.policy.read_namespaced_pod_disruption_budget("web-0", "default")
    assert budget.status.disruptions_allowed == 0
    assert list(budget.status.disrupted_pods) == ["a"]


def test_two_budgets_on_one_pod_are_500_for_ever(still: Kubernetes) -> None:
    pods_behind_budgets(still, allowed=1, budgets=2)
    code, body = refusal(still)
    assert (code, "reason" in body) == (500, False)
    assert body["message"].startswith("This pod has more than one PodDisruptionBudget")


def test_a_budget_that_was_not_counted_yet_asks_to_come_again(still: Kubernetes) -> None:
    pods_behind_budgets(still, allowed=1)
    still.patch(
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web-0", '{"spec":{"unhealthyPodEvictionPolicy":"x"}}'
    )
    code, body = refusal(still)
    assert (code, body["details"]["retryAfterSeconds"]) == (429, 10)
    assert "still being processed" in body["details"]["causes"][0]["message"]


def test_a_pod_that_is_not_ready_costs_a_healthy_budget_nothing(still: Kubernetes) -> None:
    pods_behind_budgets(still, allowed=0, ready=False)
    still.evict("default", "a")
    assert still.core.read_namespaced_pod("a", "default").metadata.deletion_timestamp is not None


def test_an_eviction_of_another_uid_is_a_conflict_and_of_nobody_is_404(still: Kubernetes) -> None:
    pods_behind_budgets(still, allowed=1)
    assert refusal(still, uid="another")[0] == 409
    assert refusal(still, "nobody")[0] == 404
