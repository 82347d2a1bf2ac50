"""The DaemonSet controller: a pod on each node that the set selects and whose taints it tolerates."""

from __future__ import annotations

import secrets
from typing import Any

from simulator.actors.actor import Actor, Party
from simulator.actors.client import ApiClient
from simulator.actors.pod_status import is_over, is_ready
from simulator.actors.scheduling import selects, tolerates
from simulator.actors.view import ClusterView, Key, controller_of, key_of, owner_reference

Object = dict[str, Any]

# What the controller adds to every daemon pod. Source: k8s.io/kubernetes, pkg/controller/daemon/util.
TOLERATIONS: list[Object] = [
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"},
    *(
        {"key": f"node.kubernetes.io/{word}", "operator": "Exists", "effect": "NoSchedule"}
        for word in ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
    ),
]


class DaemonSets(Party):
    """Keeps one pod on each node that is wanted; one that failed is replaced, one on a node no longer chosen goes."""

    def __init__(self, api: ApiClient, view: ClusterView) -> None:
        self._api = api
        self._view = view
        self._expected: dict[str, set[str]] = {}  # set uid -> nodes for which a pod was made and not yet seen
        self.actor = Actor("daemonset-controller", self._look)
        view.listen("daemonsets", lambda _event, _before, one: self.actor.add(key_of(one)))
        view.listen("nodes", self._on_node)
        view.listen("pods", self._on_pod)

    def _on_node(self, _event: str, before: Object | None, node: Object) -> None:
        def of_interest(one: Object) -> tuple[Any, ...]:
            return one["spec"].get("taints"), one["metadata"].get("labels")

        if before is None or of_interest(before) != of_interest(node):
            for one in self._view.all("daemonsets"):
                self.actor.add(key_of(one))

    def _on_pod(self, _event: str, _before: Object | None, pod: Object) -> None:
        owner = controller_of(pod)
        if owner.get("kind") == "DaemonSet":
            self._expected.get(owner["uid"], set()).discard(_node_of(pod))
            self.actor.add((pod["metadata"]["namespace"], owner["name"]))

    def _look(self, key: Key) -> None:
        daemons = self._view.get("daemonsets", key)
        if daemons is None or "deletionTimestamp" in daemons["metadata"]:
            return
        template = daemons["spec"]["template"]["spec"]
        tolerations = [*(template.get("tolerations") or []), *TOLERATIONS]
        there = {_node_of(pod): pod for pod in self._view.pods_of(daemons["metadata"]["uid"])}
        waiting = self._expected.setdefault(daemons["metadata"]["uid"], set())
        wanted = 0
        for node in self._view.all("nodes"):
            name = node["metadata"]["name"]
            taints = [one for one in node["spec"].get("taints") or [] if one["effect"] != "PreferNoSchedule"]
            pod = there.get(name)
            untolerated = [taint["effect"] for taint in taints if not tolerates(tolerations, taint)]
            chosen = selects(template, node)
            if not chosen or "NoExecute" in untolerated:
                self._delete(pod)
            elif pod is None and not untolerated and name not in waiting:
                waiting.add(name)
                self._make_pod(daemons, name, tolerations)
            elif pod is not None and is_over(pod):
                self._delete(pod)
            wanted += chosen and not untolerated
        ready = sum(map(is_ready, there.values()))
        counted = {"currentNumberScheduled": len(there), "desiredNumberScheduled": wanted, "numberReady": ready}
        known = daemons.get("status") or {}
        if {part: known.get(part) for part in counted} != counted:
            self._api.patch("daemonsets", *key, {"status": counted}, status=True)

    def _delete(self, pod: Object | None) -> None:
        if pod is not None and "deletionTimestamp" not in pod["metadata"]:
            self._api.delete("pods", *key_of(pod), preconditions={"uid": pod["metadata"]["uid"]})

    def _make_pod(self, daemons: Object, node: str, tolerations: list[Object]) -> None:
        template = daemons["spec"]["template"]
        name = f"{daemons['metadata']['name']}-{secrets.token_hex(3)[:5]}"
        fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
        affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}}
        spec = {**template["spec"], "tolerations": tolerations, "affinity": {"nodeAffinity": affinity}}
        metadata = {**template["metadata"], "name": name, "ownerReferences": [owner_reference(daemons)]}
        pod = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}
        self._api.create("pods", daemons["metadata"]["namespace"], pod)


def _node_of(pod: Object) -> str:
    """The node a daemon pod is on or meant for."""
    if name := pod["spec"].get("nodeName"):
        return str(name)
    affinity = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return str(affinity["nodeSelectorTerms"][0]["matchFields"][0]["values"][0])
