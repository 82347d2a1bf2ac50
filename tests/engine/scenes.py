"""The stories that the crash trap cuts off anywhere: how each begins, and what must be true of its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.domain.marks import DEPLOY_LABELS
from app.domain.policies import When
from tests.engine.driving import NODE, Story

DEPLOYED = dict.fromkeys(DEPLOY_LABELS, "true")


@dataclass(frozen=True)
class Scene:
    """`begin` opens the operation; `started` are the node jobs that must have run, each as often as it stands there."""

    begin: Callable[[Story], None]
    started: tuple[str, ...]
    state: str = "finished"
    result: str | None = "released"
    reboots: int = 0
    power_cycles: int = 0
    cordons: int = 1
    evicts: bool = True


def _work(story: Story) -> None:
    story.cluster.add_pod(NODE, "llama-ft-0", namespace="train", grace=600, ends_after=90, gpus=4)
    story.cluster.add_pod(NODE, "vllm-chat-0", namespace="serve", labels={"app": "vllm-chat"}, ends_after=5)


def _operator(story: Story) -> None:
    node = story.cluster.nodes.get(NODE)
    assert node is not None
    story.cluster.change_node(NODE, labels={**node.labels, **DEPLOYED})
    plugin = {"app": "nvidia-device-plugin-daemonset"}
    where = {"namespace": "gpu-operator", "controller_kind": "DaemonSet", "labels": plugin}
    story.cluster.add_pod(NODE, "plugin-1", ends_after=1, **where)


def _reboot(story: Story) -> None:
    _work(story)
    story.open()


def _reset(story: Story) -> None:
    _work(story)
    _operator(story)
    story.open("xid-119", ladder=("reset", "reboot"))


def _reset_in_use(story: Story) -> None:
    _work(story)
    _operator(story)
    story.cluster.machine(NODE).reset = "in-use"
    story.open("xid-119", ladder=("reset", "reboot"))


def _power(story: Story) -> None:
    _work(story)
    story.cluster.machine(NODE).reboot = "same-boot"
    story.open(ladder=("reboot", "power-cycle"))


def _plugin(story: Story) -> None:
    _work(story)
    _operator(story)
    story.open("xid-48", ladder=("restart-plugin", "reset"))


def _idle(story: Story) -> None:
    story.open("xid-63", ladder=("reset",), when=When.IDLE)


def _hopeless(story: Story) -> None:
    _work(story)
    _operator(story)
    story.cluster.machine(NODE).reset = "no-effect"
    story.cluster.machine(NODE).diagnosis = "fail"
    story.open("xid-119", ladder=("reset", "reboot"))


def _replaced(story: Story) -> None:
    _work(story)
    _operator(story)
    story.open(ladder=("replace",))


PROOF = ("diagnose", "benchmark")
SCENES: dict[str, Scene] = {
    "reboot": Scene(_reboot, ("reboot", *PROOF), reboots=1),
    "reset": Scene(_reset, ("reset", *PROOF)),
    "reset in use": Scene(_reset_in_use, ("reset", "reset", "reboot", *PROOF), reboots=1),
    "power cycle": Scene(_power, ("reboot", *PROOF), reboots=2, power_cycles=1),
    "plugin restart": Scene(_plugin, ("recovery-check", "recovery-check"), evicts=False),
    "idle reset": Scene(_idle, ("reset", *PROOF), evicts=False),
    "replacement": Scene(_replaced, PROOF, result="replaced", cordons=2),
    "hopeless": Scene(_hopeless, ("reset", "reboot", "diagnose"), state="needs-human", result=None, reboots=1),
}
