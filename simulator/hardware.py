"""The machines: eight GPUs each, their faults, and what a reset, a boot, a power cycle or a new card makes of them.

A machine is no part of Kubernetes. The kubelet runs on it, its programs read it, and a fault is injected here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, get_args
from uuid import UUID, uuid4

from simulator.kernel_lines import (
    ACTION_AFTER,
    FALLEN_OFF,
    IGNORED_BY_PLUGIN,
    LASTING,
    REMAPS_A_ROW,
    graver,
    xid_text,
)
from simulator.objects import DRIVER, GPUS, MODEL, hash_of

# Where the eight GPUs of an HGX H100 board usually sit.
BUSES = ("18", "2A", "3A", "5D", "9A", "AB", "BA", "DB")

Reset = Literal["works", "no-effect", "in-use", "impossible"]
Reboot = Literal["new-boot", "same-boot", "never-ready", "gpu-missing", "driver-crash"]
Diagnosis = Literal["pass", "fail", "skip", "hang", "garbage", "vanish"]
Bandwidth = Literal["ok", "slow", "wrong", "hang"]
Plugin = Literal["ok", "stuck"]
Stress = Literal["calm", "xids", "thermal"]
Cure = Literal["reset", "reboot", "power", "swap"]
CURES: tuple[Cure, ...] = get_args(Cure)
"""From the mildest to the gravest."""


@dataclass(slots=True)
class Gpu:
    """One card. `xid` is what the exporter's gauge shows: the last code since its start, 0 for none."""

    index: int
    serial: str  # 13 digits
    uuid: str
    xid: int = 0
    counted: tuple[int, ...] = ()  # earlier codes that the exporter's counter still shows beside the gauge
    fault: int = 0  # the Xid whose cause is still there, whatever the gauge shows; 0 for none
    on_bus: bool = True
    known: bool = True  # to the driver: it was there when the machine booted
    healthy: bool = True  # to the device plugin
    recovery_action: str = "None"  # in the words of `nvidia-smi -q`
    rows_pending: bool = False

    @property
    def bus_id(self) -> str:
        """As NVML and DCGM write it; the kernel writes `0000:5d:00`."""
        return f"00000000:{BUSES[self.index]}:00.0"

    @property
    def codes(self) -> tuple[int, ...]:
        """Every Xid that the exporter shows."""
        return tuple(dict.fromkeys(one for one in (*self.counted, self.xid) if one))

    def suffer(self, xid: int) -> None:
        """What the code does to the card itself."""
        self.recovery_action = graver(self.recovery_action, ACTION_AFTER.get(xid, "None"))
        self.rows_pending = self.rows_pending or xid == REMAPS_A_ROW
        self.on_bus = self.on_bus and xid != FALLEN_OFF
        if xid in ACTION_AFTER or xid in LASTING:
            self.fault = xid

    def renew(self) -> None:
        """Another card of the same model is in its place."""
        self.serial = str(int(self.serial) + 10_000_000_000)
        self.uuid = f"GPU-{UUID(int=hash_of(self.serial) * 2**64 + hash_of(self.uuid))}"
        self.fault = 0

    def heal(self) -> None:
        """The driver has set the card up afresh."""
        self.fault, self.recovery_action, self.rows_pending = 0, "None", False


@dataclass(slots=True)
class Behaviours:
    """How this machine answers the next repair: set by tests and demos. `gpu` is the card they are about.

    They stay as they are set; with `until` they are those of a well machine again after a cure of that gravity.
    """

    reset: Reset = "works"
    reboot: Reboot = "new-boot"
    diagnosis: Diagnosis = "pass"
    bandwidth: Bandwidth = "ok"
    plugin: Plugin = "ok"  # stuck: it takes a GPU as unhealthy after any Xid, until it starts afresh
    stress: Stress = "calm"  # what a diagnosis provokes by itself
    gpu: int = 0
    until: Cure | Literal[""] = ""

    def outlast(self, cure: Cure) -> bool:
        """Whether a cure of this gravity leaves things as they are."""
        return bool(self.until) and CURES.index(cure) < CURES.index(self.until)


