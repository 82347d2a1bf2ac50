"""Open-ticket: one ticket for the cause, whoever asks for it, however often, and whatever answer is lost (P9).

The order: 1. the cause is fixed in the step's memo, so that its key cannot drift while more becomes known of the card;
2. the store writes down that this operation opens the ticket, in the commit that begins to do so, and lets nobody else
do the same; 3. the ticket is sent; 4. only what its system then shows counts. A ticket that may have been sent is
looked for before it is sent again, and one whose sending was answered is never sent again.

An operation that finds its cause's ticket open adds a comment to it and takes it for its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from app.domain.deadlines import due_at, is_past, next_look
from app.domain.effects import CommentTicket, OpenTicket
from app.domain.facts import NodeView, TicketRef
from app.domain.guards import Hurts
from app.domain.history import HistoryRow
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Learned, NeedsHuman, Outcome, Wait
from app.domain.policies import Policy
from app.domain.tickets import SHOWN, OutboxEntry, TicketState, blamed, causes, comment, draft, ticket_key
from app.domain.timeline import spell
from app.errors import TemporaryPortError
from workers.ports import Outbox, Ports, Tickets
from workers.step import current

SETTLES = timedelta(minutes=1)
"""How long a ticket that may have been sent is looked for; searches of some systems lag by several seconds."""

PATIENCE = timedelta(hours=1)
"""How long a ticket system may stay silent before a person is asked."""

SENDS = 3
"""How often a ticket is sent whose sending was not answered, before a person is asked."""

MAX_NUMBER = 50
"""Closed tickets of one cause after which a person is asked; each is found by one question."""

_SEPARATOR = "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What is known of the tickets of a cause: `ticket` is the open one, or our own whatever its state.

    Without one, `number` is that of the next. `entry` is what the store has for the cause.
    """

    cause: str = ""
    number: int = 1
    ticket: TicketRef | None = None
    entry: OutboxEntry | None = None
    history: Sequence[HistoryRow] = ()
    shared: bool = False
    """Whether several GPUs report the serial of the card."""
    ready: bool = True
    """Whether there is a system to ask at all."""
    trouble: str = ""
    """Why it could not be asked now, in a sentence."""


class TicketOpening:
    """Done when its system shows the ticket."""

    name: ClassVar[str] = "open-ticket"
    hurts: ClassVar[Hurts] = Hurts.NOBODY

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Sought:
        """The store's word first, then the ticket system's."""
        if ports.tickets is None or ports.outbox is None:
            return Sought(ready=False)
        fixed, card, known = current(operation).memo.get("causes", ""), blamed(operation), ports.history
        if not fixed:
            serial = card.serial if card else None
            return Sought(shared=bool(known and serial and known.is_shared(serial)))
        history = known.of(card, SHOWN + 1) if known and card else ()
        try:
            each = [_seek(operation, cause, ports.outbox, ports.tickets) for cause in fixed.split(_SEPARATOR)]
        except TemporaryPortError as error:
            return Sought(cause=fixed, trouble=str(error))
        first = next((sought for sought in each if _alive(sought, operation)), each[0])
        return Sought(
            cause=first.cause, number=first.number, ticket=first.ticket, entry=first.entry, history=tuple(history)
        )

    def judge(self, operation: Operation, facts: Sought, policy: Policy, now: datetime) -> Act | Outcome:
        """Fix the cause; then take the ticket that is there, or wait for what may be on its way, or send it."""
        about = str(blamed(operation) or operation.node.name)
        if not facts.ready:
            return NeedsHuman(f"No ticket system is set up, so nobody was told of {about}: see to it, then skip this.")
        if not facts.cause:
            keys = causes(policy.cluster.name, operation, shared=facts.shared)
            told = f"A ticket is due for {about}: looks whether one is open already."
            return Act((), told, {"causes": _SEPARATOR.join(keys)})
        if facts.trouble:
            return _unasked(operation, facts.trouble, about, now)
        if facts.number > MAX_NUMBER:
            return NeedsHuman(f"{MAX_NUMBER} closed tickets are about {about}: open the next one by hand.")
        if facts.ticket is not None:
            return _taken(operation, facts, facts.ticket, about)
        if facts.entry is not None and facts.entry.intent.number == facts.number:
            return _perhaps_sent(operation, facts, facts.entry, policy, now)
        return _send(operation, facts, policy, f"Opens a ticket for {about}.", sends=1)


