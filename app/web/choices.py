"""What a person may order of an operation now, as the pages offer it: a label, what follows, and how sure one must be.

Whether an order is possible is asked of `app.domain.people` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.domain.aims import aim
from app.domain.operations import Operation
from app.domain.people import OrderRefusedError, give, tried

STEPS: Final[Mapping[str, str]] = {
    "await-idle": "Sickbay waits until no pod holds a GPU of {node}.",
    "cordon": "No new pod comes to {node}; what works there stays.",
    "evidence": "Sickbay notes what {node} and its pods say. Nothing is changed.",
    "drain": "Every pod that is not a DaemonSet's is evicted from {node}, as far as its disruption budget allows.",
    "recovery-check": "The driver of {node} is asked whether a GPU wants a reset.",
    "restart-plugin": "The device plugin of {node} starts anew; the work there goes on.",
    "pause-operands": "Device plugin and DCGM leave {node} for the time of the reset.",
    "reset": "The sick GPUs of {node} are reset.",
    "restore-operands": "Device plugin and DCGM come back to {node}.",
    "reboot": "{node} reboots, and whatever still runs on it ends.",
    "power-cycle": "{node} is cut off from power and switched on again; whatever still runs on it is lost.",
    "replace": "The provider takes {node} away and puts another machine in its place; what is on its disks is lost.",
    "open-ticket": "A hardware ticket is opened, and {node} waits for the vendor.",
    "await-ticket": "{node} waits until its ticket is closed.",
    "inventory": "Sickbay looks which cards {node} has now.",
    "diagnose": "DCGM diagnoses every GPU of {node}.",
    "benchmark": "All GPUs of {node} work together, measured against its peers.",
    "release": "Sickbay gives {node} back as it found it.",
}
"""What each step does to its node, in words for whoever allows it."""

QUESTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "bare-pods": ("eviction", "These pods of {node} have no controller and are evicted too; nobody starts them again."),
    "local-data": (
        "eviction",
        "These pods of {node} are evicted too; what is in their emptyDir volumes is lost.",
    ),
    "unfinished-work": (
        "eviction",
        "These pods of {node}, which were to end by themselves, are evicted now.",
    ),
    "foreign-cordon": ("going on", "Sickbay goes on although somebody else had cordoned {node}: it is drained next."),
    "drain-although-busy": ("drain", "{node} is cordoned and drained although it is busy."),
}
"""What a step may ask beside its own act: how the button names it, and what an approval lets happen."""

RUNG_STEPS: Final[Mapping[str, str]] = {"ticket": "open-ticket"}
"""The step that says what a rung does, where it has another name."""

PROOFS: Final = frozenset({"diagnose", "benchmark", "recovery-check"})
GRAVE: Final = frozenset({"power-cycle", "replace"})
OFFERED: Final = ("approve", "retry", "skip", "release", "cancel")
"""In the order of the buttons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One order that is possible now.

    `about` is its aim (`app.domain.aims`): an order that comes after the operation has moved on was meant for something
    else. `typed`: the node's name must be typed, since nothing proves or undoes what follows.
    """

    order: str
    label: str
    effect: str
    about: str
    typed: bool = False

    @property
    def main(self) -> bool:
        """Whether it is what the operation waits for."""
        return self.order == "approve"


def choices(operation: Operation, now: datetime) -> tuple[Choice, ...]:
    """All that are possible now."""
    return tuple(one for order in OFFERED if (one := choice(operation, order, now)) is not None)


def choice(operation: Operation, order: str, now: datetime) -> Choice | None:
    """This order as a choice, None when it makes no sense now."""
    try:
        changed, _ = give(operation, order, actor="", reason="", now=now)
    except OrderRefusedError:
        return None
    node = operation.node.name
    step = tried(operation)
    at, about = "" if step is None else step.step, aim(operation, order)
    match order:
        case "approve":
            return _approval(operation)
        case "retry":
            return Choice(order=order, label=f"Retry {at}", effect=_does(at, node), about=about)
        case "skip":
            following = changed.current
            effect = f"{at.capitalize()} is left out. " + (f"Next is {following.step}." if following else "")
            if at in PROOFS:
                effect = f"{effect} Then nothing shows that {node} is well."
            return Choice(order=order, label=f"Skip {at}", effect=effect.strip(), about=about, typed=at in PROOFS)
        case "release":
            effect = f"{node} takes work again at once, although nothing has proven that it is well."
            if changed.finished:
                effect = f"Nothing has been changed on {node} yet: it keeps its work, although it is not proven well."
            return Choice(order=order, label="Release without proof", effect=effect, about=about, typed=True)
    effect = f"Nothing more is repaired. {node} is given back as it was before Sickbay, with its fault."
    if changed.finished:
        effect = f"Nothing has been changed on {node} yet, so the operation simply ends."
    return Choice(order=order, label="Cancel", effect=effect, about=about)


def _approval(operation: Operation) -> Choice:
    asks, node = operation.asks, operation.node.name
    named, told = QUESTIONS.get(asks, (asks, ""))
    effect = told.format(node=node) or _does(asks, node)
    steps = [step.step for step in operation.plan if step.rung == asks and not step.over]
    if len(steps) > 1:
        effect = f"{effect} This allows the whole rung: {', '.join(steps)}."
    return Choice(
        order="approve", label=f"Approve {named}", effect=effect, about=aim(operation, "approve"), typed=asks in GRAVE
    )


def _does(step: str, node: str) -> str:
    told = STEPS.get(RUNG_STEPS.get(step, step), f"{step.capitalize()} of {{node}}.")
    return told.format(node=node)
