from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from app.domain.facts import TicketRef
from app.domain.outcomes import Done, NeedsHuman, Wait
from app.domain.policies import Tickets
from app.domain.tickets import TicketState
from app.errors import PermanentPortError, TemporaryPortError
from tests.building import a_node, a_policy, an_operation, at
from tests.fakes import FakeCluster
from workers.steps.await_ticket import AwaitTicket, Seen

TICKET = TicketRef(system="file", key="main:serial:7")
WAITS = an_operation(ladder=("ticket",), at_step="await-ticket", ticket=TICKET)
POLICY = a_policy(tickets=Tickets(system="file", directory="/t", poll=timedelta(minutes=3)))


class Told:
    """A ticket system that says one thing."""

    def __init__(self, answer: TicketState | Exception) -> None:
        self._answer = answer

    def state(self, ref: TicketRef) -> TicketState:
        assert ref == TICKET
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"nobody waits with {name}")


def looked(answer: TicketState | Exception) -> Seen:
    ports = replace(FakeCluster().ports, tickets=Told(answer))
    return AwaitTicket().look(WAITS, a_node(), ports)


def test_only_a_closed_ticket_ends_the_wait() -> None:
    told = AwaitTicket().judge(WAITS, looked(TicketState.CLOSED), POLICY, at(90))
    assert told == Done("Ticket main:serial:7 is closed: gpu-a01 is back from the vendor.")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (TicketState.OPEN, ""),
        (TicketState.UNKNOWN, " Its state cannot be told. It counts as open."),
        (TemporaryPortError("The desk did not answer."), " The desk did not answer. It counts as open."),
    ],
)
def test_everything_else_leaves_the_node_with_the_vendor(answer: TicketState | Exception, why: str) -> None:
    told = AwaitTicket().judge(WAITS, looked(answer), POLICY, at(90))
    assert isinstance(told, Wait)
    assert told.reason == f"gpu-a01 is with the vendor until ticket main:serial:7 is closed.{why}"
    assert (told.after, told.with_vendor) == (timedelta(minutes=3), True)


def test_a_system_that_will_never_answer_is_a_matter_for_a_person() -> None:
    with pytest.raises(PermanentPortError):
        looked(PermanentPortError("The desk does not know us."))


def test_without_a_ticket_system_the_ticket_counts_as_open() -> None:
    assert AwaitTicket().look(WAITS, a_node(), replace(FakeCluster().ports, tickets=None)) == Seen(TicketState.UNKNOWN)


def test_an_operation_without_a_ticket_waits_for_a_person() -> None:
    alone = replace(WAITS, ticket=None)
    seen = AwaitTicket().look(alone, a_node(), replace(FakeCluster().ports, tickets=Told(TicketState.CLOSED)))
    assert isinstance(AwaitTicket().judge(alone, seen, POLICY, at(1)), NeedsHuman)
