"""Rules that may say no before a step acts: small functions, asked in order, each giving one sentence or None.

They judge what was read just before the act (P4). Budgets are also reserved atomically with the intent
(`app.store`), since two workers may pass here together; the sentence is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from app.domain.budgets import (
    CORDON_RATE,
    CORDONS,
    DISRUPTIONS,
    INVENTORY,
    WITH_VENDOR,
    Budget,
    Limit,
    groups,
)
from app.domain.facts import NodeView
from app.domain.operations import Operation
from app.domain.plans import repair
from app.domain.policies import EXCLUDE_LABEL, Mode, Policy, Pool
from app.domain.timeline import spell

SOON = timedelta(seconds=15)
LATER = timedelta(minutes=2)


class Hurts(StrEnum):
    """What a step does to the work on the node."""

    NOTHING = "nothing"
    NEW_WORK = "new work"
    """It keeps new pods away (cordon)."""
    RUNNING_WORK = "running work"
    """It ends pods or the machine's uptime (drain, reset, reboot)."""
    NOBODY = "nobody"
    """It hands the node to a vendor: nothing works on it any more, and for long."""


@dataclass(frozen=True, slots=True)
class Hold:
    """No, for this reason; asked again after `after`. With `needs_human` only a person lifts it, by allowing `asks`.

    `waits_for` names the budget that is full: it is asked again at once when a place there is given back.
    """

    reason: str
    after: timedelta = SOON
    needs_human: bool = False
    asks: str = ""
    waits_for: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What guards judge by, read just before the act."""

    operation: Operation
    step: str
    hurts: Hurts
    node: NodeView
    policy: Policy
    pool: Pool | None
    mode: Mode
    """How far pool and faults let Sickbay go."""
    paused: str | None
    """Who paused Sickbay and why, in a sentence; None while it is not paused."""
    tripped: str | None = None
    """Why the breaker of a mass failure has tripped, in a sentence; None while it has not."""
    budgets: tuple[Budget, ...]
    """Those that this step takes a place in."""
    last_disruption: datetime | None
    """When another operation last disrupted this node."""
    now: datetime


Guard = Callable[[Circumstances], Hold | None]


def in_a_pool(seen: Circumstances) -> Hold | None:
    """Nodes in no pool and control-plane nodes are never touched."""
    if seen.pool is None:
        return Hold(f"{seen.node.name} is in no pool of the policy, so nothing is done to it.", LATER)
    return None


def not_excluded(seen: Circumstances) -> Hold | None:
    """A person's label keeps Sickbay off a node."""
    if seen.node.labels.get(EXCLUDE_LABEL) == "true":
        return Hold(f"{seen.node.name} carries the label {EXCLUDE_LABEL}=true, so nothing is done to it.", LATER)
    return None


def not_only_observing(seen: Circumstances) -> Hold | None:
    """In mode observe everything is decided and nothing touched."""
    if seen.pool is None or seen.mode is not Mode.OBSERVE:
        return None
    todo = [step.step for step in seen.operation.plan if not step.over]
    then = f" Then it would {', '.join(todo[1:])}." if todo[1:] else ""
    return Hold(f"{_whose_mode(seen)} observe: Sickbay would {todo[0]} {seen.node.name} now.{then}", LATER)


def allowed_by_mode(seen: Circumstances) -> Hold | None:
    """Mode cordon stops before the first disruption or rung, mode approve asks before each disruption."""
    step = seen.operation.current
    if seen.pool is None or step is None:
        return None
    disrupts = seen.hurts is Hurts.RUNNING_WORK
    if seen.mode is Mode.CORDON and (disrupts or step.rung):
        text = f"{_whose_mode(seen)} cordon: {seen.node.name} is cordoned, the rest is yours to decide."
        return Hold(text, LATER, needs_human=True)
    if seen.mode is Mode.APPROVE and disrupts and step.key not in seen.operation.approvals:
        text = f"Pool {seen.pool.name} asks before each disruption: the next step is {seen.step} of {seen.node.name}."
        return Hold(text, LATER, needs_human=True, asks=step.key)
    return None


def not_paused(seen: Circumstances) -> Hold | None:
    """While Sickbay is paused it starts nothing that hurts; what has begun is proven and given back."""
    if seen.paused is None or seen.hurts is Hurts.NOTHING:
        return None
    return Hold(f"{seen.paused} {seen.step.capitalize()} starts after `sickbay resume`.", LATER)


