"""Await-ticket: the node is with the vendor until somebody closes the ticket.

Nothing ends the wait but a closed ticket, or a person. A ticket whose state cannot be told counts as open (P2).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from app.domain.facts import NodeView
from app.domain.guards import Hurts
from app.domain.operations import Operation
from app.domain.outcomes import Done, NeedsHuman, Outcome, Wait
from app.domain.policies import Policy
from app.domain.tickets import TicketState
from app.errors import TemporaryPortError
from workers.ports import Ports


@dataclass(frozen=True, slots=True)
class Seen:
    """What the ticket's system says; `trouble` is the sentence why it said nothing."""

    state: TicketState
    trouble: str = ""


class AwaitTicket:
    """Done when the ticket is closed."""

    name: ClassVar[str] = "await-ticket"
    hurts: ClassVar[Hurts] = Hurts.NOTHING

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Seen:
        """The ticket's state. A system that does not answer now is no news: the node stays with the vendor."""
        if operation.ticket is None or ports.tickets is None:
            return Seen(TicketState.UNKNOWN)
        try:
            return Seen(ports.tickets.state(operation.ticket))
        except TemporaryPortError as error:
            return Seen(TicketState.UNKNOWN, str(error))

    def judge(self, operation: Operation, facts: Seen, policy: Policy, now: datetime) -> Outcome:
        """Wait, or go on."""
        ticket = operation.ticket
        if ticket is None:
            return NeedsHuman("No ticket is known: once the hardware is mended, skip this step.")
        if facts.state is TicketState.CLOSED:
            return Done(f"Ticket {ticket.key} is closed: {operation.node.name} is back from the vendor.")
        text = f"{operation.node.name} is with the vendor until ticket {ticket.key} is closed."
        if facts.state is TicketState.UNKNOWN:
            why = facts.trouble or "Its state cannot be told."
            text = f"{text} {why} It counts as open."
        return Wait(text, after=policy.tickets.poll, with_vendor=True)
