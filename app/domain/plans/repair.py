"""The plan of a repair: out of service at once, then rung by rung, each proven before the node goes back."""

from __future__ import annotations

from app.domain.plans.planned import PlannedStep

RUNGS: dict[str, tuple[str, ...]] = {
    "reboot": ("reboot",),
}
"""The steps that carry out each rung of a ladder."""

BEFORE = ("cordon", "evidence", "drain")
VALIDATION = ("diagnose", "benchmark")
RELEASE = "release"


def plan(ladder: tuple[str, ...]) -> tuple[PlannedStep, ...]:
    """The whole plan up to release by the first rung. Without a rung it ends drained, before a person."""
    before = tuple(PlannedStep(step=step) for step in BEFORE)
    return before + (rung_steps(ladder[0]) if ladder else ())


def rung_steps(rung: str) -> tuple[PlannedStep, ...]:
    """One rung, its proof and the release that the proof allows."""
    steps = (*RUNGS[rung], *VALIDATION)
    return (*(PlannedStep(step=step, rung=rung) for step in steps), PlannedStep(step=RELEASE))


def rung_after(ladder: tuple[str, ...], plan: tuple[PlannedStep, ...]) -> str | None:
    """The next rung that this plan has not tried, None at the ladder's end. No rung is taken twice."""
    tried = {step.rung for step in plan}
    return next((rung for rung in ladder if rung not in tried), None)
