"""The steps that plans are made of: one file each, and one line here."""

from __future__ import annotations

from typing import Any

from workers.step import Step
from workers.steps.await_idle import AwaitIdle
from workers.steps.await_ticket import AwaitTicket
from workers.steps.benchmark import Benchmark
from workers.steps.cordon import Cordon
from workers.steps.diagnose import Diagnose
from workers.steps.drain import Drain
from workers.steps.evidence import Evidence
from workers.steps.inventory import Inventory
from workers.steps.open_ticket import TicketOpening
from workers.steps.pause_operands import PauseOperands
from workers.steps.power_cycle import PowerCycle
from workers.steps.reboot import Reboot
from workers.steps.recovery_check import RecoveryCheck
from workers.steps.release import Release
from workers.steps.replace import Replace
from workers.steps.reset import Reset
from workers.steps.restart_plugin import RestartPlugin
from workers.steps.restore_operands import RestoreOperands

STEPS: dict[str, Step[Any]] = {
    "await-idle": AwaitIdle(),
    "cordon": Cordon(),
    "evidence": Evidence(),
    "drain": Drain(),
    "recovery-check": RecoveryCheck(),
    "restart-plugin": RestartPlugin(),
    "pause-operands": PauseOperands(),
    "reset": Reset(),
    "restore-operands": RestoreOperands(),
    "reboot": Reboot(),
    "power-cycle": PowerCycle(),
    "replace": Replace(),
    "open-ticket": TicketOpening(),
    "await-ticket": AwaitTicket(),
    "inventory": Inventory(),
    "diagnose": Diagnose(),
    "benchmark": Benchmark(),
    "release": Release(),
}
