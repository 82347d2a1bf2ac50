"""Node jobs of the fake cluster: what runs is told by the argv, how it ends by the machine's behaviour.

The kubelet of the simulated cluster tells them by the same words, so that a test can move from one to the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from app.domain.effects import NodeJob
from app.domain.facts import NodeJobView
from tests.fake_world import Machine, World
from tests.tool_output import IN_USE, bandwidth, card_list, diagnosis, reset_output

POD_START = timedelta(seconds=10)
REBOOT_COMMAND = timedelta(seconds=5)
REBOOT = timedelta(minutes=6)
DIAGNOSIS = timedelta(minutes=13)
BENCHMARK = timedelta(minutes=2)
RESET = timedelta(minutes=2)
KEPT_AFTER_END = timedelta(hours=1)
ENDING = timedelta(seconds=5)
"""How long a pod takes to end that was told to."""


@dataclass
class _Running:
    job: NodeJob
    view: NodeJobView
    output: str | None = None
    deleting: bool = False


class FakeNodeJobs:
    """The port `NodeJobs`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._jobs: dict[str, _Running] = {}
        self._waiting: set[str] = set()
        self.started: list[NodeJob] = []
        """Every node job that was really created, in order."""
        self.ended: list[NodeJobView] = []
        """How each of them ended that did, with its output, in order."""

    def start(self, job: NodeJob) -> None:
        with self._world.now():
            self._world.called("start", job.name)
            self._world.note("start", job.name, changed=job.name not in self._jobs)
            if job.name in self._jobs:
                return
            view = NodeJobView(
                name=job.name,
                uid=f"job-{self._world.number()}",
                step=job.step,
                node=job.node,
                active=True,
                created_at=self._world.time,
            )
            self._jobs[job.name] = _Running(job, view)
            self.started.append(job)
            self._later(POD_START, view.uid, self._begin)
            self._later(job.deadline, view.uid, lambda uid: self._end(uid, None, None, "DeadlineExceeded"))

    def get(self, name: str) -> NodeJobView | None:
        with self._world.now():
            running = self._jobs.get(name)
            if running is None or running.deleting:
                return None
            return replace(running.view, output=running.output) if running.view.ended else running.view

    def of_operation(self, operation: str) -> tuple[NodeJobView, ...]:
        with self._world.now():
            return tuple(one.view for one in self._jobs.values() if one.job.operation == operation)

    def remove(self, name: str) -> None:
        with self._world.now():
            self._world.called("remove", name)
            running = self._jobs.get(name)
            there = running is not None and not running.deleting
            self._world.note("remove", name, changed=there)
            if running is None or not there:
                return
            running.deleting = True
            if running.view.started and not running.view.ended:
                self._later(ENDING, running.view.uid, lambda _uid: self._forget(running))
            else:
                self._forget(running)

    # What others do

    def lose(self, name: str) -> None:
        """Somebody deletes it."""
        with self._world.now():
            del self._jobs[name]

    def node_gone(self, node: str) -> None:
        """The pods of a deleted node are deleted too."""
        for running in [one for one in self._jobs.values() if one.view.node == node]:
            self._end(running.view.uid, None, None, "pod was deleted")

    # What happens by itself

    def _later(self, wait: timedelta, uid: str, act: Callable[[str], None]) -> None:
        self._world.after(wait, lambda: act(uid))

    def _by_uid(self, uid: str) -> _Running | None:
        found = next((one for one in self._jobs.values() if one.view.uid == uid), None)
        return None if found is None or found.view.ended else found

    def _begin(self, uid: str) -> None:
        running = self._by_uid(uid)
        if running is None:
            return
        node = self._world.nodes.get(running.view.node)
        machine = self._world.machines[running.view.node]
        if node is None or not node.ready:
            self._waiting.add(uid)
        elif not machine.pulls_images:
            running.view = replace(running.view, reason="ImagePullBackOff: Back-off pulling image")
        else:
            running.view = replace(running.view, started=True)
            command = " ".join(running.job.argv)
            kind = next((words for words in _KINDS if words in command), "")
            _KINDS.get(kind, FakeNodeJobs._nothing)(self, running, machine)

    def _nothing(self, running: _Running, machine: Machine) -> None:
        self._later(timedelta(seconds=1), running.view.uid, lambda uid: self._end(uid, 0, ""))

    def _diagnose(self, running: _Running, machine: Machine) -> None:
        kind = machine.diagnosis
        ends: dict[str, tuple[int, str]] = {
            "pass": (0, diagnosis(machine.serials)),
            "fail": (205, diagnosis(machine.serials, faulty=machine.faulty_gpu)),
            "skip": (0, diagnosis(machine.serials, skipped=True)),
            "silent": (0, ""),
            "garbage": (0, '{"DCGM Diagnostic":{"test_categories":[{"category":"Deployment","tests":['),
        }
        if kind == "vanish":
            self._later(DIAGNOSIS / 2, running.view.uid, lambda _uid: self._forget(running))
        elif kind != "hang":
            self._later(DIAGNOSIS, running.view.uid, lambda uid: self._end(uid, *ends[kind]))

    def _benchmark(self, running: _Running, machine: Machine) -> None:
        gpus, kind = len(machine.serials), machine.bandwidth
        ends: dict[str, tuple[int, str]] = {
            "ok": (0, bandwidth(gpus=gpus)),
            "slow": (0, bandwidth(gpus=gpus, peak=363.2)),
            "wrong": (7, bandwidth(gpus=gpus, wrong=248)),
        }
        if kind != "hang":
            self._later(BENCHMARK, running.view.uid, lambda uid: self._end(uid, *ends[kind]))

    def _reset(self, running: _Running, machine: Machine) -> None:
        uuid = running.job.argv[-1]
        ends: dict[str, tuple[int, str]] = {
            "works": (0, reset_output(uuid, "None")),
            "no-effect": (0, reset_output(uuid, "Reset")),
            "in-use": (255, IN_USE),
            "impossible": (1, "Unable to reset this GPU because it is not supported.\n"),
        }
        if machine.reset == "works":
            machine.recovery = "None"
        if machine.reset != "hang":
            self._later(RESET, running.view.uid, lambda uid: self._end(uid, *ends[machine.reset]))

    def _list_cards(self, running: _Running, machine: Machine) -> None:
        output = card_list(running.view.node, machine.serials, machine.swapped, machine.recovery)
        self._later(timedelta(seconds=5), running.view.uid, lambda uid: self._end(uid, 0, output))

    def _reboot(self, running: _Running, machine: Machine) -> None:
        if machine.reboot == "fails":
            said = "Failed to connect to bus: No such file or directory\n"
            self._later(timedelta(seconds=1), running.view.uid, lambda uid: self._end(uid, 1, said))
            return
        node = running.view.node
        self._later(timedelta(seconds=1), running.view.uid, lambda uid: self._end(uid, 0, "rebooting\n"))
        self._world.after(REBOOT_COMMAND, lambda: self._down(node))
        if machine.reboot != "never-ready":
            self._world.after(REBOOT, lambda: self._up(node, machine))

    def _down(self, node: str) -> None:
        self._world.reboots[node] += 1
        for running in [one for one in self._jobs.values() if one.view.node == node and one.view.started]:
            self._end(running.view.uid, 255, None, "Error")
        if self._world.machines[node].reboot != "quick":
            self._change(node, ready=False)

    def cycle_power(self, node: str) -> None:
        """Its power goes and comes back: what a reboot does, whatever the machine's own reboot would have done."""
        machine = self._world.machines[node]
        machine.reboot, machine.recovery = "new-boot", "None"
        self._world.after(REBOOT_COMMAND, lambda: self._down(node))
        self._world.after(REBOOT, lambda: self._up(node, machine))

    def _up(self, node: str, machine: Machine) -> None:
        if self._world.machines[node] is not machine:  # another machine took its name meanwhile
            return
        if machine.reboot != "same-boot":
            machine.boots += 1
        found = len(machine.serials) - (machine.reboot == "gpu-missing")
        boot_id = f"{node}-boot-{machine.boots}"
        offered = 0 if machine.reboot == "driver-crash-loop" else found
        self._change(node, ready=True, boot_id=boot_id, gpu_capacity=found, gpu_allocatable=offered)
        waiting, self._waiting = self._waiting, set()
        for uid in waiting:
            self._begin(uid)

    def _change(self, node: str, **changes: object) -> None:
        there = self._world.nodes.get(node)
        if there is not None:
            self._world.nodes[node] = replace(there, resource_version=str(self._world.number()), **changes)  # type: ignore[arg-type]

    def _end(self, uid: str, exit_code: int | None, output: str | None, reason: str = "") -> None:
        running = self._by_uid(uid)
        if running is None:
            return
        succeeded = exit_code == 0
        if not succeeded and not reason:
            reason = "Error"
        running.view = replace(
            running.view,
            started=running.view.started or output is None,  # its pod is gone: nobody knows, so it may have run
            active=False,
            succeeded=succeeded,
            failed=not succeeded,
            exit_code=exit_code,
            reason=reason,
        )
        running.output = output
        self.ended.append(replace(running.view, output=output))
        self._later(KEPT_AFTER_END, uid, lambda _uid: self._forget(running))

    def _forget(self, running: _Running) -> None:
        if self._jobs.get(running.job.name) is running:
            del self._jobs[running.job.name]


_KINDS: dict[str, Callable[[FakeNodeJobs, _Running, Machine], None]] = {
    "dcgmi diag": FakeNodeJobs._diagnose,
    "all_reduce_perf": FakeNodeJobs._benchmark,
    "systemctl reboot": FakeNodeJobs._reboot,
    "nvidia-smi --gpu-reset": FakeNodeJobs._reset,
    "nvidia-smi --query-gpu": FakeNodeJobs._list_cards,
}
"""Words in the argv to what then runs."""
