"""What happened around the engine, in order: the intents it stored, its deeds, and what others did meanwhile.

It is written from outside, by what stands between a worker and the world, so that a promise is held against what was
really done, whatever the engine believes of itself. `tests.engine.promises` reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from app.domain.effects import PatchNode
from app.domain.facts import NodeView
from app.domain.marks import DEPLOY_LABELS, read_mark
from app.domain.operations import Operation, State
from app.domain.policies import Mode
from app.errors import StoreUnavailable
from app.intake import Intake
from app.store import Change, Committed
from tests.building import xids
from tests.engine.driving import NODE, Story
from tests.engine.trap import Around, trapped_ports, trapped_store
from workers.engine import Engine

OPERATION = f"op-{NODE}"
LOOKS_EVERY = timedelta(minutes=3)
RESTS = frozenset({State.NEEDS_HUMAN, State.HELD})
HURTING_JOBS = frozenset({"reset", "reboot"})


@dataclass(frozen=True, slots=True)
class Intent:
    """An intent as it was committed. `order` is its place among all that happened."""

    order: int
    at: datetime
    operation: Operation
    mode: Mode
    """How far the worker's policy let it go."""

    @property
    def step(self) -> str:
        current = self.operation.current
        return current.step if current else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One mutating call on the world that changed it. `was` and `seen` are node and operation right before it."""

    order: int
    at: datetime
    verb: str
    """evict, restart (the eviction of a DaemonSet's pod), patch, remove, cycle, replace, open, comment, or the step
    whose node job was started."""
    target: str
    intent: Intent
    was: NodeView | None
    seen: Operation | None
    claimed: bool
    """Whether the worker held the claim in the store at that moment."""
    cordons: bool = False
    uncordons: bool = False
    pauses: bool = False

    @property
    def disrupts(self) -> bool:
        """Whether it ends somebody's work or the machine's uptime, or takes the GPUs' operands away."""
        return self.verb in {"evict", "delete", "cycle", "replace", *HURTING_JOBS} or self.pauses

    @property
    def hurts(self) -> bool:
        """Whether it does that, restarts what serves GPUs, or keeps work away that a release has not just let in."""
        return self.disrupts or self.verb == "restart" or (self.cordons and self.intent.step != "release")


@dataclass(frozen=True, slots=True)
class No:
    """Somebody wants nothing more to be done that hurts: to an operation, to a node, or to any (both empty)."""

    order: int
    kind: str
    operation: str = ""
    node: str = ""

    def covers(self, operation: Operation) -> bool:
        """Whether it is about this operation."""
        return self.operation in {"", operation.id} and self.node in {"", operation.node.name}


@dataclass
class Chronicle:
    """One story's. Workers are made here, so that what they do is written down."""

    story: Story
    intents: list[Intent] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    noes: list[No] = field(default_factory=list)
    lifted: dict[int, int] = field(default_factory=dict)
    """A no's order to the order at which it was taken back."""
    retries: Counter[str] = field(default_factory=Counter)
    """Operation to how often a person ordered a step again."""
    skips: Counter[str] = field(default_factory=Counter)
    """Operation to how often a person skipped a step."""
    ill: set[str] = field(default_factory=set)
    """Nodes of which a fault was told that the policy has an answer to."""
    cordoned_by_others: set[str] = field(default_factory=set)
    """Nodes that somebody else made unschedulable while Sickbay did not hold them."""
    joined: list[tuple[int, str]] = field(default_factory=list)
    """When a fault was taken up by an operation, and by which."""
    whose: set[str] = field(default_factory=set)
    """Uids of nodes that somebody uncordoned and cordoned again while our mark was on them: nobody can tell whose."""
    untouched: dict[str, NodeView] = field(default_factory=dict)
    """Node's uid to how it was before Sickbay ever touched it."""
    at_order: int = 0

    def worker(self, trap: Around | None = None) -> Engine:
        """Another worker's engine; with a trap it may not live long."""
        writer = _Writer(self)
        store, ports = trapped_store(self.story.store, writer), trapped_ports(self.story.ports, writer)
        if trap is not None:
            store, ports = trapped_store(store, trap), trapped_ports(ports, trap)
        return self.story.worker(store, ports)

    def live_on(self, engine: Engine | None = None, *, hops: int = 500) -> None:
        """Goes on with every open operation until each rests before a person, or for so many hops in time.

        What happens by itself is looked at when it happens, as the watch would tell; else looks are minutes apart. An
        absent store is asked again at the next hop.
        """
        story, engine = self.story, engine or self.worker()
        operations = self.open_operations()
        for _ in range(hops):
            if self._place_waiting():
                operations = self.open_operations()
            for operation in operations:
                with suppress(StoreUnavailable):
                    engine.advance(operation.id)
            operations, event = self.open_operations(), story.cluster.next_event()
            if event is None and all(operation.state in RESTS for operation in operations):
                return
            looks = [operation.next_check_at for operation in operations if operation.next_check_at]
            looks_at = max(min(looks, default=story.now), story.now + LOOKS_EVERY)
            story.cluster.clock.now = max(min(event or looks_at, looks_at), story.now + timedelta(seconds=1))

    def _place_waiting(self) -> bool:
        """Alerts that wait are placed from fresh reads, as the watch has a worker do. Whether there were any."""
        story, waiting = self.story, self.story.store.pending.since()
        for pending, _ in waiting:
            inventory = story.cluster.places.inventory()
            Intake(story.store, story.policy, xids()).place_pending(pending, inventory, story.now)
        return bool(waiting)

    def next_order(self) -> int:
        """The place of what happens now."""
        self.at_order += 1
        return self.at_order

    def say_no(self, kind: str, *, operation: str = "", node: str = "") -> None:
        """From here on this forbids what it covers."""
        self.noes.append(No(self.next_order(), kind, operation, node))

    def take_back(self, kind: str, *, node: str = "") -> None:
        """What was forbidden like this is allowed again."""
        order = self.next_order()
        for no in self.noes:
            if no.kind == kind and no.node == node:
                self.lifted.setdefault(no.order, order)

    def in_force(self, deed: Deed) -> Iterator[No]:
        """What forbade this deed when it was done."""
        for no in self.noes:
            lifted = self.lifted.get(no.order, deed.order + 1)
            if no.order < deed.order < lifted and no.covers(deed.intent.operation):
                yield no

    def open_operations(self) -> list[Operation]:
        """Those that are not over."""
        return [operation for operation in self.operations() if not operation.finished]

    def operations(self) -> list[Operation]:
        """Every one there ever was, the last opened first."""
        found, _ = self.story.store.operations.page(limit=1000)
        return found


class _Writer:
    """Stands between one worker and what it calls."""

    def __init__(self, chronicle: Chronicle) -> None:
        self._chronicle = chronicle
        self._policy = chronicle.story.policy
        self._owner = ""
        self._intent: Intent | None = None

    def around(self, call: Any, *args: Any, **kwargs: Any) -> Any:
        if call.__name__ == "commit":
            return self._commits(call, *args)
        if call.__module__.startswith("app.store"):
            return call(*args, **kwargs)
        return self._does(call, *args, **kwargs)

    def _commits(self, call: Any, change: Change) -> Any:
        answer = call(change)
        if isinstance(answer, Committed) and change.claim is not None:
            told, policy = self._chronicle, self._policy
            self._owner = change.claim.owner
            pool = policy.pool_named(change.operation.pool)
            codes = [fault.code for fault in change.operation.faults]
            mode = policy.mode_for(pool, codes) if pool else Mode.OBSERVE
            self._intent = Intent(told.next_order(), told.story.now, change.operation, mode)
            told.intents.append(self._intent)
        return answer

    def _does(self, call: Any, *args: Any, **kwargs: Any) -> Any:
        told, story, intent = self._chronicle, self._chronicle.story, self._intent
        assert intent is not None, f"{call.__name__} was called before any intent was stored"
        node, world = intent.operation.node.name, story.cluster
        was, seen = world.nodes.get(node), story.store.operations.load(intent.operation.id)
        claim = story.store.operations.claim_on(intent.operation.id)
        if was is not None:
            told.untouched.setdefault(was.uid, was)
        so_far, pods = len(world.history), {pod.uid: pod for pod in world.pods.on_node(node)}
        answer = call(*args, **kwargs)
        changed = any(noted.changed for noted in world.history[so_far:]) or len(world.history) == so_far
        verb, target = _named(call.__name__, args)
        if target in pods and pods[target].controller_kind == "DaemonSet":
            verb = "restart"
        now = world.nodes.get(node)
        if changed:
            told.deeds.append(
                Deed(
                    order=told.next_order(),
                    at=story.now,
                    verb=verb,
                    target=target,
                    intent=intent,
                    was=was,
                    seen=seen,
                    claimed=claim is not None and claim.owner == self._owner and story.now < claim.until,
                    cordons=_turned(was, now) > 0 and verb == "patch",
                    uncordons=_turned(was, now) < 0 and verb == "patch",
                    pauses=_paused(now) > _paused(was) and verb == "patch",
                )
            )
        return answer


def _named(verb: str, args: tuple[Any, ...]) -> tuple[str, str]:
    first = args[0]
    if verb == "start":
        return first.step, first.name
    if verb == "evict":
        return verb, str(args[2])
    return verb, first.node if isinstance(first, PatchNode) else str(args[-1])


def _turned(was: NodeView | None, now: NodeView | None) -> int:
    return int(bool(now and now.unschedulable)) - int(bool(was and was.unschedulable))


def _paused(node: NodeView | None) -> int:
    return sum(node.labels.get(key) == ours for key, ours in DEPLOY_LABELS.items()) if node else 0


def holds(node: NodeView | None) -> bool:
    """Whether Sickbay's mark is on the node and the node is cordoned."""
    return node is not None and node.unschedulable and read_mark(node) is not None
