"""What RQ is told: JSON, random ids, nothing unique, retried or repeated."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest
from rq import Queue
from rq.job import Job
from rq.serializers import JSONSerializer

from app.errors import StoreUnavailable
from app.queue import FAILURE_TTL_S, IDS_A_JOB, RESULT_TTL_S, TTL_S, WorkQueues
from app.store import connect
from simulator import valkey
from tests.web.conftest import Web


def _jobs(web: Web, name: str) -> list[Job]:
    return Queue(name, connection=web.parts.queues._redis, serializer=JSONSerializer).jobs


def test_a_job_names_its_function_and_its_ids_in_json(web: Web) -> None:
    assert web.parts.queues.advance(["op-b", "op-a", "op-b"])

    (job,) = _jobs(web, "steady")
    stored: Any = web.parts.queues._redis.hget(job.key, "data")
    assert json.loads(zlib.decompress(stored))[:3] == ["workers.jobs.advance", None, [["op-b", "op-a"]]]
    assert (job.ttl, job.result_ttl, job.failure_ttl) == (TTL_S, RESULT_TTL_S, FAILURE_TTL_S)
    assert (job.retries_left, job.repeats_left) == (None, None)


def test_the_same_work_twice_makes_two_jobs(web: Web) -> None:
    for _ in range(2):
        web.parts.queues.place(["pend-1"])

    first, second = _jobs(web, "urgent")
    assert first.id != second.id


def test_a_storm_is_shared_out(web: Web) -> None:
    web.parts.queues.advance([f"op-{number}" for number in range(2 * IDS_A_JOB + 1)], urgent=True)

    assert [len(job.args[0]) for job in _jobs(web, "urgent")] == [IDS_A_JOB, IDS_A_JOB, 1]


def test_no_ids_make_no_job(web: Web) -> None:
    assert web.parts.queues.advance([])
    assert web.parts.queues.place([])
    assert [depth.jobs for depth in web.parts.queues.depths()] == [0, 0]


def test_the_depth_tells_since_when_the_first_job_waits(web: Web) -> None:
    web.parts.queues.advance(["op-a"], urgent=True)
    urgent, steady = web.parts.queues.depths()

    assert (urgent.queue, urgent.jobs) == ("urgent", 1)
    assert urgent.oldest is not None
    assert (steady.jobs, steady.oldest) == (0, None)


def test_a_job_that_ran_out_has_no_age(web: Web) -> None:
    web.parts.queues.advance(["op-a"], urgent=True)
    (job,) = _jobs(web, "urgent")
    web.parts.queues._redis.delete(job.key)

    assert (web.parts.queues.depths()[0].jobs, web.parts.queues.depths()[0].oldest) == (1, None)


def test_without_redis_nothing_is_enqueued_and_nothing_raised() -> None:
    with valkey.start() as server:
        redis = connect(server.url, decode=False)
        queues = WorkQueues(redis)
        server.kill()

        assert not queues.advance(["op-a"])
        with pytest.raises(StoreUnavailable):
            queues.depths()
        redis.close()
