"""`sickbay status` and the orders against a web process in this one, and what they say when there is none."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner, Result
from werkzeug.serving import make_server

from app.cli import root
from app.domain.breaker import Opened
from app.domain.faults import Fault, Gpu
from app.domain.folding import open_repair
from app.domain.history import HistoryRow
from app.domain.operations import NodeRef, ask
from app.domain.triage import Decision
from app.store import AlertRecord, Change, FellIll
from tests.store.things import measure
from tests.web.conftest import Web, alert, body, gpu_node


@pytest.fixture
def served(web: Web, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    server = make_server("127.0.0.1", 0, web.client.application, threaded=True)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    monkeypatch.setenv("SICKBAY_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("SICKBAY_API_TOKEN_FILE", str(web.api_tokens))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LOGNAME", "ana")
    yield web
    server.shutdown()
    serving.join()
    server.server_close()


def _sickbay(*arguments: str, answers: str = "") -> Result:
    return CliRunner().invoke(root, arguments, input=answers)


def _asking(web: Web) -> str:
    web.know(gpu_node("gpu-a01"), gpu_node("gpu-a02"))
    web.post(body(alert(node="gpu-a02")))
    operation = web.store.operations.load(web.post(body(alert())).json["alerts"][0]["operation"])
    assert operation is not None
    asked, _ = ask(replace(operation), "Pool gpu asks.", asks="drain", now=web.clock.now)
    web.store.operations.commit(Change(operation=asked, expected_version=1, now=web.clock.now))
    return operation.id


def test_status_lists_what_needs_a_person_first(served: Web) -> None:
    asking = _asking(served)

    lines = _sickbay("status").output.splitlines()

    assert lines[1].split()[:4] == ["needs-human", "gpu-a01", asking, "cordon"]
    assert lines[1].rstrip().endswith("Pool gpu asks.")
    assert lines[2].split()[:2] == ["running", "gpu-a02"]


@pytest.mark.parametrize(
    ("order", "told"), [("approve", "is running: Approved drain: go on"), ("cancel", "is finished: Cancelled")]
)
def test_an_order_is_given_with_its_reason(served: Web, order: str, told: str) -> None:
    asking = _asking(served)

    ended = _sickbay(order, asking, "--reason", "go on")

    assert ended.exit_code == 0
    assert told in ended.output
    assert served.api(f"operations/{asking}")["timeline"][-1]["actor"] == "ana (api token)"


def test_an_approval_of_something_else_than_what_is_asked_approves_nothing(served: Web) -> None:
    asking = _asking(served)

    ended = _sickbay("approve", asking, "power-cycle", "--reason", "go on")

    assert ended.exit_code == 3
    assert "this order was for power-cycle, and gpu-a01 asks for drain now" in ended.output
    operation = served.store.operations.load(asking)
    assert operation is not None
    assert operation.approvals == ()


def test_an_order_shows_first_what_it_is_for(served: Web) -> None:
    asking = _asking(served)

    ended = _sickbay("approve", asking, "drain", "--reason", "go on")

    assert ended.stderr == "Approves drain on gpu-a01. It is needs-human: Pool gpu asks.\n"


@pytest.mark.parametrize("order", ["retry", "skip", "release"])
def test_the_other_orders_reach_the_api_too(served: Web, order: str) -> None:
    ended = _sickbay(order, "op-nix", answers="why\n")

    assert ended.exit_code == 3
    assert "No operation 'op-nix' is on record." in ended.output


def test_a_wrong_token_is_told(served: Web) -> None:
    served.api_tokens.write_text("another-long-token\n")
    # What the command presents is read from the same file, so the server gets one of its own.
    served.client.application.extensions["sickbay"] = replace(served.parts, api_tokens=served.tokens)

    assert "The bearer token is not one of those accepted here." in _sickbay("pause", "--reason", "x").output


def test_a_command_without_a_token_file_says_what_to_set(served: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SICKBAY_API_TOKEN_FILE")

    assert "SICKBAY_API_TOKEN_FILE: This setting is needed" in _sickbay("pause", "--reason", "x").output


def test_a_sickbay_that_does_not_answer_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SICKBAY_URL", "http://127.0.0.1:9")

    ended = _sickbay("status")

    assert ended.exit_code == 3
    assert "Sickbay does not answer at http://127.0.0.1:9 (ConnectionError). SICKBAY_URL says where." in ended.output


def test_something_else_at_that_address_is_told(served: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SICKBAY_URL", f"{os.environ['SICKBAY_URL']}/operations")

    assert "does not seem to be Sickbay" in _sickbay("status").output


@pytest.mark.parametrize("order", ["approve", "retry", "skip", "cancel", "release", "pause", "resume"])
def test_an_order_teaches_itself_with_an_example_on_one_line(order: str) -> None:
    told = _sickbay(order, "--help").output

    (example,) = (line for line in told.splitlines() if line.startswith(f"      sickbay {order} "))
    assert '--reason "' in example
    assert example.endswith('"')


@pytest.mark.parametrize("arguments", [("cancel", "op-x"), ("pause",), ("cancel", "op-x", "--reason", "")])
def test_a_script_that_gives_no_reason_is_told_so_and_nothing_is_ordered(
    served: Web, arguments: tuple[str, ...]
) -> None:
    ended = _sickbay(*arguments)

    assert ended.exit_code == 3
    assert "Missing option '--reason'. Say why; it stands in the record." in ended.output
    assert served.store.pause.get() is None


def test_an_operations_id_cannot_lead_to_another_order(served: Web) -> None:
    ended = _sickbay("approve", "../pause?x=", "--reason", "x")

    assert ended.exit_code == 3
    assert served.store.pause.get() is None


@pytest.mark.parametrize(
    ("paused", "tripped", "told"),
    [
        (True, False, "Sickbay goes on: the pause is lifted.\n"),
        (False, True, "Sickbay goes on: the breaker is closed again.\n"),
        (True, True, "Sickbay goes on: the pause is lifted, and the breaker is closed again.\n"),
        (False, False, "Sickbay was not paused, and its breaker had not tripped.\n"),
    ],
)
def test_a_resume_says_what_it_lifted(served: Web, paused: bool, tripped: bool, told: str) -> None:
    if paused:
        assert "Paused by ana (api token) since" in _sickbay("pause", "--reason", "a shelf moves").output
    if tripped:
        _trip(served)

    assert _sickbay("resume", "--reason", "done").output.endswith(told)


def test_a_resume_says_what_it_dropped(served: Web) -> None:
    served.know(gpu_node("gpu-a01"))
    operation = served.post(body(alert())).json["alerts"][0]["operation"]
    _trip(served)
    served.post(body(alert(status="resolved", endsAt="2026-09-20T12:05:00Z")))

    told = _sickbay("resume", "--reason", "done").output

    assert f"Dropped, since their alerts have ended: 1 operation ({operation})." in told


def test_status_says_first_what_holds_all(served: Web) -> None:
    _trip(served)
    _sickbay("pause", "--reason", "a shelf moves")

    lines = _sickbay("status").output.splitlines()

    assert lines[0].startswith("The breaker has tripped: 4 nodes in rack r1 fell ill within 1 min")
    assert lines[1].startswith("Paused by ana (api token) since")


def _trip(web: Web) -> None:
    for number in range(4):
        opened = Opened(node=f"gpu-b0{number}", at=web.clock.now, rack="r1")
        fault = Fault(code="xid-79", node=opened.node, gpu=None, at=web.clock.now, source="", evidence="Xid 79")
        operation, _ = open_repair(
            fault, id=f"op-b{number}", node=NodeRef(name=opened.node, uid="u"), pool="gpu", ladder=(), now=web.clock.now
        )
        ill = FellIll(opened, web.parts.policy.breaker)
        web.store.operations.commit(Change(operation=operation, expected_version=0, now=web.clock.now, ill=ill))


def _file(web: Web, serial: str, *days_ago: int, class_: str = "reboot") -> None:
    for ago in days_ago:
        at = datetime.now(UTC) - timedelta(days=ago)
        gpu = Gpu(serial=serial, uuid=f"GPU-{serial}", index=3)
        row = HistoryRow(gpu=gpu, node="gpu-a01", code="xid-79", class_=class_, at=at, evidence="Xid 79 on GPU 3")
        record = AlertRecord(at=at, name="x", fingerprint="f", status="firing", decision=Decision.NOTE, reason="x")
        web.store.alerts.note(record, f"{serial}-{ago}", (row,), now=at)


class TestWhatIsRead:
    """history, offenders and baselines: a table for people, the API's answer for scripts."""

    @pytest.fixture
    def now_served(self, served: Web) -> Web:
        served.clock.now = datetime.now(UTC)
        return served

    def test_a_card_with_few_faults_tells_how_far_it_is_from_the_limit(self, now_served: Web) -> None:
        _file(now_served, "165", 1, 8)

        lines = _sickbay("history", "165").output.splitlines()

        assert lines[0] == "Card 165, GPU-165."
        assert lines[1] == "Its faults weigh 2; from 3 on it is an offender."
        assert lines[2].split() == ["when", "node", "code", "class", "weighs", "operation", "evidence"]
        assert " ".join(lines[3].split()) == "1 d ago gpu-a01 xid-79 reboot 1 Xid 79 on GPU 3"

    def test_an_offender_is_told_in_its_sentence(self, now_served: Web) -> None:
        _file(now_served, "165", 1, 8, 22)
        told = "Serial 165 has had 3 faults in 21 days on gpu-a01, at the limit of 3.0."

        assert told in _sickbay("history", "165").output.splitlines()
        lines = _sickbay("offenders").output.splitlines()
        assert lines[1].split()[:3] == ["165", "3", "3"]
        assert lines[1].rstrip().endswith(told)
        assert lines[2] == "Within 30 d; from a score of 3 on a card is an offender."

    def test_cards_below_the_limit_are_told_on_request(self, now_served: Web) -> None:
        _file(now_served, "165", 1)
        _file(now_served, "166", 2)

        assert _sickbay("offenders").output == "No offenders within 30 d; the limit is 3.\n"
        told = _sickbay("offenders", "--all", "--limit", "1").output
        assert "165" in told
        assert told.endswith("More are not shown here.\n")

    def test_what_our_own_act_brought_about_is_named(self, now_served: Web) -> None:
        at = now_served.clock.now
        row = HistoryRow(
            gpu=Gpu(uuid="GPU-x"), node="gpu-a01", code="xid-119", class_="reset", at=at, evidence="E", own_act="reset"
        )
        record = AlertRecord(at=at, name="x", fingerprint="f", status="firing", decision=Decision.NOTE, reason="x")
        now_served.store.alerts.note(record, "x", (row,), now=at)

        told = _sickbay("history", "GPU-x").output
        assert "Card GPU-x.\n" in told
        assert "E (Sickbay's own reset)" in told

    def test_an_unknown_card_is_told(self, now_served: Web) -> None:
        ended = _sickbay("history", "../operations")

        assert ended.exit_code == 3
        assert "Error: " in ended.output

    def test_baselines_are_shown_beside_their_peers(self, now_served: Web) -> None:
        assert _sickbay("baselines").output == "No node has passed a bandwidth test yet.\n"
        for node, measured in (("gpu-a01", 480.0), ("gpu-a02", 500.0), ("gpu-a03", 475.0), ("gpu-b01", 0.0)):
            key = "h100" if node.startswith("gpu-a") else "none"
            measure(now_served.store, key, node, measured, now_served.clock.now)

        lines = [line.split()[:4] for line in _sickbay("baselines").output.splitlines()[1:]]

        assert lines[:3] == [
            ["h100", "gpu-a01", "480.0", "+0.0%"],
            ["h100", "gpu-a02", "500.0", "+4.2%"],
            ["h100", "gpu-a03", "475.0", "-1.0%"],
        ]
        assert lines[3][:3] == ["none", "gpu-b01", "0.0"]

    @pytest.mark.parametrize(
        ("command", "path"),
        [(("history", "165"), "gpus/165"), (("offenders",), "offenders"), (("baselines",), "baselines")],
    )
    def test_scripts_get_the_apis_answer(self, now_served: Web, command: tuple[str, ...], path: str) -> None:
        _file(now_served, "165", 1, 8, 22)

        assert json.loads(_sickbay(*command, "--json").output) == now_served.api(path)
