"""The garbage collectors: what is owned goes with its owner (unless orphaned), and pods go with their node."""

from __future__ import annotations

from typing import Any

from simulator.actors.actor import Actor, Party
from simulator.actors.client import ApiClient
from simulator.actors.view import ClusterView, Key, controller_of, key_of

Object = dict[str, Any]
_OWNERS = ("jobs", "daemonsets", "deployments", "replicasets", "statefulsets")
_OWNED = ("replicasets", "pods")


class GarbageCollector(Party):
    """Looks when an owner is deleted, and when something appears whose owner is gone already."""

    def __init__(self, api: ApiClient, view: ClusterView) -> None:
        self._api = api
        self._view = view
        self.actor = Actor("garbage-collector", self._look)
        for resource in _OWNERS:
            view.listen(resource, self._on_owner(resource))
        view.listen("nodes", self._on_node)

    def _on_node(self, event: str, _before: Object | None, node: Object) -> None:
        if event == "DELETED":
            self.actor.add(("nodes", key_of(node), node["metadata"]["uid"]))

    def _on_owner(self, resource: str) -> Any:
        def tell(event: str, _before: Object | None, owner: Object) -> None:
            if event == "DELETED" or "deletionTimestamp" in owner["metadata"]:
                self.actor.add((resource, key_of(owner), owner["metadata"]["uid"]))

        return tell

    def _forget_node(self, name: str) -> None:
        """The pods of a node that is gone can tell nobody that they have ended."""
        if self._view.get("nodes", ("", name)) is None:
            for pod in self._view.pods_on(name):
                uid = {"uid": pod["metadata"]["uid"]}
                self._api.delete("pods", *key_of(pod), gracePeriodSeconds=0, preconditions=uid)

    def _look(self, what: tuple[str, Key, str]) -> None:
        resource, key, uid = what
        if resource == "nodes":
            self._forget_node(key[1])
            return
        owner = self._view.get(resource, key)
        finalizers = (owner["metadata"].get("finalizers") or []) if owner else []
        owned = [(kind, one) for kind in _OWNED for one in self._view.all(kind) if controller_of(one).get("uid") == uid]
        for kind, one in owned:
            if "orphan" in finalizers:
                self._api.patch(kind, *key_of(one), {"metadata": {"ownerReferences": None}})
            elif "deletionTimestamp" not in one["metadata"]:
                # As it was seen: one that was orphaned meanwhile is left alone, and looked at again.
                seen = {part: one["metadata"][part] for part in ("uid", "resourceVersion")}
                self._api.delete(kind, *key_of(one), preconditions=seen)
        if "orphan" in finalizers or ("foregroundDeletion" in finalizers and not owned):
            left = [one for one in finalizers if one not in ("orphan", "foregroundDeletion")]
            self._api.patch(resource, *key, {"metadata": {"uid": uid, "finalizers": left or None}})
        elif "foregroundDeletion" in finalizers:
            self.actor.add(what, 0.05)
