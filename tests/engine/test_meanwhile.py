"""The trap in which somebody acts: before and after every mutating call of every scene, the promises are kept."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from app.domain.policies import Mode
from app.store import Store
from tests.engine import others, promises
from tests.engine.chronicle import Chronicle
from tests.engine.driving import NODE, Story
from tests.engine.scenes import SCENES, Scene
from tests.engine.trap import Killed, Situations, Trap

ACTS: dict[str, Callable[[Chronicle], object]] = {
    "a graver fault joins": lambda told: others.send(told, others.GRAVER, gpu=5),
    "a fault joins that software cannot repair": lambda told: others.send(told, others.BEYOND_SOFTWARE, gpu=5),
    "the fault comes again": lambda told: others.send(told, told.story.operation().faults[0].code.removeprefix("xid-")),
    "a person cancels": lambda told: others.order(told, "cancel"),
    "a person releases": lambda told: others.order(told, "release"),
    "a person approves": lambda told: others.order(told, "approve"),
    "a person retries": lambda told: others.order(told, "retry"),
    "a person skips": lambda told: others.order(told, "skip"),
    "a person pauses": others.pause,
    "a person uncordons": others.uncordon,
    "a person cordons": others.cordon,
    "a person excludes the node": others.exclude,
    "the mode is lowered to observe": lambda told: others.restart_in(told, Mode.OBSERVE),
    "the mode is lowered to cordon": lambda told: others.restart_in(told, Mode.CORDON),
    "the mode is lowered to approve": lambda told: others.restart_in(told, Mode.APPROVE),
    "a second worker goes on": others.work_on,
    "the worker is held up": others.hold_up,
    "the node is recreated": others.recreate,
    "the driver-upgrade controller cordons": others.upgrade,
}

ONE_MACHINE = {name: scene for name, scene in SCENES.items() if scene.result != "replaced"}
"""The chronicle follows one machine; where another takes its name, what was done to the first says nothing of it."""


def _lived_through(store: Store, scene: Scene, act: Callable[[Chronicle], object], trap: Trap) -> None:
    """The scene with this act in its midst; what it led to; and then its end, if need be by a person."""
    told = _begun(store, scene)

    def acts() -> None:
        others.a_moment(told)
        act(told)

    trap.springs = acts
    with suppress(Killed):
        told.live_on(told.worker(trap))
    _rests(told)
    others.resume(told)
    others.include(told)
    told.story.policy = others.policy()
    _rests(told)
    for order in ("approve", "cancel"):
        for operation in told.open_operations():
            others.order(told, order, operation.id)
        _rests(told)
    promises.keep_when_over(told)


def _begun(store: Store, scene: Scene) -> Chronicle:
    told = Chronicle(Story(store, policy=others.policy()), ill={NODE})
    scene.begin(told.story)
    return told


def _rests(told: Chronicle) -> None:
    told.live_on()
    promises.keep(told)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("act", ACTS)
def test_the_promises_are_kept_whoever_acts_in_the_midst(
    emptied: Callable[[], Store], act: str, thorough: bool
) -> None:
    """A quick run tries each act at one point of one scene; a thorough one in every third situation of every scene.

    Before the call that it arises with, or after it, in turn. Which of three neighbours is tried changes with the act.
    """
    number = list(ACTS).index(act)
    for name in ONE_MACHINE if thorough else [list(ONE_MACHINE)[number % len(ONE_MACHINE)]]:
        situations = Situations()
        told = _begun(emptied(), SCENES[name])
        told.live_on(told.worker(situations))
        assert len(situations.first) > 15
        points = [(at, (place + number) % 2 == 0) for place, at in enumerate(situations.first.values())]
        for at, after in points[number % 3 :: 3] if thorough else [points[number * 7 % len(points)]]:
            try:
                _lived_through(emptied(), SCENES[name], ACTS[act], Trap(at=at, after=after))
            except BaseException as error:
                error.add_note(f"{name}: {'after' if after else 'before'} call {at}")
                raise
