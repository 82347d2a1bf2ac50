"""What one try of a step gave, and the three verdicts that every proof ends in.

An outcome is the judgement of a moment. What is stored of it is decided by `app.domain.operations.apply`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from app.domain.effects import Effect
from app.domain.facts import TicketRef
from app.domain.faults import Gpu


class Verdict(StrEnum):
    """How a diagnosis or benchmark is judged: three words, never two."""

    PASS = "pass"
    """It ran in full and found nothing that speaks against giving the node back."""
    FAIL = "fail"
    """It ran and found a fault."""
    INCONCLUSIVE = "inconclusive"
    """It did not run, was skipped, cut off or cannot be read. It proves neither health nor a fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What a proof found out beside its verdict: the cards by index and serial, and the bus bandwidth in GB/s.

    `baseline` is the key under which peers will be compared with that bandwidth.
    """

    gpus: tuple[Gpu, ...] = ()
    bus_bandwidth: float | None = None
    baseline: str = ""
    replaced: bool = False
    """Whether card or machine is another one than the one that fell ill."""
    ticket: TicketRef | None = None
    node_uid: str = ""
    """The uid of the node that took the old one's place; empty when it is the same."""


@dataclass(frozen=True, slots=True)
class Act:
    """These effects are due now; afterwards look again. `memo` is what must be remembered before the first of them."""

    effects: tuple[Effect, ...]
    reason: str
    memo: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """The world is as this step wants it. `memo` is kept with the step; `reason` is the sentence for the timeline."""

    reason: str
    memo: Mapping[str, str] = field(default_factory=dict)
    learned: Learned = field(default_factory=Learned)


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until something changes; look again after `after` at the latest."""

    reason: str
    after: timedelta = timedelta(seconds=30)
    memo: Mapping[str, str] = field(default_factory=dict)
    with_vendor: bool = False
    """Whether it is a vendor that has to do something, outside the cluster."""


@dataclass(frozen=True, slots=True)
class Failed:
    """This step did not do its work; the next rung of the ladder is asked."""

    reason: str
    learned: Learned = field(default_factory=Learned)


@dataclass(frozen=True, slots=True)
class NeedsHuman:
    """Only a person can decide. `asks` names what an approval would allow, empty when there is nothing to approve.

    `of` are those it is asked of, id to readable name, where it is about some of many: an approval covers no others.
    """

    reason: str
    asks: str = ""
    of: Mapping[str, str] = field(default_factory=dict)


Outcome = Done | Wait | Failed | NeedsHuman
