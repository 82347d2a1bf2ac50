"""What a resume after a mass failure drops: operations that did nothing yet and whose alerts have ended meanwhile.

Nodes that are still ill go on; those that only were are not repaired days later. An alert's end proves no health (P2),
and it releases nothing here either: there is nothing that was taken. In mode observe nothing is dropped: an operation
there ends after its time alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from app.domain.operations import Operation

ENDED = "Its alerts ended while the breaker held it and nothing had been done yet, so it is dropped."


def is_dropped(operation: Operation, last_statuses: Iterable[str]) -> bool:
    """Whether a resume drops it. `last_statuses` are what each of its alerts, by fingerprint, was last told with.

    An operation of which no alert is remembered is kept: nothing says that its fault has ended.
    """
    if operation.finished or any(step.attempt for step in operation.plan):
        return False
    statuses = list(last_statuses)
    return bool(statuses) and all(status == "resolved" for status in statuses)
