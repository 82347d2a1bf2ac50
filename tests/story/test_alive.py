"""Worker and watch touch the file that their probe looks at."""

from __future__ import annotations

from pathlib import Path

import pytest
from rq.serializers import JSONSerializer

from app.queue import QUEUES
from app.store import connect
from simulator import cluster as clusters
from simulator import valkey as embedded
from simulator.sickbay_components import SickbayComponents
from tests.story.house import POLICY, eventually
from workers.commands.alive import Alive
from workers.commands.worker import _Worker


@pytest.mark.parametrize("component", ["worker-1", "watch"])
def test_a_process_touches_its_file_from_its_start_on(
    component: str, tmp_path: Path, valkey: embedded.EmbeddedValkey
) -> None:
    alive = tmp_path / "alive"
    with clusters.start(nodes=1, workloads=False, operator=()) as cluster:
        environ = {"SICKBAY_ALIVE_FILE": str(alive)}
        sickbay = SickbayComponents(tmp_path, valkey.url, cluster.kubeconfig, POLICY, environ=environ)
        try:
            sickbay.start_one(component)
            eventually(alive.exists, lambda: f"{component} touches nothing")
        finally:
            sickbay.stop()


def test_the_loop_of_the_worker_touches_it_each_time_that_it_comes_round(
    tmp_path: Path, valkey: embedded.EmbeddedValkey
) -> None:
    redis = connect(valkey.url, decode=False)
    worker = _Worker(QUEUES, connection=redis, serializer=JSONSerializer)
    worker.alive = Alive(tmp_path / "alive")

    worker.heartbeat()

    assert (tmp_path / "alive").exists()
    redis.close()


def test_a_disk_that_takes_no_file_stops_nobody(tmp_path: Path) -> None:
    Alive(tmp_path / "absent" / "alive").touch()
    Alive(None).touch()
