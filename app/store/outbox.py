"""Who may open the ticket of a cause: written by the commit that begins to open it, and kept when it was opened.

So a ticket that may have been sent is known before it is sent, and no second operation sends one for the same cause.
What the ticket is called stands in the operation that has it, and nowhere twice.
"""

from __future__ import annotations

from typing import Any

from app.domain.operations import Operation
from app.domain.tickets import OutboxEntry, TicketIntent
from app.store.connection import Link
from app.store.documents import FORMS, read, write
from app.store.keys import KEYS, plain


class Outbox:
    """`store.outbox`. Written by commits alone, by the rules of `lua/commit.lua`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def of(self, cause: str) -> OutboxEntry | None:
        """What was last written for this cause, and what is known of that operation; None when nothing was.

        Raises:
            NewerDocumentError: a later version of Sickbay wrote it.
        """
        text = self._link.ask("GET", KEYS["ticket"] + plain(cause))
        if text is None:
            return None
        intent = read(TicketIntent, text)
        document = self._link.ask("HGET", KEYS["operation"] + intent.operation, "document")
        operation = None if document is None else read(Operation, document)
        return OutboxEntry(
            intent=intent,
            ticket=None if operation is None else operation.ticket,
            operation_open=operation is not None and not operation.finished,
        )


def request(intent: TicketIntent | None) -> dict[str, Any] | None:
    """The intent as the script of a commit wants it."""
    if intent is None:
        return None
    return {
        "name": plain(intent.cause),
        "number": intent.number,
        "document": write(intent),
        "schema": FORMS[TicketIntent].version,
    }
