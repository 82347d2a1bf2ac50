"""What every ticket system must do, on each that is shipped: a new one is one more line in `SHIPPED`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.domain import policies
from app.domain.tickets import TicketDraft, TicketRef, TicketState
from app.errors import ConfigurationError, PermanentPortError
from tests.tickets.receiver import Receiver, running
from workers.adapters.tickets import SYSTEMS, connect
from workers.ports import Tickets

KEY = "main:serial:9900000000103"
DRAFT = TicketDraft(
    key=KEY,
    title='GPU 3 of gpu-a01: "xid-79"',
    body_markdown="# What\n\nGPU 3 fell off the bus.\n",
    fields={"node": "gpu-a01", "gpu_serial": "9900000000103"},
)

Close = Callable[[str], None]


def a_directory(directory: Path, receiver: Receiver) -> tuple[policies.Tickets, Close]:
    tickets = directory / "tickets"
    tickets.mkdir()

    def close(key: str) -> None:
        (file,) = (file for file in tickets.iterdir() if f'key: "{key}"' in file.read_text())
        file.write_text(file.read_text().replace("state: open", "state: closed"))

    return policies.Tickets(system="file", directory=str(tickets)), close


def a_webhook(directory: Path, receiver: Receiver) -> tuple[policies.Tickets, Close]:
    def close(key: str) -> None:
        receiver.closed = lambda asked: asked == key

    return receiver.settings(directory), close


SHIPPED = {"file": a_directory, "webhook": a_webhook}


@pytest.fixture(params=SHIPPED)
def system(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Tickets, Close]]:
    with running() as receiver:
        settings, close = SHIPPED[request.param](tmp_path, receiver)
        connected = connect(settings, "main")
        assert connected is not None
        yield connected, close


def test_every_shipped_system_is_held_to_the_contract() -> None:
    assert SHIPPED.keys() == SYSTEMS.keys()


def test_a_ticket_that_nobody_opened_is_not_found(system: tuple[Tickets, Close]) -> None:
    tickets, _ = system
    assert tickets.find(KEY) is None
    assert tickets.state(TicketRef(system="any", key=KEY)) is TicketState.UNKNOWN


def test_an_opened_ticket_is_found_open(system: tuple[Tickets, Close]) -> None:
    tickets, _ = system
    opened = tickets.open(DRAFT)
    found = tickets.find(KEY)
    assert found is not None
    assert (found.system, found.key) == (opened.system, KEY)
    assert found.url
    assert tickets.state(found) is TicketState.OPEN


def test_a_closed_ticket_is_still_found_and_is_closed(system: tuple[Tickets, Close]) -> None:
    tickets, close = system
    opened = tickets.open(DRAFT)
    close(KEY)
    assert tickets.find(KEY) is not None
    assert tickets.state(opened) is TicketState.CLOSED


def test_tickets_of_other_keys_are_others(system: tuple[Tickets, Close]) -> None:
    tickets, close = system
    tickets.open(DRAFT)
    assert tickets.find(f"{KEY}:2") is None
    assert tickets.find("stage:serial:9900000000103") is None
    close(KEY)
    other = TicketDraft(key=f"{KEY}:2", title="", body_markdown="", fields={})
    assert tickets.state(tickets.open(other)) is TicketState.OPEN


@pytest.mark.parametrize("key", ["a/../../b", "a b?c#d", "%2e%2e", "ü", "x" * 290])
def test_no_key_leaves_its_place(system: tuple[Tickets, Close], key: str) -> None:
    tickets, _ = system
    assert tickets.find(key) is None


def test_a_comment_may_be_added_to_an_open_ticket(system: tuple[Tickets, Close]) -> None:
    tickets, _ = system
    opened = tickets.open(DRAFT)
    tickets.comment(opened, "xid-79 on gpu-a02 too")
    assert tickets.state(opened) is TicketState.OPEN


def test_a_policy_without_a_system_has_none() -> None:
    assert connect(policies.Tickets(), "main") is None


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        (policies.Tickets(system="jira"), "tickets.system"),
        (policies.Tickets(system="file"), "tickets.directory"),
        (policies.Tickets(system="webhook", secret_file="s"), "tickets.url"),
        (policies.Tickets(system="webhook", url="ftp://x", secret_file="s"), "tickets.url"),
        (policies.Tickets(system="webhook", url="https://x"), "tickets.secret_file"),
    ],
)
def test_a_system_that_lacks_something_says_so_before_anything_is_sent(settings: policies.Tickets, path: str) -> None:
    with pytest.raises(ConfigurationError) as told:
        connect(settings, "main")
    assert told.value.path == path
    assert told.value.remedy


def test_a_secret_that_cannot_be_read_is_a_matter_for_a_person(receiver: Receiver, tmp_path: Path) -> None:
    connected = connect(receiver.settings(tmp_path), "main")
    assert connected is not None
    (tmp_path / "secret").unlink()
    with pytest.raises(PermanentPortError, match="cannot be read"):
        connected.open(DRAFT)
    assert not receiver.opened
