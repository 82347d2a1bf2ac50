"""What runs inside the pods: how long it takes, what it prints, how it ends, and how it takes a SIGTERM.

The kubelet picks a program by the pod's command and labels. All times are simulated seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from simulator.clock import Durations
from simulator.hardware import Machine
from simulator.nvidia_smi import inventory, reset
from simulator.tools import benchmark, diagnose

Object = dict[str, Any]
FOREVER = float("inf")


def _silence(_ran_s: float) -> list[str]:
    return []


def _nothing() -> tuple[str, int]:
    return "", 0


@dataclass(slots=True, kw_only=True)
class Program:
    """One container's main program."""

    starts_s: float
    runs_s: float = FOREVER  # until it ends by itself
    stops_s: float = 2.0  # from SIGTERM until it ends
    ready_s: float = 0.0  # from its start until the readiness probe passes
    prints: Callable[[float], list[str]] = _silence  # its log after so many seconds
    ends: Callable[[], tuple[str, int]] = _nothing  # what it prints last, and its exit code
    started: Callable[[], object] = lambda: None
    stopped: Callable[[float, bool], object] = lambda _ran_s, _whole: None  # ran so long; had time to stop as it wanted
    reboots: bool = False  # the machine goes down when it has ended
    holds_gpus: bool = False  # keeps every GPU open while it runs, whether it asked for one or not
    vanishes: bool = False  # somebody deletes its Job before it is read
    refuses: Callable[[], str] = lambda: ""  # why it cannot start now, as a container's waiting reason


@dataclass(slots=True)
class Storage:
    """The shared file system, which outlives pods: the training step of each saved checkpoint."""

    checkpoints: dict[str, int] = field(default_factory=dict)


def program_of(pod: Object, machine: Machine, storage: Storage, times: Durations) -> Program:
    """The program that this pod runs on this machine."""
    argv = " ".join(
        word
        for container in pod["spec"]["containers"]
        for word in (*(container.get("command") or ()), *(container.get("args") or ()))
    )
    for words, make in _TOOLS:
        if words in argv:
            return make(machine, times, argv)
    labels = pod["metadata"].get("labels") or {}
    make_workload = _WORKLOADS.get(labels.get("app", ""))
    if make_workload is not None:
        return make_workload(pod, machine, storage, times)
    if pod["spec"].get("restartPolicy") == "Never":
        return Program(starts_s=times.node_job_start, runs_s=1.0)
    return Program(starts_s=times.pod_start, stops_s=times.pod_stop)


def _diagnosis(machine: Machine, times: Durations, _argv: str) -> Program:
    behaviours = machine.behaviours

    def started() -> None:
        """The stress of the test itself: programs that are ended, or a card that gets hot."""
        if behaviours.stress == "xids":
            machine.raise_xid(behaviours.gpu, 43)
            machine.raise_xid(behaviours.gpu, 45, cause=43, beside=True)
        machine.hot = behaviours.stress == "thermal"

    def ends() -> tuple[str, int]:
        machine.hot = False
        return diagnose(machine)

    return Program(
        starts_s=times.node_job_start,
        runs_s=FOREVER if behaviours.diagnosis == "hang" else times.diagnose,
        started=started,
        ends=ends,
        holds_gpus=True,
        vanishes=behaviours.diagnosis == "vanish",
    )


def _bandwidth(machine: Machine, times: Durations, _argv: str) -> Program:
    hangs = machine.behaviours.bandwidth == "hang"
    runs_s = FOREVER if hangs else times.benchmark
    return Program(starts_s=times.node_job_start, runs_s=runs_s, ends=lambda: benchmark(machine), holds_gpus=True)


def _reboot(_machine: Machine, times: Durations, _argv: str) -> Program:
    # systemctl asks the init system and returns at once; the machine goes down some seconds later.
    line = "Broadcast message: The system will reboot now!\n"
    return Program(starts_s=times.node_job_start, runs_s=1.0, ends=lambda: (line, 0), reboots=True)


