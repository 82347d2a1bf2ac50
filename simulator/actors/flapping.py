"""Alerts that resolve and fire again: a gauge that goes to 0 when its alert was told, and back when its end was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simulator.hardware import Machine


@dataclass(slots=True)
class Flap:
    """One GPU's code that comes back `times` more."""

    machine: Machine
    gpu: int
    xid: int
    times: int

    def look(self, told: Mapping[tuple[str, str, str], str]) -> bool:
        """Goes on by what was last told of the alert (node, GPU, code → status); returns whether it is over.

        A machine that is down, or a GPU that shows another code, ends it: what flaps is the alert, not the hardware.
        """
        card = self.machine.gpus[self.gpu]
        if not self.machine.up or card.xid not in (0, self.xid):
            return True
        last = told.get((self.machine.name, str(self.gpu), str(self.xid)))
        if last == "firing" and card.xid:
            if self.times == 0:
                return True
            card.xid = 0
        elif last == "resolved" and not card.xid:
            self.times -= 1
            card.xid = self.xid
        return False
