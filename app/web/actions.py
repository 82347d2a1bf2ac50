"""What a person orders over the API: approve, retry, skip, cancel or release an operation; pause and resume Sickbay.

Every order needs somebody known (`app.web.doors`) and a reason. For an operation both stand in its timeline. A pause
has none: who paused and why is logged, and shown while it lasts; who resumed and why is logged alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import structlog
from flask import Blueprint, Response, jsonify, request

from app import resuming
from app.domain.people import ORDERS
from app.web import shapes
from app.web.api import whole
from app.web.doors import require_actor
from app.web.orders import Meant, fit_reason, order_of
from app.web.parts import parts
from app.web.problems import Problem

log = structlog.get_logger(__name__)
blueprint = Blueprint("actions", __name__, url_prefix="/api/v1")

BODY_LIMIT: Final = 16 * 1024
NOTHING_STANDS: Final = "Nothing holds Sickbay: it is neither paused nor tripped."


@blueprint.post(f"/operations/<operation_id>/<any({','.join(ORDERS)}):order>")
def order(operation_id: str, order: str) -> Response:
    """Give this order. Answers with the operation as it is then."""
    actor = require_actor()
    told = _told()
    return jsonify(whole(order_of(operation_id, order, actor=actor, reason=_reason(told), meant=_meant(told))))


@blueprint.post("/pause")
def pause() -> Response:
    """Start nothing more that hurts; what has begun is proven and given back."""
    actor = require_actor()
    pause_all(actor, _reason(_told()))
    return jsonify(_standing())


@blueprint.post("/resume")
def resume() -> Response:
    """Go on after a pause or a mass failure, at once with what is held."""
    actor = require_actor()
    told = _told()
    done = resume_all(actor, _reason(told), _about(told))
    dropped = list(done.dropped)
    return jsonify({**_standing(), "was_paused": done.paused, "had_tripped": done.tripped, "dropped": dropped})


def pause_all(actor: str, reason: str) -> None:
    """Pause, for the API and the page. Raises Problem 409 while another pause stands: it would be lifted with it."""
    here = parts()
    stands = here.store.pause.set(actor, reason, here.now())
    if (stands.actor, stands.reason) != (actor, reason):
        told = f"{stands.sentence} That pause stands, and this one was not added: whoever resumes would lift both."
        raise Problem(409, told, also={"standing": _standing()})
    log.info("paused", actor=actor, reason=reason)


def resume_all(actor: str, reason: str, about: str | None) -> resuming.Resumed:
    """Lift what holds everything, for the API and the page, and tell workers.

    `about` is what the person saw (`Standing.about`), None where they did not say. Raises Problem 409 when something
    else stands now: a pause that was set since, or a breaker that has tripped, was not looked at.
    """
    here = parts()
    seen = here.store.standing.read()
    same = about is None or about == seen.about
    done = resuming.resume(here.store, here.policy, seen, here.now()) if same else None
    if done is None:
        now = _standing()
        stands = " ".join(str(told) for told in (now["sentence"], now["breaker"]) if told)
        told = (
            f"Something else stands now than when this was decided. Nothing was lifted. Now: {stands or NOTHING_STANDS}"
        )
        raise Problem(409, told, also={"standing": now})
    log.info("resumed", actor=actor, reason=reason, paused=done.paused, tripped=done.tripped, dropped=len(done.dropped))
    here.queues.advance(done.held)
    return done


def _standing() -> shapes.Shape:
    here = parts()
    return shapes.of_standing(here.store.standing.read(), here.store.breaker.sentence(here.policy.breaker))


def _told() -> Mapping[str, object]:
    request.max_content_length = BODY_LIMIT
    told = request.get_json(silent=True)
    return told if isinstance(told, dict) else {}


def _reason(told: Mapping[str, object]) -> str:
    return fit_reason(told.get("reason"), 'An order needs a JSON body with a reason: {"reason": "…"}.')


def _about(told: Mapping[str, object]) -> str | None:
    about = told.get("about")
    if not isinstance(about, str | None):
        raise Problem(400, "`about` is a text: what the order was for when it was decided.", pointer="/about")
    return about


def _meant(told: Mapping[str, object]) -> Meant:
    version = told.get("version")
    if isinstance(version, bool) or not isinstance(version, int | None):
        raise Problem(
            400, "`version` is a whole number: the version of the operation that was read.", pointer="/version"
        )
    return Meant(_about(told), version)
