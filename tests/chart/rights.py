"""Rights as a rendered chart grants them, flattened so that they can be compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tests.chart.helm import Object

EVERYWHERE = "*"


class Granted(NamedTuple):
    """One verb on one resource; `namespace` is `*` for all of them and for what has none."""

    verb: str
    resource: str
    namespace: str = EVERYWHERE


def of_kind(objects: Iterable[Object], kind: str) -> list[Object]:
    """Those objects."""
    return [one for one in objects if one["kind"] == kind]


def rights_of(objects: list[Object], account: str) -> set[Granted]:
    """What the bindings among these objects grant to that service account."""
    roles = {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one["rules"]
        for one in objects
        if one["kind"] in {"Role", "ClusterRole"}
    }
    granted = set()
    for binding in (one for one in objects if one["kind"] in {"RoleBinding", "ClusterRoleBinding"}):
        if not any(
            subject["kind"] == "ServiceAccount" and subject["name"] == account for subject in binding["subjects"]
        ):
            continue
        namespace, ref = binding["metadata"].get("namespace", ""), binding["roleRef"]
        rules = roles[ref["kind"], namespace if ref["kind"] == "Role" else "", ref["name"]]
        granted |= {
            Granted(verb, resource, namespace or EVERYWHERE)
            for rule in rules
            for verb in rule["verbs"]
            for resource in rule["resources"]
        }
    return granted
