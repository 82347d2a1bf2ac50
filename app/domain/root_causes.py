"""Which of several faults is the root cause, and which the field knows as its tails.

The root is the earliest of those that ask for the gravest first rung; one that software cannot repair is graver than
any rung. It only names: what is done follows from all faults together (`app.domain.folding`).

Sources: NVIDIA's Xid catalogue (45 "not solo" follows the other Xid, 63 and 64 follow 48, 171 and 172 detail a 48, 154
sums up what the driver asks for); the memory error guide (63 follows 94 within milliseconds); NVLink peers log 74 of
their own when a GPU leaves the bus.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.domain.faults import Fault
from app.domain.plans.repair import RUNGS
from app.domain.timeline import counted

ANYWHERE = frozenset({"xid-45", "xid-154"})
"""Tails of whatever came before them on their card."""

TAILS: Mapping[str, frozenset[str]] = {
    "xid-48": frozenset({"xid-63", "xid-64", "xid-94", "xid-95", "xid-171", "xid-172"}),
    "xid-94": frozenset({"xid-63"}),
    "xid-95": frozenset({"xid-63", "xid-64"}),
    "xid-79": frozenset({"xid-119", "xid-120"}),
}
"""Root to the codes that follow from it on the same card."""

ON_PEERS: Mapping[str, frozenset[str]] = {
    "xid-79": frozenset({"xid-74"}),
    "xid-74": frozenset({"xid-74"}),
}
"""Root to the codes that other cards of the node tell of it."""

SHOWN = 4


def root_cause(faults: Sequence[Fault]) -> Fault:
    """The one that the others are seen beside. ValueError when there is none."""
    gravest = max(map(_gravity, faults))
    return min((fault for fault in faults if _gravity(fault) == gravest), key=lambda fault: fault.at)


def is_tail(root: Fault, fault: Fault) -> bool:
    """Whether this one, told at the same time or later, is known to follow from that root."""
    if fault is root or fault.at < root.at:
        return False
    same = root.gpu is None or fault.gpu is None or root.gpu.is_same_as(fault.gpu)
    if same:
        return fault.code in ANYWHERE or fault.code in TAILS.get(root.code, ())
    return fault.code in ON_PEERS.get(root.code, ())


def place_in_burst(faults: Sequence[Fault], fault: Fault) -> str:
    """What a fault that has just joined is among these faults, as the end of a sentence."""
    root = root_cause(faults)
    if root is fault:
        return "it joins this operation as its root cause"
    if is_tail(root, fault):
        return f"it joins this operation as a tail of its root cause, {root.evidence}"
    return f"it joins this operation, whose root cause is {root.evidence}"


def told(faults: Sequence[Fault]) -> str | None:
    """The root cause and its tails in a sentence or two; None for a single fault, which needs no naming."""
    if len(faults) < 2:
        return None
    root = root_cause(faults)
    text = f"The root cause of {counted(len(faults), 'fault')} is {root.evidence}."
    tails = [fault.evidence for fault in faults if is_tail(root, fault)]
    if not tails:
        return text
    more = f" and {len(tails) - SHOWN} more" if len(tails) > SHOWN else ""
    return f"{text} {'Its tail' if len(tails) == 1 else 'Its tails'}: {'; '.join(tails[:SHOWN])}{more}."


def _gravity(fault: Fault) -> int:
    return list(RUNGS).index(fault.rung) if fault.rung in RUNGS else len(RUNGS)
