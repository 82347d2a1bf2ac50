"""The pages that say what is served: /version, /api, /apis, the resources of each group, and the health pages."""

from __future__ import annotations

from typing import Any

from simulator.api.kinds import BY_PATH, Kind
from simulator.api.store import encode

VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.3", "platform": "linux/amd64"}
_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


def page(path: str) -> bytes | None:
    """The page at this path, or None when it is none of these."""
    return _PAGES.get(path.rstrip("/"))


def _groups() -> dict[str, str]:
    return {group: version for group, version, _ in BY_PATH if group}


def _group(name: str, version: str) -> dict[str, Any]:
    served = {"groupVersion": f"{name}/{version}", "version": version}
    return {"name": name, "versions": [served], "preferredVersion": served}


def _resources(group: str, version: str) -> dict[str, Any]:
    resources: list[dict[str, Any]] = []
    for (of_group, of_version, _), kind in BY_PATH.items():
        if (of_group, of_version) == (group, version):
            resources.append(_resource(kind, kind.plural, _VERBS))
            if kind.status:
                resources.append(_resource(kind, f"{kind.plural}/status", ["get", "patch", "update"]))
    if not group:
        resources.append({"name": "pods/eviction", "namespaced": True, "kind": "Eviction", "verbs": ["create"]})
        resources.append({"name": "pods/log", "namespaced": True, "kind": "Pod", "verbs": ["get"]})
    name = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": resources}


def _resource(kind: Kind, name: str, verbs: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "singularName": kind.kind.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": verbs,
        "shortNames": list(kind.short),
    }


_PAGES: dict[str, bytes] = {
    "/version": encode(VERSION),
    "/readyz": b"ok",
    "/livez": b"ok",
    "/healthz": b"ok",
    "/api": encode({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}),
    "/api/v1": encode(_resources("", "v1")),
    "/apis": encode(
        {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(*one) for one in _groups().items()]},
    ),
    **{f"/apis/{group}/{version}": encode(_resources(group, version)) for group, version in _groups().items()},
}
