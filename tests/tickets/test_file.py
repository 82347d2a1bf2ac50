from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.domain import policies
from app.domain.tickets import TicketDraft, TicketState
from app.errors import PermanentPortError
from tests.store.things import all_at_once
from tests.tickets.test_contract import DRAFT, KEY
from workers.adapters.tickets.file import FileTickets


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "tickets"
    made.mkdir()
    return made


@pytest.fixture
def tickets(directory: Path) -> FileTickets:
    return FileTickets(policies.Tickets(system="file", directory=str(directory)), "main")


def the_file(directory: Path) -> Path:
    (file,) = directory.iterdir()
    return file


def test_a_ticket_is_a_file_that_people_read_and_close(tickets: FileTickets, directory: Path) -> None:
    opened = tickets.open(DRAFT)
    file = the_file(directory)
    assert file.name.startswith("main-serial-9900000000103-")
    assert opened.url == file.absolute().as_uri()
    assert file.read_text() == (
        '---\nstate: open\nkey: "main:serial:9900000000103"\ntitle: "GPU 3 of gpu-a01: \\"xid-79\\""\n'
        'node: "gpu-a01"\ngpu_serial: "9900000000103"\n---\n\n'
        "<!-- To close this ticket, write `state: closed` in the second line. -->\n\n"
        "# What\n\nGPU 3 fell off the bus.\n"
    )


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("state: closed", TicketState.CLOSED),
        ("State:   Closed  ", TicketState.CLOSED),
        ('state: "closed"', TicketState.CLOSED),
        ("state: closed # card replaced", TicketState.CLOSED),
        ("state: open", TicketState.OPEN),
        ("state: done", TicketState.UNKNOWN),
        ("state: not closed", TicketState.UNKNOWN),
        ("state: closed?", TicketState.UNKNOWN),
        ("state:", TicketState.UNKNOWN),
        ("states: closed", TicketState.UNKNOWN),
        ("", TicketState.UNKNOWN),
    ],
)
def test_only_the_word_closed_in_the_head_closes_it(
    tickets: FileTickets, directory: Path, line: str, state: TicketState
) -> None:
    opened = tickets.open(DRAFT)
    file = the_file(directory)
    file.write_text(file.read_text().replace("state: open", line, 1))
    assert tickets.state(opened) is state


@pytest.mark.parametrize("text", ["", "state: closed\n", "---\nkey: x\n---\nstate: closed\n", "\x00\xff", "---\n"])
def test_a_file_without_its_head_is_unknown_and_still_found(tickets: FileTickets, directory: Path, text: str) -> None:
    opened = tickets.open(DRAFT)
    the_file(directory).write_bytes(text.encode("latin-1").replace(b"key: x\n", b""))
    assert tickets.state(opened) is TicketState.UNKNOWN
    assert tickets.find(KEY) == opened


def test_a_byte_order_mark_of_an_editor_does_no_harm(tickets: FileTickets, directory: Path) -> None:
    opened = tickets.open(DRAFT)
    the_file(directory).write_text("\ufeff" + the_file(directory).read_text().replace("open", "closed", 1))
    assert tickets.state(opened) is TicketState.CLOSED


def test_a_second_open_changes_nothing_that_a_person_wrote(tickets: FileTickets, directory: Path) -> None:
    opened = tickets.open(DRAFT)
    the_file(directory).write_text("---\nstate: closed\n---\nswapped by Ana\n")
    again = tickets.open(TicketDraft(key=KEY, title="other", body_markdown="other", fields={}))
    assert again == opened
    assert "swapped by Ana" in the_file(directory).read_text()


def test_ten_at_once_make_one_whole_file_and_leave_nothing_beside_it(tickets: FileTickets, directory: Path) -> None:
    all_at_once([lambda: tickets.open(DRAFT)] * 10)
    assert the_file(directory).read_text().endswith("GPU 3 fell off the bus.\n")


def test_a_comment_stands_at_the_end_once(tickets: FileTickets, directory: Path) -> None:
    opened = tickets.open(DRAFT)
    for _ in range(3):
        tickets.comment(opened, "xid-79 on gpu-a02 too")
    assert the_file(directory).read_text().endswith("the bus.\n\n## Comment\n\nxid-79 on gpu-a02 too\n")
    assert the_file(directory).read_text().count("gpu-a02") == 1


def test_a_comment_on_a_ticket_that_is_gone_is_a_matter_for_a_person(tickets: FileTickets, directory: Path) -> None:
    opened = tickets.open(DRAFT)
    the_file(directory).unlink()
    with pytest.raises(PermanentPortError, match="There is no ticket"):
        tickets.comment(opened, "hello")


def test_nothing_in_a_draft_can_end_the_head(tickets: FileTickets, directory: Path) -> None:
    fields = {"node": "x\n---\nstate: closed"}
    opened = tickets.open(TicketDraft(key=KEY, title="t\n---\nstate: closed", body_markdown="", fields=fields))
    assert tickets.state(opened) is TicketState.OPEN
    assert the_file(directory).read_text().count("\n---\n") == 1


def test_a_directory_that_is_not_there_is_never_taken_for_an_empty_one(tmp_path: Path) -> None:
    missing = tmp_path / "not-mounted"
    tickets = FileTickets(policies.Tickets(system="file", directory=str(missing)), "main")
    with pytest.raises(PermanentPortError, match="cannot be read in"):
        tickets.find(KEY)
    with pytest.raises(PermanentPortError, match="cannot be written to"):
        tickets.open(DRAFT)
    assert not missing.exists()


def test_a_file_about_another_ticket_is_no_answer(tickets: FileTickets, directory: Path) -> None:
    tickets.open(DRAFT)
    the_file(directory).write_text("---\nstate: open\nkey: other\n---\n")
    with pytest.raises(PermanentPortError, match="about another ticket"):
        tickets.find(KEY)


def test_a_ticket_that_may_not_be_read_is_a_matter_for_a_person(tickets: FileTickets, directory: Path) -> None:
    tickets.open(DRAFT)
    file = the_file(directory)
    file.unlink()
    os.mkdir(file)  # noqa: PTH102 - a directory in its place cannot be read by root either
    with pytest.raises(PermanentPortError, match="cannot be read in"):
        tickets.find(KEY)
