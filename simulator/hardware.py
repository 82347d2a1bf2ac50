"""The machines: eight GPUs each, their faults, the kernel log, and what a reboot makes of it all.

A machine is no part of Kubernetes. The kubelet runs on it, its programs read it, and a fault is injected here.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID, uuid4

from simulator.objects import DRIVER, GPUS, MODEL, hash_of

# Where the eight GPUs of an HGX H100 board usually sit.
BUSES = ("18", "2A", "3A", "5D", "9A", "AB", "BA", "DB")

# Xids after which the device plugin keeps a GPU healthy; any other marks it unhealthy until the plugin restarts.
# Source: NVIDIA/k8s-device-plugin, internal/rm/health.go.
IGNORED_BY_PLUGIN = frozenset({13, 31, 43, 45, 68, 109})

# The error message that dcgm-exporter puts beside the code, and the kernel's words.
XID_TEXTS: dict[int, tuple[str, str]] = {
    13: ("Graphics Engine Exception", "Graphics SM Warp Exception on (GPC 9, TPC 1, SM 1): Out Of Range Address"),
    31: (
        "GPU memory page fault",
        (
            "Ch 00000007, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_6 faulted @ 0x7f5a_e7504000. "
            "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"
        ),
    ),
    43: ("GPU stopped processing", "Ch 00000018"),
    45: ("Preemptive cleanup, due to previous errors", "Ch 0000000b"),
    48: (
        "Double Bit ECC Error",
        (
            "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer at partition 4, "
            "subpartition 1"
        ),
    ),
    63: (
        "ECC page retirement or row remapping recording event",
        "Row Remapper: New row (0x00000002eebc4100) marked for remapping, reset gpu to activate.",
    ),
    64: (
        "ECC page retirement or row remapper recording failure",
        "Row Remapper Error: (0x00000002eebc4100) - All reserved rows for bank are remapped",
    ),
    74: ("NVLINK Error", "NVLink: fatal error detected on link 2(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"),
    79: ("GPU has fallen off the bus", "GPU has fallen off the bus."),
    94: ("Contained ECC error", "Contained: SM (0x1). RST: No, D-RST: No"),
    95: ("Uncontained ECC error", "Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No"),
    119: (
        "GSP RPC timeout",
        "Timeout after 45s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL).",
    ),
}

Reboot = Literal["new-boot", "same-boot", "never-ready", "gpu-missing"]
Diagnosis = Literal["pass", "fail", "skip", "hang", "garbage", "vanish"]
Bandwidth = Literal["ok", "slow", "wrong", "hang"]


@dataclass(slots=True)
class Gpu:
    """One card. `xid` is what the exporter's gauge shows: the last code since its start, 0 for none."""

    index: int
    serial: str  # 13 digits
    uuid: str
    xid: int = 0
    on_bus: bool = True
    healthy: bool = True  # to the device plugin

    @property
    def bus_id(self) -> str:
        """As NVML and DCGM write it; the kernel writes `0000:5d:00`."""
        return f"00000000:{BUSES[self.index]}:00.0"


@dataclass(slots=True)
class Behaviours:
    """How this machine answers the next repair: set by tests and demos. `gpu` is the card they are about."""

    reboot: Reboot = "new-boot"
    diagnosis: Diagnosis = "pass"
    bandwidth: Bandwidth = "ok"
    gpu: int = 0


@dataclass(slots=True)
class Machine:
    """One server. All methods may be called from any thread."""

    name: str
    gpus: list[Gpu]
    driver: str = DRIVER
    boot_id: str = field(default_factory=lambda: str(uuid4()))
    boots: int = 1
    up: bool = True
    behaviours: Behaviours = field(default_factory=Behaviours)
    kernel: list[str] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def raise_xid(self, gpu: int, xid: int) -> str:
        """The GPU reports this Xid: the kernel line (returned), the gauge, and its health follow."""
        with self.lock:
            card = self.gpus[gpu]
            bus = BUSES[gpu].lower()
            _, text = XID_TEXTS.get(xid, ("Unknown Error", "00000000 00000000"))
            at = datetime.now(UTC).strftime("%b %d %H:%M:%S")
            who = "pid='<unknown>', name=<unknown>"
            line = f"{at} {self.name} kernel: NVRM: Xid (PCI:0000:{bus}:00): {xid}, {who}, {text}"
            self.kernel.append(line)
            card.xid = xid
            if xid == 79:
                card.on_bus = False
            if xid not in IGNORED_BY_PLUGIN:
                card.healthy = False
            return line

    def restart_plugin(self) -> None:
        """The device plugin starts afresh: it takes every GPU that is on the bus as healthy."""
        with self.lock:
            for card in self.gpus:
                card.healthy = card.on_bus

    def restart_exporter(self) -> None:
        """The gauge of each GPU begins at 0 again."""
        with self.lock:
            for card in self.gpus:
                card.xid = 0

    def shut_down(self) -> None:
        """The kernel is gone: nothing on the machine answers."""
        with self.lock:
            self.up = False

    def boot(self) -> bool:
        """Boots as its behaviour says; returns whether the kubelet comes up."""
        with self.lock:
            if self.behaviours.reboot == "never-ready":
                return False
            if self.behaviours.reboot != "same-boot":
                self.boot_id = str(uuid4())
                self.boots += 1
                self.kernel.clear()
            for card in self.gpus:
                card.xid = 0
                card.on_bus = not (self.behaviours.reboot == "gpu-missing" and card.index == self.behaviours.gpu)
                card.healthy = card.on_bus
            self.up = True
            return True

    def allocatable(self) -> int:
        """How many GPUs the device plugin offers."""
        with self.lock:
            return sum(card.healthy for card in self.gpus)

    def seen(self) -> list[Gpu]:
        """The GPUs that are on the bus: what NVML, DCGM and the exporter can see."""
        with self.lock:
            return [card for card in self.gpus if card.on_bus]


def machine(name: str, gpus: int = GPUS) -> Machine:
    """A healthy machine; serials and UUIDs follow from its name, so that they are the same in every run."""
    seed = hash_of(name)
    cards = [
        Gpu(
            index=index,
            serial=str(1650_000_000_000 + seed % 900_000_00 * 10 + index),
            uuid=f"GPU-{UUID(int=(seed * 7919 + index * 104729) * 2**64 + seed % 2**64 & 2**128 - 1)}",
        )
        for index in range(gpus)
    ]
    return Machine(name, cards)


__all__ = ["MODEL", "Behaviours", "Gpu", "Machine", "machine"]
