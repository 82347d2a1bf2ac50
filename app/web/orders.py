"""One order to one operation, from API or page: given as `app.domain.people` says, stored, and told to a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import structlog

from app.domain.operations import Operation
from app.domain.people import OrderRefusedError, give
from app.errors import StoreUnavailable
from app.store import Change, Committed
from app.web.api import load_operation
from app.web.identity import one_line
from app.web.parts import parts
from app.web.problems import Problem

log = structlog.get_logger(__name__)

LONGEST_REASON: Final = 500
TRIES: Final = 20
"""How often an order is given anew when a worker changes the operation meanwhile."""


def order_of(
    operation_id: str,
    order: str,
    *,
    actor: str,
    reason: str,
    still_meant: Callable[[Operation], bool] = lambda _: True,
) -> Operation:
    """Give this order and return the operation as it is then.

    `still_meant` is asked of what is stored right before, each time: a person who saw another state ordered nothing.

    Raises:
        Problem: 404 for an unknown operation, 409 when the order makes no sense now.
    """
    here = parts()
    for _ in range(TRIES):
        known = load_operation(operation_id)
        if not still_meant(known):
            raise Problem(409, f"{known.node.name} has moved on since this page was shown. Nothing was ordered.")
        now = here.now()
        try:
            changed, entries = give(known, order, actor=actor, reason=reason, now=now)
        except OrderRefusedError as error:
            raise Problem(409, str(error)) from error
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
