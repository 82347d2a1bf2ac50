"""Every scene of the demo, played in one house at the same time where they touch different nodes, and its own verdict.

The scenes themselves say what must be true at their end; here they are only played, and the command once as a whole.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from simulator.demo import played
from simulator.demo_house import staged
from simulator.scenes import SCENES, Scene

SPEED = 240.0
LONGEST_S = 120.0
ROOT = Path(__file__).parents[2]

# One lane after the other would take twice as long. Scenes of one lane follow each other; lanes share no node.
LANES = (
    ("lost", "fallen", "fails-diagnosis", "contained", "stress"),
    ("memory", "gsp", "flapping", "slow-link", "offender"),
    ("application", "unknown", "plugin", "burst", "replace"),
    ("repair",),
)
ALONE = ("killed", "store")
"""They take something away from everybody."""

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def verdicts() -> Iterator[dict[str, str | None]]:
    """What each scene says is wrong at its end."""
    with staged(SPEED) as stage:
        found: dict[str, str | None] = {}

        def play(lane: tuple[str, ...]) -> None:
            for name in lane:
                found[name] = played(stage, SCENES[name], lambda _operation: None, LONGEST_S)

        with ThreadPoolExecutor(len(LANES)) as lanes:
            list(lanes.map(play, LANES))
        play(ALONE)
        yield found


def test_every_scene_is_played_here() -> None:
    assert sorted([*ALONE, *(name for lane in LANES for name in lane)]) == sorted(SCENES)


@pytest.mark.parametrize("name", SCENES)
def test_the_scene_ends_as_it_must(verdicts: dict[str, str | None], name: str) -> None:
    assert verdicts[name] is None


@pytest.mark.parametrize("name", ["gsp", "application"])
def test_the_command_plays_one_scene_prints_both_pages_and_ends_with_0(name: str) -> None:
    argv = [sys.executable, "-m", "app.cli", "demo", "--scene", name, "--once", "--speed", str(SPEED)]
    played_once = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert played_once.returncode == 0, played_once.stdout + played_once.stderr
    assert played_once.stderr == ""
    assert "Sickbay's page:  http://127.0.0.1:" in played_once.stdout
    assert "/simulator/\n" in played_once.stdout
    assert "diagnosis" in played_once.stdout or name == "application"


def test_a_scene_that_does_not_end_is_not_taken_for_one_that_does() -> None:
    with staged(SPEED) as stage:
        stage.strike("webhook", {"url": "http://127.0.0.1:9/nobody"})
        wrong = played(stage, SCENES["gsp"], lambda _operation: None, 3.0)
        assert wrong == "It has not ended within 3 s. gpu-a02 is without an operation"


def test_a_scene_sees_what_is_wrong_at_its_end() -> None:
    """A fault that it did not strike joins, so that the node is rebooted as well."""
    with staged(SPEED) as stage:
        story = SCENES["gsp"].story(stage)
        next(story)
        stage.strike("break", {"how": "fallen", "node": "gpu-a02", "gpu": 7})
        wrong = played(
            stage, Scene("gpu-a02", "", "as it goes on", lambda _stage: story), lambda _operation: None, LONGEST_S
        )
        assert wrong is not None
        assert wrong.startswith("gpu-a02: ")
