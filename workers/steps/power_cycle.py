"""Power-cycle: off and on by what feeds the machine, when its own reboot did not help or never came back."""

from __future__ import annotations

from typing import ClassVar

from app.domain.effects import CyclePower
from app.domain.facts import NodeView
from app.domain.operations import Operation
from app.domain.policies import Policy
from workers.booting import Boot, Booting
from workers.step import current, node_job_name


class PowerCycle(Booting):
    """Sent under one key a try, by which the power backend knows a repetition; so a lost answer is sent again."""

    name: ClassVar[str] = "power-cycle"
    done: ClassVar[str] = "Power-cycled"

    def request(self, operation: Operation, node: NodeView, policy: Policy) -> CyclePower:
        """The call, keyed by operation, step and try."""
        return CyclePower(key=node_job_name(operation), node=node.name)

    def is_lost(self, operation: Operation, facts: Boot) -> bool:
        """No answer was noted: the backend does it once for a key, however often it is asked."""
        return "sent" not in current(operation).memo
