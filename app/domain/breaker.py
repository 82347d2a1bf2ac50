"""The breaker of a mass failure: many nodes that fall ill at once have one cause, and no repair of nodes mends that.

It counts nodes whose operation opened within a window: in the whole cluster, in a rack, under a driver version. Past
the limit nothing new is begun until a person says `sickbay resume`; what was begun is finished and given back. The same
count is made where it cannot be raced, by the commit that opens an operation (`app/store/lua/commit.lua`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from app.domain import node_labels
from app.domain.timeline import spell


class Dimension(StrEnum):
    """What nodes that fall ill together may have in common beside the cluster."""

    RACK = "rack"
    DRIVER = "driver"
    CODE = "code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """How many of those that have something in common may fall ill within `window`.

    That is `share` of them, but no more than `most` and no fewer than `least`; one more trips the breaker.
    """

    window: timedelta = timedelta(minutes=10)
    share: float = 0.05
    most: int = 10
    least: int = 3
    """So that a cluster of four, or one rack, does not trip at its first node."""
    dimensions: tuple[Dimension, ...] = tuple(Dimension)
    """Which of them are looked at; the whole cluster always is."""

    def limit(self, population: int) -> int:
        """How many of so many nodes may fall ill. The small number evens out what binary fractions lack."""
        return max(self.least, min(math.floor(self.share * population + 1e-9), self.most))


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A node fell ill: an operation was opened on it. What is not known of it is empty and in common with nobody."""

    node: str
    at: datetime
    rack: str = ""
    driver: str = ""
    code: str = ""


def fell_ill(node: str, labels: Mapping[str, str], *, code: str, at: datetime) -> Opened:
    """The node of a new operation with what its labels say, and the code of the fault that opened it."""
    rack, driver = node_labels.rack(labels), node_labels.driver_version(labels)
    return Opened(node=node, at=at, rack=rack, driver=driver, code=code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """How many nodes there are, in all and by what they have in common."""

    nodes: int = 0
    racks: Mapping[str, int] = field(default_factory=dict)
    drivers: Mapping[str, int] = field(default_factory=dict)

    def population(self, dimension: Dimension | None, value: str) -> int:
        """The nodes that share that value; any node may show any code."""
        if dimension is Dimension.RACK:
            return self.racks.get(value, 0)
        if dimension is Dimension.DRIVER:
            return self.drivers.get(value, 0)
        return self.nodes


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that fell ill and have something in common (`dimension` None: only the cluster), out of `population`."""

    dimension: Dimension | None
    value: str
    nodes: frozenset[str]
    population: int

    def told(self, span: timedelta) -> str:
        """`16 of 16 nodes in rack r7 fell ill within 4 min`."""
        ill = len(self.nodes)
        of = f"{ill} of {self.population}" if self.population >= ill else f"{ill}"
        return f"{of} {_SHARING[self.dimension](self.value)} within {spell(max(span, timedelta(minutes=1)))}"


_SHARING: Mapping[Dimension | None, Callable[[str], str]] = {
    Dimension.RACK: lambda value: f"nodes in rack {value} fell ill",
    Dimension.DRIVER: lambda value: f"nodes with driver {value} fell ill",
    Dimension.CODE: lambda value: f"nodes fell ill with {value}",
    None: lambda _: "nodes fell ill",
}


def trips(opened: Sequence[Opened], fleet: Fleet, rules: Breaker, now: datetime) -> str | None:
    """The sentence by which so many nodes fell ill within the window up to now, None while no limit is passed."""
    recent = [one for one in opened if one.at > now - rules.window]
    past = [group for group in _groups(recent, fleet, rules) if len(group.nodes) > rules.limit(group.population)]
    return _sentence(past, recent, rules) if past else None


def explain(opened: Sequence[Opened], fleet: Fleet, rules: Breaker, tripped_at: datetime) -> str:
    """The sentence of a breaker that has tripped: by all that fell ill within a window before and after.

    It grows with the failure for as long as the window, then it stays.
    """
    around = [one for one in opened if abs(one.at - tripped_at) <= rules.window]
    if not around:
        return "The breaker has tripped: too many nodes fell ill at once."
    return _sentence(list(_groups(around, fleet, rules)), around, rules)


def _sentence(groups: Sequence[Group], opened: Sequence[Opened], rules: Breaker) -> str:
    ill = {one.node for one in opened}
    closest = max(groups, key=lambda group: _fit(group, len(ill)))
    times = [one.at for one in opened if one.node in closest.nodes]
    told = closest.told(max(times) - min(times))
    return f"The breaker has tripped: {told}, and the limit is {rules.limit(closest.population)}."


def _fit(group: Group, ill: int) -> float:
    """How well what a group shares explains the failure: all of the ill are in it, and all in it are ill."""
    population = max(group.population, len(group.nodes))
    return len(group.nodes) / ill * len(group.nodes) / population


def _groups(opened: Iterable[Opened], fleet: Fleet, rules: Breaker) -> Iterator[Group]:
    """The narrower before the wider, so that of two that fit alike the narrower is named."""
    sharing: dict[tuple[Dimension | None, str], set[str]] = {}
    for dimension in (*(one for one in Dimension if one in rules.dimensions), None):
        for one in opened:
            value = "" if dimension is None else str(getattr(one, dimension.value))
            if value or dimension is None:
                sharing.setdefault((dimension, value), set()).add(one.node)
    for (dimension, value), nodes in sharing.items():
        yield Group(dimension, value, frozenset(nodes), fleet.population(dimension, value))
