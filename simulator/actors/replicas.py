"""The controllers that keep a number of pods: Deployment (by a ReplicaSet), ReplicaSet and StatefulSet."""

from __future__ import annotations

import secrets
from typing import Any

from simulator.actors.actor import Actor, Party
from simulator.actors.client import ApiClient
from simulator.actors.pod_status import is_over, is_ready
from simulator.actors.view import ClusterView, Key, controller_of, key_of, owner_reference
from simulator.objects import hash_of

Object = dict[str, Any]
_RESOURCES = {"Deployment": "deployments", "ReplicaSet": "replicasets", "StatefulSet": "statefulsets"}


class Replicas(Party):
    """Makes the pods that are missing; it never scales down, since nothing here asks for less."""

    def __init__(self, api: ApiClient, view: ClusterView) -> None:
        self._api = api
        self._view = view
        self._expected: dict[str, set[str]] = {}  # owner uid -> names of pods made and not yet seen
        self.actor = Actor("replica-controllers", self._look)
        for resource in _RESOURCES.values():
            view.listen(resource, self._on_owner(resource))
        view.listen("pods", self._on_pod)

    def _on_owner(self, resource: str) -> Any:
        def tell(_event: str, _before: Object | None, owner: Object) -> None:
            self.actor.add((resource, key_of(owner)))
            parent = controller_of(owner)
            if parent.get("kind") == "Deployment":
                self.actor.add(("deployments", (owner["metadata"]["namespace"], parent["name"])))

        return tell

    def _on_pod(self, _event: str, _before: Object | None, pod: Object) -> None:
        owner = controller_of(pod)
        if owner.get("kind") in _RESOURCES:
            self._expected.get(owner["uid"], set()).discard(pod["metadata"]["name"])
            self.actor.add((_RESOURCES[owner["kind"]], (pod["metadata"]["namespace"], owner["name"])))

    def _look(self, what: tuple[str, Key]) -> None:
        resource, key = what
        owner = self._view.get(resource, key)
        if owner is None or "deletionTimestamp" in owner["metadata"]:
            return
        if resource == "deployments":
            self._deploy(owner)
            return
        pods = [pod for pod in self._view.pods_of(owner["metadata"]["uid"]) if not is_over(pod)]
        if resource == "replicasets":
            # A pod that is going no longer counts: its replacement is made at once.
            pods = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
            names = [f"{key[1]}-{secrets.token_hex(3)[:5]}" for _ in range(owner["spec"]["replicas"] - len(pods))]
        else:
            # An ordinal is made anew only when the old pod of that name is gone.
            wanted = [f"{key[1]}-{ordinal}" for ordinal in range(owner["spec"].get("replicas", 1))]
            names = [name for name in wanted if self._view.get("pods", (key[0], name)) is None]
        waiting = self._expected.setdefault(owner["metadata"]["uid"], set())
        for name in names[: max(0, owner["spec"].get("replicas", 1) - len(pods) - len(waiting))]:
            waiting.add(name)
            self._make_pod(owner, name)
        counted = {"replicas": len(pods), "readyReplicas": sum(map(is_ready, pods))}
        self._write(resource, owner, counted)

    def _deploy(self, deployment: Object) -> None:
        """One ReplicaSet for the template; an update of the template is not rolled out."""
        namespace, name = key_of(deployment)
        mark = f"{hash_of(name) % 10**9:x}"
        found = self._view.get("replicasets", (namespace, f"{name}-{mark}"))
        spec = deployment["spec"]
        if found is None:
            if "made" in self._expected.setdefault(deployment["metadata"]["uid"], set()):
                return
            template = spec["template"]
            labels = {**template["metadata"]["labels"], "pod-template-hash": mark}
            template = {**template, "metadata": {**template["metadata"], "labels": labels}}
            metadata = {"name": f"{name}-{mark}", "labels": labels, "ownerReferences": [owner_reference(deployment)]}
            body = {"replicas": spec["replicas"], "selector": {"matchLabels": labels}, "template": template}
            self._api.create(
                "replicasets",
                namespace,
                {"kind": "ReplicaSet", "apiVersion": "apps/v1", "metadata": metadata, "spec": body},
            )
            self._expected[deployment["metadata"]["uid"]].add("made")
            return
        status = found.get("status") or {}
        counted = {"replicas": status.get("replicas", 0), "readyReplicas": status.get("readyReplicas", 0)}
        counted["availableReplicas"] = counted["readyReplicas"]
        counted["unavailableReplicas"] = max(0, spec["replicas"] - counted["readyReplicas"])
        self._write("deployments", deployment, counted)

    def _make_pod(self, owner: Object, name: str) -> None:
        template = owner["spec"]["template"]
        metadata = {**template["metadata"], "name": name, "ownerReferences": [owner_reference(owner)]}
        pod = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": template["spec"]}
        self._api.create("pods", owner["metadata"]["namespace"], pod)

    def _write(self, resource: str, owner: Object, status: Object) -> None:
        status = {**status, "observedGeneration": owner["metadata"].get("generation", 1)}
        known = owner.get("status") or {}
        if {key: known.get(key) for key in status} != status:
            self._api.patch(resource, *key_of(owner), {"status": status}, status=True)
