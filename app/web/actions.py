"""What a person orders over HTTP: approve, retry, skip, cancel or release an operation; pause and resume Sickbay.

Every order needs the API token and a reason, and both the actor and the reason stand in the timeline. What an order
means is decided in `app.domain.people`; here it is stored, and a worker is told.
"""

from __future__ import annotations

from typing import Final

import structlog
from flask import Blueprint, Response, jsonify, request

from app.domain.operations import State
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
    return _paused()


@blueprint.post("/resume")
def resume() -> Response:
    """Go on, at once with what is held."""
    actor = require_api_token()
    reason = _reason()
    here = parts()
    here.store.pause.clear()
    log.info("resumed", actor=actor, reason=reason)
    held, _ = here.store.operations.page(states=(State.HELD,), limit=1_000)
    here.queues.advance([operation.id for operation in held])
    return _paused()


def _paused() -> Response:
    found = parts().store.pause.get()
    if found is None:
        return jsonify(paused=False, sentence=None)
    return jsonify(
        paused=True, sentence=found.sentence, actor=found.actor, reason=found.reason, at=shapes.when(found.at)
    )


def _reason() -> str:
    request.max_content_length = BODY_LIMIT
    told = request.get_json(silent=True)
    reason = told.get("reason") if isinstance(told, dict) else None
    if not isinstance(reason, str) or not reason.strip():
        raise Problem(400, 'An order needs a JSON body with a reason: {"reason": "…"}.', pointer="/reason")
    if len(reason) > LONGEST_REASON:
        raise Problem(400, f"A reason has at most {LONGEST_REASON} characters.", pointer="/reason")
    return " ".join(reason.split())
