"""The two RQ queues, through which work reaches workers sooner than the due index would bring it. A hint, no truth.

Everything that is enqueued here stands in the store already; a job that is lost costs seconds, since the watch finds
what is due. So no job is unique, retried or repeated by RQ, and one that waits too long is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import structlog
from redis import Redis
from redis.exceptions import RedisError
from rq import Queue
from rq.exceptions import NoSuchJobError
from rq.job import Job
from rq.serializers import JSONSerializer

from app.errors import StoreUnavailable

log = structlog.get_logger(__name__)

URGENT: Final = "urgent"
STEADY: Final = "steady"
QUEUES: Final = (URGENT, STEADY)
"""In the order in which workers serve them: new faults, so that every cordon comes before any drain; all the rest."""

ADVANCE: Final = "workers.jobs.advance"
PLACE: Final = "workers.jobs.place"
REOPEN: Final = "workers.jobs.reopen"
"""Stored names: jobs of an older version may still wait under them."""

IDS_A_JOB: Final = 25
"""So that in a storm several workers share one body's operations, and none waits for RQ, which costs 4 ms a job."""
TTL_S: Final = 300
"""A job that waited longer is dropped; the watch has enqueued the same work since."""
RESULT_TTL_S: Final = 0
FAILURE_TTL_S: Final = 86_400
TIMEOUT_S: Final = 180
"""A backstop far above what one look at an operation takes."""


@dataclass(frozen=True, slots=True)
class Depth:
    """How many jobs wait in a queue, and since when the first of them does."""

    queue: str
    jobs: int
    oldest: datetime | None


class WorkQueues:
    """Puts ids into the queues, and says how full they are.

    `redis` must answer in bytes (`app.store.connect(url, decode=False)`).
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._queues = {
            name: Queue(name, connection=redis, serializer=JSONSerializer, default_timeout=TIMEOUT_S) for name in QUEUES
        }

    def advance(self, operations: Sequence[str], *, urgent: bool = False) -> bool:
        """Let a worker look at these operations. False if it could not be enqueued; the due index brings it then."""
        return self._enqueue(URGENT if urgent else STEADY, ADVANCE, operations)

    def place(self, pending: Sequence[str]) -> bool:
        """Let a worker place these pending alerts. False if it could not be enqueued."""
        return self._enqueue(URGENT, PLACE, pending)

    def reopen(self, nodes: Sequence[str]) -> bool:
        """Let a worker look at these nodes, which carry our mark and have no operation. False if not enqueued."""
        return self._enqueue(STEADY, REOPEN, nodes)

    def depths(self) -> tuple[Depth, ...]:
        """How full each queue is. Raises StoreUnavailable."""
        try:
            return tuple(Depth(name, queue.count, self._oldest(queue)) for name, queue in self._queues.items())
        except RedisError as error:
            raise StoreUnavailable(f"The queues cannot be read: {type(error).__name__}: {error}.") from error

    def _enqueue(self, name: str, function: str, ids: Sequence[str]) -> bool:
        # An operation named twice in one body needs one look.
        once = list(dict.fromkeys(ids))
        jobs = [
            Queue.prepare_data(
                function,
                args=[once[start : start + IDS_A_JOB]],
                timeout=TIMEOUT_S,
                ttl=TTL_S,
                result_ttl=RESULT_TTL_S,
                failure_ttl=FAILURE_TTL_S,
                description=function,
            )
            for start in range(0, len(once), IDS_A_JOB)
        ]
        if not jobs:
            return True
        try:
            self._queues[name].enqueue_many(jobs)
        except (RedisError, OSError) as error:
            log.warning("not enqueued", queue=name, function=function, ids=len(once), reason=str(error))
            return False
        return True

    def _oldest(self, queue: Queue) -> datetime | None:
        first = queue.get_job_ids(0, 1)
        if not first:
            return None
        try:
            at = Job.fetch(first[0], connection=self._redis, serializer=JSONSerializer).enqueued_at
        except NoSuchJobError:
            return None  # It ran out; a worker throws its id away when it comes by.
        return at if at is None or at.tzinfo else at.replace(tzinfo=UTC)
