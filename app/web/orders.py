"""One order to one operation, from API or page: given as `app.domain.people` says, stored, and told to a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import structlog

from app.domain.aims import aim
from app.domain.operations import Operation
from app.domain.people import OrderRefusedError, give
from app.domain.timeline import sentence
from app.errors import StoreUnavailable
from app.store import Change, Committed
from app.web import shapes
from app.web.api import load_operation
from app.web.identity import one_line
from app.web.parts import parts
from app.web.problems import Problem

log = structlog.get_logger(__name__)

LONGEST_REASON: Final = 500
TRIES: Final = 20
"""How often an order is given anew when a worker changes the operation meanwhile."""


@dataclass(frozen=True, slots=True)
class Meant:
    """What whoever orders saw: the aim of the order (`app.domain.aims`), the version, both or neither.

    Where the aim is known it alone decides: a version counts commits, and most of them change nothing that matters.
    """

    about: str | None = None
    version: int | None = None


def order_of(operation_id: str, order: str, *, actor: str, reason: str, meant: Meant) -> Operation:
    """Give this order and return the operation as it is then.

    What was meant is compared with what is stored right before, each time: a person who saw another state ordered
    nothing.

    Raises:
        Problem: 404 for an unknown operation, 409 when the order makes no sense now or was meant for something else,
            400 for an approval that does not say of what.
    """
    here = parts()
    for _ in range(TRIES):
        known = load_operation(operation_id)
        now = here.now()
        try:
            changed, entries = give(known, order, actor=actor, reason=reason, now=now)
        except OrderRefusedError as error:
            raise _not_now(str(error), known) from error
        _require_same(known, order, meant)
        change = Change(operation=changed, expected_version=known.version, now=now, entries=entries)
        if isinstance(here.store.operations.commit(change), Committed):
            log.info("order given", operation=known.id, node=known.node.name, order=order, actor=actor, reason=reason)
            here.queues.advance([known.id], urgent=True)
            return load_operation(operation_id)
    raise StoreUnavailable(f"{operation_id} changed {TRIES} times while the order was to be stored. Give it again.")


def fit_reason(given: object, missing: str) -> str:
    """The reason in one readable line. Raises Problem with `missing` when there is none."""
    if not isinstance(given, str) or not (told := one_line(given)):
        raise Problem(400, missing, pointer="/reason")
    if len(given) > LONGEST_REASON:
        raise Problem(400, f"A reason has at most {LONGEST_REASON} characters.", pointer="/reason")
    return told


def _require_same(known: Operation, order: str, meant: Meant) -> None:
    node, stands = known.node.name, aim(known, order)
    if meant.about is not None:
        if meant.about == stands:
            return
        asked = f"{node} asks for {stands} now" if order == "approve" else f"it would be for {stands} now"
        told = f"{node} has moved on: this order was for {meant.about:.100}, and {asked}."
    elif order == "approve":
        told = (
            f'Say what you approve. {node} asks for {stands} now, so an approval of that says {{"about": "{stands}"}}.'
        )
        raise Problem(400, told, pointer="/about")
    elif meant.version in {None, known.version}:
        return
    else:
        told = (
            f"{node} has moved on: this order was for version {meant.version}, and version {known.version} stands now."
        )
    raise _not_now(f"{told} Nothing was ordered. Now: {sentence(known.reason)}", known)


def _not_now(told: str, known: Operation) -> Problem:
    return Problem(409, told, also={"operation": shapes.of_operation(known)})
