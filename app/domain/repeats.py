"""An act that does not last: what is done once more, when, and after how often a person is asked.

Somebody may undo at once what a step does, such as a label that another controller puts back. Each look then finds the
same act due, and would have it done again and again, as fast as the API server answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from app.domain.alerts import read_time
from app.domain.effects import Effect
from app.domain.outcomes import Act, NeedsHuman, Wait
from app.domain.plans.planned import PlannedStep

AT_ONCE = 2
"""So often the same act is done without a pause: a node that has changed since it was read is the ordinary case."""

MOST = 8
"""So often it is done before a person is asked; with the pauses between, that takes about two minutes."""

LONGEST = timedelta(seconds=60)

_WHICH, _TIMES, _LAST = "act", "acts", "acted_at"


def held_back(step: PlannedStep, act: Act, now: datetime) -> Wait | NeedsHuman | None:
    """What comes in place of an act that was done several times in a row and is due again; None when it may be done."""
    times = _times(step, act.effects)
    if times >= MOST:
        text = f"{act.reason} It was done {times} times and did not last: somebody undoes it."
        return NeedsHuman(f"{text} Find out who, then retry.")
    last = read_time(step.memo.get(_LAST))
    if times < AT_ONCE or last is None:
        return None
    left = last + min(timedelta(seconds=2 ** (times - 1)), LONGEST) - now
    if left <= timedelta(0):
        return None
    return Wait(f"{act.reason} It was done {times} times and did not last, so it is tried more slowly.", after=left)


def done_again(step: PlannedStep, effects: tuple[Effect, ...], now: datetime) -> Mapping[str, str]:
    """What the step must remember once these were tried. A server that did not answer is another matter: no try."""
    return {_WHICH: _name(effects), _TIMES: str(_times(step, effects) + 1), _LAST: now.isoformat()}


def begun_anew(step: PlannedStep) -> Mapping[str, str]:
    """What it must remember when it was judged to wait: then the act has lasted, and the next one is another."""
    return {_TIMES: "0"} if step.memo.get(_TIMES, "0") != "0" else {}


def _times(step: PlannedStep, effects: Iterable[Effect]) -> int:
    return int(step.memo.get(_TIMES, "0")) if step.memo.get(_WHICH) == _name(effects) else 0


def _name(effects: Iterable[Effect]) -> str:
    keys = "\n".join(sorted(effect.key for effect in effects))
    return hashlib.sha256(keys.encode()).hexdigest()[:16]
