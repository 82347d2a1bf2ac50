"""Things to test with, each whole by default: a test names only what it is about.

Nothing here decides anything; times are counted in minutes from the opening of the operation.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from app.domain.alerts import Alert
from app.domain.facts import NodeJobView, NodeView, PodView
from app.domain.faults import Fault, Gpu
from app.domain.folding import open_repair
from app.domain.marks import cordon_patch
from app.domain.operations import NodeRef, Operation
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.policies import AlertNames, ClusterName, Ladder, Mode, NodeJobs, Policy, Pool, Rung, Validation
from app.domain.xids import Catalogue, Xid, XidClass
from app.xid_file import load_xids

ROOT = Path(__file__).parent.parent
NODE = "gpu-a01"
OPENED = datetime(2026, 9, 20, 10, 0, tzinfo=UTC)
GPU_LABEL = {"nvidia.com/gpu.present": "true"}


def at(minutes: float = 0, **more: float) -> datetime:
    """So many minutes after OPENED; `more` as timedelta takes it."""
    return OPENED + timedelta(minutes=minutes, **more)


def rungs(*names: str, **first: Any) -> Ladder:
    """A ladder of these rungs; `first` is what policy says of the first one (`when`, `deadline`, `then`)."""
    return tuple(Rung(rung=name, **(first if place == 0 else {})) for place, name in enumerate(names))


@cache
def xids() -> Catalogue:
    """The catalogue that is shipped."""
    return load_xids(ROOT / "config" / "xids.yaml")


def a_gpu(index: int | None = 3, serial: str | None = None, uuid: str | None = "GPU-0103") -> Gpu:
    return Gpu(serial=serial, uuid=uuid, index=index)


def a_fault(code: str = "xid-79", **fields: Any) -> Fault:
    given: dict[str, Any] = {"node": NODE, "gpu": a_gpu(), "at": OPENED, "source": "alert GpuXid"}
    return Fault(**{"code": code, "evidence": f"{code} on GPU 3", **given, **fields})


def an_alert(labels: dict[str, str] | None = None, **fields: Any) -> Alert:
    """Xid 79 on GPU 3 of the node; `labels` are added to those, a blank value takes one away."""
    told = {"alertname": "GpuXid", "err_code": "79", "gpu": "3", "UUID": "GPU-0103", "Hostname": NODE, **(labels or {})}
    given: dict[str, Any] = {"status": "firing", "annotations": {}, "starts_at": OPENED, "fingerprint": "f1"}
    return Alert(**{**given, "labels": {name: value for name, value in told.items() if value}, **fields})


def a_pool(**fields: Any) -> Pool:
    return Pool(**{"name": "gpu", "selector": GPU_LABEL, "mode": Mode.ACT, **fields})


def a_policy(*pools: Pool, **fields: Any) -> Policy:
    """One pool in mode act, where a reset or reboot is answered by a reboot, and an isolated GPU by a person."""
    given: dict[str, Any] = {
        "cluster": ClusterName(name="main"),
        "alerts": AlertNames(xid=("GpuXid*", "GPUXid*")),
        "own_acts": {},
        "ladders": {XidClass.RESET: rungs("reboot"), XidClass.REBOOT: rungs("reboot"), XidClass.ISOLATE: ()},
        "node_jobs": NodeJobs(host_image="host:1", diagnose_image="dcgm:1", benchmark_image="nccl:1"),
    }
    return Policy(**{**given, "pools": pools or (a_pool(validation=Validation(bandwidth_floor=400.0)),), **fields})


def a_node(name: str = NODE, **fields: Any) -> NodeView:
    """A node of the pool, Ready, with eight GPUs."""
    given: dict[str, Any] = {"uid": "uid-1", "resource_version": "7", "labels": GPU_LABEL, "boot_id": "b-111"}
    return NodeView(**{"name": name, "gpu_capacity": 8, "gpu_allocatable": 8, **given, **fields})


def patched(node: NodeView, body: dict[str, Any]) -> NodeView:
    """The node after a merge patch (RFC 7386) of the parts that are looked at here."""
    metadata, spec = body.get("metadata", {}), body.get("spec", {})
    maps: dict[str, dict[str, str]] = {}
    for part in ("labels", "annotations"):
        merged = {**getattr(node, part), **metadata.get(part, {})}
        maps[part] = {key: value for key, value in merged.items() if value is not None}
    return replace(
        node,
        labels=maps["labels"],
        annotations=maps["annotations"],
        unschedulable=spec.get("unschedulable", node.unschedulable),
    )


def cordoned(node: NodeView | None = None, operation: str = "op-1") -> NodeView:
    """The node after our cordon."""
    before = node or a_node()
    return patched(before, cordon_patch(before, operation))


def a_pod(name: str = "train-0", **fields: Any) -> PodView:
    """A running pod of a StatefulSet on the node."""
    given: dict[str, Any] = {"namespace": "ml", "uid": f"uid-{name}", "node": NODE, "controller_kind": "StatefulSet"}
    return PodView(**{"name": name, "controller_name": "train", **given, **fields})


def a_job(name: str, *, step: str = "diagnose", **fields: Any) -> NodeJobView:
    """A node job that was made at OPENED and runs."""
    given: dict[str, Any] = {"node": NODE, "active": True, "started": True, "created_at": OPENED}
    return NodeJobView(**{"name": name, "uid": f"uid-{name}", "step": step, **given, **fields})


def an_operation(
    fault: Fault | None = None, *, ladder: tuple[str, ...] | Ladder = ("reboot",), at_step: str = "", **fields: Any
) -> Operation:
    """A repair as it was opened; with `at_step` everything before the first step of that name is done, a minute each.

    A rung's name alone stands for the rung as policy has it by default.
    """
    opened, _ = open_repair(
        fault or a_fault(),
        id="op-1",
        node=NodeRef(name=NODE, uid="uid-1"),
        pool="gpu",
        ladder=tuple(Rung(rung=rung) if isinstance(rung, str) else rung for rung in ladder),
        now=OPENED,
    )
    if at_step:
        places = [place for place, step in enumerate(opened.plan) if step.step == at_step]
        done = tuple(_done(step, place) for place, step in enumerate(opened.plan[: places[0]]))
        opened = replace(opened, plan=done + opened.plan[places[0] :])
    return replace(opened, **fields)


def remembering(operation: Operation, **memo: str) -> Operation:
    """The operation whose current step was begun at OPENED and remembers this."""
    place = next(place for place, step in enumerate(operation.plan) if not step.over)
    step = operation.plan[place]
    begun = replace(step, state=StepState.RUNNING, attempt=1, started_at=OPENED, memo={**step.memo, **memo})
    return replace(operation, plan=(*operation.plan[:place], begun, *operation.plan[place + 1 :]))


def states(operation: Operation) -> dict[str, str]:
    """Step to state, for a plan in which no step stands twice."""
    return {step.step: step.state.value for step in operation.plan}


def named(plan: Iterable[PlannedStep]) -> list[str]:
    """Each step as `rung/step`, or by its name alone when every repair has it."""
    return [f"{step.rung}/{step.step}" if step.rung else step.step for step in plan]


def a_case(name: str) -> Any:
    """The content of `tests/samples/cases/<name>.json`."""
    return json.loads((ROOT / "tests" / "samples" / "cases" / f"{name}.json").read_text())


def an_xid(number: int, class_: XidClass) -> Xid:
    return Xid(number=number, name="", title="", nvidia="", class_=class_, why="")


def _done(step: PlannedStep, place: int) -> PlannedStep:
    memo = {"gpus": "8", "boot_id": "b-111", "pods": ""} if step.step == "evidence" else {}
    told = {"state": StepState.DONE, "attempt": 1, "started_at": at(place), "finished_at": at(place + 1)}
    return replace(step, memo=memo, **told)  # type: ignore[arg-type]  # one mapping of several types
