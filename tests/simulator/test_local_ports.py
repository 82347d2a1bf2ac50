from __future__ import annotations

import socket

import pytest

from simulator.__main__ import main
from simulator.local_ports import HOST, free_port, why_not


def test_a_port_that_somebody_listens_on_is_refused_in_a_sentence() -> None:
    with socket.create_server((HOST, 0)) as listening:
        port = listening.getsockname()[1]
        assert (
            why_not(port)
            == f"Port {port} of 127.0.0.1 is taken by another program. Choose another, or 0 for a free one."
        )


def test_a_free_port_and_0_are_not_refused() -> None:
    assert why_not(free_port()) == ""
    assert why_not(0) == ""


def test_a_port_that_a_server_has_just_left_is_free() -> None:
    """The connection that it closed stays in TIME_WAIT for a minute."""
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection((HOST, port)) as client:
            taken, _ = server.accept()
            taken.close()
            assert client.recv(1) == b""
    assert why_not(port) == ""


def test_the_simulated_cluster_alone_refuses_a_taken_port_before_it_starts(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server((HOST, 0)) as listening, pytest.raises(SystemExit) as ended:
        main(["--port", str(listening.getsockname()[1])])
    assert ended.value.code == 2
    assert "is taken by another program" in capsys.readouterr().err
