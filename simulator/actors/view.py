"""What the actors see of the cluster: a cache of each resource, kept by list and watch, shared as informers are.

An actor that needs certainty right before a write reads afresh or relies on preconditions; the cache may lag.
"""

from __future__ import annotations

import http.client
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from simulator.actors.client import ApiClient, ApiRefused

Object = dict[str, Any]
Key = tuple[str, str]
Listener = Callable[[str, Object | None, Object], None]

RESOURCES = (
    "nodes",
    "pods",
    "jobs",
    "daemonsets",
    "deployments",
    "replicasets",
    "statefulsets",
    "poddisruptionbudgets",
)


def key_of(an_object: Object) -> Key:
    """Namespace and name."""
    metadata = an_object["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


class ClusterView:
    """Caches of the resources. Listeners get (ADDED | MODIFIED | DELETED, before, now) on the watch's thread."""

    def __init__(self, api: ApiClient, resources: tuple[str, ...] = RESOURCES) -> None:
        self._api = api
        self._resources = resources
        self._objects: dict[str, dict[Key, Object]] = {resource: {} for resource in resources}
        self._pods_by_node: defaultdict[str, dict[Key, Object]] = defaultdict(dict)
        self._listeners: dict[str, list[Listener]] = {resource: [] for resource in resources}
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._synced = {resource: threading.Event() for resource in resources}
        self._threads = [
            threading.Thread(target=self._follow, args=(resource,), name=f"watch-{resource}", daemon=True)
            for resource in resources
        ]

    def listen(self, resource: str, listener: Listener) -> None:
        """Calls the listener for each change from now on; call it before `start`."""
        self._listeners[resource].append(listener)

    def start(self) -> None:
        """Lists everything and begins to watch."""
        for thread in self._threads:
            thread.start()
        for synced in self._synced.values():
            if not synced.wait(10):
                raise TimeoutError("the API server did not answer the first lists within 10 s")

    def stop(self) -> None:
        """Ends the watches; the client must be woken first, or they wait."""
        self._stop.set()
        for thread in self._threads:
            if thread.ident is not None:  # a view that was never started has nothing to wait for
                thread.join(timeout=5)

    def get(self, resource: str, key: Key) -> Object | None:
        """One object, or None."""
        return self._objects[resource].get(key)

    def all(self, resource: str) -> list[Object]:
        """Every object of the resource."""
        with self._lock:
            return list(self._objects[resource].values())

    def pods_on(self, node: str) -> list[Object]:
        """The pods that are bound to this node."""
        with self._lock:
            return list(self._pods_by_node[node].values())

    def pods_of(self, owner_uid: str) -> list[Object]:
        """The pods whose controller has this uid."""
        return [pod for pod in self.all("pods") if controller_of(pod).get("uid") == owner_uid]

    def _follow(self, resource: str) -> None:
        while not self._stop.is_set():
            try:
                revision = self._list(resource)
                self._synced[resource].set()
                while not self._stop.is_set():
                    for event in self._api.watch(resource, revision, self._stop):
                        revision = event["object"]["metadata"]["resourceVersion"]
                        if event["type"] != "BOOKMARK":
                            self._take(resource, event["type"], event["object"])
            except (ApiRefused, http.client.HTTPException, OSError):
                # Too old a version, a server that is gone, or a connection closed under the reader: begin with a list.
                self._stop.wait(0.05)

    def _list(self, resource: str) -> str:
        answer = self._api.list(resource)
        # Objects in a list do not say what they are; those of a watch do, and their readers rely on it.
        of_kind = {"kind": answer["kind"].removesuffix("List"), "apiVersion": answer["apiVersion"]}
        found = {key_of(one): {**of_kind, **one} for one in answer["items"]}
        for key, gone in list(self._objects[resource].items()):
            if key not in found:
                self._take(resource, "DELETED", gone)
        for key, one in found.items():
            known = self._objects[resource].get(key)
            if known is None or known["metadata"]["resourceVersion"] != one["metadata"]["resourceVersion"]:
                self._take(resource, "ADDED", one)
        revision: str = answer["metadata"]["resourceVersion"]
        return revision

    def _take(self, resource: str, event: str, now: Object) -> None:
        key = key_of(now)
        with self._lock:
            before = self._objects[resource].get(key)
            if event == "DELETED":
                self._objects[resource].pop(key, None)
            else:
                self._objects[resource][key] = now
            if resource == "pods" and (node := now["spec"].get("nodeName")):
                if event == "DELETED":
                    self._pods_by_node[node].pop(key, None)
                else:
                    self._pods_by_node[node][key] = now
        for listener in self._listeners[resource]:
            listener(event, before, now)


def controller_of(an_object: Object) -> Object:
    """The owner with `controller: true`, or an empty dict."""
    owners = an_object["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), {})


def owner_reference(owner: Object) -> Object:
    """The reference by which `owner` controls what it made."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
