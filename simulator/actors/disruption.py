"""The disruption controller: counts the healthy pods of each PodDisruptionBudget and says how many may go.

Source: k8s.io/kubernetes, pkg/controller/disruption/disruption.go. Writes carry the resourceVersion that was read, so
that a place which an eviction took meanwhile is never given out again.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

from simulator.actors.actor import Actor, Party
from simulator.actors.client import ApiClient
from simulator.actors.pod_status import is_over, is_ready, now
from simulator.actors.view import ClusterView, Key, controller_of, key_of

Object = dict[str, Any]
_DISRUPTED_FOR = timedelta(minutes=2)
_OWNERS = {"ReplicaSet": "replicasets", "StatefulSet": "statefulsets"}


class Disruption(Party):
    """Keeps `status` of every budget."""

    def __init__(self, api: ApiClient, view: ClusterView) -> None:
        self._api = api
        self._view = view
        self.actor = Actor("disruption-controller", self._look)
        view.listen("poddisruptionbudgets", lambda _event, _before, one: self.actor.add(key_of(one)))
        view.listen("pods", self._on_pod)

    def _on_pod(self, _event: str, _before: Object | None, pod: Object) -> None:
        for budget in self._view.all("poddisruptionbudgets"):
            if key_of(budget)[0] == pod["metadata"]["namespace"] and _takes(budget, pod):
                self.actor.add(key_of(budget))

    def _look(self, key: Key) -> None:
        budget = self._view.get("poddisruptionbudgets", key)
        if budget is None:
            return
        pods = [pod for pod in self._view.all("pods") if pod["metadata"]["namespace"] == key[0] and _takes(budget, pod)]
        pods = [pod for pod in pods if not is_over(pod)]
        expected = self._expected(pods)
        desired = _desired(budget["spec"], expected)
        disrupted = _disrupted(budget, pods)
        healthy = sum(
            is_ready(pod) and "deletionTimestamp" not in pod["metadata"] and pod["metadata"]["name"] not in disrupted
            for pod in pods
        )
        allowed = max(0, healthy - desired) if expected else 0
        counted: Object = {
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "disruptionsAllowed": allowed,
            "expectedPods": expected,
            "observedGeneration": budget["metadata"].get("generation", 1),
        }
        known = budget.get("status") or {}
        same_pods = (known.get("disruptedPods") or {}) == disrupted
        if same_pods and {part: known.get(part) for part in counted} == counted:
            return
        gone = dict.fromkeys(set(known.get("disruptedPods") or {}) - set(disrupted))
        counted["disruptedPods"] = {**disrupted, **gone}
        counted["conditions"] = [
            {
                "type": "DisruptionAllowed",
                "status": "True" if allowed else "False",
                "reason": "SufficientPods" if allowed else "InsufficientPods",
                "message": "",
                "lastTransitionTime": now(),
                "observedGeneration": counted["observedGeneration"],
            }
        ]
        read = {"resourceVersion": budget["metadata"]["resourceVersion"]}
        self._api.patch("poddisruptionbudgets", *key, {"metadata": read, "status": counted}, status=True)

    def _expected(self, pods: list[Object]) -> int:
        """How many pods there should be: by their controllers' replicas, where they have one."""
        owners, alone = {}, 0
        for pod in pods:
            owner = controller_of(pod)
            if owner.get("kind") in _OWNERS:
                owners[owner["uid"]] = (_OWNERS[owner["kind"]], (pod["metadata"]["namespace"], owner["name"]))
            else:
                alone += 1
        found = [self._view.get(*one) for one in owners.values()]
        return alone + sum(int(one["spec"].get("replicas", 1)) for one in found if one)


def _takes(budget: Object, pod: Object) -> bool:
    wanted = (budget["spec"].get("selector") or {}).get("matchLabels") or {}
    labels = pod["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in wanted.items())


def _desired(spec: Object, expected: int) -> int:
    if "maxUnavailable" in spec:
        return max(0, expected - _scaled(spec["maxUnavailable"], expected))
    return _scaled(spec.get("minAvailable", 1), expected)


def _scaled(limit: int | str, expected: int) -> int:
    if isinstance(limit, int):
        return limit
    return math.ceil(expected * int(limit.rstrip("%")) / 100)


def _disrupted(budget: Object, pods: list[Object]) -> dict[str, str]:
    """The pods that an eviction was granted for and that are not yet seen to be going."""
    staying = {pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}
    oldest = (datetime.now(UTC) - _DISRUPTED_FOR).strftime("%Y-%m-%dT%H:%M:%SZ")
    noted = (budget.get("status") or {}).get("disruptedPods") or {}
    return {name: at for name, at in noted.items() if name in staying and at > oldest}
