"""The stories the demo can play: what befalls the cluster, and what must be true at the end. Only HTTP is spoken.

A scene acts through the simulator's control API, as the world would; Sickbay hears of it from Alertmanager alone. Each
is a generator: it yields whenever it waits, and returns in a sentence what is wrong, or None. Scenes touch different
cards, so that any number of them may follow each other in one house.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

from simulator.breakages import BREAKAGES
from simulator.stage import Object, Stage, wrong_with

Story = Generator[None, None, str | None]

VALIDATED = ("diagnose", "benchmark", "release")
RESET = ("drain", "pause-operands", "reset", "restore-operands", *VALIDATED)
REBOOT = ("drain", "reboot", *VALIDATED)
GRAVE = ("drain", "reset", "reboot", "power-cycle", "open-ticket")

POLLS_WHILE_WATCHED = 6
"""So that a reader of the live view sees something wait before it goes on."""


@dataclass(frozen=True, slots=True)
class Scene:
    """`node` is the one to watch, `brief` what a list of scenes says of it."""

    node: str
    brief: str
    title: str
    story: Callable[[Stage], Story]


def _linger() -> Generator[None, None, None]:
    for _ in range(POLLS_WHILE_WATCHED):
        yield


def _repair(stage: Stage) -> Story:
    """Xid 79 on a node with a training run and an inference replica whose budget forbids its eviction for a while."""
    before = stage.before("gpu-a03")
    stage.strike("budget", {"blocked": True, "node": "gpu-a03"})
    stage.strike("break", {"how": "fallen", "node": "gpu-a03", "gpu": 6})
    yield from stage.reaches(before, state="waiting", words="vllm-chat")
    yield from _linger()
    stage.strike("budget", {"blocked": False})
    yield from stage.over(before)
    return wrong_with(stage, before, did=REBOOT, never=("reset", "open-ticket"), boots=1)


def _broken(  # noqa: PLR0913 - one row of the table below
    how: str,
    node: str,
    gpu: int,
    brief: str,
    *,
    result: str = "released",
    did: tuple[str, ...],
    failed: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    codes: tuple[str, ...] = (),
    boots: int = 0,
) -> Scene:
    """A breakage, and an operation that ends by itself."""

    def story(stage: Stage) -> Story:
        before = stage.before(node)
        stage.strike("break", {"how": how, "node": node, "gpu": gpu})
        yield from stage.over(before)
        return wrong_with(stage, before, result=result, did=did, failed=failed, never=never, codes=codes, boots=boots)

    return Scene(node, brief, f"GPU {gpu} of {node}: {BREAKAGES[how].what}", story)


def _only_noted(how: str, node: str, gpu: int, code: str, brief: str) -> Scene:
    """A breakage that Sickbay hears of, writes down, and leaves alone."""

    def story(stage: Stage) -> Story:
        before = stage.before(node)
        known = {one["at"] for one in stage.alerts()}
        stage.strike("break", {"how": how, "node": node, "gpu": gpu})
        heard: list[Object] = []
        while not heard:
            yield
            news = [one for one in stage.alerts() if one["at"] not in known and code in one["reason"]]
            heard = [one for one in news if one["decision"] != "pending"]
        yield from _linger()
        if stage.since(before) is not None:
            return f"An operation was opened on {node} for {code}."
        if any(one["decision"] != "note" for one in heard):
            return f"{code} was not noted but decided as {heard[0]['decision']}: {heard[0]['reason']}"
        touched = [one for one in stage.writes(before.act) if node in (one["name"], (one["sent"] or {}).get("node"))]
        return f"{node} was touched for {code}." if touched else None

    return Scene(node, brief, f"GPU {gpu} of {node}: {BREAKAGES[how].what}", story)


PODS = "/api/v1/namespaces/batch/pods"


def _working(stage: Stage, node: str, name: str) -> Generator[None, None, None]:
    """Somebody starts a program on that node, with one GPU, and it runs."""
    needs = {"limits": {"nvidia.com/gpu": "1"}}
    container = {"name": "main", "image": "registry.example/notebook:1", "resources": needs}
    spec = {"nodeName": node, "terminationGracePeriodSeconds": 5, "containers": [container]}
    stage.as_person("POST", PODS, {"metadata": {"name": name, "labels": {"app": name}}, "spec": spec})
    while not any(one["name"] == name and one["ready"] for one in stage.cluster_state()["pods"]):
        yield


def _contained(stage: Stage) -> Story:
    """Xid 94 on a node with a program that has some work left: it ends in its own time, and is not evicted."""
    node, name = "gpu-a04", "notebook"
    yield from _working(stage, node, name)
    before = stage.before(node)
    stage.strike("break", {"how": "contained", "node": node, "gpu": 7})
    yield from stage.reaches(before, step="await-idle")
    yield from _linger()
    waited = stage.since(before)
    cordoned = stage.node(node)["spec"].get("unschedulable")
    stage.as_person("DELETE", f"{PODS}/{name}")
    yield from stage.over(before)
    if waited is None or waited["state"] in ("finished", "needs-human") or cordoned:
        return f"{node} was not left to its work until that had ended."
    if any(one["subresource"] == "eviction" and one["name"] == name for one in stage.writes(before.act)):
        return f"{name} was evicted from {node}."
    return wrong_with(stage, before, did=("await-idle", *RESET[1:]), codes=("xid-94",))


def _to_the_vendor(stage: Stage, node: str, gpu: int) -> Generator[None, None, None]:
    """Once the operation waits with the vendor: another card, and the ticket is closed."""
    stage.strike("swap", {"node": node, "gpu": gpu})
    for ticket in stage.cluster_state()["tickets"]:
        if ticket["state"] == "open":
            stage.strike("tickets/close", {"file": ticket["file"]})
    yield


def _lost(stage: Stage) -> Story:
    """A GPU that no boot finds again: the whole ladder, the vendor, another card."""
    before = stage.before("gpu-a04")
    stage.strike("break", {"how": "lost", "node": "gpu-a04", "gpu": 5})
    yield from stage.reaches(before, state="with-vendor")
    yield from _linger()
    yield from _to_the_vendor(stage, "gpu-a04", 5)
    yield from stage.over(before)
    steps = ("open-ticket", "await-ticket", "inventory", *VALIDATED)
    failed = ("reboot", "power-cycle")
    return wrong_with(stage, before, result="replaced", did=steps, failed=failed, never=("reset",), boots=2)


def _offender(stage: Stage) -> Story:
    """One card falls ill three times: the third time it is not repaired again but goes to the vendor at once."""
    node, gpu = "gpu-a02", 1
    for _ in range(2):
        before = stage.before(node)
        stage.strike("break", {"how": "fallen", "node": node, "gpu": gpu})
        yield from stage.over(before)
        found = stage.since(before)
        if found is None or found["result"] != "released":
            return f"{node} was not released before it became an offender."
    before = stage.before(node)
    stage.strike("break", {"how": "fallen", "node": node, "gpu": gpu})
    yield from stage.reaches(before, state="with-vendor")
    yield from _linger()
    yield from _to_the_vendor(stage, node, gpu)
    yield from stage.over(before)
    steps = ("open-ticket", "await-ticket", "inventory", *VALIDATED)
    return wrong_with(stage, before, result="replaced", did=steps, never=("reset", "reboot", "power-cycle"))


def _flapping(stage: Stage) -> Story:
    """The alert ends and comes back three times while a drain asks about a program that nothing would start again."""
    node, name = "gpu-a02", "by-hand"
    yield from _working(stage, node, name)
    before = stage.before(node)
    stage.strike("break", {"how": "flapping", "node": node, "gpu": 5})
    while not any(one["fired"] == 4 and one["sent"] == "firing" for one in _alerts(stage, node, 95)):
        yield
    found = stage.since(before)
    drained = found is None or ("drain", "done") in _steps(found)
    stage.as_person("DELETE", f"{PODS}/{name}")
    yield from stage.over(before, ("finished",))
    if drained:
        return f"{node} was drained of a program that nothing starts again."
    resets = [one for one in stage.writes(before.act, resource="jobs") if one["verb"] == "create" and _resets(one)]
    if len(resets) != 1:
        return f"{len(resets)} resets were asked for on {node}, and it should be one."
    return wrong_with(stage, before, did=RESET, never=("reboot",), codes=("xid-95",))


def _alerts(stage: Stage, node: str, xid: int) -> list[Object]:
    """What Alertmanager has of that code on that node."""
    wanted = {"Hostname": node, "err_code": str(xid)}
    return [one for one in stage.cluster_state()["alerts"] if wanted.items() <= one["labels"].items()]


def _steps(operation: Object) -> set[tuple[str, str]]:
    return {(one["step"], one["state"]) for one in operation["plan"]}


def _resets(act: dict[str, object]) -> bool:
    return "--gpu-reset" in str(act["sent"])


def _burst(stage: Stage) -> Story:
    """Five alerts of one node within a second are one operation, by the gravest rung, with the root cause named."""
    before = stage.before("gpu-a01")
    stage.strike("break", {"how": "burst", "node": "gpu-a01", "gpu": 6})
    yield from stage.over(before)
    found = stage.since(before)
    if found is not None and not any(fault["code"] == "xid-79" for fault in found["faults"]):
        return "The operation does not name Xid 79."
    return wrong_with(stage, before, did=REBOOT, never=("reset", "open-ticket"), boots=1)


def _interrupted(act: str, node: str, gpu: int) -> Callable[[Stage], Story]:
    """A repair in whose course something of Sickbay's own dies, at three steps."""

    def story(stage: Stage) -> Story:
        before = stage.before(node)
        stage.strike("break", {"how": "fallen", "node": node, "gpu": gpu})
        for step in ("reboot", "diagnose", "benchmark"):
            yield from stage.reaches(before, step=step)
            stage.strike(f"acts/{act}", {})
        yield from stage.over(before)
        return wrong_with(stage, before, did=REBOOT, never=("reset", "open-ticket"), boots=1)

    return story