@dataclass(slots=True)
class Machine:
    """One server. All methods may be called from any thread."""

    name: str
    gpus: list[Gpu]
    driver: str = DRIVER
    boot_id: str = field(default_factory=lambda: str(uuid4()))
    boots: int = 1
    up: bool = True
    powered: bool = True
    driver_loaded: bool = True
    hot: bool = False  # the stress of a diagnosis has made it throttle
    behaviours: Behaviours = field(default_factory=Behaviours)
    kernel: list[str] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    holders: Callable[[int], list[str]] = lambda _gpu: []  # set by the kubelet: which programs hold a GPU open

    def raise_xid(self, gpu: int, xid: int, *, cause: int = 0, beside: bool = False) -> str:
        """The GPU reports this Xid: the kernel line (returned), the gauge, and its health follow.

        Args:
            gpu: its index.
            xid: the code.
            cause: the earlier Xid that the line names as its cause.
            beside: whether the exporter goes on showing the code before it too.
        """
        with self.lock:
            card = self.gpus[gpu]
            card.suffer(xid)
            text = xid_text(xid, action=card.recovery_action, cause=cause)
            at = datetime.now(UTC).strftime("%b %d %H:%M:%S")
            who = "pid='<unknown>', name=<unknown>"
            line = f"{at} {self.name} kernel: NVRM: Xid (PCI:0000:{BUSES[gpu].lower()}:00): {xid}, {who}, {text}"
            self.kernel.append(line)
            card.counted = (*card.counted, card.xid) if beside else ()
            card.xid = xid
            if xid not in IGNORED_BY_PLUGIN or self.behaviours.plugin == "stuck":
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
                card.xid, card.counted = 0, ()

    def shut_down(self, *, power: bool = True) -> None:
        """The kernel is gone: nothing on the machine answers. Without power only its BMC is left."""
        with self.lock:
            self.up, self.powered = False, power

    def boot(self, cure: Cure = "reboot") -> bool:
        """Boots as its behaviour says; returns whether the kubelet comes up."""
        with self.lock:
            self.powered = True
            self._cure(cure)
            behaviours = self.behaviours
            if behaviours.reboot == "never-ready":
                return False
            if behaviours.reboot != "same-boot" or cure != "reboot":
                self.boot_id = str(uuid4())
                self.boots += 1
                self.kernel.clear()
            self.driver_loaded = behaviours.reboot != "driver-crash"
            self.hot = False
            self.restart_exporter()
            for card in self.gpus:
                card.on_bus = not (behaviours.reboot == "gpu-missing" and card.index == behaviours.gpu)
                card.known = card.on_bus
            self.restart_plugin()
            self.up = True
            return True

    def reset(self, gpus: list[Gpu]) -> None:
        """These cards are reset; the exporter's gauge and the plugin's opinion stay until those start afresh."""
        with self.lock:
            if self.behaviours.reset != "no-effect":
                self._cure("reset", gpus)

    def swap(self, gpu: int, *, same: bool = False) -> Gpu:
        """Another card sits in that place from now on, with another serial and UUID; `same` puts the old one back."""
        with self.lock:
            card = self.gpus[gpu]
            if not same:
                card.renew()
            if self.behaviours.gpu == gpu:
                self.behaviours = Behaviours()
            card.heal()
            card.xid, card.counted, card.on_bus, card.known, card.healthy = 0, (), True, True, True
            return card

    def replace(self) -> None:
        """Another machine with other cards has the name from now on, and boots for the first time."""
        with self.lock:
            for card in self.gpus:
                card.renew()
            self.behaviours = Behaviours()
            self.boot("power")

    def allocatable(self) -> int:
        """How many GPUs the device plugin offers."""
        with self.lock:
            return sum(card.healthy for card in self.gpus) if self.driver_loaded else 0

    def seen(self) -> list[Gpu]:
        """The GPUs that are on the bus: what NVML, DCGM and the exporter can see."""
        with self.lock:
            return [card for card in self.gpus if card.on_bus and self.driver_loaded]

    def _cure(self, cure: Cure, gpus: list[Gpu] | None = None) -> None:
        """Heals the cards (all of them), and ends behaviours that last until such a cure of their card."""
        cards = self.gpus if gpus is None else gpus
        for card in cards:
            if card.fault not in LASTING:
                card.heal()
        is_theirs = any(card.index == self.behaviours.gpu for card in cards)
        if is_theirs and self.behaviours.until and not self.behaviours.outlast(cure):
            self.behaviours = Behaviours()


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
