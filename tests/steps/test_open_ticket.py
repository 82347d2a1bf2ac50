from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from app.domain.effects import CommentTicket, OpenTicket, TicketDraft
from app.domain.facts import TicketRef
from app.domain.faults import Gpu
from app.domain.guards import Hurts
from app.domain.history import HistoryRow
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, NeedsHuman, Outcome, Wait
from app.domain.tickets import OutboxEntry, TicketIntent, TicketState
from app.errors import PermanentPortError, PortError, TemporaryPortError
from tests.building import a_fault, a_node, a_policy, an_operation, at, remembering
from tests.fakes import FakeCluster
from workers.ports import Ports
from workers.steps.open_ticket import MAX_NUMBER, PATIENCE, SENDS, SETTLES, Sought, TicketOpening

CARD = Gpu(serial="7", uuid="GPU-7", index=3)
CAUSE, ALIAS = "main:serial:7", "main:uuid:GPU-7"
FRESH = an_operation(a_fault(gpu=CARD), ladder=("ticket",), at_step="open-ticket")
DUE = remembering(FRESH, causes=f"{CAUSE}\n{ALIAS}")


@dataclass
class Desk:
    """A ticket system and an outbox as a test lays them out. Nothing may be written through them."""

    tickets: dict[str, TicketState] = field(default_factory=dict)
    entries: dict[str, OutboxEntry] = field(default_factory=dict)
    trouble: PortError | None = None
    rows: tuple[HistoryRow, ...] = ()
    shared: str = ""
    """The serial that several GPUs report."""

    @property
    def ports(self) -> Ports:
        history = _History(self.rows, self.shared)
        return replace(FakeCluster().ports, tickets=self, outbox=_Outbox(self.entries), history=history)

    def find(self, key: str) -> TicketRef | None:
        if self.trouble is not None:
            raise self.trouble
        return TicketRef(system="desk", key=key, url=f"https://desk.example/{key}") if key in self.tickets else None

    def state(self, ref: TicketRef) -> TicketState:
        return self.tickets.get(ref.key, TicketState.UNKNOWN)

    def open(self, draft: TicketDraft) -> TicketRef:
        raise AssertionError("a look opens nothing")

    def comment(self, ref: TicketRef, text: str) -> None:
        raise AssertionError("a look says nothing")


@dataclass
class _Outbox:
    entries: dict[str, OutboxEntry]

    def of(self, cause: str) -> OutboxEntry | None:
        return self.entries.get(cause)


@dataclass
class _History:
    rows: tuple[HistoryRow, ...]
    shared: str

    def of(self, card: Gpu, limit: int) -> tuple[HistoryRow, ...]:
        assert card == CARD
        return self.rows[:limit]

    def is_shared(self, serial: str) -> bool:
        return serial == self.shared


def an_entry(
    by: str = "op-1", number: int = 1, *, cause: str = CAUSE, minute: float = 0, ticket: str = "", is_open: bool = True
) -> OutboxEntry:
    intent = TicketIntent(cause=cause, number=number, operation=by, at=at(minute))
    known = TicketRef(system="desk", key=ticket) if ticket else None
    return OutboxEntry(intent=intent, ticket=known, operation_open=is_open)


def judged(desk: Desk, *, operation: Operation = DUE, minutes: float = 0) -> Act | Outcome:
    step = TicketOpening()
    return step.judge(operation, step.look(operation, a_node(), desk.ports), a_policy(), at(minutes))


def sent(told: Act | Outcome) -> OpenTicket:
    assert isinstance(told, Act), told
    (effect,) = told.effects
    assert isinstance(effect, OpenTicket)
    assert effect.key == effect.draft.key
    return effect


OPEN, CLOSED, UNKNOWN = TicketState.OPEN, TicketState.CLOSED, TicketState.UNKNOWN


def test_it_takes_a_place_with_the_vendor() -> None:
    assert TicketOpening.hurts is Hurts.NOBODY


def test_the_cause_is_fixed_before_anything_is_looked_for() -> None:
    told = judged(Desk(trouble=PermanentPortError("nobody asks yet")), operation=FRESH)
    assert isinstance(told, Act)
    assert (told.effects, told.memo) == ((), {"causes": f"{CAUSE}\n{ALIAS}"})