SCENES: dict[str, Scene] = {
    "repair": Scene(
        "gpu-a03",
        "Xid 79 under a training run; a budget holds the drain",
        "Xid 79: GPU 6 of gpu-a03 falls off the bus, and a budget holds the drain",
        _repair,
    ),
    "fallen": _broken(
        "fallen",
        "gpu-a04",
        0,
        "Xid 79: drain, reboot, validate, release",
        did=REBOOT,
        never=("reset", "open-ticket"),
        boots=1,
    ),
    "memory": _broken(
        "memory",
        "gpu-a02",
        3,
        "Xid 48 and 63: one operation, one reset",
        did=RESET,
        never=("reboot",),
        codes=("xid-48", "xid-63"),
    ),
    "contained": Scene(
        "gpu-a04",
        "Xid 94: waits until the work has ended, then resets",
        f"GPU 7 of gpu-a04: {BREAKAGES['contained'].what}",
        _contained,
    ),
    "gsp": _broken(
        "gsp", "gpu-a02", 4, "Xid 119: drain, reset, validate", did=RESET, never=("reboot",), codes=("xid-119",)
    ),
    "lost": Scene(
        "gpu-a04",
        "no reboot finds the GPU: ticket, vendor, another card",
        f"GPU 5 of gpu-a04: {BREAKAGES['lost'].what}",
        _lost,
    ),
    "fails-diagnosis": _broken(
        "fails-diagnosis",
        "gpu-a04",
        2,
        "a reset that does not hold: the diagnosis fails, so reboot",
        did=(*RESET[:4], *REBOOT[1:]),
        failed=("diagnose",),
        boots=1,
    ),
    "slow-link": _broken(
        "slow-link",
        "gpu-a02",
        6,
        "a slow NVLink: reset, reboot and power cycle, rung by rung",
        did=("reset", "reboot", "power-cycle", *VALIDATED),
        failed=("benchmark",),
        boots=2,
    ),
    "application": _only_noted("application", "gpu-a01", 7, "Xid 31", "Xid 31, a program's mistake: noted only"),
    "unknown": _only_noted("unknown", "gpu-a01", 5, "Xid 199", "Xid 199, which nobody knows: noted only"),
    "flapping": Scene(
        "gpu-a02",
        "an alert that comes and goes: one operation, one reset",
        f"GPU 5 of gpu-a02: {BREAKAGES['flapping'].what}",
        _flapping,
    ),
    "burst": Scene(
        "gpu-a01",
        "five alerts of one node: one operation, one cause",
        f"GPU 6 of gpu-a01: {BREAKAGES['burst'].what}",
        _burst,
    ),
    "plugin": _broken(
        "plugin",
        "gpu-a01",
        4,
        "Xid 92: restarts the device plugin, drains nothing",
        did=("restart-plugin", "release"),
        never=GRAVE,
        codes=("xid-92",),
    ),
    "stress": _broken(
        "stress",
        "gpu-a04",
        1,
        "a diagnosis that raises alerts itself: no new operation",
        did=RESET,
        never=("reboot",),
        codes=("xid-119",),
    ),
    "replace": _broken(
        "replace",
        "gpu-a01",
        2,
        "Xid 54: another machine takes the node's name",
        result="replaced",
        did=("drain", "replace", *VALIDATED),
        never=("reset", "reboot", "open-ticket"),
        codes=("xid-54",),
        boots=1,
    ),
    "offender": Scene(
        "gpu-a02",
        "one card falls ill three times: to the vendor at once",
        "GPU 1 of gpu-a02 falls off the bus three times, and is replaced",
        _offender,
    ),
    "killed": Scene(
        "gpu-a04",
        "the worker is killed three times during a repair",
        "The worker is killed at three steps of a repair",
        _interrupted("kill-worker", "gpu-a04", 3),
    ),
    "store": Scene(
        "gpu-a02",
        "Valkey is killed three times during a repair",
        "Valkey is restarted at three steps of a repair",
        _interrupted("restart-valkey", "gpu-a02", 0),
    ),
}
"""Name to scene, as `sickbay demo --scene` takes it."""
