"""The pages: overview, operation, node, card, offenders, policy, activity, system.

Rendered whole from the store, and useful without JavaScript.

Orders have pages of their own (`app.web.acts`), to which these lead whoever is known.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from flask import Blueprint, Response, current_app, render_template

from app import __version__, offending
from app.domain.aims import possible
from app.domain.offenders import count, is_offender, score
from app.domain.operations import Operation, State
from app.domain.policies import Policy
from app.domain.timeline import counted, spell
from app.metrics import OPEN_STATES
from app.store import NodeSummary
from app.vitals import read_vitals
from app.web import etags, lanes, times
from app.web.api import load_node, load_operation, operations_on
from app.web.choices import choices
from app.web.health import remarks
from app.web.identity import NOT_PEOPLE, looking
from app.web.parts import parts
from app.web.problems import Problem

blueprint = Blueprint("pages", __name__)

MOST_OPEN: Final = 1_000
MOST_FINISHED: Final = 100
LAST_ALERTS: Final = 8
MOST_OFFENDERS: Final = 200
ACTIVITY_OPERATIONS: Final = 100
ACTIVITY_ORDERS: Final = 100
ACTIVITY_ALERTS: Final = 100
_CREDENTIALS: Final = re.compile(r"://[^/@\s]+@")
"""A name and password in an address: a policy should not hold them, and whoever reads a page must not see them."""
NAMED_TILES: Final = 40
"""Up to so many nodes the fleet's tiles have room for names."""


@blueprint.get("/")
def overview() -> Response:
    """What needs a person first, then all that goes on, then the fleet."""
    store = parts().store
    open_ones, _ = store.operations.page(states=OPEN_STATES, limit=MOST_OPEN)
    finished, _ = store.operations.page(states=(State.FINISHED,), limit=MOST_FINISHED)
    laid_out = lanes.lay_out(open_ones, finished, parts().now())
    # Without GPUs and in no pool, such as a control plane: none of ours to show, or to count.
    nodes = [node for node in store.inventory.nodes() if node.pool is not None or node.gpu_capacity]
    return _render(
        "overview.html",
        lanes=laid_out,
        counts=lanes.counts(laid_out),
        needs_you=sum(len(lane.rows) for lane in laid_out if lane.key == "you"),
        any_open=bool(open_ones),
        fleet=_racks(nodes, open_ones),
        nodes=nodes,
        named=len(nodes) <= NAMED_TILES,
        alerts=store.alerts.last(LAST_ALERTS),
    )


@blueprint.get("/operations/<operation_id>")
def operation(operation_id: str) -> Response:
    """Why it stands where it stands, what comes next, and all that happened."""
    here = parts()
    found = load_operation(operation_id)
    return _render(
        "operation.html",
        row=lanes.row(found),
        operation=found,
        rungs=lanes.rungs(found),
        upcoming=lanes.upcoming(found),
        timeline=tuple(reversed(here.store.timeline.read(found.id))),
        commands=_commands(found, here.policy, possible(found, here.now())),
    )


@blueprint.get("/nodes/<name>")
def node(name: str) -> Response:
    """One node as the watch last saw it, with its operations."""
    found = load_node(name)
    return _render("node.html", node=found, rows=[lanes.row(one) for one in operations_on(name)])


@blueprint.get("/gpus/<card>")
def gpu(card: str) -> Response:
    """What one card has been through, on whichever node."""
    here = parts()
    rows, rules, now = here.store.history.of(card), here.policy.offenders, here.now()
    if not rows:
        raise Problem(404, f"No fault of a card {card[:100]!r} is on record.")
    return _render(
        "gpu.html",
        gpu=rows[0].gpu,
        counted=count(rows, rules, now),
        score=score(rows, rules, now),
        rules=rules,
        offender=is_offender(rows, rules, now),
        nodes=sorted({row.node for row in rows if row.node}),
    )


@blueprint.get("/offenders")
def offenders() -> Response:
    """The cards that fail often, worst first, those below the limit too."""
    here = parts()
    cards = offending.cards(here.store, here.policy.offenders, here.now())
    return _render(
        "offenders.html",
        cards=cards[:MOST_OFFENDERS],
        more=len(cards) - MOST_OFFENDERS,
        past=sum(card.reason is not None for card in cards),
        rules=here.policy.offenders,
    )


