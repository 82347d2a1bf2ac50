"""What the rules of a drain must keep beyond their types: each can match a pod, and does what it says.

Used by `app.policy_checks`. What a rule means for a pod is `app.domain.drain_rules`' business.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from app.domain.drain_rules import Do, DrainRule
from app.domain.policies import Pool
from app.durations import write_duration
from app.yaml_records import Objection, below

_NAMESPACE: Final = re.compile(r"[-a-z0-9*?\[\]!]{1,63}", re.ASCII)
_LABEL_NAME: Final = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?", re.ASCII
)
_LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?)?", re.ASCII)


def rules(named: Mapping[str, DrainRule]) -> Iterator[Objection]:
    """No rule that an earlier one leaves nothing."""
    before: dict[str, DrainRule] = {}
    for name, one in named.items():
        wider = next((first for first, other in before.items() if _covers(other, one)), None)
        if wider is not None:
            problem = f"The rule {wider!r} before it matches all of its pods, so it would never count."
            yield Objection(below(name), problem, f"Move it before {wider!r}, or narrow that one.")
        before[name] = one


def rule(one: DrainRule) -> Iterator[Objection]:
    """No time without a deletion; what stays on the node loses nothing."""
    if one.after != DrainRule().after and one.do is not Do.DELETE:
        yield Objection(".after", f"`after` says when a pod is deleted, and the rule says {one.do}.", "Take it out.")
    if one.accepts and one.do is Do.LEAVE:
        yield Objection(".accepts", "What is left on the node is not evicted.", "Take it out, or write another `do`.")


def in_time(pool: Pool) -> Iterator[Objection]:
    """No deletion that the drain's own deadline comes before."""
    for name, one in pool.drain.items():
        if one.do is Do.DELETE and one.after >= pool.deadlines.drain:
            limit = write_duration(pool.deadlines.drain)
            problem = f"It would never delete: the drain ends after {limit}, by `deadlines.drain`."
            yield Objection(f".drain{below(name)}", problem, f"Write an `after` below {limit}, or a longer deadline.")


def namespaces(patterns: tuple[str, ...]) -> Iterator[Objection]:
    """Names that a namespace can have, perhaps with wildcards."""
    for place, pattern in enumerate(patterns):
        if not _NAMESPACE.fullmatch(pattern):
            problem = f"{pattern[:80]!r} can match no namespace."
            yield Objection(f"[{place}]", problem, "Write its name, or a pattern such as team-*.")
        elif pattern in patterns[:place]:
            yield Objection(f"[{place}]", f"{pattern!r} is listed twice.", "Keep one of the two.")


def labels(wanted: Mapping[str, str]) -> Iterator[Objection]:
    """Labels that a pod can have."""
    for name, value in wanted.items():
        if not _LABEL_NAME.fullmatch(name):
            yield Objection(below(name), f"{name[:80]!r} is no label of a pod.", "Write it as kubectl shows it.")
        elif not _LABEL_VALUE.fullmatch(value):
            problem = f"{value[:80]!r} cannot be the value of a label."
            yield Objection(below(name), problem, "Write one exact value; patterns are not known here.")


def _covers(wide: DrainRule, narrow: DrainRule) -> bool:
    """Whether every pod that the second matches is matched by the first; by its words alone, not by wildcards."""
    named = not wide.namespaces or (narrow.namespaces and set(narrow.namespaces) <= set(wide.namespaces))
    return bool(named) and wide.labels.items() <= narrow.labels.items()
