"""An empty control plane for each test: nothing of an earlier one is left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from simulator.actors.client import ApiClient, ApiRefused
from simulator.actors.view import key_of
from simulator.real_api import RealApi
from tests.control_plane.plane import ControlPlane

PATIENCE_S = 180.0
# Owners before what they own, or their controllers make it again.
RESOURCES = (
    "deployments",
    "statefulsets",
    "daemonsets",
    "jobs",
    "replicasets",
    "poddisruptionbudgets",
    "pods",
    "nodes",
    "events",
)


@contextmanager
def emptied(plane: ControlPlane) -> Iterator[RealApi]:
    """The API server for `simulator.cluster.start(real=...)`, empty before and after."""
    empty(plane)
    try:
        yield RealApi(
            url=plane.url,
            ca=plane.ca,
            certificate=plane.certificate,
            key=plane.key,
            actors=plane.tokens["actors"],
            person=plane.tokens["person"],
            kubeconfig=plane.kubeconfig(plane.tokens["client"]),
            audit=plane.audit.from_now_on(),
        )
    finally:
        empty(plane)


def empty(plane: ControlPlane) -> None:
    """Deletes nodes, pods and what makes pods, in every namespace. Namespaces stay."""
    api = plane.client("admin", "emptying")
    try:
        ends = time.monotonic() + PATIENCE_S
        while left := [f"{resource} {key}" for resource in RESOURCES for key in _deleted(api, resource)]:
            if time.monotonic() > ends:
                raise TimeoutError(f"still there after {PATIENCE_S:g} s: {', '.join(left[:9])}")
            time.sleep(0.05)
    finally:
        api.close()


def _deleted(api: ApiClient, resource: str) -> list[tuple[str, str]]:
    """Asks for the deletion of all that there is of it, and tells their keys."""
    there = api.list(resource)["items"]
    for one in there:
        options: dict[str, Any] = {"propagationPolicy": "Background"}
        if resource == "pods":
            options["gracePeriodSeconds"] = 0
        with suppress(ApiRefused):  # it is gone already
            api.delete(resource, *key_of(one), **options)
    return [key_of(one) for one in there]
