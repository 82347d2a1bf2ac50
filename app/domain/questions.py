"""What an approval is about where a step asks about some of many: these pods, by uid, and none that come later.

The step's memo keeps whom the question names. An approval allows each by its id, so it outlasts those that leave.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping

from app.domain.plans.planned import PlannedStep

_NAMED = 5


def noted(asks: str, of: Mapping[str, str]) -> dict[str, str]:
    """What a step must remember of its question about these, id to readable name."""
    return {_key(asks): json.dumps(dict(of), sort_keys=True)} if of else {}


def allowed_by(step: PlannedStep | None, asks: str) -> tuple[str, ...]:
    """What an approval of this question adds to those of the operation."""
    of = _of(step, asks)
    return tuple(_one(asks, each) for each in of) or (asks,)


def are_allowed(approvals: Iterable[str], asks: str, ids: Iterable[str]) -> frozenset[str]:
    """Those of these ids whom a person has allowed."""
    given = set(approvals)
    return frozenset(each for each in ids if _one(asks, each) in given)


def called(step: PlannedStep | None, asks: str) -> str:
    """How the question is named to whoever answers it: with the names, and a mark of the ids that stand behind them."""
    of = _of(step, asks)
    if not of:
        return asks
    mark = hashlib.sha256(" ".join(sorted(of)).encode()).hexdigest()[:8]
    names = sorted(of.values())
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{asks} of {', '.join(names[:_NAMED])}{more} ({mark})"


def _of(step: PlannedStep | None, asks: str) -> Mapping[str, str]:
    told = None if step is None else step.memo.get(_key(asks))
    return {} if told is None else {str(key): str(name) for key, name in json.loads(told).items()}


def _key(asks: str) -> str:
    return f"asked/{asks}"


def _one(asks: str, each: str) -> str:
    return f"{asks} {each}"