def breaker_closed(seen: Circumstances) -> Hold | None:
    """Once too many nodes fell ill together nothing hurts one more, until a person has looked for their common cause.

    Proofs go on, what is owed is undone and nodes are given back. The commit of the intent asks the same (`app.store`).
    """
    if seen.tripped is None or seen.hurts is Hurts.NOTHING:
        return None
    return Hold(f"{seen.tripped} {seen.step.capitalize()} of {seen.node.name} starts after `sickbay resume`.", LATER)


def cooled_down(seen: Circumstances) -> Hold | None:
    """A node is not disrupted again right after another operation disrupted it."""
    if seen.pool is None or seen.last_disruption is None or seen.hurts is not Hurts.RUNNING_WORK:
        return None
    left = seen.last_disruption + seen.pool.cooldown - seen.now
    if left <= timedelta(0):
        return None
    text = (
        f"{seen.node.name} was disrupted less than {spell(seen.pool.cooldown)} ago and cools down before it is again."
    )
    return Hold(text, min(left, LATER))


def within_budgets(seen: Circumstances) -> Hold | None:
    """No more nodes out than policy allows, and no more disrupted while it is not known how many are out."""
    holds = (no_place(budget, step=seen.step, node=seen.node.name, now=seen.now) for budget in seen.budgets)
    return next((hold for hold in holds if hold is not None), None)


def no_place(budget: Budget, *, step: str, node: str, now: datetime) -> Hold | None:
    """Why this step finds no place for its node in that budget; None when it finds one."""
    doubt = budget.doubted_for(node, now)
    if doubt:
        return Hold(f"{doubt} {step.capitalize()} of {node} starts after the next one.", waits_for=INVENTORY)
    full = budget.full_for(node)
    if full is None:
        return None
    if budget.limit.within is not None:
        after = SOON if budget.next_at is None else min(max(budget.next_at - now, timedelta(seconds=1)), LATER)
        return Hold(f"{full} {step.capitalize()} of {node} starts when that time has passed.", after)
    waits_for = budget.limit.budget
    return Hold(f"{full} {step.capitalize()} of {node} starts when one is free.", waits_for=waits_for)


GUARDS: tuple[Guard, ...] = (
    in_a_pool,
    not_excluded,
    not_only_observing,
    breaker_closed,  # before anybody is asked: a mass failure is one question, not one a node
    allowed_by_mode,
    not_paused,
    cooled_down,
    within_budgets,
)


def first_hold(seen: Circumstances) -> Hold | None:
    """The first no, None when the step may act. Giving back and undoing are never held."""
    if seen.step == repair.RELEASE or seen.step in repair.UNDOES:
        return None
    return next((hold for guard in GUARDS if (hold := guard(seen)) is not None), None)


def limits_of(hurts: Hurts, policy: Policy, pool: Pool | None, labels: Mapping[str, str]) -> tuple[Limit, ...]:
    """The budgets in which such a step takes a place for a node with these labels, kept until the operation ends."""
    budgets = policy.budgets
    if hurts is Hurts.NEW_WORK:
        at_once, rate = Limit(budget=CORDONS, most=budgets.cordons), budgets.cordon_rate
        if rate is None:
            return (at_once,)
        return (at_once, Limit(budget=CORDON_RATE, most=rate.nodes, within=rate.within))
    if hurts is Hurts.NOBODY:
        return (Limit(budget=WITH_VENDOR, most=budgets.with_vendor),)
    if hurts is not Hurts.RUNNING_WORK:
        return ()
    name = None if pool is None else pool.name
    of_kind = {
        "pool": None if pool is None else pool.disruptions,
        "rack": budgets.disruptions_per_rack,
        "driver": budgets.disruptions_per_driver,
    }
    age = policy.inventory_max_age
    found = [Limit(budget=DISRUPTIONS, most=budgets.disruptions, inventory_max_age=age)]
    for group in groups(name, labels):
        most = of_kind[group.partition(" ")[0]]
        if most is not None:
            budget = f"{DISRUPTIONS} of {group}"
            found.append(Limit(budget=budget, most=most, group=group, inventory_max_age=age))
    return tuple(found)


def _whose_mode(seen: Circumstances) -> str:
    pool = seen.pool
    if pool is not None and pool.mode is seen.mode:
        return f"Pool {pool.name} is in mode"
    codes = ", ".join(sorted({fault.code for fault in seen.operation.faults}))
    return f"The policy keeps {codes} to mode"
