"""The cards that fail often, from the store, for the API and the pages. The rule is `app.domain.offenders`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.domain.faults import Gpu
from app.domain.offenders import BURST, Offenders, count, is_offender, score
from app.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One card with at least one fault that weighs something. `reason` is None while it is no offender.

    `faults` counts bursts, `nodes` are where they were, `last_at` is when the last of them was.
    """

    gpu: Gpu
    score: float
    faults: int
    nodes: tuple[str, ...]
    last_at: datetime
    reason: str | None


def cards(store: Store, rules: Offenders, now: datetime) -> list[Card]:
    """Every such card within the policy's window, the highest score first."""
    # A burst that began before the window may reach into it.
    since = now - rules.window - BURST
    found = []
    for rows in store.history.rows(store.history.cards(since=since), since=since).values():
        adding = [one for one in count(rows, rules, now) if one.weight]
        if adding:
            card = Card(
                gpu=adding[0].row.gpu,
                score=score(rows, rules, now),
                faults=len(adding),
                nodes=tuple(sorted({one.row.node for one in adding if one.row.node})),
                last_at=adding[0].row.at,
                reason=is_offender(rows, rules, now),
            )
            found.append(card)
    return sorted(found, key=lambda card: (-card.score, -card.last_at.timestamp()))
