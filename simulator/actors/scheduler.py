"""The scheduler: binds pods without a node to the best node that takes them. The rules are in `scheduling`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from simulator.actors.actor import Actor, Party
from simulator.actors.client import ApiClient, ApiRefused
from simulator.actors.pod_status import gpus_of, is_over
from simulator.actors.scheduling import gpus_used, score, why_not
from simulator.actors.view import ClusterView, Key, key_of

Object = dict[str, Any]


class Scheduler(Party):
    """Keeps what it has bound in mind until the view shows it, so that two pods never get the same GPU."""

    def __init__(self, api: ApiClient, view: ClusterView) -> None:
        self._api = api
        self._view = view
        self._pending: set[Key] = set()
        self._assumed: dict[str, tuple[str, Object]] = {}  # pod uid -> node and pod
        self.actor = Actor("scheduler", self._look)
        view.listen("pods", self._on_pod)
        view.listen("nodes", self._on_node)

    def _on_pod(self, event: str, _before: Object | None, pod: Object) -> None:
        key = key_of(pod)
        if event != "DELETED" and not pod["spec"].get("nodeName"):
            self._pending.add(key)
            self.actor.add(key)
        elif event == "DELETED" or is_over(pod):
            self._pending.discard(key)
            self._try_again()

    def _on_node(self, event: str, before: Object | None, node: Object) -> None:
        def of_interest(one: Object) -> Object:
            return {
                "spec": one["spec"],
                "labels": one["metadata"].get("labels"),
                "can": one["status"].get("allocatable"),
            }

        if event != "DELETED" and (before is None or of_interest(before) != of_interest(node)):
            self._try_again()

    def _try_again(self) -> None:
        for key in list(self._pending):
            self.actor.add(key)

    def _look(self, key: Key) -> None:
        pod = self._view.get("pods", key)
        if pod is None or pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"]:
            self._pending.discard(key)
            return
        if pod["metadata"]["uid"] in self._assumed:
            return
        node, refusals = self._best(pod)
        if node is None:
            self._say_why(pod, refusals)
            return
        self._assumed[pod["metadata"]["uid"]] = (node, pod)
        try:
            target = {"apiVersion": "v1", "kind": "Node", "name": node}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": key[1]}, "target": target}
            self._api.post("pods", *key, "binding", binding)
        except ApiRefused:
            del self._assumed[pod["metadata"]["uid"]]
            raise
        self._pending.discard(key)

    def _best(self, pod: Object) -> tuple[str | None, Counter[str]]:
        refusals: Counter[str] = Counter()
        best: tuple[tuple[int, int, int], str] | None = None
        for node in sorted(self._view.all("nodes"), key=lambda one: str(one["metadata"]["name"])):
            name = node["metadata"]["name"]
            there = self._pods_on(name)
            used = gpus_used(there)
            if why := why_not(pod, node, used):
                refusals[why] += 1
                continue
            free = int((node["status"].get("allocatable") or {}).get("nvidia.com/gpu", 0)) - used
            worth = score(pod, node, there, free if gpus_of(pod) else 0)
            if best is None or worth > best[0]:
                best = (worth, name)
        return (best[1] if best else None), refusals

    def _pods_on(self, node: str) -> list[Object]:
        there = self._view.pods_on(node)
        shown = {pod["metadata"]["uid"] for pod in there}
        for uid, (where, pod) in list(self._assumed.items()):
            if uid in shown or self._view.get("pods", key_of(pod)) is None:
                del self._assumed[uid]
            elif where == node:
                there.append(pod)
        return there

    def _say_why(self, pod: Object, refusals: Counter[str]) -> None:
        total = sum(refusals.values())
        reasons = ", ".join(f"{count} {why}" for why, count in sorted(refusals.items()))
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": f"0/{total} nodes are available: {reasons}.",
        }
        if (pod.get("status") or {}).get("conditions") != [condition]:
            change = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"conditions": [condition]}}
            self._api.patch("pods", *key_of(pod), change, status=True)
