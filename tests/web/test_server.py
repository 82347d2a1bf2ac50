"""`sickbay web` as a process: what it refuses to start without, and that it serves, counts and ends as it should."""

from __future__ import annotations

import getpass
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
import requests

from app.store import Store
from simulator.valkey import EmbeddedValkey
from tests.web.conftest import ROOT, TOKEN, alert, body, gpu_node

COMMAND = [sys.executable, "-m", "app.cli"]


@dataclass
class Running:
    """A web process and where it is reached."""

    process: subprocess.Popen[str]
    url: str
    log: Path

    def post(self, message: object) -> requests.Response:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return requests.post(f"{self.url}/webhook/alertmanager", json=message, headers=headers, timeout=10)


@pytest.fixture
def environment(valkey: EmbeddedValkey, store: Store, tmp_path: Path) -> dict[str, str]:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{TOKEN}\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return {
        **os.environ,
        "SICKBAY_REDIS_URL": valkey.url,
        "SICKBAY_WEBHOOK_TOKEN_FILE": str(tokens),
        "SICKBAY_API_TOKEN_FILE": str(tokens),
        "SICKBAY_POLICY": str(ROOT / "config" / "policy.yaml"),
        "SICKBAY_BIND": f"127.0.0.1:{port}",
        "SICKBAY_URL": f"http://127.0.0.1:{port}",
    }


@pytest.fixture
def running(environment: dict[str, str], tmp_path: Path) -> Iterator[Running]:
    log = tmp_path / "log"
    with log.open("w") as stream:
        process = subprocess.Popen([*COMMAND, "web"], env=environment, cwd=ROOT, stderr=stream, text=True)
    web = Running(process, environment["SICKBAY_URL"], log)
    try:
        _until(lambda: _answers(web), web)
        yield web
    finally:
        process.kill()
        process.wait()


def _answers(web: Running) -> bool:
    try:
        return requests.get(f"{web.url}/healthz", timeout=5).ok
    except requests.ConnectionError:
        return False


def _until(true: Callable[[], bool], web: Running) -> None:
    ends = time.monotonic() + 60
    while not true():
        assert web.process.poll() is None, web.log.read_text()
        assert time.monotonic() < ends, web.log.read_text()
        time.sleep(0.05)


def test_a_real_server_takes_deliveries_at_the_same_moment_and_counts_once(running: Running, store: Store) -> None:
    store.inventory.write([gpu_node("gpu-a01")], {"gpu-a01": "gpu"}, {}, (), at=datetime.now(UTC))

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: running.post(body(alert())), range(8)))

    told = sorted(answer.json()["alerts"][0]["decision"] for answer in answers)
    assert told == ["duplicate"] * 7 + ["repair"]
    assert 'sickbay_webhook_bodies_total{status="202"} 8.0' in requests.get(f"{running.url}/metrics", timeout=5).text


@pytest.mark.thorough
def test_a_chunked_body_beyond_the_limit_is_refused(running: Running) -> None:
    chunks = (b"x" * 1024 * 1024 for _ in range(17))

    try:
        answer = requests.post(
            f"{running.url}/webhook/alertmanager",
            data=chunks,
            headers={"Authorization": f"Bearer {TOKEN}"},
            timeout=30,
        )
    except requests.ConnectionError:
        return  # It was cut off while still sending, which is a refusal too.
    assert answer.status_code == 413


def test_it_ends_in_order_when_told_to_and_logs_json(running: Running) -> None:
    running.post(body(alert()))
    running.process.send_signal(signal.SIGTERM)

    assert running.process.wait(30) == 0
    lines = [json.loads(line) for line in running.log.read_text().splitlines()]
    assert {line["component"] for line in lines} == {"web"}
    assert any("Listening at" in line["event"] for line in lines)


@pytest.mark.thorough
def test_status_and_orders_reach_it(running: Running, environment: dict[str, str]) -> None:
    def sickbay(*arguments: str, answers: str = "") -> subprocess.CompletedProcess[str]:
        command = [*COMMAND, *arguments]
        return subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, input=answers, check=False
        )

    status = sickbay("status")
    assert status.returncode == 0
    assert "No open operations." in status.stdout
    assert "workers: No worker was alive within 1 min" in status.stdout
    assert json.loads(sickbay("status", "--json").stdout) == {"operations": [], "next": None}
    assert f"Paused by {getpass.getuser()} (api token) since" in sickbay("pause", "--reason", "a shelf").stdout
    assert sickbay("resume", answers="done\n").stdout.endswith("Sickbay goes on: the pause is lifted.\n")
    refused = sickbay("approve", "op-nix", "--reason", "x")
    assert (refused.returncode, "No operation 'op-nix'" in refused.stderr) == (3, True)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("setting", "value", "told"),
    [
        ("SICKBAY_REDIS_URL", "", "SICKBAY_REDIS_URL: This setting is needed and not set."),
        ("SICKBAY_WEBHOOK_TOKEN_FILE", "", "SICKBAY_WEBHOOK_TOKEN_FILE: This setting is needed and not set."),
        ("SICKBAY_WEBHOOK_TOKEN_FILE", "/nowhere/tokens", "/nowhere/tokens: The token file cannot be read"),
        ("SICKBAY_API_TOKEN_FILE", "/nowhere/tokens", "/nowhere/tokens: The token file cannot be read"),
        ("SICKBAY_POLICY", "/nowhere/policy.yaml", "/nowhere/policy.yaml: The policy cannot be read"),
        ("SICKBAY_BIND", "8080", "SICKBAY_BIND: '8080' is not HOST:PORT."),
    ],
)
def test_it_does_not_start_without_what_it_needs(
    environment: dict[str, str], setting: str, value: str, told: str
) -> None:
    command = [*COMMAND, "web"]

    ended = subprocess.run(
        command, env={**environment, setting: value}, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )

    assert ended.returncode == 3
    assert told in ended.stderr
