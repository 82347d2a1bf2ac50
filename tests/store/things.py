"""Short ways to say what a store test needs: an operation, a change of it, an alert's record, a crowd of threads."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from app.domain.alerts import Alert
from app.domain.budgets import Limit
from app.domain.facts import NodeView
from app.domain.faults import Fault, Gpu
from app.domain.folding import open_repair
from app.domain.history import HistoryRow
from app.domain.operations import NodeRef, Operation, Result, finish
from app.domain.policies import Rung
from app.domain.timeline import Entry
from app.domain.triage import Decision
from app.store import AlertRecord, Baseline, Change, Committed, Store

T = TypeVar("T")
_numbers = itertools.count(1)

NOW = datetime(2026, 3, 1, 9, 41, 7, 123456, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def operation(name: str = "op-1", node: str = "gpu-001", *, at: datetime = NOW) -> Operation:
    gpu = Gpu(serial="0321", uuid="GPU-aa", index=3)
    fault = Fault(code="xid-79", node=node, gpu=gpu, at=at, source="alert GpuXid", evidence="Xid 79 on GPU 3")
    opened, _ = open_repair(
        fault, id=name, node=NodeRef(name=node, uid=f"uid-{node}"), pool="train", ladder=(Rung(rung="reboot"),), now=at
    )
    return opened


def limits(named: Mapping[str, int], max_age: timedelta | None = None) -> tuple[Limit, ...]:
    """Budgets by name; with `max_age` nodes that are out by other hands use those of disruptions up too."""
    age = {"disruptions": max_age}
    return tuple(
        Limit(
            budget=name,
            most=most,
            group=name.partition(" of ")[2],
            inventory_max_age=age.get(name.partition(" of ")[0]),
        )
        for name, most in named.items()
    )


def change(of: Operation, **what: Any) -> Change:
    """A change that expects the version of `of`. `places` may be budgets by name."""
    if isinstance(what.get("places"), dict):
        what["places"] = limits(what["places"])
    return Change(**{"operation": of, "expected_version": of.version, "now": NOW, **what})


def committed(store: Store, of: Operation, **what: Any) -> Operation:
    """The operation after a commit that has to go well."""
    result = store.operations.commit(change(of, **what))
    assert isinstance(result, Committed), result
    return replace(of, version=result.version)


def finished(of: Operation, *, at: datetime = NOW) -> Operation:
    over, _ = finish(of, Result.RELEASED, "Given back.", now=at)
    return over


def record(decision: Decision = Decision.REPAIR, **what: Any) -> AlertRecord:
    told = {"at": NOW, "name": "GpuXid", "fingerprint": "f1", "status": "firing", "reason": "Xid 79: class reboot"}
    return AlertRecord(**{**told, "decision": decision, **what})


def alert(name: str = "GpuXid") -> Alert:
    return Alert(status="firing", labels={"alertname": name}, annotations={}, starts_at=NOW, fingerprint="f1")


def row(at: datetime = NOW, *, serial: str | None = None, uuid: str | None = None, code: str = "xid-79") -> HistoryRow:
    gpu = Gpu(serial=serial, uuid=uuid, index=3)
    return HistoryRow(gpu=gpu, node="gpu-001", code=code, class_="reboot", at=at, evidence="Xid 79")


def join(store: Store, uuid: str, serial: str) -> None:
    """A proof has found that this UUID and this serial are one card's."""
    committed(store, _passing(), joins=((uuid, serial),))


def measure(store: Store, key: str, node: str, gb_s: float, at: datetime) -> None:
    """A benchmark has passed on this node, with this bus bandwidth in GB/s."""
    committed(store, _passing(), baseline=Baseline(key=key, node=node, gb_s=gb_s, at=at), now=at)


def _passing() -> Operation:
    number = next(_numbers)
    return finished(operation(f"op-passing-{number}", f"passing-{number}"))


def entry(text: str, at: datetime = NOW) -> Entry:
    return Entry(at, "sickbay", text)


def node(name: str, **what: Any) -> NodeView:
    return NodeView(**{"name": name, "uid": f"uid-{name}", "resource_version": "1", **what})


def all_at_once(acts: list[Callable[[], T]]) -> list[T]:
    """What each act gave, all begun at the same moment in threads of their own."""
    gate = threading.Barrier(len(acts))
    given: list[T] = []

    def run(act: Callable[[], T]) -> None:
        gate.wait()
        given.append(act())

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(given) == len(acts)
    return given
