"""What stands against going on: an interruption, a rung that may not be taken, a guard.

Asked at the first look and once more right before an act (P4), each time with what is on record at that moment. The
rules are the domain's; here is read what they judge by. Nothing is written here: `workers.engine` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain import operations
from app.domain.budgets import Budget
from app.domain.facts import NodeView
from app.domain.faults import Gpu
from app.domain.guards import Circumstances, Hold, first_hold, limits_of, no_place
from app.domain.interruptions import Away, CordonAgain, Disputed, Interruption, interruption
from app.domain.offenders import is_offender
from app.domain.operations import Changed, Operation
from app.domain.outcomes import Wait
from app.domain.policies import Mode, Policy, Pool
from app.domain.rungs import Tried, passed_over
from app.store import Store
from workers.ports import Ports
from workers.step import Step


@dataclass(frozen=True, slots=True)
class Objections:
    """What may object, by the record, the cluster and the policy."""

    store: Store
    ports: Ports
    policy: Policy

    def stopped(self, operation: Operation, node: NodeView | None, now: datetime) -> Changed | None:
        """The operation as an interruption, the end of its plan or a rung passed over leaves it; None to look at it."""
        pool = self.policy.pool_of(node.labels) if node else None
        match interruption(operation, node, pool=pool, policy=self.policy, now=now):
            case Interruption(result, reason, clean_up=True):
                return operations.give_back(operation, result, actor="sickbay", reason=reason, now=now, uncordoned=True)
            case Interruption(result, reason):
                return operations.finish(operation, result, reason, now=now)
            case CordonAgain(reason):
                return operations.cordon_again(operation, reason, now=now)
            case Disputed(reason):
                return operations.ask(operation, reason, asks="", now=now)
            case Away(reason, overdue=True):
                return operations.ask(operation, reason, asks="", now=now)
            case Away(reason, after=after):
                return operations.apply(operation, Wait(reason, after), now=now)
        if operation.current is None:
            return operations.ask(operation, operation.reason, asks="", now=now)
        return self._passed_over(operation, pool, now)

    def held(self, operation: Operation, step: Step[Any], node: NodeView, now: datetime) -> Changed | None:
        """The operation as a guard leaves it; None when its step may act.

        Only an act is held. What was begun, such as a reboot that was asked for, is waited for and proven all the same.
        """
        hold = self._hold(operation, step, node, now)
        return None if hold is None else _by(hold, operation, now)

    def without_a_place(self, operation: Operation, step: Step[Any], budget: Budget, now: datetime) -> Changed | None:
        """The operation as a commit leaves it that found no place in this budget; None to look again."""
        hold = no_place(budget, step=step.name, node=operation.node.name, now=now)
        return None if hold is None else _by(hold, operation, now)

    def looked_again(self, operation: Operation, step: Step[Any], clock: Callable[[], datetime]) -> Changed | None:
        """The operation as a fresh look at node, guards and budgets leaves it; None when it may act (P4)."""
        node = self.ports.nodes.get(operation.node.name)
        now = clock()
        stopped = self.stopped(operation, node, now)
        if stopped is None and node is not None:
            return self.held(operation, step, node, now)
        return stopped

    def _passed_over(self, operation: Operation, pool: Pool | None, now: datetime) -> Changed | None:
        """The operation with its next rung passed over, if that may not be taken; only asked before it is begun."""
        rung = operations.next_rung(operation)
        if rung is None or pool is None:
            return None
        cards = {fault.gpu for fault in operation.faults if fault.gpu and fault.gpu.key}
        since = now - self.policy.attempts.window
        tried = Tried(
            rung=rung,
            operation=operation,
            pool=pool,
            policy=self.policy,
            attempts=self.store.attempts.of(operation.node.name, cards, since=since, besides=operation.id),
            offender=self._offender(cards, now),
            now=now,
        )
        why = passed_over(tried)
        return operations.pass_over(operation, why, now=now) if why else None

    def _offender(self, cards: Iterable[Gpu], now: datetime) -> str | None:
        """The sentence by which one of these cards is past the policy's limit."""
        told = (is_offender(self.store.history.of(card), self.policy.offenders, now) for card in sorted(cards, key=str))
        return next((sentence for sentence in told if sentence), None)

    def _hold(self, operation: Operation, step: Step[Any], node: NodeView, now: datetime) -> Hold | None:
        pool = self.policy.pool_of(node.labels)
        found = self.store.survey.of(operation, limits_of(step.hurts, self.policy, pool, node.labels), now)
        codes = [fault.code for fault in operation.faults]
        seen = Circumstances(
            operation=operation,
            step=step.name,
            hurts=step.hurts,
            node=node,
            policy=self.policy,
            pool=pool,
            mode=self.policy.mode_for(pool, codes) if pool else Mode.OBSERVE,
            paused=found.pause.sentence if found.pause else None,
            tripped=self.store.breaker.sentence(self.policy.breaker) if found.tripped else None,
            budgets=found.budgets,
            last_disruption=found.last_disruption,
            now=now,
        )
        return first_hold(seen)


def _by(hold: Hold, operation: Operation, now: datetime) -> Changed:
    if hold.needs_human:
        return operations.ask(operation, hold.reason, asks=hold.asks, now=now)
    return operations.hold(operation, hold.reason, now=now, after=hold.after, waits_for=hold.waits_for)
