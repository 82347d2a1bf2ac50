"""What others do while Sickbay works: each act as the receiver, the API, a person with kubectl or a controller does it.

Each is written into the chronicle, so that the promises know what was asked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.cases import NodesSeen, Taken
from app.domain.marks import ANNOTATION
from app.domain.operations import Operation
from app.domain.people import OrderRefusedError, give
from app.domain.policies import EXCLUDE_LABEL, Mode, Policy, Rung
from app.domain.triage import Decision
from app.intake import Intake
from app.resuming import resume as lift
from app.store import Change, Committed
from tests.building import rungs, xids
from tests.engine.chronicle import OPERATION, Chronicle, holds
from tests.engine.driving import NODE, Story
from tests.engine.policies import story_policy
from tests.engine.trap import Killed

UPGRADING = {"nvidia.com/gpu-driver-upgrade-state": "cordon-required"}
LADDERS: dict[int, tuple[Rung, ...]] = {
    48: rungs("restart-plugin", "reset"),
    63: rungs("reset"),
    79: rungs("reboot"),
    95: rungs("power-cycle"),
    119: rungs("reset", "reboot"),
    64: (),
}
"""Xid to what the policy of these stories answers; one that is not here is only noted."""
GRAVER, BEYOND_SOFTWARE = 95, 64


def policy(**changes: Any) -> Policy:
    """The policy of the stories with an answer to each Xid above."""
    return replace(story_policy(), faults={f"xid-{number}": ladder for number, ladder in LADDERS.items()}, **changes)


def send(told: Chronicle, xid: int | str, *, node: str = NODE, gpu: int = 3, **fields: Any) -> Taken:
    """An alert comes in; `fields` are those of Alertmanager, and `cluster` its label."""
    story = told.story
    labels = {
        "alertname": "GpuXid",
        "Hostname": node,
        "err_code": str(xid),
        "gpu": str(gpu),
        "UUID": f"GPU-{node}-{gpu}",
        **({"cluster": fields.pop("cluster")} if "cluster" in fields else {}),
    }
    raw = {
        "status": "firing",
        "labels": labels,
        "annotations": {},
        "startsAt": story.now.isoformat(),
        "fingerprint": f"{node}-{gpu}-{xid}",
        **fields,
    }
    seen = NodesSeen(inventory=story.cluster.places.inventory(), at=story.now)
    taken = Intake(story.store, story.policy, xids()).take(raw, seen, story.now)
    if taken.decision in {Decision.REPAIR, Decision.PENDING}:
        told.ill.add(node)
    if taken.decision is Decision.REPAIR and taken.operation:
        told.joined.append((told.next_order(), taken.operation))
    return taken


def order(told: Chronicle, what: str, operation_id: str = OPERATION) -> bool:
    """A person's order, as the API commits it. False when it makes no sense now."""
    story = told.story
    while True:
        known = story.store.operations.load(operation_id)
        assert known is not None
        try:
            operation, entries = give(known, what, actor="ann", reason="so be it", now=story.now)
        except OrderRefusedError:
            return False
        change = Change(operation=operation, expected_version=known.version, entries=entries, now=story.now)
        if isinstance(story.store.operations.commit(change), Committed):
            break
    if what in {"cancel", "release"}:
        told.say_no(what, operation=operation_id)
    told.retries[operation_id] += what == "retry"
    told.skips[operation_id] += what == "skip"
    return True


def pause(told: Chronicle) -> None:
    """Somebody pauses Sickbay."""
    told.story.store.pause.set("ann", "power work", told.story.now)
    told.say_no("pause")


def resume(told: Chronicle) -> None:
    """Somebody lifts pause and breaker."""
    told.take_back("pause")
    store = told.story.store
    lift(store, told.story.policy, store.standing.read(), told.story.now)


def uncordon(told: Chronicle, node: str = NODE) -> None:
    """`kubectl uncordon`. While Sickbay holds the node this is a person's no."""
    there = told.story.cluster.nodes.get(node)
    if there is None:
        return
    open_here = _open_on(told.story, node)
    if open_here is not None and holds(there):
        told.say_no("uncordon", operation=open_here.id, node=node)
    told.cordoned_by_others.discard(node)
    told.story.cluster.change_node(node, unschedulable=False)


def cordon(told: Chronicle, node: str = NODE, **changes: Any) -> None:
    """`kubectl cordon`. On a node that takes no work already it changes nothing, and says nothing."""
    there = told.story.cluster.nodes.get(node)
    if there is None:
        return
    open_here = _open_on(told.story, node)
    if not there.unschedulable:
        told.cordoned_by_others.add(node)
        if open_here is not None and ANNOTATION in there.annotations:
            told.take_back("uncordon", node=node)
            told.whose.add(there.uid)
    told.story.cluster.change_node(node, unschedulable=True, **changes)


def upgrade(told: Chronicle, node: str = NODE) -> None:
    """The GPU Operator's driver-upgrade controller takes the node out for itself."""
    there = told.story.cluster.nodes.get(node)
    if there is not None:
        cordon(told, node, labels={**there.labels, **UPGRADING})


def exclude(told: Chronicle, node: str = NODE) -> None:
    """A person's label keeps Sickbay off the node."""
    _label(told, node, "true")
    told.say_no("exclude", node=node)


def include(told: Chronicle, node: str = NODE) -> None:
    """The label is gone again."""
    _label(told, node, None)
    told.take_back("exclude", node=node)


def recreate(told: Chronicle, node: str = NODE) -> None:
    """The machine is deleted, and another one takes its name."""
    open_here = _open_on(told.story, node)
    if open_here is not None:
        told.say_no("new machine", operation=open_here.id)
    told.cordoned_by_others.discard(node)
    told.take_back("exclude", node=node)
    told.story.cluster.remove_node(node)
    told.story.cluster.add_node(node)


def restart_in(told: Chronicle, mode: Mode) -> None:
    """SICKBAY_MODE is lowered: this worker ends here, and the next one reads it."""
    told.story.policy = told.story.policy.lowered_to(mode)
    raise Killed


def work_on(told: Chronicle, operation_id: str = OPERATION) -> None:
    """Another worker takes the same operation up and goes on until it has to wait."""
    told.worker().advance(operation_id)


def hold_up(told: Chronicle, operation_id: str = OPERATION) -> None:
    """The worker stands still for longer than its claim, and another one goes on meanwhile."""
    told.story.cluster.clock.advance(seconds=61)
    work_on(told, operation_id)


def a_moment(told: Chronicle) -> None:
    """People and controllers act in the middle of things: what was read before is two seconds old after that."""
    told.story.cluster.clock.advance(seconds=2)


def _label(told: Chronicle, node: str, value: str | None) -> None:
    there = told.story.cluster.nodes.get(node)
    if there is not None:
        others = {key: text for key, text in there.labels.items() if key != EXCLUDE_LABEL}
        told.story.cluster.change_node(node, labels={**others, **({EXCLUDE_LABEL: value} if value else {})})


def _open_on(story: Story, node: str) -> Operation | None:
    operation_id = story.store.operations.open_on(node)
    return None if operation_id is None else story.store.operations.load(operation_id)