def _reset(machine: Machine, times: Durations, argv: str) -> Program:
    return Program(starts_s=times.node_job_start, runs_s=times.gpu_reset, ends=lambda: reset(machine, argv))


def _inventory(machine: Machine, times: Durations, _argv: str) -> Program:
    return Program(starts_s=times.node_job_start, runs_s=1.0, ends=lambda: inventory(machine))


def _kernel_log(machine: Machine, times: Durations, _argv: str) -> Program:
    return Program(starts_s=times.node_job_start, runs_s=1.0, ends=lambda: ("\n".join(machine.kernel) + "\n", 0))


def _training(pod: Object, _machine: Machine, storage: Storage, times: Durations) -> Program:
    """Goes on from the last checkpoint; on SIGTERM it saves one, if its grace lets it."""
    run = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    first = storage.checkpoints.get(run, 0)

    def step(ran_s: float) -> int:
        return first + int(ran_s / times.training_step)

    def prints(ran_s: float) -> list[str]:
        begun = f"resumed from checkpoint at step {first}" if first else "starting from step 0"
        now = step(ran_s)
        shown = range(max(first + 1, now - 5), now + 1)
        return [begun, *(f"step {one} | loss {2.4 / (1 + one / 900):.4f} | 3942 tok/s/GPU" for one in shown)]

    def stopped(ran_s: float, whole: bool) -> None:  # noqa: FBT001 - the signature is Program's
        if whole:
            storage.checkpoints[run] = step(ran_s)

    return Program(starts_s=times.pod_start, stops_s=times.checkpoint, prints=prints, stopped=stopped)


def _inference(_pod: Object, _machine: Machine, _storage: Storage, times: Durations) -> Program:
    def prints(ran_s: float) -> list[str]:
        loaded = ran_s >= times.model_load
        return ["Loading model weights", *(["Application startup complete."] if loaded else [])]

    return Program(starts_s=times.pod_start, stops_s=20.0, ready_s=times.model_load, prints=prints)


def _embedding(_pod: Object, _machine: Machine, _storage: Storage, times: Durations) -> Program:
    return Program(starts_s=times.pod_start, runs_s=times.embed, ends=lambda: ("embedded 1200000 documents\n", 0))


def _driver(_pod: Object, machine: Machine, _storage: Storage, times: Durations) -> Program:
    return Program(starts_s=times.operand_start, refuses=lambda: "" if machine.driver_loaded else "CrashLoopBackOff")


def _operand(started: Callable[[Machine], object]) -> Workload:
    """One of those that hold the GPUs open, and wait for the driver before they start."""

    def make(_pod: Object, machine: Machine, _storage: Storage, times: Durations) -> Program:
        return Program(
            starts_s=times.operand_start,
            started=lambda: started(machine),
            holds_gpus=True,
            refuses=lambda: "" if machine.driver_loaded else "PodInitializing",
        )

    return make


Workload = Callable[[Object, Machine, Storage, Durations], Program]
_TOOLS: tuple[tuple[str, Callable[[Machine, Durations, str], Program]], ...] = (
    ("nvidia-smi --gpu-reset", _reset),
    ("nvidia-smi --query-gpu", _inventory),
    ("dcgmi diag", _diagnosis),
    ("all_reduce_perf", _bandwidth),
    ("systemctl reboot", _reboot),
    ("dmesg", _kernel_log),
    ("journalctl", _kernel_log),
)
_WORKLOADS: dict[str, Workload] = {
    "llama-ft": _training,
    "vllm-chat": _inference,
    "embed": _embedding,
    "nvidia-driver-daemonset": _driver,
    "nvidia-device-plugin-daemonset": _operand(Machine.restart_plugin),
    "nvidia-dcgm-exporter": _operand(Machine.restart_exporter),
    "nvidia-dcgm": _operand(lambda _machine: None),
    "gpu-feature-discovery": _operand(lambda _machine: None),
}
