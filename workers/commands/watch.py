"""`sickbay watch`: turns cluster events into nudges, enqueues what is due, and keeps the inventory.

Two replicas may run, both active: a nudge only asks for a look, and the record decides.
"""

from __future__ import annotations

import signal
import threading
from datetime import datetime, timedelta

import click
import structlog

from app import logs
from app.domain import pending
from app.domain.facts import NodeView
from app.domain.marks import read_mark
from app.errors import StoreUnavailable
from app.settings import Settings
from workers.commands.alive import Alive
from workers.commands.heartbeat import Heartbeat
from workers.watch.streams import Streams
from workers.wiring import Wiring, own_wiring

TICK = 0.2
"""Seconds between two looks at what was nudged."""

DUE_EVERY = 5
PENDING_EVERY = 25
"""Ticks between two looks at what is due, and at alerts that nobody has placed yet."""

LEASE = timedelta(seconds=10)
"""How long what was enqueued is not enqueued again, while its job may still wait in the queue."""

DUE_AT_ONCE = 1000
PENDING_AT_ONCE = 100
LOST_AT_ONCE = 100
"""Nodes with our mark and no operation that are handed to a worker each time the inventory is told."""

log = structlog.get_logger("sickbay.watch")


@click.command()
def command() -> None:
    """Watch nodes, pods and node jobs, and wake the operations that they concern.

    Needs Redis (SICKBAY_REDIS_URL) and read rights on the cluster. Without it nothing that is due is handed to a
    worker, and the inventory grows old: alerts wait as pending, and nothing more is disrupted.
    """
    settings = Settings.from_environment()
    settings.require_redis_url()
    logs.configure("watch", settings.log_level)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    wiring = own_wiring()
    watching = Watching(wiring, Alive(settings.alive_file))
    streams = Streams(wiring.feeds, on_nudge=watching.nudge, on_inventory=watching.write_inventory)
    streams.start()
    try:
        with Heartbeat(wiring.store, "watch", wiring.engine.owner):
            log.info("watch started", owner=wiring.engine.owner)
            watching.run(ended, streams)
    finally:
        streams.stop()


class Watching:
    """What the streams tell, and the clock, turned into jobs."""

    def __init__(self, wiring: Wiring, alive: Alive) -> None:
        self._wiring = wiring
        self._alive = alive
        self._nudged: set[str] = set()
        self._placing: dict[str, datetime] = {}
        self._lock = threading.Lock()

    def nudge(self, node: str, why: str) -> None:
        """Somebody should look at that node's operation, if it has one."""
        log.debug("nudge", node=node, why=why)
        with self._lock:
            self._nudged.add(node)

    def write_inventory(self, nodes: tuple[NodeView, ...], exporter_pods: dict[str, str]) -> None:
        """The nodes as they are now, for placing alerts, for budgets and for the page.

        A node that carries our mark while no operation is open on it has lost its record: a worker looks at it.
        """
        policy = self._wiring.policy
        pools = {node.name: pool.name for node in nodes if (pool := policy.pool_of(node.labels)) is not None}
        ours = frozenset(node.name for node in nodes if read_mark(node) is not None)
        try:
            self._wiring.store.inventory.write(nodes, pools, exporter_pods, ours, at=self._wiring.clock())
            self._wiring.store.gpu_counts.saw(nodes)
            marked = sorted(ours)
            opened = self._wiring.store.operations.open_on_each(marked)
            lost = [node for node, operation in zip(marked, opened, strict=True) if operation is None]
            self._wiring.queues.reopen(lost[:LOST_AT_ONCE])
        except StoreUnavailable as error:
            log.warning("inventory not written", error=str(error))

    def run(self, ended: threading.Event, streams: Streams) -> None:
        """Until told to end: nudges at once, what is due once a second, alerts that still wait for a place.

        It also returns when a stream has died of an error of our own: a new process begins afresh.
        """
        ticks = 0
        while streams.alive and not ended.wait(TICK):
            if ticks % DUE_EVERY == 0:
                self._alive.touch()
            try:
                self._wiring.queues.advance(self._take_nudged())
                if ticks % DUE_EVERY == 0:
                    self._enqueue_due()
                if ticks % PENDING_EVERY == 0:
                    self._enqueue_pending()
            except StoreUnavailable as error:
                log.warning("store away", error=str(error))
            ticks += 1

    def _take_nudged(self) -> list[str]:
        with self._lock:
            nodes, self._nudged = self._nudged, set()
        opened = (self._wiring.store.operations.open_on(node) for node in nodes)
        return [operation for operation in opened if operation is not None]

    def _enqueue_due(self) -> None:
        now = self._wiring.clock()
        self._wiring.queues.advance(self._wiring.store.operations.claim_due(now, LEASE, limit=DUE_AT_ONCE))

    def _enqueue_pending(self) -> None:
        """Alerts whose job was lost or found no place: placing one twice is safe, placing it never is not."""
        now = self._wiring.clock()
        waiting = self._wiring.store.pending.since()
        ids = pending.due(waiting, self._placing, now, limit=PENDING_AT_ONCE)
        self._wiring.queues.place(ids)
        tried = {**self._placing, **dict.fromkeys(ids, now)}
        self._placing = {each: tried[each] for each, _ in waiting if each in tried}
