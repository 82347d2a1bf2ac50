"""The ways in which a person may break the cluster, by name: for the control page, the demo's scenes and the tests.

Each is something that befalls machines, and says in a sentence what it is and what Sickbay should make of it. They
last as long as the sentence says: `until` names the mildest cure that helps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulator.hardware import Behaviours, Machine
from simulator.kernel_lines import SPARES_PROGRAMS

if TYPE_CHECKING:
    from simulator.cluster import Cluster

TAILS = 3
"""GPUs beside the one that falls off the bus whose programs are ended with it, in a burst."""


@dataclass(frozen=True, slots=True)
class Breakage:
    """`strike` lets it happen to one GPU of one machine."""

    label: str
    what: str
    then: str
    strike: Callable[[Cluster, Machine, int], None]


def hit(cluster: Cluster, machine: Machine, gpu: int, *xids: int, cause: int = 0) -> list[str]:
    """The GPU reports these Xids within one moment: kernel lines (returned), dying programs, node status, alerts."""
    lines = []
    for place, xid in enumerate(xids):
        lines.append(machine.raise_xid(gpu, xid, cause=cause, beside=place > 0))
        if xid not in SPARES_PROGRAMS:
            cluster.kubelet.crash(machine.name, gpu, xid)
    cluster.node_keeper.look_at(machine.name)
    cluster.alerting.look_now()
    return lines


def _xids(*xids: int) -> Callable[[Cluster, Machine, int], None]:
    def strike(cluster: Cluster, machine: Machine, gpu: int) -> None:
        hit(cluster, machine, gpu, *xids)

    return strike


def _lasting(behaviours: Callable[[int], Behaviours], *xids: int) -> Callable[[Cluster, Machine, int], None]:
    """As `_xids`, on a machine that behaves so from now on."""

    def strike(cluster: Cluster, machine: Machine, gpu: int) -> None:
        machine.behaviours = behaviours(gpu)
        hit(cluster, machine, gpu, *xids)

    return strike


def _flap(cluster: Cluster, machine: Machine, gpu: int) -> None:
    cluster.alerting.flap(machine, gpu, 95, times=3)
    hit(cluster, machine, gpu, 95)


def _burst(cluster: Cluster, machine: Machine, gpu: int) -> None:
    for tail in range(1, TAILS + 1):
        machine.raise_xid((gpu + tail) % len(machine.gpus), 45, cause=79)
        cluster.kubelet.crash(machine.name, (gpu + tail) % len(machine.gpus), 45)
    hit(cluster, machine, gpu, 79, 154)


BREAKAGES: dict[str, Breakage] = {
    "fallen": Breakage(
        "falls off the bus",
        "Xid 79: the driver no longer reaches the GPU. A reboot brings it back.",
        "Cordon, drain, reboot, diagnose, benchmark, release.",
        _xids(79),
    ),
    "memory": Breakage(
        "double-bit error",
        "Xid 48 with 63: a memory row is bad, and its spare takes over at the next reset.",
        "One operation for both codes: drain, pause the operands, reset, validate, release.",
        _xids(48, 63),
    ),
    "contained": Breakage(
        "contained error",
        "Xid 94: one program dies of bad memory; the GPU goes on serving others.",
        "Wait until the node is idle: nothing is evicted. Then reset and validate.",
        _xids(94),
    ),
    "gsp": Breakage(
        "GSP timeout",
        "Xid 119: the GPU's own processor does not answer.",
        "Drain and reset; a reboot only if that does not help.",
        _xids(119),
    ),
    "lost": Breakage(
        "lost for good",
        "Xid 79, and no boot finds the GPU again: only another card helps.",
        "Reboot and power cycle bring 7 of 8 GPUs, so a ticket is opened and the node waits with the vendor.",
        _lasting(lambda gpu: Behaviours(reboot="gpu-missing", gpu=gpu, until="swap"), 79),
    ),
    "fails-diagnosis": Breakage(
        "fails diagnosis",
        "Xid 119, and a fault in memory that a reset does not clear; a reboot does.",
        "The reset's validation fails, so the next rung is taken: reboot, validate, release.",
        _lasting(lambda gpu: Behaviours(diagnosis="fail", gpu=gpu, until="reboot"), 119),
    ),
    "slow-link": Breakage(
        "slow link",
        "Xid 74: an NVLink error, after which all-reduce is 25 % slow until the power is cycled.",
        "Diagnosis passes and the benchmark does not: reset, reboot and power cycle, rung by rung.",
        _lasting(lambda gpu: Behaviours(bandwidth="slow", gpu=gpu, until="power"), 74),
    ),
    "application": Breakage(
        "program's mistake",
        "Xid 31: a program reads an address that it does not own.",
        "Note it, and touch nothing.",
        _xids(31),
    ),
    "flapping": Breakage(
        "flapping alert",
        "Xid 95, whose alert resolves and fires again three times.",
        "One operation, one reset: a resolved alert proves nothing, and a repeated one is no new fault.",
        _flap,
    ),
    "burst": Breakage(
        "burst on one node",
        "Xid 79 with 154 on this GPU, and 45 on three others.",
        "One operation by the gravest rung; 79 is named as the cause, the rest hangs on it.",
        _burst,
    ),
    "plugin": Breakage(
        "plugin keeps it out",
        "Xid 92: harmless, but the device plugin holds the GPU back until it is restarted.",
        "Restart the plugin's pod; nothing is drained.",
        _xids(92),
    ),
    "stress": Breakage(
        "diagnosis stirs alerts",
        "Xid 119, and a diagnosis whose stress raises Xid 43 and 45.",
        "The alerts of its own act open nothing: reset, validate, release.",
        _lasting(lambda gpu: Behaviours(stress="xids", gpu=gpu), 119),
    ),
    "replace": Breakage(
        "needs another machine",
        "Xid 54: the board has no auxiliary power, and the policy asks the provider for another machine.",
        "Drain, ask for another machine; cordon it when it registers, validate it, release it as replaced.",
        _xids(54),
    ),
    "unknown": Breakage(
        "unknown Xid",
        "Xid 199: a number that nobody has written down.",
        "Note it and tell; doubt never drains a node.",
        _xids(199),
    ),
}
"""Name to breakage, in the order of the page."""
