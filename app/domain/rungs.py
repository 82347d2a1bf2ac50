"""Which rung of a ladder may be taken now: rules in order, each giving one sentence why not, or None.

A rung that may not be taken is passed over, not waited for: the next one is asked. Only the ticket is never refused
by what was tried before, since it is what remains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from app.domain.operations import Operation
from app.domain.plans.repair import RUNGS
from app.domain.policies import Policy, Pool
from app.domain.timeline import counted, spell

OFF_THE_BUS = frozenset({"xid-79", "gpu-lost"})
"""Codes after which no reset reaches the GPU (NVIDIA's Xid catalogue: RESTART_BM)."""

TICKET = "ticket"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One rung that was begun: by which operation, on which node, for which card (serial, else UUID)."""

    rung: str
    at: datetime
    operation: str
    node: str
    card: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What is known when a rung is about to be begun.

    `attempts` are those of other operations on this node, or for these cards, within the policy's window; `offender`
    is the sentence by which a card of this operation is past the limit, None when none is.
    """

    rung: str
    operation: Operation
    pool: Pool
    policy: Policy
    attempts: tuple[Attempt, ...]
    offender: str | None
    now: datetime

    @property
    def cards(self) -> frozenset[str]:
        """The keys of the cards that this operation is about."""
        return frozenset(fault.gpu.key for fault in self.operation.faults if fault.gpu and fault.gpu.key)


def not_in_pool(seen: Tried) -> str | None:
    """What the pool's machines cannot do, or must not."""
    if seen.rung in seen.pool.capabilities:
        return None
    return f"Passes over {seen.rung}: pool {seen.pool.name} does not have it."


def unreachable_by_reset(seen: Tried) -> str | None:
    """A GPU that is off the bus cannot be reset."""
    if seen.rung == "reset" and any(fault.code in OFF_THE_BUS for fault in seen.operation.faults):
        return "Passes over reset: a GPU that is off the bus cannot be reset."
    return None


def unnamed_gpu(seen: Tried) -> str | None:
    """A reset is of one GPU, by UUID; resetting whichever has an index now could hit its neighbour."""
    if seen.rung != "reset" or any(fault.gpu and fault.gpu.uuid for fault in seen.operation.faults):
        return None
    return "Passes over reset: no UUID says which GPU to reset."


def offending_card(seen: Tried) -> str | None:
    """A card past the limit is not repaired once more."""
    if seen.rung == TICKET or seen.offender is None:
        return None
    return f"Passes over {seen.rung}: {seen.offender}"


def too_many_on_node(seen: Tried) -> str | None:
    """A node that is repaired again and again needs somebody to look at it."""
    limit, window = seen.policy.attempts.per_node, seen.policy.attempts.window
    here = {attempt.operation for attempt in seen.attempts if attempt.node == seen.operation.node.name}
    if seen.rung == TICKET or len(here) < limit:
        return None
    return f"Passes over {seen.rung}: {counted(len(here), 'repair')} of this node within {spell(window)} are enough."


def too_many_of_card(seen: Tried) -> str | None:
    """So does a card, on whichever node it is."""
    limit, window = seen.policy.attempts.per_gpu, seen.policy.attempts.window
    same = {attempt.operation for attempt in seen.attempts if attempt.card in seen.cards}
    if seen.rung == TICKET or len(same) < limit:
        return None
    return f"Passes over {seen.rung}: {counted(len(same), 'repair')} of this GPU within {spell(window)} are enough."


def on_probation(seen: Tried) -> str | None:
    """A rung that did not hold is not taken again soon for the same card: the next one is."""
    gravity = list(RUNGS).index(seen.rung)
    for attempt in seen.attempts:
        recent = seen.now - attempt.at < seen.policy.probation
        if (
            recent
            and attempt.card in seen.cards
            and attempt.rung != TICKET
            and list(RUNGS).index(attempt.rung) >= gravity
        ):
            return f"Passes over {seen.rung}: a {attempt.rung} {spell(seen.now - attempt.at)} ago did not hold."
    return None


RULES: tuple[Callable[[Tried], str | None], ...] = (
    not_in_pool,
    unreachable_by_reset,
    unnamed_gpu,
    offending_card,
    too_many_on_node,
    too_many_of_card,
    on_probation,
)


def passed_over(seen: Tried) -> str | None:
    """The first sentence against this rung, None when it may be begun."""
    return next((why for rule in RULES if (why := rule(seen)) is not None), None)
