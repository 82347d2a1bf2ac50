"""POST /webhook/alertmanager: lets a body in, hands each alert to intake, answers once all are stored, then enqueues.

The answers are those of the promise that nothing valid is refused: 202 when stored, 503 when it cannot be stored (only
a 5xx makes Alertmanager come again), 400 for what is no message, 401 for a wrong token, 413 beyond the limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import structlog
from flask import Blueprint, Response, jsonify, request
from werkzeug.exceptions import RequestEntityTooLarge

from app.cases import NodesSeen, Taken
from app.domain.alerts import read_time
from app.domain.triage import Decision
from app.errors import SickbayError, StoreUnavailable
from app.queue import IDS_A_JOB
from app.web.bodies import Message, NoMessageError, UnfitAlertError, read_message, read_raw
from app.web.doors import require_webhook_token
from app.web.parts import Parts, parts
from app.web.problems import Problem, too_large

log = structlog.get_logger(__name__)
blueprint = Blueprint("webhook", __name__)

COUNTED: Final[dict[str, tuple[Decision, ...]]] = {
    "accepted": (Decision.REPAIR,),
    "pending": (Decision.PENDING,),
    "noted": (Decision.NOTE,),
    "ignored": (Decision.IGNORE,),
    "duplicates": (Decision.DUPLICATE, Decision.REFRESH),
    "refused": (Decision.REFUSE,),
}
"""How the answer sums the decisions up; each alert counts once."""


@blueprint.post("/webhook/alertmanager")
def alertmanager() -> tuple[Response, int]:
    """Take a message in."""
    require_webhook_token()
    here = parts()
    with here.metrics.duration.time():
        taken = _take_all(here, _message())
    for one in taken:
        here.metrics.alerts.labels(one.decision).inc()
    return jsonify(answer(taken)), 202


@blueprint.after_request
def count_body(response: Response) -> Response:
    """Every answer counts, whichever way it came about."""
    parts().metrics.bodies.labels(str(response.status_code)).inc()
    return response


def answer(taken: Sequence[Taken]) -> dict[str, object]:
    """The body of a 202, in the order of the message."""
    tally = Counter(one.decision for one in taken)
    return {
        **{word: sum(tally[decision] for decision in decisions) for word, decisions in COUNTED.items()},
        "alerts": [
            {
                "fingerprint": one.fingerprint,
                "decision": one.decision,
                "reason": one.reason,
                "operation": one.operation,
            }
            for one in taken
        ],
    }


def _message() -> Message:
    try:
        return read_message(_body(parts().body_limit))
    except NoMessageError as error:
        raise Problem(400, str(error), pointer=error.pointer) from error


def _body(limit: int) -> bytes:
    """All of the body. A chunked one announces no length and is cut at the limit: one byte more tells that it was."""
    try:
        body = request.get_data(cache=False)
    except RequestEntityTooLarge as error:
        raise too_large(limit) from error
    if request.content_length is None and len(body) >= limit and request.environ["wsgi.input"].read(1):
        raise too_large(limit)
    return body


def _take_all(here: Parts, message: Message) -> list[Taken]:
    now = here.now()
    read = here.store.inventory.read()
    seen = None if read is None else NodesSeen(inventory=read[0], at=read[1])
    taken: dict[int, Taken] = {}
    todo: list[tuple[datetime, int, object]] = []
    for place, raw in enumerate(message.alerts):
        try:
            alert = read_raw(raw)
        except UnfitAlertError as error:
            taken[place] = here.intake.refuse(str(error), now)
        else:
            todo.append((_began(alert, now), place, alert))
    failed: list[SickbayError] = []
    # What began first opens the operation, and the rest joins it: the order of the list means nothing.
    todo.sort(key=lambda one: one[:2])
    for start in range(0, len(todo), IDS_A_JOB):
        stored, errors = _store(here, todo[start : start + IDS_A_JOB], seen, now)
        taken |= stored
        failed += errors
        if any(_is_of_the_store(error) for error in errors):
            break
    if failed:
        # The whole message comes again; what is stored already counts as a duplicate then.
        told = {"stored": len(taken), "failed": len(failed), "alerts": len(message.alerts)}
        log.warning("body not stored whole", **told, reason=str(failed[0]))
        raise failed[0]
    if message.truncated:
        here.metrics.truncated.inc(message.truncated)
        log.warning("alerts left out by Alertmanager", truncated=message.truncated, alerts=len(message.alerts))
    return [taken[place] for place in range(len(message.alerts))]


def _store(
    here: Parts, todo: Sequence[tuple[datetime, int, object]], seen: NodesSeen | None, now: datetime
) -> tuple[dict[int, Taken], list[SickbayError]]:
    """One job's worth of alerts: what became of each by its place, and what failed. What is stored is enqueued.

    So the first nodes of a storm are cordoned while the rest of its body is still being stored.
    """
    intake = here.intake
    try:
        opened = intake.open_each([alert for *_, alert in todo], seen, now) if len(todo) > 1 else {}
    except SickbayError as error:
        return {}, [error]
    stored = {todo[number][1]: one for number, one in opened.items()}
    failed: list[SickbayError] = []
    try:
        for place, alert in [(place, alert) for _, place, alert in todo if place not in stored]:
            try:
                stored[place] = intake.take(alert, seen, now)
            except SickbayError as error:
                failed.append(error)
                if _is_of_the_store(error):
                    break
    finally:
        _enqueue(here, list(stored.values()))
    for began, place, _ in todo:
        if place in stored and stored[place].urgent:
            here.metrics.delay.observe(max((now - began).total_seconds(), 0.0))
    return stored, failed


def _is_of_the_store(error: SickbayError) -> bool:
    """Whether Redis itself failed, which each further alert would wait for; else it is about this alert's operation."""
    return isinstance(error, StoreUnavailable) and error.__cause__ is not None


def _enqueue(here: Parts, taken: Sequence[Taken]) -> None:
    urgent = [one.operation for one in taken if one.urgent and one.operation]
    pending = [one.pending for one in taken if one.pending]
    for enqueued in (here.queues.advance(urgent, urgent=True), here.queues.place(pending)):
        if not enqueued:
            here.metrics.not_enqueued.inc()


def _began(alert: object, now: datetime) -> datetime:
    given = read_time(alert.get("startsAt")) if isinstance(alert, Mapping) else None
    return given if given is not None and given.year > 1 and given <= now else now
