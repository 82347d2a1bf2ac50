from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import requests
from kubernetes import client

from simulator import cluster
from tests.simulator.conftest import eventually, untyped_config


def test_a_cluster_leaves_no_thread_and_no_file_behind() -> None:
    before = set(threading.enumerate())
    with cluster.start(speed=600, operator=("nvidia-dcgm-exporter",)) as a_cluster:
        kubeconfig = a_cluster.kubeconfig
        assert kubeconfig.exists()
    eventually(lambda: set(threading.enumerate()) <= before)
    assert not kubeconfig.exists()


def test_a_start_that_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(threading.enumerate())
    monkeypatch.setattr(cluster, "READY_S", 0.0)
    with pytest.raises(TimeoutError, match=r"was not ready after 0 s: .*nvidia-device-plugin"):
        cluster.start(speed=1)
    eventually(lambda: set(threading.enumerate()) <= before)


def test_a_watch_that_is_open_does_not_hold_up_the_stop() -> None:
    with cluster.start(actors=False) as a_cluster:
        url = f"{a_cluster.url}/api/v1/nodes?watch=1"
        answer = requests.get(url, headers={"Authorization": "Bearer simulator-client"}, stream=True, timeout=10)
        assert next(answer.iter_lines())
    answer.close()


@pytest.mark.thorough
def test_as_a_process_it_prints_where_it_is_and_ends_on_sigterm(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    argv = [sys.executable, "-m", "simulator", "--nodes", "2", "--speed", "600", "--kubeconfig", str(kubeconfig)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as simulator:
        assert simulator.stdout is not None
        assert simulator.stdout.readline().startswith("http://127.0.0.1:")
        assert simulator.stdout.readline() == f"KUBECONFIG={kubeconfig}\n"
        api = untyped_config.new_client_from_config(str(kubeconfig))
        assert len(client.CoreV1Api(api).list_node().items) == 3
        api.rest_client.pool_manager.clear()
        api.close()
        simulator.send_signal(signal.SIGTERM)
        assert simulator.wait(timeout=20) == 0
