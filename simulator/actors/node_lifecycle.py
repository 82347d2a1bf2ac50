"""The node controllers: taints for cordoned and silent nodes, and the pods that do not tolerate those.

Source: k8s.io/kubernetes, pkg/controller/nodelifecycle and pkg/controller/tainteviction.
"""

from __future__ import annotations

from typing import Any

from simulator.actors.actor import Actor, Party
from simulator.actors.client import ApiClient
from simulator.actors.pod_status import is_over, now
from simulator.actors.scheduling import tolerates
from simulator.actors.view import ClusterView, key_of
from simulator.clock import Clock

Object = dict[str, Any]
_CORDON = "node.kubernetes.io/unschedulable"
_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"
_EFFECTS = {
    _CORDON: ("NoSchedule",),
    _NOT_READY: ("NoSchedule", "NoExecute"),
    _UNREACHABLE: ("NoSchedule", "NoExecute"),
}


class NodeLifecycle(Party):
    """A node whose Ready is False or Unknown is tainted; after a grace without a word, False becomes Unknown."""

    def __init__(self, api: ApiClient, view: ClusterView, clock: Clock) -> None:
        self._api = api
        self._view = view
        self._clock = clock
        self.actor = Actor("node-lifecycle", self._look)
        view.listen("nodes", lambda _event, _before, node: self.actor.add(("taints", node["metadata"]["name"])))

    def _look(self, what: tuple[str, str]) -> None:
        step, name = what
        node = self._view.get("nodes", ("", name))
        if node is None:
            return
        ready = _ready(node)
        if step == "taints":
            self._taint(node, ready)
            if ready.get("status") == "False" and ready.get("message") == "node is shutting down":
                self.actor.add(("silent", name), self._clock.real(self._clock.durations.lease_grace))
        elif step == "silent" and ready.get("message") == "node is shutting down":
            self._mark_unknown(node)
        elif step == "evict" and ready.get("status") != "True":
            self._evict(node)

    def _taint(self, node: Object, ready: Object) -> None:
        wanted = {_CORDON} if node["spec"].get("unschedulable") else set()
        if ready.get("status") == "False":
            wanted.add(_NOT_READY)
        elif ready.get("status") == "Unknown":
            wanted.add(_UNREACHABLE)
        taints = node["spec"].get("taints") or []
        kept = [one for one in taints if one["key"] not in _EFFECTS or one["key"] in wanted]
        there = {(one["key"], one["effect"]) for one in kept}
        for key in sorted(wanted):
            missing = [effect for effect in _EFFECTS[key] if (key, effect) not in there]
            kept += [{"key": key, "effect": effect, "timeAdded": now()} for effect in missing]
        if kept != taints:
            read = {"resourceVersion": node["metadata"]["resourceVersion"]}
            change = {"metadata": read, "spec": {"taints": kept or None}}
            self._api.patch("nodes", "", node["metadata"]["name"], change)
        if wanted & {_NOT_READY, _UNREACHABLE}:
            self.actor.add(("evict", node["metadata"]["name"]), self._clock.real(300))

    def _mark_unknown(self, node: Object) -> None:
        at = now()
        found = [
            {
                **one,
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": at,
            }
            for one in node["status"]["conditions"]
        ]
        read = {"resourceVersion": node["metadata"]["resourceVersion"]}
        change = {"metadata": read, "status": {"conditions": found}}
        self._api.patch("nodes", "", node["metadata"]["name"], change, status=True)

    def _evict(self, node: Object) -> None:
        """Deletes the pods whose toleration of a silent node has run out; a limit of more than 300 s lets them stay."""
        taints = [one for one in node["spec"].get("taints") or [] if one["effect"] == "NoExecute"]
        for pod in self._view.pods_on(node["metadata"]["name"]):
            lasting = [one for one in pod["spec"].get("tolerations") or [] if one.get("tolerationSeconds", 301) > 300]
            tolerated = all(tolerates(lasting, taint) for taint in taints)
            if not tolerated and not is_over(pod) and "deletionTimestamp" not in pod["metadata"]:
                self._api.delete("pods", *key_of(pod), preconditions={"uid": pod["metadata"]["uid"]})


def _ready(node: Object) -> Object:
    conditions = (node.get("status") or {}).get("conditions") or []
    return next((one for one in conditions if one["type"] == "Ready"), {})
