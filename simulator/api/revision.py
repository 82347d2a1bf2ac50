"""What a write makes of an object: which parts a client may set, and which stay as the server had them. Pure."""

from __future__ import annotations

from typing import Any

from simulator.api.kinds import PODS, Kind
from simulator.api.statuses import invalid

Object = dict[str, Any]

_SERVERS_OWN = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "namespace",
    "managedFields",
)
_CHANGEABLE_IN_PODS = ("containers", "activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds")


def revised(kind: Kind, old: Object, wanted: Object, *, status: bool) -> Object:
    """The new object: of `wanted`, the status alone when `status`, else everything but that.

    Returns:
        `old` itself when nothing changed, so that nothing is written.

    Raises:
        Refused: 422 for a change that pods do not allow.
    """
    if status:
        new = {**old, "status": wanted["status"]} if "status" in wanted else old
        return old if new == old else new
    metadata = {part: value for part, value in wanted["metadata"].items() if part not in _SERVERS_OWN}
    metadata |= {part: old["metadata"][part] for part in _SERVERS_OWN if part in old["metadata"]}
    metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
    new = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
    new |= {part: value for part, value in wanted.items() if part not in new}
    if kind.status:
        new.pop("status", None)
        new |= {"status": old["status"]} if "status" in old else {}
    if kind is PODS:
        _check_pod(str(metadata["name"]), old["spec"], wanted.get("spec") or {})
    if new == old:
        return old
    if kind.counted and new.get("spec") != old.get("spec"):
        metadata["generation"] = old["metadata"].get("generation", 0) + 1
    return new


def _check_pod(name: str, old: Object, new: Object) -> None:
    """Almost nothing in the spec of a pod may change after its creation."""
    for part in {*old, *new}:
        if part not in _CHANGEABLE_IN_PODS and old.get(part) != new.get(part):
            allowed = ",".join(f"`spec.{one}`" for one in _CHANGEABLE_IN_PODS)
            raise invalid(PODS, name, "spec", f"Forbidden: pod updates may not change fields other than {allowed}")
