"""Which cards fail too often: a rule over the rows of one card's history, by the policy's weights.

It reads nothing and opens nothing. Who calls a card an offender decides by this whether another repair is worth it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby

from app.domain.history import HistoryRow
from app.domain.timeline import counted, spell
from app.domain.xids import XidClass

BURST = timedelta(hours=3)
"""A card quiet for less is still in the same trouble: a sticky code (74, 79, 95, 109, 119) is told again and again,
and brings others along. NVIDIA's NVSentinel counts its bursts of them by the same span."""

DEFAULT_WEIGHTS: Mapping[str, float] = {
    XidClass.RESET_IDLE: 0.5,
    XidClass.RESET: 1.0,
    XidClass.REBOOT: 1.0,
    XidClass.ISOLATE: 1.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offenders:
    """When a card is an offender. `weights` goes by fault code, then by class; what it does not name weighs nothing.

    A fault of an application never weighs anything: the card is not to blame, whatever the weights say.
    """

    window: timedelta = timedelta(days=30)
    """How far back faults count."""
    limit: float = 3.0
    """The sum of weights within the window from which on a card is an offender."""
    weights: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_WEIGHTS))


@dataclass(frozen=True, slots=True)
class Counted:
    """One row, and what it adds to the score: nothing when it repeats or follows one that counts."""

    row: HistoryRow
    weight: float


def weight(row: HistoryRow, rules: Offenders) -> float:
    """What this fault weighs by itself. Application faults, and those that our own acts bring about, weigh nothing."""
    if row.class_ == XidClass.APPLICATION or row.own_act:
        return 0.0
    return rules.weights.get(row.code, rules.weights.get(row.class_, 0.0))


def count(rows: Sequence[HistoryRow], rules: Offenders, now: datetime) -> tuple[Counted, ...]:
    """Every row of one card, newest first, with what it adds. A burst counts once, by the heaviest of its rows."""
    ordered = sorted(rows, key=lambda row: row.at)
    since = now - rules.window
    adding = {id(heaviest): weight(heaviest, rules) for heaviest in _heaviest_of_bursts(ordered, rules, since)}
    return tuple(Counted(row, adding.get(id(row), 0.0)) for row in reversed(ordered))


def score(rows: Sequence[HistoryRow], rules: Offenders, now: datetime) -> float:
    """The sum of what one card's faults within the window weigh, in the unit of `rules.limit`."""
    return _sum(count(rows, rules, now))


def is_offender(rows: Sequence[HistoryRow], rules: Offenders, now: datetime) -> str | None:
    """The sentence that says why this card is an offender, None when it is none. `rows` are those of one card."""
    adding = [one for one in count(rows, rules, now) if one.weight]
    total = _sum(adding)
    if not adding or total < rules.limit:
        return None
    faults = [one.row for one in adding]
    gpu = faults[0].gpu
    card = f"Serial {gpu.serial}" if gpu.serial else f"The card {gpu.uuid}"
    told = f"{card} has had {counted(len(faults), 'fault')}{_within(faults)}{_on(faults)}"
    weighing = "" if total == len(faults) else f" that weigh {total:.1f}"
    return f"{told}{weighing}, {'at' if total == rules.limit else 'past'} the limit of {rules.limit:.1f}."


def _heaviest_of_bursts(ordered: Sequence[HistoryRow], rules: Offenders, since: datetime) -> Iterator[HistoryRow]:
    """One row of each burst. Bursts are told apart before the window is applied, so that none is cut into a new one."""
    weighing = [row for row in ordered if weight(row, rules)]
    number, last = 0, None
    numbers: list[int] = []
    for row in weighing:
        number += last is not None and row.at - last >= BURST
        numbers.append(number)
        last = row.at
    for _, burst in groupby(zip(numbers, weighing, strict=True), key=lambda pair: pair[0]):
        members = [row for _, row in burst]
        if members[-1].at >= since:
            yield max(members, key=lambda row: weight(row, rules))


def _sum(counted_rows: Sequence[Counted]) -> float:
    # Rounded, so that thirty times 0.1 is 3.
    return round(sum(one.weight for one in counted_rows), 6)


def _within(faults: Sequence[HistoryRow]) -> str:
    span = faults[0].at - faults[-1].at
    days = round(span / timedelta(days=1))
    if not span:
        return ""
    return f" in {counted(days, 'day')}" if days > 1 else f" in {spell(span)}"


def _on(faults: Sequence[HistoryRow]) -> str:
    nodes = sorted({row.node for row in faults if row.node})
    if not nodes:
        return ""
    return f" on {nodes[0]}" if len(nodes) == 1 else f" on {', '.join(nodes[:-1])} and {nodes[-1]}"
