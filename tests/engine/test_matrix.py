"""Every behaviour of the hardware against the rung that meets it, in every mode: the end, the acts, the sentence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest

from app.domain.people import give
from app.domain.policies import Mode
from app.store import Change, Store
from tests.engine.driving import NODE, Story
from tests.engine.policies import story_policy
from tests.engine.scenes import DEPLOYED


@dataclass(frozen=True)
class Cell:
    """What the machine does, and what must come of a repair that has only this rung.

    `jobs` are the node jobs that run in mode act; `words` stand in the reason or timeline.
    """

    machine: str
    behaviour: str
    rung: str
    state: str
    jobs: tuple[str, ...]
    words: str
    boots: int = 0


PROOF = ("diagnose", "benchmark")
CELLS = (
    Cell("reset", "works", "reset", "finished", ("reset", *PROOF), "takes work again"),
    Cell("reset", "no-effect", "reset", "needs-human", ("reset",), "The reset had no effect"),
    Cell("reset", "in-use", "reset", "needs-human", ("reset", "reset"), "in use"),
    Cell("reset", "impossible", "reset", "needs-human", ("reset",), "cannot be reset"),
    Cell("reset", "hang", "reset", "needs-human", ("reset",), "reset"),
    Cell("reboot", "new-boot", "reboot", "finished", ("reboot", *PROOF), "takes work again", boots=1),
    Cell("reboot", "quick", "reboot", "finished", ("reboot", *PROOF), "takes work again", boots=1),
    Cell("reboot", "same-boot", "reboot", "needs-human", ("reboot",), "shows no new boot id", boots=1),
    Cell("reboot", "never-ready", "reboot", "needs-human", ("reboot",), "", boots=1),
    Cell("reboot", "gpu-missing", "reboot", "needs-human", ("reboot",), "7 of 8 GPUs are back", boots=1),
    Cell("reboot", "driver-crash-loop", "reboot", "needs-human", ("reboot",), "0 of 8 GPUs are back", boots=1),
    Cell("reboot", "fails", "reboot", "needs-human", ("reboot",), "refused to reboot"),
    Cell("reboot", "same-boot", "power-cycle", "finished", PROOF, "Power-cycled", boots=1),
    Cell("diagnosis", "fail", "reset", "needs-human", ("reset", "diagnose"), "emory failed on GPU 3"),
    Cell("diagnosis", "skip", "reset", "needs-human", ("reset", "diagnose", "diagnose"), "inconclusive"),
    Cell("diagnosis", "hang", "reset", "needs-human", ("reset", "diagnose", "diagnose"), "inconclusive"),
    Cell("diagnosis", "garbage", "reset", "needs-human", ("reset", "diagnose", "diagnose"), "inconclusive"),
    Cell("diagnosis", "silent", "reset", "needs-human", ("reset", "diagnose", "diagnose"), "inconclusive"),
    Cell("diagnosis", "vanish", "reset", "needs-human", ("reset", "diagnose", "diagnose"), "deleted before it ended"),
    Cell("bandwidth", "slow", "reset", "needs-human", ("reset", *PROOF), "below the floor"),
    Cell("bandwidth", "wrong", "reset", "needs-human", ("reset", *PROOF), "Wrong values"),
    Cell("bandwidth", "hang", "reset", "needs-human", ("reset", *PROOF, "benchmark"), "inconclusive"),
)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.rung}: {cell.machine} {cell.behaviour}")
def test_each_cell_ends_as_it_must(store: Store, cell: Cell, mode: Mode) -> None:
    story = Story(store, policy=story_policy(mode))
    pod = _prepare(story, cell)
    story.open("xid-119", ladder=(cell.rung,))
    operation = story.run()
    while operation.asks:
        assert mode is Mode.APPROVE
        _approve(story)
        operation = story.run()
    told = " ".join((operation.reason, *story.timeline()))
    assert operation.reason.endswith(".")
    ran = tuple(job.step for job in story.cluster.node_jobs.started)
    if mode in {Mode.OBSERVE, Mode.CORDON}:
        assert (operation.state, ran, story.cluster.evictions[pod]) == (
            "held" if mode is Mode.OBSERVE else "needs-human",
            (),
            0,
        )
        assert story.cluster.cordons[NODE] == (mode is Mode.CORDON)
        return
    assert (operation.state, ran) == (cell.state, cell.jobs), told
    assert cell.words in told
    assert story.cluster.reboots[NODE] == cell.boots
    assert story.cluster.evictions == Counter({pod: 1})
    assert story.cluster.cordons == {NODE: 1}
    node = story.cluster.nodes.get(NODE)
    assert node is not None
    assert node.unschedulable == (cell.state != "finished")
    assert {key: node.labels[key] for key in DEPLOYED} == DEPLOYED


def _prepare(story: Story, cell: Cell) -> str:
    node = story.cluster.nodes.get(NODE)
    assert node is not None
    story.cluster.change_node(NODE, labels={**node.labels, **DEPLOYED})
    setattr(story.cluster.machine(NODE), cell.machine, cell.behaviour)
    return story.cluster.add_pod(NODE, "llama-ft-0", ends_after=5, gpus=4).uid


def _approve(story: Story) -> None:
    known = story.operation()
    operation, entries = give(known, "approve", actor="ana", reason="it may", now=story.now)
    change = Change(operation=operation, expected_version=known.version, entries=entries, now=story.now)
    story.store.operations.commit(change)
