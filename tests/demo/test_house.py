"""The demo from its start to its end: both pages, and whatever ends it, nothing runs on and nothing lies about."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from simulator.demo_house import staged
from tests.simulator.conftest import eventually

ROOT = Path(__file__).parents[2]
PLAYING = "Cordons"


def running_with(mark: str) -> list[str]:
    """The command lines of the processes that have this in their environment."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (directory / "environ").read_bytes() and (told := (directory / "cmdline").read_bytes()):
                found.append(told.replace(b"\0", b" ").decode())
        except OSError:  # it ended meanwhile, or is somebody else's
            continue
    return found


@pytest.mark.thorough
def test_each_page_leads_to_the_other() -> None:
    with staged(60) as stage:
        assert f'href="{stage.control}"' in requests.get(stage.sickbay, timeout=10).text
        assert stage.cluster_state()["sickbay"] == stage.sickbay
        nodes = requests.get(f"{stage.sickbay}/api/v1/nodes", timeout=10).json()["nodes"]
        assert "gpu-a03" in {node["name"] for node in nodes}, "the story may begin, and Sickbay knows no nodes"


@pytest.mark.thorough
@pytest.mark.parametrize("moment", ["Starting", PLAYING])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything_and_leaves_nothing(tmp_path: Path, number: signal.Signals, moment: str) -> None:
    argv = [sys.executable, "-m", "app.cli", "demo", "--scene", "lost", "--once"]
    environ = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(argv, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        while moment not in (line := demo.stdout.readline()):
            assert line, "it ended by itself"
        if moment == PLAYING and Path("/proc").is_dir():
            assert len(running_with(str(tmp_path))) > 4
        demo.send_signal(number)
        assert demo.wait(120) == 128 + number
        assert "It ended as it must" not in demo.stdout.read()
    eventually(lambda: not running_with(str(tmp_path)))
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        argv = [sys.executable, "-m", "app.cli", "demo", "--once", "--port", str(port)]
        environ = {**os.environ, "TMPDIR": str(tmp_path)}
        told = subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 3
    assert f"Port {port} of 127.0.0.1 is taken by another program." in told.stderr
    assert told.stdout == ""
