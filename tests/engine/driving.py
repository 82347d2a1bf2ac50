"""Drives the engine through a story on the fake cluster and a real Valkey, with time that only the test moves."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from app.domain.faults import Fault, Gpu
from app.domain.folding import open_repair
from app.domain.marks import read_mark
from app.domain.operations import NodeRef, Operation
from app.domain.people import give
from app.domain.policies import Policy, Rung, When
from app.domain.timeline import Entry
from app.store import Change, Committed, Store
from tests.engine.policies import story_policy
from tests.fakes import FakeCluster
from workers.engine import Engine
from workers.ports import Ports
from workers.steps import STEPS

NODE = "gpu-a01"
WATCHES_EVERY = timedelta(seconds=30)
_owners = itertools.count(1)


@dataclass
class Story:
    """One operation on `gpu-a01` and everything around it."""

    store: Store
    cluster: FakeCluster = field(default_factory=FakeCluster)
    policy: Policy = field(default_factory=story_policy)
    ports: Ports = field(init=False)
    _watched_at: datetime | None = None
    _watches: bool = True

    def __post_init__(self) -> None:
        self.ports = replace(
            self.cluster.ports,
            baselines=self.store.baselines,
            outbox=self.store.outbox,
            history=self.store.history,
            gpu_counts=self.store.gpu_counts,
        )

    @property
    def now(self) -> datetime:
        return self.cluster.clock.now

    def worker(self, store: Store | None = None, ports: Ports | None = None) -> Engine:
        """A worker process's engine: another owner each time."""
        return Engine(
            store=store or self.store,
            ports=ports or self.ports,
            policy=self.policy,
            steps=STEPS,
            owner=f"worker-{next(_owners)}",
            clock=self._clock,
        )

    def watch(self) -> None:
        """The inventory, as the watch writes it after each change and every half minute."""
        nodes = self.cluster.nodes.all()
        pools = {node.name: pool.name for node in nodes if (pool := self.policy.pool_of(node.labels)) is not None}
        ours = frozenset(node.name for node in nodes if read_mark(node) is not None)
        self.store.inventory.write(nodes, pools, {}, ours, at=self.now)
        self._watched_at = self.now
        self._watches = True

    def watch_dies(self) -> None:
        """From here on the inventory grows old, until `watch` is called."""
        self._watches = False

    def _clock(self) -> datetime:
        if self._watches and (self._watched_at is None or self.now - self._watched_at >= WATCHES_EVERY):
            self.watch()
        return self.now

    def open(
        self,
        code: str = "xid-79",
        *,
        ladder: tuple[str, ...] = ("reboot",),
        when: When = When.NOW,
        node: str = NODE,
        operation_id: str = "",
    ) -> str:
        """An operation as the receiver would open it, `op-` and the node's name unless told otherwise."""
        view = self.cluster.nodes.get(node)
        assert view is not None
        operation, entries = open_repair(
            self.fault(code, node=node),
            id=operation_id or f"op-{node}",
            node=NodeRef(name=node, uid=view.uid),
            pool="gpu",
            ladder=tuple(Rung(rung=rung, when=when) for rung in ladder),
            now=self.now,
        )
        committed = self.store.operations.commit(
            Change(operation=operation, expected_version=0, entries=entries, now=self.now)
        )
        assert isinstance(committed, Committed)
        return operation.id

    def fault(self, code: str, *, node: str = NODE) -> Fault:
        """A fault of GPU 3 that begins now."""
        gpu = Gpu(uuid=f"GPU-{node}-3", index=3)
        told = f"Xid {code.removeprefix('xid-')} on {gpu}"
        return Fault(code=code, node=node, gpu=gpu, at=self.now, source="alert GpuXid", evidence=told)

    def operation(self, operation_id: str = f"op-{NODE}") -> Operation:
        found = self.store.operations.load(operation_id)
        assert found is not None
        return found

    def order(self, what: str, operation_id: str = f"op-{NODE}") -> None:
        """A person's order, as the API commits it."""
        operation = self.operation(operation_id)
        ordered, entries = give(operation, what, actor="ana", reason="looked at it", now=self.now)
        change = Change(operation=ordered, expected_version=operation.version, entries=entries, now=self.now)
        assert isinstance(self.store.operations.commit(change), Committed)

    def timeline(self, operation_id: str = f"op-{NODE}") -> list[str]:
        return [entry.text for entry in self.store.timeline.read(operation_id)]

    def entries(self, operation_id: str = f"op-{NODE}") -> tuple[Entry, ...]:
        return self.store.timeline.read(operation_id)

    def run(
        self, engine: Engine | None = None, *, operation_id: str = f"op-{NODE}", until: timedelta = timedelta(hours=6)
    ) -> Operation:
        """Advances whenever something is due or happens, until the operation rests before a person, is held or over.

        A held operation rests only when nothing else will happen by itself within `until`.
        """
        engine = engine or self.worker()
        deadline = self.now + until
        while self.now < deadline:
            engine.advance(operation_id)
            operation = self.operation(operation_id)
            if operation.finished:
                return operation
            moments = [moment for moment in (operation.next_check_at, self.cluster.next_event()) if moment]
            if operation.state in {"needs-human", "held"} and self.cluster.next_event() is None:
                return operation
            self.cluster.clock.now = max(min(moments), self.now + timedelta(seconds=1))
        return self.operation(operation_id)
