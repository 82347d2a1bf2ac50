"""Replace: another machine under this node's name, asked of whoever provides machines; it is validated as new."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from app.domain.alerts import read_time
from app.domain.deadlines import count_from, due_at, is_past, next_look
from app.domain.effects import ReplaceNode
from app.domain.facts import NodeView
from app.domain.guards import Hurts
from app.domain.interruptions import REPLACED_WITHIN
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, Learned, NeedsHuman, Outcome, Wait
from app.domain.policies import Policy
from app.domain.timeline import spell
from workers.ports import Ports
from workers.step import current, node_job_name

LOOK_AGAIN = timedelta(minutes=1)


class Replace:
    """Done when a node of that name with another uid has registered. While it is gone, the engine waits."""

    name: ClassVar[str] = "replace"
    hurts: ClassVar[Hurts] = Hurts.RUNNING_WORK

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> NodeView:
        """The node is all there is to see."""
        return node

    def judge(self, operation: Operation, facts: NodeView, policy: Policy, now: datetime) -> Act | Outcome:
        """The uid decides."""
        step, name = current(operation), facts.name
        if facts.uid != operation.node.uid:
            learned = Learned(replaced=True, node_uid=facts.uid)
            return Done(f"Another machine has taken the name {name}; it is validated as new.", learned=learned)
        asked_at = read_time(step.memo.get("asked_at"))
        ends = due_at(step, REPLACED_WITHIN, now, since=asked_at or now)
        if "sent" in step.memo:
            if is_past(ends, now):
                told = f"{spell(REPLACED_WITHIN)} after another one was asked for"
                return Failed(f"{name} is still the same machine {told}.")
            text = f"Waits for another machine in place of {name}."
            return Wait(text, after=next_look(now, ends, at_most=LOOK_AGAIN))
        if asked_at is not None and is_past(ends, now):
            told = f"could not be asked for within {spell(REPLACED_WITHIN)}"
            return NeedsHuman(f"Another machine in place of {name} {told}: see to the provider's hook, then retry.")
        # The first request counts: one that nobody answers must end at the deadline however often it is sent.
        memo = count_from(step, "asked_at", now)
        ask = ReplaceNode(key=node_job_name(operation), node=name)
        return Act((ask,), f"Asks for another machine in place of {name}.", memo)
