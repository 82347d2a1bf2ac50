"""GET /api/v1/…: what the store knows, as JSON. Reading needs no token; who reaches the port is up to the network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flask import Blueprint, Response, jsonify, request

from app import offending
from app.domain.aims import possible
from app.domain.operations import Operation, State
from app.domain.plans import PLANS
from app.metrics import OPEN_STATES
from app.store import NodeSummary
from app.web import shapes
from app.web.parts import parts
from app.web.problems import Problem

blueprint = Blueprint("api", __name__, url_prefix="/api/v1")

PAGE: Final = 50
LARGEST_PAGE: Final = 500
LAST_ALERTS: Final = 100


@blueprint.get("/operations")
def operations() -> Response:
    """Last opened first."""
    states = tuple(State(_known("state", word, tuple(State))) for word in _listed("state"))
    kind = request.args.get("kind") or None
    if kind is not None:
        _known("kind", kind, tuple(PLANS))
    try:
        found, cursor = parts().store.operations.page(
            states=states or None,
            kind=kind,
            node=request.args.get("node") or None,
            limit=_limit(PAGE, LARGEST_PAGE),
            cursor=request.args.get("cursor") or None,
        )
    except ValueError as error:
        raise Problem(400, str(error), pointer="?cursor") from error
    return jsonify(operations=[shapes.of_operation(one) for one in found], next=cursor)


@blueprint.get("/operations/<operation_id>")
def operation(operation_id: str) -> Response:
    """One, with its timeline."""
    return jsonify(whole(load_operation(operation_id)))


@blueprint.get("/nodes")
def nodes() -> Response:
    """Every node of the last inventory."""
    store = parts().store
    open_on = {one.node.name: one.id for one in store.operations.page(states=OPEN_STATES, limit=10_000)[0]}
    told = [shapes.of_node(node, open_on.get(node.name)) for node in store.inventory.nodes()]
    return jsonify(nodes=told, read_at=shapes.when(store.inventory.written_at()))


@blueprint.get("/nodes/<name>")
def node(name: str) -> Response:
    """One node with its operations."""
    found = load_node(name)
    open_one = parts().store.operations.open_on(name)
    return jsonify(
        **shapes.of_node(found, open_one), operations=[shapes.of_operation(one) for one in operations_on(name)]
    )


@blueprint.get("/gpus/<card>")
def gpu(card: str) -> Response:
    """The faults of one card, by serial or, until that is known, by UUID."""
    here, limit = parts(), _limit(PAGE, LARGEST_PAGE)
    rows = here.store.history.of(card)
    if not rows:
        raise Problem(404, f"No fault of a card {card[:100]!r} is on record.")
    told = shapes.of_history(rows[0].gpu, rows, here.policy.offenders, here.now())
    return jsonify({**told, "history": told["history"][:limit]})


@blueprint.get("/offenders")
def offenders() -> Response:
    """The cards past the policy's limit, worst first; with `all=true` every card with a fault that weighs something."""
    here, limit = parts(), _limit(PAGE, LARGEST_PAGE)
    everyone = _known("all", request.args.get("all") or "false", ("true", "false")) == "true"
    rules = here.policy.offenders
    cards = [card for card in offending.cards(here.store, rules, here.now()) if everyone or card.reason]
    told = [shapes.of_offender(card) for card in cards[:limit]]
    return jsonify(offenders=told, more=len(cards) > limit, limit=rules.limit, window_s=rules.window.total_seconds())


@blueprint.get("/alerts")
def alerts() -> Response:
    """The last deliveries with what became of each."""
    records = parts().store.alerts.last(_limit(LAST_ALERTS, 1_000))
    return jsonify(alerts=[shapes.of_alert(record) for record in records])


@blueprint.get("/pause")
def standing() -> Response:
    """Whether a person's pause or a tripped breaker keeps Sickbay from acts that hurt."""
    here = parts()
    return jsonify(shapes.of_standing(here.store.standing.read(), here.store.breaker.sentence(here.policy.breaker)))


@blueprint.get("/baselines")
def baselines() -> Response:
    """What nodes measured when they last passed."""
    return jsonify(baselines=[shapes.of_baseline(baseline) for baseline in parts().store.baselines.all()])


def whole(found: Operation) -> shapes.Shape:
    """All that is told of one operation."""
    here = parts()
    return shapes.of_operation(found, here.store.timeline.read(found.id), possible(found, here.now()))


def load_operation(operation_id: str) -> Operation:
    """The operation, or 404."""
    found = parts().store.operations.load(operation_id)
    if found is None:
        told = f"No operation {operation_id[:100]!r} is on record. Finished ones are kept for 90 days."
        raise Problem(404, told)
    return found


def load_node(name: str) -> NodeSummary:
    """The node in the last inventory, or 404."""
    found = next((node for node in parts().store.inventory.nodes() if node.name == name), None)
    if found is None:
        raise Problem(404, f"No node {name[:100]!r} is in the last inventory.")
    return found


def operations_on(name: str) -> Sequence[Operation]:
    """The latest operations of a node."""
    return parts().store.operations.page(node=name, limit=20)[0]


def _listed(name: str) -> list[str]:
    """The values of a parameter that may be repeated or hold commas."""
    return [word for given in request.args.getlist(name) for word in given.split(",") if word]


def _known(name: str, word: str, known: Sequence[str]) -> str:
    if word not in known:
        raise Problem(400, f"{word[:40]!r} is no {name}. Use one of: {', '.join(known)}.", pointer=f"?{name}")
    return word


def _limit(default: int, largest: int) -> int:
    given = request.args.get("limit", "")
    if not given:
        return default
    if not (given.isascii() and given.isdecimal() and 1 <= int(given) <= largest):
        raise Problem(400, f"limit must be a whole number from 1 to {largest}, not {given[:40]!r}.", pointer="?limit")
    return int(given)