def _seek(operation: Operation, cause: str, outbox: Outbox, tickets: Tickets) -> Sought:
    entry = outbox.of(cause)
    if entry is not None and entry.intent.operation == operation.id:
        number = entry.intent.number
        ours = tickets.find(ticket_key(cause, number)) or _answered(operation, tickets)
        return Sought(cause=cause, number=number, ticket=ours, entry=entry)
    number = entry.intent.number if entry else 1
    known = entry.ticket if entry else None
    while number <= MAX_NUMBER:
        ticket = known or tickets.find(ticket_key(cause, number))
        if ticket is None or tickets.state(ticket) is not TicketState.CLOSED:
            return Sought(cause=cause, number=number, ticket=ticket, entry=entry)
        number, known = number + 1, None
    return Sought(cause=cause, number=number, entry=entry)


def _answered(operation: Operation, tickets: Tickets) -> TicketRef | None:
    """The ticket that the answer to our own sending named, if its system knows it by that name."""
    memo = current(operation).memo
    if not memo.get("answered"):
        return None
    named = TicketRef(system=memo["answered_by"], key=memo["answered"], url=memo["answered_url"])
    return None if tickets.state(named) is TicketState.UNKNOWN else named


def _alive(sought: Sought, operation: Operation) -> bool:
    """Whether there is a ticket of this cause, or may soon be one."""
    if sought.ticket is not None:
        return True
    entry = sought.entry
    if entry is None or entry.intent.number != sought.number:
        return False
    return entry.operation_open or entry.intent.operation == operation.id


def _unasked(operation: Operation, trouble: str, about: str, now: datetime) -> Outcome:
    """Nothing is sent by guess. A person who was asked is no longer needed once the system answers."""
    ends = due_at(current(operation), PATIENCE, now)
    if not is_past(ends, now):
        return Wait(f"{trouble} It is asked again.", after=next_look(now, ends))
    return NeedsHuman(
        f"{trouble} For {spell(PATIENCE)} nobody could tell whether {about} has a ticket; it is asked again."
    )


def _taken(operation: Operation, facts: Sought, ticket: TicketRef, about: str) -> Act | Outcome:
    where = f" ({ticket.url})" if ticket.url else ""
    learned = Learned(ticket=ticket)
    if facts.entry is not None and facts.entry.intent.operation == operation.id:
        return Done(f"Ticket {ticket.key} is open for {about}{where}.", learned=learned)
    text = f"Ticket {ticket.key} is about {about} already{where}"
    if current(operation).memo.get("commented") != ticket.key:
        said = CommentTicket(key=f"{operation.id}/comment", ticket=ticket, text=comment(operation))
        return Act((said,), f"{text}: adds a comment to it.")
    return Done(f"{text}; this operation waits for it too.", learned=learned)


def _perhaps_sent(
    operation: Operation, facts: Sought, entry: OutboxEntry, policy: Policy, now: datetime
) -> Act | Outcome:
    """Written down and not to be found: not sent, on its way, or not shown yet."""
    about = str(blamed(operation) or operation.node.name)
    memo, other = current(operation).memo, entry.intent.operation
    key = ticket_key(facts.cause, facts.number)
    if other != operation.id and entry.operation_open:
        return Wait(f"{other} opens the ticket for {about}: waits for it.", after=SETTLES / 2)
    left = entry.intent.at + SETTLES - now
    if left > timedelta(0):
        text = (
            f"The ticket for {about} may have been sent and does not show yet: it is looked for, for {spell(SETTLES)}."
        )
        return Wait(text, after=left)
    if memo.get("answered"):
        return NeedsHuman(
            f"The ticket for {about} was taken, and is not to be found as {key}: look for it there, then retry."
        )
    sends = int(memo.get("sends", "0"))
    if sends >= SENDS:
        return NeedsHuman(
            f"The ticket for {about} was sent {sends} times, without an answer, and is not to be found as {key}: "
            f"look for it there, then retry."
        )
    return _send(operation, facts, policy, f"Sends the ticket for {about} again: it is not there.", sends=sends + 1)


def _send(operation: Operation, facts: Sought, policy: Policy, reason: str, *, sends: int) -> Act:
    told = draft(operation, facts.history, policy, key=ticket_key(facts.cause, facts.number))
    opened = OpenTicket(key=told.key, cause=facts.cause, number=facts.number, draft=told)
    return Act((opened,), reason, {"sends": str(sends)})
