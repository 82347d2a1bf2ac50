"""The pages with something of everything on them, served over HTTP from a store that is filled by hand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from werkzeug.serving import make_server

from app.domain.facts import NodeView, TicketRef
from app.domain.faults import Fault, Gpu
from app.domain.folding import open_repair
from app.domain.history import row_of
from app.domain.operations import NodeRef, Operation, Result, State
from app.domain.plans import repair
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.policies import AlertNames, ClusterName, Mode, Policy, Pool, Rung
from app.domain.timeline import Entry
from app.domain.xids import XidClass
from app.queue import WorkQueues
from app.store import Change, Committed, Store, connect
from app.web import Parts, create_app
from app.xid_file import load_xids

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-for-the-gallery"
LABELS = {"nvidia.com/gpu.present": "true"}
LADDER = tuple(Rung(rung=name) for name in ("reset", "reboot", "power-cycle", "ticket"))
POLICY = Policy(
    cluster=ClusterName(name="prod-eu1"),
    alerts=AlertNames(xid=("GpuXid*",)),
    pools=(
        Pool(name="train", selector=LABELS, mode=Mode.APPROVE),
        Pool(name="serve", selector={"pool": "serve"}, mode=Mode.OBSERVE),
    ),
    ladders={XidClass.RESET: LADDER},
    own_acts={},
)
OFFENDER = "1650923001447"


@dataclass
class Gallery:
    """Where it is, and what hangs in it."""

    url: str
    store: Store
    now: datetime


@contextmanager
def open_gallery(store: Store, redis_url: str, directory: Path) -> Iterator[Gallery]:
    """Serves it until the block ends."""
    tokens = directory / "tokens"
    tokens.write_text(f"{TOKEN}\n")
    redis = connect(redis_url, decode=False)
    now = datetime.now(UTC)
    gallery = Gallery("", store, now)
    hang(gallery)
    parts = Parts(
        store=store,
        queues=WorkQueues(redis),
        policy=POLICY,
        catalogue=load_xids(ROOT / "config" / "xids.yaml"),
        webhook_tokens=tokens,
        api_tokens=tokens,
        links=(("Runbook", "https://wiki.example/gpu"),),
        policy_source=(ROOT / "config" / "policy.yaml").read_text(encoding="utf-8"),
    )
    server = make_server("127.0.0.1", 0, create_app(parts), threaded=True)
    gallery.url = f"http://127.0.0.1:{server.server_port}"
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield gallery
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
        redis.close()


def hang(gallery: Gallery) -> None:
    """Fills the store: an operation in every state, a fleet in racks, and a card that has been ill three times."""
    store, now = gallery.store, gallery.now
    nodes = [_node(number) for number in range(1, 33)]
    store.inventory.write(nodes, {node.name: "train" for node in nodes}, {}, (), at=now)
    store.watchdog.heard(now)
    for component in ("worker", "watch"):
        store.heartbeats.beat(component, "one", now + timedelta(hours=1))
    _put(
        gallery,
        _asking(gallery, 17, "Xid 79: GPU 3 fell off the bus"),
        State.NEEDS_HUMAN,
        "Pool train asks before each disruption: the next step is drain of gpu-017.",
        asks="drain",
    )
    _put(
        gallery,
        _failed(gallery, 9, "Xid 95: uncontained memory error on GPU 7"),
        State.NEEDS_HUMAN,
        "Memory test failed on GPU 7 (serial 1650923004471). No rung of its ladder is left: the node stays cordoned "
        "until a person decides.",
    )
    _put(
        gallery,
        _at(gallery, 4, "drain", "Xid 48 with 63: uncorrectable memory error on GPU 5", minutes=6),
        State.WAITING,
        "Waits for budget serve/vllm-chat: 1 of 1 replicas must stay up; its replacement is starting on gpu-009.",
    )
    _put(
        gallery,
        _at(gallery, 22, "drain", "Xid 95: uncontained memory error on GPU 7", minutes=2),
        State.HELD,
        "3 of 3 disruptions are in use (gpu-004, gpu-009, gpu-017). Drain of gpu-022 starts when one is free.",
    )
    _put(
        gallery,
        _on_rung(gallery, 31, "ticket", "await-ticket", "Row-remap failure on GPU 2"),
        State.WITH_VENDOR,
        "HW-482 is open since 3 d: the part is ordered.",
        ticket=TicketRef(system="webhook", key="HW-482", url="https://desk.example/HW-482"),
    )
    for number, result in enumerate((Result.RELEASED, Result.REPLACED, Result.NOTED, Result.CANCELLED)):
        ended = _at(gallery, 25 + number, "release", "Xid 119: GSP timeout on GPU 0", minutes=50)
        over = replace(ended, result=result, finished_at=now - timedelta(minutes=7), next_check_at=None)
        _put(gallery, over, State.FINISHED, "Level 3 passed on 8 GPUs, 478 GB/s (peers 476 to 481); uncordoned.")


def _node(number: int) -> NodeView:
    labels = {**LABELS, "topology.kubernetes.io/rack": f"r{(number - 1) // 8 + 1}"}
    return NodeView(
        name=f"gpu-{number:03}",
        uid=f"uid-{number}",
        resource_version="1",
        labels=labels,
        unschedulable=number == 12,
        ready=number != 30,
        addresses=(f"10.20.0.{number}",),
        gpu_capacity=8,
        gpu_allocatable=8,
        boot_id=f"4e7d8f6a-0000-4000-8000-{number:012}",
    )


def _opened(gallery: Gallery, number: int, evidence: str, minutes: int) -> Operation:
    at = gallery.now - timedelta(minutes=minutes)
    gpu = Gpu(serial=f"16509230{number:05}", uuid=f"GPU-5c9b{number:04}-77aa-4b1e-9c55-0d7a4c1f{number:04}", index=3)
    fault = Fault(code="xid-79", node=f"gpu-{number:03}", gpu=gpu, at=at, source="alert GpuXid", evidence=evidence)
    node = NodeRef(name=fault.node, uid=f"uid-{number}")
    made, _ = open_repair(fault, id=f"op-7f3k{number:04}", node=node, pool="train", ladder=LADDER, now=at)
    return made


def _done(gallery: Gallery, steps: tuple[PlannedStep, ...]) -> tuple[PlannedStep, ...]:
    began, ended = gallery.now - timedelta(minutes=5), gallery.now - timedelta(minutes=1)
    return tuple(
        replace(step, state=StepState.DONE, attempt=1, started_at=began, finished_at=ended, reason=REASONS[step.step])
        for step in steps
    )


REASONS = {
    "cordon": "Cordoned, 41 ms after the operation opened.",
    "evidence": "8 of 8 GPUs allocatable, 11 pods at work.",
    "drain": "11 pods evicted, 2 DaemonSet pods left in place.",
    "pause-operands": "Device plugin, DCGM, its exporter and feature discovery have left.",
    "reset": "GPU 3 was reset.",
    "restore-operands": "All operands are back.",
    "diagnose": "Level 3 passed on 8 GPUs.",
    "benchmark": "478 GB/s (peers 476 to 481).",
    "open-ticket": "Opened HW-482.",
}


def _at(gallery: Gallery, number: int, step: str, evidence: str, *, minutes: int) -> Operation:
    made = _opened(gallery, number, evidence, minutes)
    place = [planned.step for planned in made.plan].index(step)
    now = replace(made.plan[place], state=StepState.WAITING, attempt=1, started_at=gallery.now, reason="Waits.")
    return replace(made, plan=(*_done(gallery, made.plan[:place]), now, *made.plan[place + 1 :]))


def _asking(gallery: Gallery, number: int, evidence: str) -> Operation:
    made = _at(gallery, number, "drain", evidence, minutes=18)
    plan = (replace(step, state=StepState.PENDING, attempt=0) if step.step == "drain" else step for step in made.plan)
    return replace(made, plan=tuple(plan))


def _failed(gallery: Gallery, number: int, evidence: str) -> Operation:
    made = _opened(gallery, number, evidence, 95)
    place = [planned.step for planned in made.plan].index("diagnose")
    before = _done(gallery, made.plan[:place])
    failed = replace(made.plan[place], state=StepState.FAILED, attempt=2, reason="Memory test failed on GPU 7.")
    rest = tuple(replace(step, state=StepState.SKIPPED) for step in made.plan[place + 1 :])
    return replace(made, plan=(*before, failed, *rest), ladder=("reset", "ticket"))


def _on_rung(gallery: Gallery, number: int, rung: str, step: str, evidence: str) -> Operation:
    tried = _failed(gallery, number, evidence)
    before = repair.cut_short(tried.plan)
    steps = repair.rung_steps(rung, before)
    place = [planned.step for planned in steps].index(step)
    now = replace(steps[place], state=StepState.WAITING, attempt=1, started_at=gallery.now, reason="Waits for HW-482.")
    return replace(tried, plan=(*before, *_done(gallery, steps[:place]), now, *steps[place + 1 :]))


def _put(gallery: Gallery, operation: Operation, state: State, reason: str, **other: Any) -> None:
    values = {"next_check_at": gallery.now + timedelta(minutes=12), **other} if state is not State.FINISHED else other
    told = replace(operation, state=state, reason=reason, **values)
    entries = (
        Entry(told.opened_at, "alert", f"GpuXid firing: {told.faults[0].evidence}."),
        Entry(gallery.now - timedelta(minutes=1), "sickbay", REASONS["drain"]),
        Entry(gallery.now, "ana", "Retries drain: the budget is mended."),
        Entry(gallery.now, "sickbay", reason),
    )
    history = []
    gpu = Gpu(serial=OFFENDER, uuid="GPU-5c9b0031-77aa-4b1e-9c55-0d7a4c1f0031", index=2)
    if told.node.name == "gpu-031":
        for days, node in ((0, "gpu-031"), (6, "gpu-031"), (21, "gpu-102")):
            at = gallery.now - timedelta(days=days, hours=1)
            fault = replace(told.faults[0], gpu=gpu, node=node, at=at)
            history.append(row_of(fault, class_=XidClass.RESET, operation=told.id))
        application = replace(told.faults[0], gpu=gpu, code="xid-31", evidence="Xid 31: page fault")
        history.append(row_of(application, class_=XidClass.APPLICATION))
    else:
        history.append(row_of(told.faults[0], class_=XidClass.RESET, operation=told.id))
    change = Change(
        operation=told,
        expected_version=0,
        now=gallery.now,
        entries=entries,
        history=tuple(row for row in history if row is not None),
    )
    assert isinstance(gallery.store.operations.commit(change), Committed)
