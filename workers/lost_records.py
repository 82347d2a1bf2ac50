"""Nodes that carry our mark while the store knows no operation on them: their record is opened anew, for a person.

That is how a store that was lost, or restored from too old a backup, comes to know again what Sickbay holds.
"""

from __future__ import annotations

from datetime import datetime

import structlog

from app.domain.policies import Policy
from app.domain.rebuilding import rebuilt
from app.store import Change, Committed, Store
from workers.ports import Nodes

log = structlog.get_logger("sickbay.lost-records")


def reopen(name: str, store: Store, nodes: Nodes, policy: Policy, now: datetime) -> str | None:
    """The id of the operation that was opened anew on this node; None when there is nothing to do. Safe to repeat.

    The store is asked before the node: a mark that is seen afterwards is not that of an operation which has ended
    meanwhile. Whoever opens one in between wins, and the commit is refused.

    Raises:
        PortError: the node cannot be read.
        StoreUnavailable: nothing was stored.
    """
    if store.operations.open_on(name) is not None:
        return None
    node = nodes.get(name)
    if node is None:
        return None
    pool = policy.pool_of(node.labels)
    found = rebuilt(node, pool=pool.name if pool else "", now=now)
    if found is None:
        return None
    operation, entries = found
    # Whatever it was doing may have disrupted the node a moment ago, so that it has to cool down.
    change = Change(operation=operation, expected_version=0, entries=entries, disrupted=True, now=now)
    if not isinstance(store.operations.commit(change), Committed):
        return None
    log.warning("record opened anew", operation=operation.id, node=name, reason=operation.reason)
    return operation.id
