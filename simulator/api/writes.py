"""Create, patch, replace and delete, with the checks and side effects that the real API server has.

Only what a client can see is here; who may do what is not decided (there is one user class), and objects are not
validated beyond what a mistake of a client would run into.
"""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

from simulator.api.defaults import filled, new_uid
from simulator.api.kinds import EVENTS, NAMESPACES, NODES, PODS, RUNTIME_CLASSES, SERVICE_ACCOUNTS, Kind
from simulator.api.managed_fields import managed
from simulator.api.merge import merged
from simulator.api.revision import revised
from simulator.api.statuses import (
    already_exists,
    bad_request,
    details_of,
    forbidden,
    invalid,
    modified,
    not_found,
    precondition_failed,
    success,
)
from simulator.api.store import Key, Store, Stored

Object = dict[str, Any]

_NAME = re.compile(r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$")


def timestamp(at: datetime | None = None) -> str:
    """A time as Kubernetes writes it: whole seconds, UTC."""
    return (at or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")


def create(store: Store, kind: Kind, namespace: str, an_object: Any) -> Stored:
    """Stores a new object.

    Raises:
        Refused: 400, 403 (a pod of an unknown runtime class or account), 404 (no such namespace), 409 (the name is
            taken) or 422.
    """
    given = _body_of(kind, an_object)
    metadata = dict(given.get("metadata") or {})
    if not metadata.get("name") and metadata.get("generateName"):
        metadata["name"] = metadata["generateName"] + secrets.token_hex(3)[:5]
    name = metadata.get("name") or ""
    if not _NAME.match(name):
        raise invalid(kind, name, "metadata.name", f'Invalid value: "{name}": a lowercase RFC 1123 subdomain is needed')
    if metadata.get("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    for owned in ("resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
        metadata.pop(owned, None)
    metadata |= {"uid": new_uid(), "creationTimestamp": timestamp()}
    if kind.namespaced:
        metadata["namespace"] = namespace
    if kind.counted:
        metadata["generation"] = 1
    rest = {key: value for key, value in given.items() if key not in ("kind", "apiVersion", "metadata")}
    new = filled(kind, {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata, **rest})
    with store.lock:
        if kind.namespaced and store.get(NAMESPACES, ("", namespace)) is None:
            raise not_found(NAMESPACES, namespace)
        if store.get(kind, (namespace, name)) is not None:
            raise already_exists(kind, name)
        if kind is PODS:
            _admit(store, namespace, name, new["spec"])
        return store.put(kind, (namespace, name), new)


def _admit(store: Store, namespace: str, pod: str, spec: Object) -> None:
    """The admission plugins RuntimeClass and ServiceAccount; each namespace has its account `default`."""
    runtime, account = spec.get("runtimeClassName"), spec.get("serviceAccountName", "default")
    if runtime and store.get(RUNTIME_CLASSES, ("", runtime)) is None:
        raise forbidden(PODS, pod, f'pod rejected: RuntimeClass "{runtime}" not found')
    if account != "default" and store.get(SERVICE_ACCOUNTS, (namespace, account)) is None:
        looked_up = f"error looking up service account {namespace}/{account}"
        raise forbidden(PODS, pod, f'{looked_up}: serviceaccount "{account}" not found')


def patch(store: Store, kind: Kind, key: Key, change: Any, *, status: bool = False, writer: str = "") -> Stored:
    """Applies a merge patch; a resourceVersion in its metadata is a precondition (409), a uid cannot be changed (422).

    Raises:
        Refused: 400, 404, 409 or 422.
    """
    if not isinstance(change, dict):
        raise bad_request("a merge patch is a JSON object")
    with store.lock:
        now = existing(store, kind, key)
        return _write(store, kind, key, now, merged(now.object, change), status=status, writer=writer)


def replace(store: Store, kind: Kind, key: Key, an_object: Any, *, status: bool = False, writer: str = "") -> Stored:
    """Puts a whole object in place of the one there is; without a resourceVersion it overwrites.

    Raises:
        Refused: 400, 404, 409 or 422.
    """
    given = _body_of(kind, an_object)
    with store.lock:
        now = existing(store, kind, key)
        metadata = {"name": key[1], **(given.get("metadata") or {})}
        return _write(store, kind, key, now, {**given, "metadata": metadata}, status=status, writer=writer)


def existing(store: Store, kind: Kind, key: Key) -> Stored:
    """The object.

    Raises:
        Refused: 404.
    """
    found = store.get(kind, key)
    if found is None:
        raise not_found(kind, key[1])
    return found


def _write(store: Store, kind: Kind, key: Key, now: Stored, wanted: Object, *, status: bool, writer: str) -> Stored:
    old, metadata = now.object, wanted["metadata"]
    if (metadata.get("resourceVersion") or old["metadata"]["resourceVersion"]) != old["metadata"]["resourceVersion"]:
        raise modified(kind, key[1])
    if (metadata.get("uid") or old["metadata"]["uid"]) != old["metadata"]["uid"]:
        why = f'Invalid value: "{metadata["uid"]}": field is immutable'
        raise invalid(kind, key[1], "metadata.uid", why)
    if metadata.get("name") != key[1]:
        raise bad_request("the name of the object does not match the name on the URL")
    new = revised(kind, old, wanted, status=status)
    if new is old:
        return now
    if kind is NODES and not status and writer:
        fields = managed(old, new, writer, timestamp(), kind.api_version)
        new = {**new, "metadata": {**new["metadata"], "managedFields": fields}}
    marked = new["metadata"]
    if "deletionTimestamp" in marked and not marked.get("finalizers") and not marked["deletionGracePeriodSeconds"]:
        return store.remove(kind, key)
    return store.put(kind, key, new)


def check(kind: Kind, name: str, now: Object, preconditions: dict[str, Any] | None) -> None:
    """Compares uid and resourceVersion, where given, with the object.

    Raises:
        Refused: 409.
    """
    wanted, found = preconditions or {}, now["metadata"]
    for part, word, then in (
        ("uid", "UID", "deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", "modified"),
    ):
        asked = wanted.get(part)
        if asked and asked != found[part]:
            why = f"the {word} in the precondition ({asked}) does not match the {word} in record ({found[part]})"
            raise precondition_failed(kind, name, f"{why}. The object might have been {then}")


def delete(store: Store, kind: Kind, key: Key, options: Object) -> tuple[Stored, Object | None]:
    """Deletes the object, or begins to: pods by their grace, others when they have finalizers.

    Returns:
        The object as it is or was last, and the Status to answer with; None where the answer is the object itself.

    Raises:
        Refused: 404 or 409.
    """
    with store.lock:
        now = existing(store, kind, key)
        check(kind, key[1], now.object, options.get("preconditions"))
        if kind is PODS:
            return _delete_pod(store, key, now, options), None
        metadata = dict(now.object["metadata"])
        finalizers = list(metadata.get("finalizers") or [])
        extra = _FINALIZER.get(options.get("propagationPolicy") or "")
        if extra and extra not in finalizers:
            finalizers.append(extra)
        if finalizers:
            metadata["finalizers"] = finalizers
            metadata.setdefault("deletionTimestamp", timestamp())
            metadata.setdefault("deletionGracePeriodSeconds", 0)
            return store.put(kind, key, {**now.object, "metadata": metadata}), None
        last = store.remove(kind, key)
        details = {**details_of(kind, key[1]), "uid": metadata["uid"]}
        return last, success(details=details)


def _delete_pod(store: Store, key: Key, now: Stored, options: Object) -> Stored:
    """A pod that runs gets its grace, and leaves when the kubelet deletes it with none."""
    pod = now.object
    metadata = pod["metadata"]
    grace = options.get("gracePeriodSeconds")
    if grace is None:
        grace = pod["spec"].get("terminationGracePeriodSeconds", 30)
    ended = pod["status"].get("phase") in ("Succeeded", "Failed")
    if not pod["spec"].get("nodeName") or ended:
        grace = 0
    if "deletionTimestamp" in metadata and grace >= metadata.get("deletionGracePeriodSeconds", 0) > 0:
        return now
    finalizers = metadata.get("finalizers")
    if grace <= 0 and not finalizers:
        return store.remove(PODS, key)
    ends = timestamp(datetime.now(UTC) + timedelta(seconds=grace))
    marked = {**metadata, "deletionTimestamp": ends, "deletionGracePeriodSeconds": grace}
    return store.put(PODS, key, {**pod, "metadata": marked})


def _body_of(kind: Kind, an_object: Any) -> Object:
    if not isinstance(an_object, dict):
        raise bad_request("the body of the request is not an object")
    if an_object.get("kind", kind.kind) != kind.kind:
        found = f"{an_object.get('apiVersion')}, Kind={an_object['kind']}"
        raise bad_request(f"{found} in version cannot be handled as a {kind.kind}")
    if kind is EVENTS and an_object.get("metadata", {}).get("namespace", "default") == "":
        raise invalid(kind, "", "involvedObject.namespace", "does not match event.namespace")
    return an_object


_FINALIZER = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}
