"""Everything Sickbay remembers, in Redis or Valkey: one attribute a record, every change atomic.

    store = Store(connect(settings.require_redis_url()))
    operation = store.operations.load("op-6f3k2a9c")

It decides nothing and reads no clock. What cannot be done because Redis is away or refuses raises
`app.errors.StoreUnavailable`; a lost race is a value. The schema is docs/reference/store.md. It needs Valkey 7.2 or
Redis 7, one server with its replicas (no cluster mode), `maxmemory-policy noeviction` and the append-only file.
"""

from __future__ import annotations

from redis import Redis

from app.store.alerts import Alerts
from app.store.attempts import AttemptsMade
from app.store.baselines import Baselines
from app.store.breaker import BreakerState
from app.store.connection import Link, connect
from app.store.documents import NewerDocumentError, UnreadableDocumentError
from app.store.gpu_counts import GpuCounts
from app.store.heartbeats import Heartbeats
from app.store.history import History
from app.store.inventory import Inventories
from app.store.operations import Operations
from app.store.outbox import Outbox
from app.store.pause import Pauses
from app.store.pending import Pending
from app.store.signing import SigningKey
from app.store.standing import Standings
from app.store.survey import Surveys
from app.store.timeline import Timeline
from app.store.values import (
    AlertRecord,
    Baseline,
    Change,
    Claim,
    ClaimedBy,
    ClaimRequest,
    CommitResult,
    Committed,
    Conflict,
    Duplicate,
    FellIll,
    NodeSummary,
    NoPlace,
    Pause,
    PendingAlert,
    Standing,
    Trip,
    Tripped,
)
from app.store.watchdog import Watchdog

__all__ = [
    "AlertRecord",
    "Baseline",
    "Change",
    "Claim",
    "ClaimRequest",
    "ClaimedBy",
    "CommitResult",
    "Committed",
    "Conflict",
    "Duplicate",
    "FellIll",
    "NewerDocumentError",
    "NoPlace",
    "NodeSummary",
    "Pause",
    "PendingAlert",
    "Standing",
    "Store",
    "Trip",
    "Tripped",
    "UnreadableDocumentError",
    "connect",
]


class Store:
    """All records on one client, which threads may share. It must answer in text, as the one of `connect` does."""

    def __init__(self, redis: Redis) -> None:
        link = Link(redis)
        self._link = link
        self.operations = Operations(link)
        self.timeline = Timeline(link)
        self.alerts = Alerts(link)
        self.pending = Pending(link)
        self.history = History(link)
        self.inventory = Inventories(link)
        self.gpu_counts = GpuCounts(link)
        self.pause = Pauses(link)
        self.watchdog = Watchdog(link)
        self.heartbeats = Heartbeats(link)
        self.baselines = Baselines(link)
        self.attempts = AttemptsMade(link)
        self.breaker = BreakerState(link)
        self.standing = Standings(link)
        self.signing_key = SigningKey(link)
        self.outbox = Outbox(link)
        self.survey = Surveys(link)

    def ping(self) -> None:
        """Returns when Redis answers, else StoreUnavailable."""
        self._link.ask("PING")
