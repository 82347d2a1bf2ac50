"""The kubelets' nodes: registering them, keeping their status true, and a reboot from SIGTERM to Ready."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal

from simulator.actors.actor import Actor, Party
from simulator.actors.client import ApiClient, ApiRefused
from simulator.actors.kubelet import Kubelet
from simulator.actors.pod_status import now
from simulator.actors.view import ClusterView
from simulator.clock import Clock
from simulator.hardware import Machine
from simulator.objects import GPU, conditions, control_plane, node, node_info

Object = dict[str, Any]


class Nodes(Party):
    """One node for each machine; a machine without GPUs is a control plane.

    `host` is where a real API server finds the kubelets, all on one; the simulated one knows.
    """

    def __init__(self, api: ApiClient, view: ClusterView, kubelet: Kubelet, clock: Clock, host: str = "") -> None:
        self._api = api
        self._view = view
        self._kubelet = kubelet
        self._machines = kubelet.machines
        self._clock = clock
        self._away: set[str] = set()  # names whose machine is gone, and the next one has not come yet
        self._host = host
        self.actor = Actor("kubelet-nodes", self._look)
        kubelet.power_off = self.reboot
        kubelet.node_changed = self.look_at

    def start(self) -> None:
        """Registers the nodes and begins to keep them."""
        self.register()
        self.actor.start()

    def look_at(self, name: str) -> None:
        """Something about the machine changed: its node's status follows."""
        self.actor.add(("status", name))

    def reboot(self, name: str) -> None:
        """The machine was told to reboot: it goes down soon, and comes up as its behaviour says."""
        self.actor.add(("down", name), self._clock.real(self._clock.durations.reboot_down))

    def power_cycle(self, name: str) -> None:
        """Its BMC cuts the power, and gives it again: no signal, no word to anybody, whatever state it was in."""
        self.actor.add(("cut", name))

    def replace(self, name: str) -> None:
        """The machine is taken away and its node deleted; after a while another one registers under the name."""
        self.actor.add(("away", name))

    def register(self, names: tuple[str, ...] = ()) -> None:
        """Creates the nodes (all, or those named) that are not there yet, as a kubelet does when it starts."""
        port = self._kubelet.logs.port
        for name in names or tuple(self._machines):
            machine = self._machines[name]
            if machine.gpus:
                wanted = node(name, boot_id=machine.boot_id, gpus=len(machine.gpus), kubelet_port=port)
            else:
                wanted = control_plane(name, boot_id=machine.boot_id, kubelet_port=port)
            wanted["status"]["conditions"] = conditions(ready=True, at=now())
            if self._host:
                wanted["status"]["addresses"].append({"type": "InternalDNS", "address": self._host})
            with suppress(ApiRefused):  # It is there: the status below makes it true.
                self._api.create("nodes", "", wanted)
            self.actor.add(("status", name))

    def _look(self, key: tuple[str, str]) -> None:
        what, name = key
        machine = self._machines[name]
        if what == "there":
            self._arrive(name, machine)
        elif name in self._away:
            return
        elif what == "away":
            self._take_away(name, machine)
        elif what == "down" and machine.up:
            self._go_down(name, machine)
        elif what == "up" and machine.powered and not machine.up:
            self._come_up(name, machine, "reboot")
        elif what == "cut":
            self._cut(name, machine)
        elif what == "on" and not machine.powered:
            self._come_up(name, machine, "power")
        elif what == "silent" and not machine.up:
            self._fall_silent(name)
        elif what == "status" and machine.up:
            self._report(name, machine)

    def _go_down(self, name: str, machine: Machine) -> None:
        # The kubelet's graceful shutdown says so before it ends.
        found = conditions(ready=False, at=now())
        found[-1]["message"] = "node is shutting down"
        self._api.patch("nodes", "", name, {"status": {"conditions": found}}, status=True)
        self._say(name, "Normal", "NodeNotReady", f"Node {name} status is now: NodeNotReady")
        machine.shut_down()
        self._kubelet.lose_power(name)
        self.actor.add(("up", name), self._clock.real(self._clock.durations.reboot))

    def _cut(self, name: str, machine: Machine) -> None:
        machine.shut_down(power=False)
        self._kubelet.lose_power(name)
        self.actor.add(("silent", name), self._clock.real(self._clock.durations.lease_grace))
        self.actor.add(("on", name), self._clock.real(self._clock.durations.power_cycle))

    def _take_away(self, name: str, machine: Machine) -> None:
        self._away.add(name)
        machine.shut_down(power=False)
        self._kubelet.lose_power(name)
        with suppress(ApiRefused):  # Somebody has deleted it already.
            self._api.delete("nodes", "", name)
        self.actor.add(("there", name), self._clock.real(self._clock.durations.another_machine))

    def _arrive(self, name: str, machine: Machine) -> None:
        machine.replace()
        self._away.discard(name)
        self.register((name,))
        self._kubelet.look_at_node(name)

    def _fall_silent(self, name: str) -> None:
        """What the node controller does when no lease is renewed; leases are not simulated, so it is done here."""
        found = [
            {**one, "status": "Unknown", "reason": "NodeStatusUnknown", "lastTransitionTime": now()}
            | {"message": "Kubelet stopped posting node status."}
            for one in conditions(ready=False, at=now())
        ]
        self._api.patch("nodes", "", name, {"status": {"conditions": found}}, status=True)

    def _come_up(self, name: str, machine: Machine, cure: Literal["reboot", "power"]) -> None:
        if not machine.boot(cure):
            return
        self._report(name, machine)
        self._say(name, "Warning", "Rebooted", f"Node {name} has been rebooted, boot id: {machine.boot_id}")
        self._kubelet.look_at_node(name)

    def _report(self, name: str, machine: Machine) -> None:
        """Brings the node's status to what the machine is; writes nothing when nothing changed."""
        known = self._api.get("nodes", "", name)
        status = known.get("status") or {}
        change: Object = {}
        ready: Object = next((one for one in status.get("conditions") or [] if one["type"] == "Ready"), {})
        if ready.get("status") != "True":
            change["conditions"] = conditions(ready=True, at=now())
        if (status.get("nodeInfo") or {}).get("bootID") != machine.boot_id:
            change["nodeInfo"] = node_info(name, machine.boot_id)
        port = {"kubeletEndpoint": {"Port": self._kubelet.logs.port}}
        if status.get("daemonEndpoints") != port:
            change["daemonEndpoints"] = port
        if machine.gpus:
            offered = str(machine.allocatable())
            if (status.get("allocatable") or {}).get(GPU) != offered:
                change["allocatable"] = {GPU: offered}
            # A GPU that falls off the bus is unhealthy to the plugin, and still counted until the next boot.
            counted = str(sum(card.known for card in machine.gpus))
            if (status.get("capacity") or {}).get(GPU) != counted:
                change["capacity"] = {GPU: counted}
            self._relabel(name, known, counted)
        if change:
            self._api.patch("nodes", "", name, {"status": change}, status=True)

    def _relabel(self, name: str, known: Object, gpus: str) -> None:
        """GPU feature discovery counts what it finds: a GPU that is missing after a boot leaves the label too."""
        if (known["metadata"].get("labels") or {}).get("nvidia.com/gpu.count", gpus) != gpus:
            self._api.patch("nodes", "", name, {"metadata": {"labels": {"nvidia.com/gpu.count": gpus}}})

    def _say(self, name: str, kind: str, reason: str, message: str) -> None:
        """An Event about the node, as the kubelet writes it: the uid of the object is the node's name."""
        at = now()
        event = {
            "metadata": {"generateName": f"{name}.", "namespace": "default"},
            "involvedObject": {"kind": "Node", "name": name, "uid": name},
            "type": kind,
            "reason": reason,
            "message": message,
            "source": {"component": "kubelet", "host": name},
            "firstTimestamp": at,
            "lastTimestamp": at,
            "count": 1,
            "reportingComponent": "kubelet",
            "reportingInstance": name,
        }
        self._api.create("events", "default", event)
