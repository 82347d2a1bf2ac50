"""What a person orders over the API: approve, retry, skip, cancel or release an operation; pause and resume Sickbay.

Every order needs somebody known (`app.web.doors`) and a reason. For an operation both stand in its timeline. A pause
has none: who paused and why is logged, and shown while it lasts; who resumed and why is logged alone.
"""

from __future__ import annotations

from typing import Final

import structlog
from flask import Blueprint, Response, jsonify, request

from app import resuming
from app.domain.people import ORDERS
from app.web import shapes
from app.web.doors import require_actor
from app.web.orders import fit_reason, order_of
from app.web.parts import parts

log = structlog.get_logger(__name__)
blueprint = Blueprint("actions", __name__, url_prefix="/api/v1")

BODY_LIMIT: Final = 16 * 1024


@blueprint.post(f"/operations/<operation_id>/<any({','.join(ORDERS)}):order>")
def order(operation_id: str, order: str) -> Response:
    """Give this order. Answers with the operation as it is then."""
    actor = require_actor()
    stored = order_of(operation_id, order, actor=actor, reason=_reason())
    return jsonify(shapes.of_operation(stored, parts().store.timeline.read(stored.id)))


@blueprint.post("/pause")
def pause() -> Response:
    """Start nothing more that hurts; what has begun is proven and given back."""
    actor = require_actor()
    pause_all(actor, _reason())
    return jsonify(_standing())


@blueprint.post("/resume")
def resume() -> Response:
    """Go on after a pause or a mass failure, at once with what is held."""
    actor = require_actor()
    done = resume_all(actor, _reason())
    dropped = list(done.dropped)
    return jsonify({**_standing(), "was_paused": done.paused, "had_tripped": done.tripped, "dropped": dropped})


def pause_all(actor: str, reason: str) -> None:
    """Pause, for the API and the page."""
    here = parts()
    here.store.pause.set(actor, reason, here.now())
    log.info("paused", actor=actor, reason=reason)


def resume_all(actor: str, reason: str) -> resuming.Resumed:
    """Lift what holds everything, for the API and the page, and tell workers."""
    here = parts()
    done = resuming.resume(here.store, here.policy, here.now())
    log.info("resumed", actor=actor, reason=reason, paused=done.paused, tripped=done.tripped, dropped=len(done.dropped))
    here.queues.advance(done.held)
    return done


def _standing() -> shapes.Shape:
    here = parts()
    return shapes.of_standing(here.store.pause.get(), here.store.breaker.sentence(here.policy.breaker))


def _reason() -> str:
    request.max_content_length = BODY_LIMIT
    told = request.get_json(silent=True)
    given = told.get("reason") if isinstance(told, dict) else None
    return fit_reason(given, 'An order needs a JSON body with a reason: {"reason": "…"}.')
