"""Inventory: which cards a node has that was with the vendor. Another card makes it a replacement, the same does not.

It proves no health; diagnosis and benchmark follow whatever it finds (P3).
"""

from __future__ import annotations

from typing import ClassVar

from app.domain.card_inventory import CardInventory, Found, became_of, read_inventory
from app.domain.effects import NodeJob
from app.domain.facts import NodeView
from app.domain.faults import told_apart
from app.domain.operations import Operation
from app.domain.outcomes import Learned, Verdict
from app.domain.policies import Policy, Pool
from app.domain.tickets import blamed
from app.domain.timeline import counted
from workers.cards import card_list
from workers.proof import Proof, Proven, Run, expected_gpus


class CardList:
    """The driver's own `nvidia-smi`."""

    def node_job(self, name: str, operation: Operation, node: NodeView, policy: Policy) -> NodeJob:
        """The list of the machine's GPUs."""
        return card_list(name, "inventory", operation, node, policy)

    def read(self, output: str, operation: Operation, run: Run, pool: Pool) -> Proven:
        """All cards that the node must have, and what has become of the one that was ill."""
        listed = read_inventory(output)
        if listed.verdict is not Verdict.PASS:
            return Proven(listed.verdict, listed.reason)
        expected = expected_gpus(operation, run.node)
        if expected is None:
            return Proven(Verdict.INCONCLUSIVE, f"how many GPUs {run.node.name} must have is not known")
        if len(listed.cards) < expected:
            return Proven(Verdict.FAIL, f"{run.node.name} has {len(listed.cards)} of {counted(expected, 'GPU')}.")
        return _compared(operation, listed, expected)


def _compared(operation: Operation, listed: CardInventory, expected: int) -> Proven:
    node, ill = operation.node.name, blamed(operation)
    gpus, shared = told_apart([card.gpu for card in listed.cards])
    also = f" {shared}" if shared else ""
    if ill is None:
        text = f"{node} has all {counted(len(gpus), 'GPU')}; no single one was to blame. It is validated as repaired."
        return Proven(Verdict.PASS, text)
    match became_of(ill, listed.cards, expected):
        case Found.OTHER:
            text = f"{node} has another card in place of {ill}: it is validated as new.{also}"
            return Proven(Verdict.PASS, text, Learned(gpus=gpus, replaced=True))
        case Found.SAME:
            text = f"{node} still has {ill}: it is validated as repaired, and stays under probation.{also}"
            return Proven(Verdict.PASS, text, Learned(gpus=gpus))
        case _:
            return Proven(Verdict.INCONCLUSIVE, f"neither serial nor UUID tells whether {ill} is still in {node}")


class Inventory(Proof):
    """Done when every card is listed and the one that was ill is known to be the same or another."""

    name: ClassVar[str] = "inventory"
    noun: ClassVar[str] = "inventory"
    test: ClassVar[CardList] = CardList()
