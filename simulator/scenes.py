"""The stories the demo can play: what befalls the cluster, and what must be true at the end. Only HTTP is spoken.

A scene acts through the simulator's control API, as the world would; Sickbay hears of it from Alertmanager alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import requests

Object = dict[str, Any]
TIMEOUT_S = 10


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a scene plays: the simulated cluster's URL and Sickbay's."""

    cluster: str
    sickbay: str

    def strike(self, what: str, body: Object) -> None:
        """Lets something befall the cluster."""
        requests.post(f"{self.cluster}/simulator/{what}", json=body, timeout=TIMEOUT_S).raise_for_status()

    def cluster_state(self) -> Object:
        """What is there now, Kubernetes or not."""
        answer = requests.get(f"{self.cluster}/simulator/state", timeout=TIMEOUT_S)
        answer.raise_for_status()
        return dict(answer.json())

    def node(self, name: str) -> Object:
        """The Node object."""
        headers = {"Authorization": "Bearer simulator-client"}
        answer = requests.get(f"{self.cluster}/api/v1/nodes/{name}", headers=headers, timeout=TIMEOUT_S)
        answer.raise_for_status()
        return dict(answer.json())

    def operation(self, node: str) -> Object | None:
        """The latest operation on that node, with plan and timeline; None while there is none."""
        query = {"node": node, "limit": "1"}
        listed = requests.get(f"{self.sickbay}/api/v1/operations", params=query, timeout=TIMEOUT_S)
        listed.raise_for_status()
        found = listed.json()["operations"]
        if not found:
            return None
        whole = requests.get(f"{self.sickbay}/api/v1/operations/{found[0]['id']}", timeout=TIMEOUT_S)
        whole.raise_for_status()
        return dict(whole.json())


@dataclass(frozen=True, slots=True)
class Scene:
    """`play` yields after each act and goes on at the next poll; `ended` says in a sentence what is wrong, or None."""

    node: str
    title: str
    play: Callable[[Stage], Iterator[None]]
    wrong: Callable[[Stage], str | None]


def _repair(stage: Stage) -> Iterator[None]:
    """Xid 79 on a node with a training run and an inference replica whose budget forbids its eviction for a while."""
    stage.strike("budget", {"blocked": True, "node": REPAIR_NODE})
    stage.strike("faults", {"node": REPAIR_NODE, "gpu": 6, "xid": 79})
    while not _is_blocked(stage.operation(REPAIR_NODE)):
        yield
    for _ in range(POLLS_WHILE_BLOCKED):
        yield
    stage.strike("budget", {"blocked": False})


REPAIR_NODE = "gpu-a03"
POLLS_WHILE_BLOCKED = 6
"""So that a reader of the live view sees the drain wait for the budget before it is freed."""


def _is_blocked(operation: Object | None) -> bool:
    return operation is not None and "vllm-chat" in operation["reason"] and operation["state"] == "waiting"


def _released_through_validation(stage: Stage) -> str | None:
    operation = stage.operation(REPAIR_NODE)
    if operation is None or operation["result"] != "released":
        return f"{REPAIR_NODE} was not released."
    undone = [step["step"] for step in operation["plan"] if step["state"] != "done"]
    if undone:
        return f"{REPAIR_NODE} was released without {', '.join(undone)}."
    node = stage.node(REPAIR_NODE)
    marks = [
        key for key in {**node["metadata"].get("annotations", {}), **node["metadata"]["labels"]} if "sickbay/" in key
    ]
    if node["spec"].get("unschedulable") or marks:
        return f"{REPAIR_NODE} still carries {', '.join(marks) or 'a cordon'}."
    return None


SCENES: dict[str, Scene] = {
    "repair": Scene(REPAIR_NODE, "Xid 79: GPU 6 of gpu-a03 falls off the bus", _repair, _released_through_validation),
}
"""Name to scene, as `sickbay demo --scene` takes it."""
