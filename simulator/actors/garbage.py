"""The garbage collector: what is owned goes with its owner, unless the owner was deleted with policy Orphan."""

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

    def _on_owner(self, resource: str) -> Any:
        def tell(event: str, _before: Object | None, owner: Object) -> None:
            if event == "DELETED" or "deletionTimestamp" in owner["metadata"]:
                self.actor.add((resource, key_of(owner), owner["metadata"]["uid"]))

        return tell

    def _look(self, what: tuple[str, Key, str]) -> None:
        resource, key, uid = what
        owner = self._view.get(resource, key)
        finalizers = (owner["metadata"].get("finalizers") or []) if owner else []
        owned = [(kind, one) for kind in _OWNED for one in self._view.all(kind) if controller_of(one).get("uid") == uid]
        for kind, one in owned:
            if "orphan" in finalizers:
                self._api.patch(kind, *key_of(one), {"metadata": {"ownerReferences": None}})
            elif "deletionTimestamp" not in one["metadata"]:
                self._api.delete(kind, *key_of(one), preconditions={"uid": one["metadata"]["uid"]})
        if "orphan" in finalizers or ("foregroundDeletion" in finalizers and not owned):
            left = [one for one in finalizers if one not in ("orphan", "foregroundDeletion")]
            self._api.patch(resource, *key, {"metadata": {"uid": uid, "finalizers": left or None}})
        elif "foregroundDeletion" in finalizers:
            self.actor.add(what, 0.05)
