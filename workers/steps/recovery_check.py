"""Recovery-check: whether any GPU of the node still asks for a reset or a reboot, as its driver tells."""

from __future__ import annotations

from typing import ClassVar

from app.domain.card_inventory import Card, read_inventory
from app.domain.effects import NodeJob
from app.domain.facts import NodeView
from app.domain.operations import Operation
from app.domain.outcomes import Verdict
from app.domain.policies import Policy, Pool
from app.domain.timeline import counted
from workers.cards import card_list
from workers.proof import Proof, Proven, Run, expected_gpus


class Asked:
    """The cards' own words, through `nvidia-smi`."""

    def node_job(self, name: str, operation: Operation, node: NodeView, policy: Policy) -> NodeJob:
        """The same query as the inventory's."""
        return card_list(name, "recovery-check", operation, node, policy)

    def read(self, output: str, operation: Operation, run: Run, pool: Pool) -> Proven:
        """Any recovery action, or a pending row remap, is a fail: a plugin's restart would only hide it."""
        inventory = read_inventory(output)
        if inventory.verdict is not Verdict.PASS:
            return Proven(inventory.verdict, inventory.reason)
        asking = [card for card in inventory.cards if card.recovery_action not in {"None", ""} or card.rows_pending]
        if asking:
            told = ", ".join(f"GPU {card.index} {_wish(card)}" for card in asking)
            return Proven(Verdict.FAIL, f"{told}: restarting the device plugin would not mend that.")
        expected = expected_gpus(operation, run.node)
        if expected is None:
            return Proven(Verdict.INCONCLUSIVE, f"how many GPUs {run.node.name} must have is not known")
        if len(inventory.cards) < expected:
            missing = f"{len(inventory.cards)} of {counted(expected, 'GPU')} answer"
            return Proven(Verdict.FAIL, f"{missing}: restarting the device plugin would not mend that.")
        untold = [card for card in inventory.cards if not card.recovery_action]
        if untold:
            return Proven(Verdict.INCONCLUSIVE, "the driver tells no recovery action (it does from R565 on)")
        return Proven(Verdict.PASS, f"None of {counted(len(inventory.cards), 'GPU')} asks for recovery.")


def _wish(card: Card) -> str:
    if card.recovery_action not in {"None", ""}:
        return f"asks for {card.recovery_action}"
    return "has rows that wait to be remapped"


class RecoveryCheck(Proof):
    """Done when no GPU asks for anything."""

    name: ClassVar[str] = "recovery-check"
    noun: ClassVar[str] = "recovery check"
    test: ClassVar[Asked] = Asked()
