"""What comes between the look that decided an act and its intent: the record is asked once more before any act."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from app.store import Store
from tests.engine import others, promises
from tests.engine.chronicle import Chronicle
from tests.engine.driving import NODE, Story
from tests.engine.trap import Trap


@pytest.mark.parametrize(
    ("no", "yes"), [(others.pause, others.resume), (others.exclude, others.include)], ids=["pause", "exclude"]
)
def test_a_no_right_before_the_intent_of_the_cordon_holds_the_cordon(
    store: Store, no: Callable[[Chronicle], None], yes: Callable[[Chronicle], None]
) -> None:
    told = Chronicle(Story(store, policy=others.policy()), ill={NODE})
    told.story.open()

    told.live_on(told.worker(Trap(at=1, springs=lambda: no(told))), hops=3)

    assert told.story.operation().state == "held"
    assert not told.story.cluster.cordons
    yes(told)
    told.live_on()
    promises.keep(told)
    assert told.story.operation().result == "released"
