"""Inventory: which cards the node has after a vendor had it. Another card makes it a replacement, the same one does not.

It proves no health; diagnosis and benchmark follow whatever it finds (P3).
"""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from app.domain.card_inventory import CardInventory, Found, became_of, read_inventory
from app.domain.effects import NodeJob
from app.domain.facts import NodeView
from app.domain.operations import Operation
from app.domain.outcomes import Learned, Verdict
from app.domain.policies import Policy, Pool
from app.domain.tickets import blamed
from app.domain.timeline import counted
from workers.proof import Proof, Proven, Run, expected_gpus

SCRIPT = r"""nvidia-smi --query-gpu=index,uuid,serial,pci.bus_id --format=csv,noheader || exit $?
echo --
nvidia-smi -q | sed -n \
  -e 's/^ *\(GPU [0-9A-Fa-f]\{4,8\}:[0-9A-Fa-f:.]*\) *$/\1/p' \
  -e 's/^ *\(GPU Recovery Action\) *: *\(.*\)$/\1 : \2/p' \
  -e '/^ *Remapped Rows *$/,/^ *Pending *:/s/^ *Pending *: *\(.*\)$/Remapped Rows Pending : \1/p'
"""
"""`Pending` alone also stands under MIG and ECC modes, so it is taken from the block of the remapped rows only."""

DEADLINE = timedelta(minutes=10)
"""The command takes seconds; the rest is for the image and a driver that has just been loaded."""


class CardList:
    """`nvidia-smi`, as the container runtime brings it in."""

    def node_job(self, name: str, operation: Operation, node: NodeView, policy: Policy) -> NodeJob:
        """Fixed words; the image of the diagnosis, since it is there already."""
        return NodeJob(
            name=name,
            operation=operation.id,
            step="inventory",
            node=node.name,
            image=policy.node_jobs.diagnose_image,
            argv=("/bin/sh", "-c", SCRIPT),
            deadline=DEADLINE,
            runtime_class="nvidia",
        )

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
    gpus = tuple(card.gpu for card in listed.cards)
    if ill is None:
        text = f"{node} has all {counted(len(gpus), 'GPU')}; no single one was to blame. It is validated as repaired."
        return Proven(Verdict.PASS, text, Learned(gpus=gpus))
    match became_of(ill, listed.cards, expected):
        case Found.OTHER:
            text = f"{node} has another card in place of {ill}: it is validated as new."
            return Proven(Verdict.PASS, text, Learned(gpus=gpus, replaced=True))
        case Found.SAME:
            text = f"{node} still has {ill}: it is validated as repaired, and stays under probation."
            return Proven(Verdict.PASS, text, Learned(gpus=gpus))
        case _:
            return Proven(Verdict.INCONCLUSIVE, f"neither serial nor UUID tells whether {ill} is still in {node}")


class Inventory(Proof):
    """Done when every card is listed and the one that was ill is known to be the same or another."""

    name: ClassVar[str] = "inventory"
    noun: ClassVar[str] = "inventory"
    test: ClassVar[CardList] = CardList()
