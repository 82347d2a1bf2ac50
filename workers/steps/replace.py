"""Replace: another machine under this node's name, asked of whoever provides machines; it is validated as new."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar

from app.domain.alerts import read_time
from app.domain.effects import ReplaceNode
from app.domain.facts import NodeView
from app.domain.guards import Hurts
from app.domain.interruptions import REPLACED_WITHIN
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, Learned, Outcome, Wait
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
        if "sent" not in step.memo:
            key = node_job_name(operation)
            memo = {"asked_at": step.memo.get("asked_at") or now.isoformat()}
            return Act((ReplaceNode(key=key, node=name),), f"Asks for another machine in place of {name}.", memo)
        since = read_time(step.memo.get("asked_at")) or now
        if now >= since + REPLACED_WITHIN:
            return Failed(f"{name} is still the same machine {spell(REPLACED_WITHIN)} after another one was asked for.")
        return Wait(f"Waits for another machine in place of {name}.", after=LOOK_AGAIN)
