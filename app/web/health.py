"""/healthz, /readyz and /metrics: whether this process lives, whether it can take alerts in, and the figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flask import Blueprint, Response, jsonify
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from app.domain.timeline import spell
from app.errors import ConfigurationError, StoreUnavailable
from app.secret_files import read_tokens
from app.vitals import ALIVE_WITHIN, Vitals, read_vitals
from app.web.parts import Parts, parts

blueprint = Blueprint("health", __name__)


@dataclass(frozen=True, slots=True)
class Missing:
    """What is not as it should be. `fatal`: no alert can be taken in; otherwise it is only told."""

    what: str
    reason: str
    fatal: bool = False


@blueprint.get("/healthz")
def healthz() -> Response:
    """200 as long as the process answers: no restart of it would mend the store."""
    return jsonify(alive=True)


@blueprint.get("/readyz")
def readyz() -> tuple[Response, int]:
    """503 when alerts cannot be stored. Without an inventory or workers they can: they wait, and are not lost."""
    missing = tuple(_missing(parts()))
    ready = not any(one.fatal for one in missing)
    told = [{"what": one.what, "reason": one.reason, "fatal": one.fatal} for one in missing]
    return jsonify(ready=ready, missing=told), 200 if ready else 503


@blueprint.get("/metrics")
def metrics() -> Response:
    """In Prometheus' text format."""
    return Response(generate_latest(parts().metrics.registry), content_type=CONTENT_TYPE_LATEST)


def _missing(here: Parts) -> Iterator[Missing]:
    try:
        read_tokens(here.webhook_tokens)
    except ConfigurationError as error:
        yield Missing("webhook token", str(error), fatal=True)
    try:
        vitals = read_vitals(here.store, here.queues, here.policy, here.now())
    except StoreUnavailable as error:
        yield Missing("store", str(error), fatal=True)
        return
    yield from remarks(vitals)


def remarks(vitals: Vitals) -> Iterator[Missing]:
    """What is missing while the store answers: no alert is lost, but less is done about it."""
    if vitals.inventory is None:
        yield Missing("inventory", "The nodes were never read: alerts wait until a worker places them.")
    elif not vitals.inventory_fresh:
        age, limit = spell(vitals.now - vitals.inventory), spell(vitals.inventory_max_age)
        told = f"The nodes were read {age} ago, more than {limit}: alerts wait until a worker places them."
        yield Missing("inventory", told)
    if not vitals.workers:
        yield Missing("workers", f"No worker was alive within {spell(ALIVE_WITHIN)}: nothing is carried out.")
    if not vitals.watches:
        yield Missing("watch", f"No watch was alive within {spell(ALIVE_WITHIN)}: what is due is not noticed.")
