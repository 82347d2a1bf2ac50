"""`sickbay worker`: carries out operations. Any number may run, with no leader; each may be killed at any moment."""

from __future__ import annotations

import time
from types import FrameType
from typing import Any

import click
import redis
import structlog
from rq import SimpleWorker
from rq.serializers import JSONSerializer

from app import logs
from app.queue import QUEUES
from app.settings import Settings
from workers.commands.alive import Alive
from workers.commands.heartbeat import Heartbeat
from workers.wiring import own_wiring

MAX_JOBS = 1000
"""Jobs after which the RQ worker inside is made anew, so that nothing it gathers grows for ever."""

WAITS = 45
"""Seconds that RQ's loop waits for a job before it comes round."""
RQ_SPARES = 15
"""Seconds by which RQ waits less than the time that it gives a worker."""

LOST_STORE = 2.0
"""Seconds between tries while Redis is away."""

log = structlog.get_logger("sickbay.worker")


@click.command()
def command() -> None:
    """Carry out operations: cordon, drain, reboot, diagnose, release.

    Takes jobs from Redis (SICKBAY_REDIS_URL), first those that keep new work away from sick nodes. Needs the cluster
    (KUBECONFIG, or the service account of its pod). SIGTERM lets the present job end; SIGKILL loses nothing.
    """
    settings = Settings.from_environment()
    settings.require_redis_url()
    logs.configure("worker", settings.log_level)
    wiring = own_wiring()
    log.info("worker started", owner=wiring.engine.owner, pools=[pool.name for pool in wiring.policy.pools])
    with Heartbeat(wiring.store, "worker", wiring.engine.owner):
        alive = Alive(settings.alive_file)
        while _work(wiring.redis, alive):
            pass


class _Worker(SimpleWorker):
    """RQ's worker in this process, which remembers why it stopped: being asked to is not losing Redis."""

    asked_to_stop = False
    alive = Alive(None)

    def heartbeat(self, timeout: int | None = None, pipeline: Any = None) -> None:
        """RQ's loop calls this before and after each job, and each time that it has waited for one in vain."""
        self.alive.touch()
        super().heartbeat(timeout, pipeline)

    def request_stop(self, signum: int, frame: FrameType | None) -> None:
        """RQ's handler of SIGTERM and SIGINT."""
        type(self).asked_to_stop = True
        super().request_stop(signum, frame)  # type: ignore[no-untyped-call]  # RQ's is not annotated


def _work(connection: redis.Redis, alive: Alive) -> bool:
    """One RQ worker's life. True when another one is to follow."""
    alive.touch()
    try:
        worker = _Worker(QUEUES, connection=connection, serializer=JSONSerializer, worker_ttl=WAITS + RQ_SPARES)
        worker.alive = alive
        worker.log_job_description = False
        worker.work(max_jobs=MAX_JOBS, logging_level="WARNING")
    except redis.RedisError as error:
        log.warning("store lost", error=str(error), again_in_seconds=LOST_STORE)
        time.sleep(LOST_STORE)
    return not _Worker.asked_to_stop
