"""The plan of a repair: out of service at once, then rung by rung, each proven before the node goes back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from app.domain.plans.planned import PlannedStep, StepState

RUNGS: dict[str, tuple[str, ...]] = {
    "restart-plugin": ("recovery-check", "restart-plugin"),
    "reset": ("pause-operands", "reset", "restore-operands"),
    "reboot": ("reboot",),
    "power-cycle": ("power-cycle",),
    "replace": ("replace", "cordon", "drain"),
    "ticket": ("open-ticket", "await-ticket", "inventory"),
}
"""The steps that carry out each rung of a ladder, from the mildest to the gravest.

A machine that takes another one's place may get work between its joining and its cordon, so it is drained too.
"""

UNDOES = {"restore-operands": "pause-operands"}
"""A step that repays what another one owes: it is done whatever happens to the steps between them."""

UNDRAINED = frozenset({"restart-plugin"})
"""Rungs that leave the work on the node alone."""

WAIT = "await-idle"
WAITED_ENOUGH = "waited-enough"
"""In the memo of a wait that is over: a fault has joined that does not wait, so nothing waits any more."""
VALIDATION = ("diagnose", "benchmark")
LIGHT_VALIDATION = ("recovery-check",)
"""What proves a rung that changed neither hardware nor driver; that the GPUs are allocatable its own step has seen."""
RELEASE = "release"
UNCORDONED = "uncordoned"
"""In the memo of a release: a person has uncordoned the node, so no cordon on it is ours any more."""


def plan(ladder: tuple[str, ...], *, wait: PlannedStep | None = None) -> tuple[PlannedStep, ...]:
    """The whole plan up to release by the first rung. Without a rung it ends drained, before a person.

    `wait` is put first for a rung that is taken only when the node is idle.
    """
    before = (PlannedStep(step="cordon"), PlannedStep(step="evidence"))
    start = (wait, *before) if wait else before
    return (*start, *rung_steps(ladder[0], start)) if ladder else (*start, PlannedStep(step="drain"))


def rung_steps(rung: str, before: tuple[PlannedStep, ...]) -> tuple[PlannedStep, ...]:
    """One rung after these steps: a drain if it needs one, its own steps, their proof, and the release they allow."""
    drained = rung in UNDRAINED or any(step.step == "drain" and step.state is not StepState.SKIPPED for step in before)
    first = () if drained else (PlannedStep(step="drain"),)
    steps = (*RUNGS[rung], *(LIGHT_VALIDATION if rung in UNDRAINED else VALIDATION))
    return (*first, *(PlannedStep(step=step, rung=rung) for step in steps), PlannedStep(step=RELEASE))


def rung_after(ladder: tuple[str, ...], plan: tuple[PlannedStep, ...]) -> str | None:
    """The next rung that is graver than all that this plan has tried, None at the ladder's end.

    So no rung is taken twice, and a fault that joins late brings no milder one, whose proof would be too light.
    """
    order = list(RUNGS)
    reached = max((order.index(step.rung) for step in plan if step.rung), default=-1)
    return next((rung for rung in ladder if order.index(rung) > reached), None)


def cut_short(plan: Iterable[PlannedStep]) -> tuple[PlannedStep, ...]:
    """The plan with what is not over skipped, but for what undoes something that was done."""
    steps = tuple(plan)
    owed = {undo for undo, act in UNDOES.items() if any(step.step == act and step.attempt for step in steps)}
    return tuple(step if step.over or (step.step in owed) else replace(step, state=StepState.SKIPPED) for step in steps)


def by_gravity(rungs: Iterable[str]) -> tuple[str, ...]:
    """Each rung once, the mildest first."""
    return tuple(sorted(set(rungs), key=list(RUNGS).index))