def test_a_serial_that_two_gpus_of_a_node_report_keys_no_ticket() -> None:
    told = judged(Desk(shared="7"), operation=FRESH)
    assert isinstance(told, Act)
    assert told.memo == {"causes": ALIAS}


def test_a_fixed_cause_does_not_change_when_more_becomes_known_of_the_card() -> None:
    early = remembering(an_operation(a_fault(gpu=CARD), ladder=("ticket",), at_step="open-ticket"), causes=ALIAS)
    assert sent(judged(Desk(), operation=early)).cause == ALIAS


@pytest.mark.parametrize(
    ("desk", "cause", "number"),
    [
        (Desk(), CAUSE, 1),
        (Desk({CAUSE: CLOSED}), CAUSE, 2),
        (Desk({CAUSE: CLOSED, f"{CAUSE}:2": CLOSED}), CAUSE, 3),
        (Desk({CAUSE: CLOSED}, {CAUSE: an_entry("op-0", ticket=CAUSE, is_open=False)}), CAUSE, 2),
        (Desk({f"{CAUSE}:4": CLOSED}, {CAUSE: an_entry("op-0", 4, is_open=False)}), CAUSE, 5),
        (Desk({ALIAS: CLOSED}), CAUSE, 1),
    ],
)
def test_a_ticket_is_sent_when_none_is_open_under_the_next_number(desk: Desk, cause: str, number: int) -> None:
    effect = sent(judged(desk))
    assert (effect.cause, effect.number) == (cause, number)


def test_what_is_sent_tells_the_cards_history() -> None:
    row = HistoryRow(gpu=CARD, node="gpu-b07", code="xid-48", class_="reset", at=at(-9), evidence="Xid 48 in May")
    assert "Xid 48 in May" in sent(judged(Desk(rows=(row,)))).draft.body_markdown


@pytest.mark.parametrize(
    "desk",
    [
        Desk({CAUSE: OPEN}, {CAUSE: an_entry()}),
        Desk({CAUSE: CLOSED}, {CAUSE: an_entry()}),
        Desk({CAUSE: UNKNOWN}, {CAUSE: an_entry()}),
        Desk({ALIAS: OPEN}, {ALIAS: an_entry(cause=ALIAS)}),
    ],
)
def test_our_own_ticket_is_done_whatever_its_state(desk: Desk) -> None:
    told = judged(desk)
    assert isinstance(told, Done)
    assert told.learned.ticket is not None
    assert told.learned.ticket.key in {CAUSE, ALIAS}


@pytest.mark.parametrize(
    ("desk", "key"),
    [
        (Desk({CAUSE: OPEN}), CAUSE),
        (Desk({CAUSE: UNKNOWN}), CAUSE),
        (Desk({ALIAS: OPEN}), ALIAS),
        (Desk({CAUSE: CLOSED, f"{CAUSE}:2": OPEN}), f"{CAUSE}:2"),
        (Desk({CAUSE: OPEN}, {CAUSE: an_entry("op-0", ticket=CAUSE)}), CAUSE),
        (Desk({}, {CAUSE: an_entry("op-0", ticket="INC-7")}), "INC-7"),
    ],
)
def test_an_open_ticket_of_the_same_cause_is_commented_on_and_then_ours(desk: Desk, key: str) -> None:
    told = judged(desk)
    assert isinstance(told, Act)
    (effect,) = told.effects
    assert isinstance(effect, CommentTicket)
    assert effect.ticket.key == key
    told = judged(desk, operation=remembering(DUE, commented=key))
    assert isinstance(told, Done)
    assert told.learned.ticket == effect.ticket


@pytest.mark.parametrize("cause", [CAUSE, ALIAS])
def test_while_another_operation_may_be_sending_nothing_is_sent(cause: str) -> None:
    told = judged(Desk({}, {cause: an_entry("op-0", cause=cause)}), minutes=600)
    assert isinstance(told, Wait)
    assert told.reason == "op-0 opens the ticket for GPU 3 (serial 7): waits for it."


