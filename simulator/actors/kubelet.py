"""The kubelets of all nodes: they register the machines, run the pods bound to them, and go down and up with them.

A pod that is deleted gets SIGTERM and may use the whole of its grace before it is killed; it leaves the cluster when
it has ended. What runs inside a pod is `simulator.programs`; the nodes themselves are `kubelet_nodes`.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simulator.actors import pod_status
from simulator.actors.actor import Actor
from simulator.actors.client import ApiClient
from simulator.actors.kubelet_logs import LogServer
from simulator.actors.kubelet_runs import Run
from simulator.actors.view import ClusterView, Key, controller_of, key_of
from simulator.clock import Clock
from simulator.hardware import Machine
from simulator.objects import address_of
from simulator.programs import Storage, program_of

Object = dict[str, Any]
_KILLED = False  # to a program: it had no time to stop as it wanted
_TERMINATED, _SHOT = 143, 137  # exit codes after SIGTERM and SIGKILL
BACKOFF_S = 10.0  # until a container that crashed is started again, at first


class Kubelet:
    """Runs the pods of `machines`. `unready` names pods (namespace, app) whose probes fail, except on one node."""

    def __init__(
        self,
        api: ApiClient,
        view: ClusterView,
        machines: dict[str, Machine],
        clock: Clock,
        tls: tuple[Path, Path] | None = None,
    ) -> None:
        self._api = api
        self._view = view
        self.machines = machines
        self._clock = clock
        self.storage = Storage()
        self.unready: dict[tuple[str, str], str] = {}
        self._runs: dict[Key, Run] = {}
        self._lock = threading.RLock()
        self.actor = Actor("kubelet", self._look)
        self.logs = LogServer(self._read_log, tls=tls)
        self.power_off: Callable[[str], None] = lambda _node: None  # set by the nodes: this machine reboots
        self.node_changed: Callable[[str], None] = lambda _node: None  # set by the nodes: its status may be stale
        for machine in machines.values():
            machine.holders = functools.partial(self._holders, machine.name)
        view.listen("pods", lambda _event, _before, pod: self._tell(pod))

    def _tell(self, pod: Object) -> None:
        if pod["spec"].get("nodeName") in self.machines:
            self.actor.add(key_of(pod))

    def start(self) -> None:
        """Begins to serve logs and to run pods."""
        self.logs.start()
        self.actor.start()

    def stop(self) -> None:
        """Stops both."""
        self.actor.stop()
        self.logs.stop()
        self.actor.join()

    def runs_on(self, node: str) -> list[Run]:
        """The pods that this machine knows."""
        with self._lock:
            return [run for run in self._runs.values() if run.node == node]

    def _holders(self, node: str, gpu: int) -> list[str]:
        """The pods whose programs hold this GPU open."""
        alive = [run for run in self.runs_on(node) if run.state in ("running", "stopping")]
        return ["/".join(run.key) for run in alive if gpu in run.gpus or run.program.holds_gpus]

    def lose_power(self, node: str) -> None:
        """Every program on the machine ends without a signal; the pods stay as the API server last saw them."""
        for run in self.runs_on(node):
            if run.state in ("running", "stopping"):
                run.program.stopped(run.ran_s(self._clock.speed), _KILLED)
            if run.state != "over":
                run.state, run.restarts = "backoff", run.restarts + 1
                run.at = time.monotonic()

    def look_at_node(self, node: str) -> None:
        """The machine came up, or something about it changed: looks at each of its pods."""
        for pod in self._view.pods_on(node):
            self.actor.add(key_of(pod))

    def fail_probes(self, namespace: str, app: str, spared: str | None) -> None:
        """The readiness probes of these pods fail on every node but `spared`; None lets them pass again."""
        if spared is None:
            self.unready.pop((namespace, app), None)
        else:
            self.unready[namespace, app] = spared
        for pod in self._view.all("pods"):
            self._tell(pod)

    def crash(self, node: str, gpu: int, xid: int) -> None:
        """The programs that use this GPU die of it."""
        for run in self.runs_on(node):
            if gpu in run.gpus and run.state == "running":
                run.printed.append(f"CUDA error: unspecified launch failure (GPU {gpu}, Xid {xid})")
                run.program.ends = lambda: ("", 1)
                run.at = 0.0
                self.actor.add(run.key)

    def _look(self, key: Key) -> None:
        pod = self._view.get("pods", key)
        run = self._runs.get(key)
        if run is not None and (pod is None or pod["metadata"]["uid"] != run.uid):
            self._forget(run)
            run = None
        if pod is None:
            return
        machine = self.machines.get(pod["spec"].get("nodeName", ""))
        if machine is None or not machine.up:
            return
        if "deletionTimestamp" in pod["metadata"]:
            self._stop(pod, run)
        elif run is None:
            self._take(pod, machine)
        elif run.state != "over":
            self._go_on(pod, run, machine)

    def _take(self, pod: Object, machine: Machine) -> None:
        if pod_status.is_over(pod):
            return
        asked = pod_status.gpus_of(pod)
        used = {gpu for run in self.runs_on(machine.name) if run.state != "over" for gpu in run.gpus}
        free = [card.index for card in machine.gpus if card.healthy and card.index not in used]
        if asked > len(free):
            text = "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
            text += f"Requested: {asked}, Available: {len(free)}, which is unexpected"
            self._write(pod, pod_status.refused("UnexpectedAdmissionError", text))
            return
        program = program_of(pod, machine, self.storage, self._clock.durations)
        at = time.monotonic() + self._clock.real(program.starts_s)
        run = Run(key_of(pod), pod["metadata"]["uid"], machine.name, program, tuple(free[:asked]), "starting", at)
        if (pod.get("status") or {}).get("phase") == "Running":
            run.restarts = 1  # it ran before this kubelet knew it
        with self._lock:
            self._runs[run.key] = run
        self.actor.add(run.key, at - time.monotonic())

    def _go_on(self, pod: Object, run: Run, machine: Machine) -> None:
        now = time.monotonic()
        if run.state in ("starting", "backoff") and now >= run.at:
            self._begin(pod, run, machine)
        elif run.state == "running" and now >= run.at:
            self._end(pod, run)
        elif run.state == "running":
            self._probe(pod, run)
        if run.state != "over":
            self.actor.add(run.key, max(0.0, run.at - time.monotonic()) if run.at < float("inf") else 3600.0)

    def _begin(self, pod: Object, run: Run, machine: Machine) -> None:
        if run.restarts and pod["spec"].get("restartPolicy") == "Never":
            run.state = "over"
            self._write(pod, pod_status.ended(pod, 255, run.started or pod_status.now(), run.restarts))
            return
        lost = any(not machine.gpus[gpu].on_bus for gpu in run.gpus)
        if reason := "CrashLoopBackOff" if lost else run.program.refuses():
            run.state, run.restarts = "backoff", run.restarts + (reason == "CrashLoopBackOff")
            run.at = time.monotonic() + self._clock.real(min(BACKOFF_S * 2**run.restarts, 300.0))
            self._write(pod, pod_status.waiting(pod, reason, run.restarts))
            return
        run.program = program_of(pod, machine, self.storage, self._clock.durations)
        run.program.started()
        run.state, run.began, run.started = "running", time.monotonic(), pod_status.now()
        run.at = run.began + self._clock.real(run.program.runs_s)
        self.node_changed(run.node)  # the device plugin may have started afresh
        run.ready = self._passes(pod, run)
        self._write_running(pod, run)
        self._wait_until_ready(run)

    def _probe(self, pod: Object, run: Run) -> None:
        ready = self._passes(pod, run)
        if ready != run.ready:
            run.ready = ready
            self._write_running(pod, run)
        self._wait_until_ready(run)

    def _wait_until_ready(self, run: Run) -> None:
        left = run.program.ready_s - run.ran_s(self._clock.speed)
        if not run.ready and left > 0:
            self.actor.add(run.key, self._clock.real(left))

    def _passes(self, pod: Object, run: Run) -> bool:
        app = (pod["metadata"].get("labels") or {}).get("app", "")
        spared = self.unready.get((run.key[0], app))
        return run.ran_s(self._clock.speed) >= run.program.ready_s and (spared is None or spared == run.node)

    def _end(self, pod: Object, run: Run) -> None:
        text, code = run.program.ends()
        self.node_changed(run.node)  # a reset may have changed what it offers
        if run.program.vanishes and (owner := controller_of(pod)):
            run.state = "over"
            self._api.delete("jobs", run.key[0], owner["name"], propagationPolicy="Background")
            return
        run.printed.append(text)
        if pod["spec"].get("restartPolicy") == "Always":
            run.program.stopped(run.ran_s(self._clock.speed), _KILLED)
            run.state, run.restarts = "backoff", run.restarts + 1
            run.at = time.monotonic() + self._clock.real(BACKOFF_S)
            self._write(pod, pod_status.waiting(pod, "CrashLoopBackOff", run.restarts))
            return
        run.state = "over"
        self._write(pod, pod_status.ended(pod, code, run.started, run.restarts))
        if run.program.reboots:
            self.power_off(run.node)

    def _stop(self, pod: Object, run: Run | None) -> None:
        """SIGTERM at the first look, SIGKILL when the grace is over, gone when it has ended."""
        now = time.monotonic()
        if run is not None and run.state == "running":
            grace = self._clock.real(pod["metadata"].get("deletionGracePeriodSeconds", 30))
            wants = self._clock.real(run.program.stops_s)
            run.state, run.whole = "stopping", wants <= grace
            run.at = now + min(wants, grace)
            run.printed.append("received SIGTERM")
            run.ready = False
            self._write_running(pod, run)
        if run is not None and run.state == "stopping":
            if now < run.at:
                self.actor.add(run.key, run.at - now)
                return
            run.program.stopped(run.ran_s(self._clock.speed), run.whole)
            # How it ended is told before it is gone: a Job counts its pods by it.
            self._write(pod, pod_status.ended(pod, _TERMINATED if run.whole else _SHOT, run.started, run.restarts))
        if run is not None:
            run.state = "over"
        uid = {"uid": pod["metadata"]["uid"]}
        self._api.delete("pods", *key_of(pod), gracePeriodSeconds=0, preconditions=uid)

    def _forget(self, run: Run) -> None:
        with self._lock:
            self._runs.pop(run.key, None)
        if run.state == "running":
            run.program.stopped(run.ran_s(self._clock.speed), _KILLED)

    def _write_running(self, pod: Object, run: Run) -> None:
        host = address_of(run.node)
        status = pod_status.running(pod, host, run.started, ready=run.ready, restarts=run.restarts)
        self._write(pod, status)

    def _write(self, pod: Object, status: Object) -> None:
        change = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
        self._api.patch("pods", *key_of(pod), change, status=True)

    def gpus_of(self, key: Key) -> list[int]:
        """The GPUs that the pod was given on its node, by index."""
        run = self._runs.get(key)
        return list(run.gpus) if run is not None and run.state != "over" else []

    def last_line(self, key: Key) -> str:
        """The last line of a pod's log, for a live view; empty where there is none."""
        code, text = self._read_log(*key)
        lines = text.splitlines() if code == 200 else []
        return lines[-1][:200] if lines else ""

    def _read_log(self, namespace: str, name: str) -> tuple[int, str]:
        run = self._runs.get((namespace, name))
        if run is None or run.state == "starting":
            return 400, f'container "main" in pod "{name}" is waiting to start: ContainerCreating'
        if not self.machines[run.node].up:
            return 0, ""
        return 200, run.log(self._clock.speed)
