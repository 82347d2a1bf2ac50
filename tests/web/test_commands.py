"""`sickbay status` and the orders against a web process in this one, and what they say when there is none."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from click.testing import CliRunner, Result
from werkzeug.serving import make_server

from app.cli import root
from app.domain.operations import ask
from app.store import Change
from tests.web.conftest import Web, alert, body, gpu_node


@pytest.fixture
def served(web: Web, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    server = make_server("127.0.0.1", 0, web.client.application, threaded=True)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    monkeypatch.setenv("SICKBAY_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("SICKBAY_API_TOKEN_FILE", str(web.api_tokens))
    monkeypatch.setenv("COLUMNS", "200")
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
    assert served.api(f"operations/{asking}")["timeline"][-1]["actor"] == "api token"


@pytest.mark.parametrize("order", ["retry", "skip", "release"])
def test_the_other_orders_reach_the_api_too(served: Web, order: str) -> None:
    ended = _sickbay(order, "op-nix", answers="why\n")

    assert ended.exit_code == 3
    assert "No operation 'op-nix' is on record." in ended.output


def test_a_wrong_token_is_told(served: Web) -> None:
    served.api_tokens.write_text("another\n")
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
