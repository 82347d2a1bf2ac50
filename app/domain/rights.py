"""What the cluster must let worker and watch do in each mode: what the chart grants, and the adapter asks for.

`charts/sickbay` says the reason for each beside its rule; `tests/chart` holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.domain.policies import Mode


class Component(StrEnum):
    """A process with rights in the cluster; web has none."""

    WORKER = "worker"
    WATCH = "watch"


@dataclass(frozen=True, slots=True)
class Need:
    """One verb on one resource; `subresource` as in `pods/eviction`. `on_node_jobs`: only in their namespace."""

    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    on_node_jobs: bool = False

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}" + (f"/{self.subresource}" if self.subresource else "")


_READS = (Need("get", "nodes"), Need("list", "nodes"), Need("list", "pods"))
_MARKS = (Need("patch", "nodes"), Need("create", "events", "events.k8s.io"))
_DISRUPTS = (
    Need("create", "pods", subresource="eviction"),
    Need("get", "poddisruptionbudgets", "policy"),
    Need("list", "daemonsets", "apps"),
)
_DELETES = (Need("delete", "pods"),)
_RUNS_NODE_JOBS = (
    *(Need(verb, "jobs", "batch", on_node_jobs=True) for verb in ("create", "get", "list", "delete")),
    Need("get", "pods", subresource="log", on_node_jobs=True),
)
_FOLLOWS = tuple(Need(verb, resource) for resource in ("nodes", "pods") for verb in ("list", "watch"))
_FOLLOWS_NODE_JOBS = tuple(Need(verb, "jobs", "batch", on_node_jobs=True) for verb in ("list", "watch"))


def needs(component: Component, mode: Mode, *, node_jobs: bool, deletes: bool = False) -> tuple[Need, ...]:
    """What that process asks the API server for where the freest pool has this mode.

    `deletes`: whether a rule of some pool's drain deletes pods.
    """
    disrupts = mode.rank >= Mode.APPROVE.rank
    if component is Component.WATCH:
        return _FOLLOWS + (_FOLLOWS_NODE_JOBS if disrupts and node_jobs else ())
    marks = _MARKS if mode.rank >= Mode.CORDON.rank else ()
    return (
        _READS
        + marks
        + (_DISRUPTS + (_DELETES if deletes else ()) if disrupts else ())
        + (_RUNS_NODE_JOBS if disrupts and node_jobs else ())
    )
