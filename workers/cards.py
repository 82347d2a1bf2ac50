"""The node job that lists a machine's GPUs and what each asks for; `app.domain.card_inventory` reads what it prints."""

from __future__ import annotations

from datetime import timedelta

from app.domain.effects import NodeJob
from app.domain.facts import NodeView
from app.domain.operations import Operation
from app.domain.policies import Policy
from workers.step import in_driver_root

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


def card_list(name: str, step: str, operation: Operation, node: NodeView, policy: Policy) -> NodeJob:
    """Fixed words; the driver's own `nvidia-smi`, so that it answers beside a lost GPU too."""
    return NodeJob(
        name=name,
        operation=operation.id,
        step=step,
        node=node.name,
        image=policy.node_jobs.host_image,
        argv=in_driver_root(policy.rules_for(node.labels), SCRIPT),
        deadline=DEADLINE,
        host=True,
    )
