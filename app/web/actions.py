"""What a person orders over HTTP: approve, retry, skip, cancel or release an operation; pause and resume Sickbay.

Every order needs the API token and a reason, and both the actor and the reason stand in the timeline. What an order
means is decided in `app.domain.people`; here it is stored, and a worker is told.
"""

from __future__ import annotations

from typing import Final

import structlog
from flask import Blueprint, Response, jsonify, request

from app import resuming
from app.domain.people import ORDERS, OrderRefusedError, give
from app.errors import StoreUnavailable
from app.store import Change, Committed
from app.web import shapes
from app.web.api import load_operation
from app.web.doors import require_api_token
from app.web.parts import parts
from app.web.problems import Problem

log = structlog.get_logger(__name__)
blueprint = Blueprint("actions", __name__, url_prefix="/api/v1")

BODY_LIMIT: Final = 16 * 1024
LONGEST_REASON: Final = 500
TRIES: Final = 20
"""How often an order is given anew when a worker changes the operation meanwhile."""


@blueprint.post(f"/operations/<operation_id>/<any({','.join(ORDERS)}):order>")
def order(operation_id: str, order: str) -> Response:
    """Give this order. Answers with the operation as it is then."""
    actor = require_api_token()
    reason = _reason()
    here = parts()
    for _ in range(TRIES):
        known = load_operation(operation_id)
        now = here.now()
        try:
            changed, entries = give(known, order, actor=actor, reason=reason, now=now)
        except OrderRefusedError as error:
            raise Problem(409, str(error)) from error
        change = Change(operation=changed, expected_version=known.version, now=now, entries=entries)
        if isinstance(here.store.operations.commit(change), Committed):
            log.info("order given", operation=known.id, node=known.node.name, order=order, actor=actor, reason=reason)
            here.queues.advance([known.id], urgent=True)
            stored = load_operation(operation_id)
            return jsonify(shapes.of_operation(stored, here.store.timeline.read(stored.id)))
    raise StoreUnavailable(f"{operation_id} changed {TRIES} times while the order was to be stored. Give it again.")


@blueprint.post("/pause")
def pause() -> Response:
    """Start nothing more that hurts; what has begun is proven and given back."""
    actor = require_api_token()
    here = parts()
    here.store.pause.set(actor, _reason(), here.now())
    log.info("paused", actor=actor)
    return jsonify(shapes.of_standing(here.store.pause.get(), here.store.breaker.sentence(here.policy.breaker)))


@blueprint.post("/resume")
def resume() -> Response:
    """Go on after a pause or a mass failure, at once with what is held."""
    actor = require_api_token()
    reason = _reason()
    here = parts()
    done = resuming.resume(here.store, here.policy, here.now())
    log.info("resumed", actor=actor, reason=reason, paused=done.paused, tripped=done.tripped, dropped=len(done.dropped))
    here.queues.advance(done.held)
    standing = shapes.of_standing(here.store.pause.get(), here.store.breaker.sentence(here.policy.breaker))
    return jsonify({**standing, "was_paused": done.paused, "had_tripped": done.tripped, "dropped": list(done.dropped)})


def _reason() -> str:
    request.max_content_length = BODY_LIMIT
    told = request.get_json(silent=True)
    reason = told.get("reason") if isinstance(told, dict) else None
    if not isinstance(reason, str) or not reason.strip():
        raise Problem(400, 'An order needs a JSON body with a reason: {"reason": "…"}.', pointer="/reason")
    if len(reason) > LONGEST_REASON:
        raise Problem(400, f"A reason has at most {LONGEST_REASON} characters.", pointer="/reason")
    return " ".join(reason.split())