@blueprint.get("/policy")
def policy() -> Response:
    """What leads to what, as this process has loaded it, and the file's own lines."""
    here = parts()
    members = Counter(node.pool for node in here.store.inventory.nodes())
    shown = _CREDENTIALS.sub("://…@", here.policy_source).splitlines()
    return _render("policy.html", policy=here.policy, members=members, lines=shown)


@blueprint.get("/activity")
def activity() -> Response:
    """What people ordered, and what Alertmanager told."""
    store = parts().store
    latest, _ = store.operations.page(limit=ACTIVITY_OPERATIONS)
    timelines = zip(latest, store.timeline.read_each([one.id for one in latest]), strict=True)
    orders = [(one, entry) for one, entries in timelines for entry in entries if entry.actor not in NOT_PEOPLE]
    orders.sort(key=lambda given: given[1].at, reverse=True)
    return _render(
        "activity.html",
        orders=orders[:ACTIVITY_ORDERS],
        read=len(latest),
        alerts=store.alerts.last(ACTIVITY_ALERTS),
        most=ACTIVITY_ALERTS,
    )


@blueprint.get("/system")
def system() -> Response:
    """Whether all of Sickbay is there, and how full it is."""
    here = parts()
    vitals = read_vitals(here.store, here.queues, here.policy, here.now())
    return _render("system.html", vitals=vitals, remarks=tuple(remarks(vitals)), version=__version__, spell=spell)


@blueprint.get("/favicon.ico")
def favicon() -> Response:
    """Browsers ask for it unbidden."""
    return current_app.send_static_file("icon.svg")


def _render(template: str, **values: Any) -> Response:
    return etags.answer(render_template(template, **page_values(**values)))


def page_values(**values: Any) -> dict[str, Any]:
    """What every page shows beside its own values: signs of life, modes, and what whoever looks may order."""
    here = parts()
    now = here.now()
    return {
        "vitals": read_vitals(here.store, here.queues, here.policy, now),
        "cluster": here.policy.cluster.name,
        "modes": _modes(here.policy),
        "relative": partial(times.relative, now=now),
        "clock": times.clock,
        "choices": partial(choices, now=now) if looking() else None,
        **values,
    }


def _modes(policy: Policy) -> str:
    """`act in 2 pools, observe in 1 pool`; where all are alike, just its mode."""
    tally = Counter(pool.mode for pool in policy.pools)
    if len(tally) == 1:
        return str(next(iter(tally)))
    ranked = sorted(tally.items(), key=lambda item: -item[0].rank)
    return ", ".join(f"{mode} in {counted(number, 'pool')}" for mode, number in ranked)


def _commands(operation: Operation, policy: Policy, orders: Mapping[str, str]) -> dict[str, list[str]]:
    """Complete commands to copy, by what they are for."""
    node = shlex.quote(operation.node.name)
    looks = [
        f"kubectl describe node {node}",
        f"kubectl get pods -A -o wide --field-selector spec.nodeName={node}",
        f"kubectl get jobs -n {shlex.quote(policy.node_jobs.namespace)} -l sickbay/operation={operation.id}",
    ]
    told = {order: f" {shlex.quote(about)}" if order == "approve" else "" for order, about in orders.items()}
    return {"look": looks, "order": [f"sickbay {order} {operation.id}{what}" for order, what in told.items()]}


def _racks(
    nodes: Sequence[NodeSummary], open_ones: Sequence[Operation]
) -> dict[str, list[tuple[NodeSummary, lanes.Chip]]]:
    """The nodes of each rack, or of each pool where no node says its rack, with what they are at."""
    chips = {one.node.name: lanes.chip(one) for one in open_ones}
    racks: dict[str, list[tuple[NodeSummary, lanes.Chip]]] = {}
    for node in nodes:
        place = f"rack {node.rack}" if node.rack else f"pool {node.pool}" if node.pool else "in no pool"
        racks.setdefault(place, []).append((node, chips.get(node.name) or _at_rest(node)))
    return racks


def _at_rest(node: NodeSummary) -> lanes.Chip:
    if not node.ready:
        return lanes.Chip("off", "·", "not ready")
    if node.unschedulable:
        return lanes.Chip("off", "·", "cordoned, not by Sickbay" if node.out_by_others else "cordoned")
    return lanes.Chip("done", "✓", "ready")