@pytest.mark.parametrize("by", ["op-1", "op-0"])
def test_what_may_have_been_sent_is_looked_for_before_it_is_sent_again(by: str) -> None:
    desk = Desk({}, {CAUSE: an_entry(by, is_open=by == "op-1")})
    told = judged(desk, minutes=0.25)
    assert isinstance(told, Wait)
    assert told.after == SETTLES - timedelta(seconds=15)
    assert sent(judged(desk, minutes=1)).number == 1


def test_each_send_is_counted_and_the_last_one_is_followed_by_a_person() -> None:
    desk = Desk({}, {CAUSE: an_entry()})
    told = judged(desk, operation=remembering(DUE, sends=str(SENDS - 1)), minutes=2)
    assert isinstance(told, Act)
    assert told.memo == {"sends": str(SENDS)}
    told = judged(desk, operation=remembering(DUE, sends=str(SENDS)), minutes=2)
    assert isinstance(told, NeedsHuman)
    assert "was sent 3 times, without an answer" in told.reason


ANSWERED = remembering(DUE, sends="1", answered="INC-7", answered_by="desk", answered_url="https://desk.example/7")


def test_a_search_that_does_not_show_it_is_helped_by_the_name_in_the_answer() -> None:
    told = judged(Desk({"INC-7": OPEN}, {CAUSE: an_entry()}), operation=ANSWERED)
    assert isinstance(told, Done)
    assert told.learned.ticket == TicketRef(system="desk", key="INC-7", url="https://desk.example/7")


def test_what_was_taken_and_does_not_show_is_never_sent_again() -> None:
    desk = Desk({}, {CAUSE: an_entry()})
    assert isinstance(judged(desk, operation=ANSWERED, minutes=0.5), Wait)
    told = judged(desk, operation=ANSWERED, minutes=2)
    assert isinstance(told, NeedsHuman)
    assert "was taken, and is not to be found as main:serial:7" in told.reason


@pytest.mark.parametrize("entry", [{}, {CAUSE: an_entry()}])
def test_while_the_system_is_silent_nothing_is_sent_and_after_a_while_a_person_is_asked(
    entry: dict[str, OutboxEntry],
) -> None:
    silent = Desk({}, entry, TemporaryPortError("The desk did not answer."))
    told = judged(silent, minutes=PATIENCE / timedelta(minutes=1) - 1)
    assert isinstance(told, Wait)
    assert told.reason == "The desk did not answer. It is asked again."
    told = judged(silent, minutes=PATIENCE / timedelta(minutes=1))
    assert isinstance(told, NeedsHuman)
    assert "nobody could tell whether GPU 3 (serial 7) has a ticket" in told.reason


def test_a_system_that_will_never_answer_is_a_matter_for_a_person() -> None:
    with pytest.raises(PermanentPortError):
        judged(Desk(trouble=PermanentPortError("The desk does not know us.")))


def test_a_cause_with_too_many_closed_tickets_is_a_matter_for_a_person() -> None:
    keys = [CAUSE, *(f"{CAUSE}:{number}" for number in range(2, MAX_NUMBER + 1))]
    told = judged(Desk(dict.fromkeys(keys, CLOSED)))
    assert isinstance(told, NeedsHuman)
    assert told.reason.startswith("50 closed tickets are about GPU 3 (serial 7)")


@pytest.mark.parametrize("missing", ["tickets", "outbox"])
def test_without_a_system_nobody_is_told_and_a_person_is_asked(missing: str) -> None:
    step = TicketOpening()
    facts = step.look(DUE, a_node(), replace(Desk().ports, **{missing: None}))  # type: ignore[arg-type]  # by name
    assert facts == Sought(ready=False)
    assert isinstance(step.judge(DUE, facts, a_policy(), at(0)), NeedsHuman)


def test_a_ticket_about_a_node_needs_no_card() -> None:
    node = remembering(
        an_operation(a_fault(gpu=None), ladder=("ticket",), at_step="open-ticket"), causes="main:node:gpu-a01"
    )
    told = judged(Desk(), operation=node)
    assert sent(told).draft.fields["node"] == "gpu-a01"
    assert isinstance(told, Act)
    assert told.reason == "Opens a ticket for gpu-a01."
