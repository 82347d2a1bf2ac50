from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from simulator import valkey
from tests.simulator.conftest import eventually


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_was_written_outlives_a_restart_on_the_same_port(tmp_path: Path) -> None:
    with valkey.start(tmp_path) as server, redis.from_url(server.url) as client:
        client.set("a", "1")
        url = server.url
        server.restart()
        assert server.url == url
        assert client.get("a") == b"1"


def test_a_killed_server_starts_again(tmp_path: Path) -> None:
    with valkey.start(tmp_path) as server, redis.from_url(server.url) as client:
        pid = server.pid
        server.kill()
        assert not alive(pid)
        with pytest.raises(redis.ConnectionError):
            client.ping()
        server.restart()
        assert client.ping()


def test_it_listens_on_a_unix_socket_alone(tmp_path: Path) -> None:
    with valkey.start(unix_socket=tmp_path / "v.sock") as server, redis.from_url(server.url) as client:
        assert server.port == 0
        assert client.ping()


def test_its_own_directory_goes_with_it() -> None:
    with valkey.start() as server:
        directory = server.directory
        assert directory.is_dir()
    assert not directory.exists()


@pytest.mark.sigkill
def test_it_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = "import sys, simulator.valkey as v; s = v.start(); print(s.pid, flush=True); sys.stdin.read()"
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.send_signal(signal.SIGKILL)
    eventually(lambda: not alive(pid))
