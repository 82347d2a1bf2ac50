"""Anything may happen, in any order: alerts, people, controllers, broken machines, dying workers, an absent store.

Hypothesis draws what happens on four nodes; the engine, the store and the cluster's ports are those of the stories.
After each event every promise is asked for, and at the end everything is mended and each node must come back as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from app.domain.people import ORDERS
from app.domain.policies import Budgets, ClusterName, Mode
from app.domain.triage import Decision
from app.errors import StoreUnavailable
from app.store import Store
from tests.engine import others, promises
from tests.engine.chronicle import Chronicle
from tests.engine.driving import Story
from tests.engine.scenes import DEPLOYED
from tests.engine.trap import Killed, Trap

NODES = ("gpu-a01", "gpu-a02", "gpu-a03", "gpu-a04")
HEALTHY = {"reboot": "new-boot", "diagnosis": "pass", "bandwidth": "ok", "reset": "works", "recovery": "None"}
BEHAVIOURS = {
    "reboot": ("new-boot", "same-boot", "never-ready", "gpu-missing", "driver-crash-loop", "quick", "fails"),
    "diagnosis": ("pass", "fail", "skip", "hang", "garbage", "silent", "vanish"),
    "bandwidth": ("ok", "slow", "wrong", "hang"),
    "reset": ("works", "no-effect", "in-use", "impossible", "hang"),
    "recovery": ("None", "Reset", "Reboot"),
}
STRANGE: dict[str, dict[str, Any]] = {
    "an Xid that nobody knows": {"xid": 999},
    "an Xid that is no number": {"xid": "7x9"},
    "an Xid of an application": {"xid": 31},
    "a node that is not there": {"node": "gpu-z99"},
    "another cluster": {"cluster": "elsewhere"},
    "no cluster": {"cluster": ""},
    "an alert that ended": {"status": "resolved"},
}
"""What may be told of, and must move nothing."""
nodes = st.sampled_from([*NODES[:1] * 4, *NODES])
"""Mostly few: on one node more happens together than on four."""


class Anything(RuleBasedStateMachine):
    """Four nodes with work on them, one store, and everybody who may have a hand in it."""

    emptied: ClassVar[Callable[[], Store]]

    def __init__(self) -> None:
        super().__init__()
        self.policy = others.policy(
            cluster=ClusterName(name="test", label="cluster"), budgets=Budgets(disruptions=2, cordons=3)
        )
        self.told = Chronicle(Story(type(self).emptied(), policy=self.policy))
        self.pods = 0
        self.send = partial(others.send, self.told, cluster="test")

    @initialize(cordoned=st.booleans(), xid=st.sampled_from(list(others.LADDERS)))
    def work_runs_and_a_gpu_falls_ill(self, cordoned: bool, xid: int) -> None:
        for node in NODES:
            self._is_deployed(node)
            self.a_pod_comes(node, 60)
        if cordoned:
            others.cordon(self.told, NODES[0])
        self.send(xid)

    @rule(node=nodes, ends_after=st.sampled_from([5, 60, 900]))
    def a_pod_comes(self, node: str, ends_after: float) -> None:
        there = self.cluster.nodes.get(node)
        if there is not None and not there.unschedulable:
            self.pods += 1
            self.cluster.add_pod(node, f"work-{self.pods}", grace=1200, ends_after=ends_after, gpus=1)

    # Alerts

    @rule(
        node=nodes,
        xid=st.sampled_from(list(others.LADDERS)),
        gpu=st.sampled_from([3, 5]),
        ago=st.sampled_from([0, 0, 9]),
    )
    def an_alert_comes(self, node: str, xid: int, gpu: int, ago: int) -> None:
        began = self.told.story.now - timedelta(minutes=ago)
        taken = self.send(xid, node=node, gpu=gpu, startsAt=began.isoformat())
        assert taken.decision in {
            Decision.REPAIR,
            Decision.REFRESH,
            Decision.DUPLICATE,
            Decision.PENDING,
            Decision.NOTE,
        }

    @rule(node=nodes, what=st.sampled_from(list(STRANGE)))
    def a_strange_alert_comes(self, node: str, what: str) -> None:
        before = self.told.open_operations()
        taken = self.send(**{"xid": 79, "node": node, **STRANGE[what]})
        assert taken.decision is not Decision.REPAIR, what
        after = self.told.open_operations()
        assert [one.plan for one in after] == [one.plan for one in before], what

    # The workers

    @rule(hops=st.integers(1, 25))
    def time_goes_by(self, hops: int) -> None:
        self.told.live_on(self.told.worker(), hops=hops)

    @rule(hops=st.integers(1, 25))
    def more_time_goes_by(self, hops: int) -> None:
        self.told.live_on(self.told.worker(), hops=hops)

    @rule(at=st.integers(1, 30), after=st.booleans())
    def a_worker_dies(self, at: int, after: bool) -> None:
        with suppress(Killed):
            self.told.live_on(self.told.worker(Trap(at=at, after=after)), hops=25)

    @rule(at=st.integers(1, 30), lasts=st.integers(1, 5), after=st.booleans())
    def the_store_is_away(self, at: int, lasts: int, after: bool) -> None:
        trap = Away(at=at, lasts=lasts, after=after)
        self.told.live_on(self.told.worker(trap), hops=25)

    @rule(
        at=st.integers(1, 30),
        after=st.booleans(),
        node=nodes,
        does=st.sampled_from(["uncordon", "cordon", "recreate", "pause", "work on", "cancel", "alert", "held up"]),
    )
    def somebody_acts_in_the_midst(self, at: int, after: bool, node: str, does: str) -> None:
        def springs() -> None:
            others.a_moment(self.told)
            self._act(does, node)

        self.told.live_on(self.told.worker(Trap(at=at, after=after, springs=springs)), hops=25)

    @rule(hours=st.sampled_from([1, 3, 25]))
    def nobody_works_for_long(self, hours: int) -> None:
        self.cluster.clock.advance(hours=hours)

    # People and controllers

    @rule(node=nodes, what=st.sampled_from([*ORDERS, "approve", "approve", "retry", "skip"]))
    def a_person_orders(self, node: str, what: str) -> None:
        for operation in self.told.open_operations():
            if operation.node.name == node:
                others.order(self.told, what, operation.id)

    @rule(node=nodes, does=st.sampled_from(["uncordon", "cordon", "exclude", "include", "upgrade", "recreate"]))
    def somebody_has_a_hand_on_the_node(self, node: str, does: str) -> None:
        self._act(does, node)

    @rule()
    def a_person_pauses(self) -> None:
        others.pause(self.told)

    @rule()
    def a_person_resumes(self) -> None:
        others.resume(self.told)

    @rule(mode=st.sampled_from(list(Mode)))
    def workers_start_in_another_mode(self, mode: Mode) -> None:
        self.told.story.policy = self.policy.lowered_to(mode)

    # Machines

    @rule(node=nodes, behaviour=st.sampled_from([(part, kind) for part, kinds in BEHAVIOURS.items() for kind in kinds]))
    def a_machine_behaves(self, node: str, behaviour: tuple[str, str]) -> None:
        setattr(self.cluster.machine(node), *behaviour)

    @invariant()
    def every_promise_is_kept(self) -> None:
        promises.keep(self.told)

    def teardown(self) -> None:
        """Everything is mended and allowed, and people let go of what is left."""
        others.resume(self.told)
        self.told.story.policy = self.policy
        for node in NODES:
            others.include(self.told, node)
            for part, kind in HEALTHY.items():
                setattr(self.cluster.machine(node), part, kind)
        for order in ("approve", "cancel", "retry"):
            self.told.live_on(self.told.worker(), hops=300)
            for operation in self.told.open_operations():
                others.order(self.told, order, operation.id)
        self.told.live_on(self.told.worker(), hops=300)
        promises.keep(self.told)
        promises.keep_when_over(self.told)

    @property
    def cluster(self) -> Any:
        return self.told.story.cluster

    def _act(self, does: str, node: str) -> None:
        here = next((one for one in self.told.open_operations() if one.node.name == node), None)
        if does in {"work on", "held up"}:
            if here is not None:
                (others.work_on if does == "work on" else others.hold_up)(self.told, here.id)
        elif does == "cancel":
            if here is not None:
                others.order(self.told, "cancel", here.id)
        elif does == "alert":
            self.send(others.GRAVER, node=node, gpu=5)
        elif does == "pause":
            others.pause(self.told)
        else:
            getattr(others, does)(self.told, node)
            if does == "recreate":
                self._is_deployed(node)

    def _is_deployed(self, node: str) -> None:
        there = self.cluster.nodes.get(node)
        self.cluster.change_node(node, labels={**there.labels, **DEPLOYED})
        plugin = {"app": "nvidia-device-plugin-daemonset"}
        where = {"namespace": "gpu-operator", "controller_kind": "DaemonSet", "labels": plugin}
        self.cluster.add_pod(node, f"plugin-{there.uid}", ends_after=1, **where)


class Away(Trap):
    """From call `at` on the store does not answer, for `lasts` calls; with `after` each was done all the same."""

    def __init__(self, at: int, lasts: int, *, after: bool) -> None:
        super().__init__(at=at, after=after)
        self.lasts = lasts

    def around(self, call: Any, *args: Any, **kwargs: Any) -> Any:
        if not call.__module__.startswith("app.store"):
            return call(*args, **kwargs)
        self.calls += 1
        if not self.at <= self.calls < self.at + self.lasts:
            return call(*args, **kwargs)
        if self.after:
            call(*args, **kwargs)
        raise StoreUnavailable("The store did not answer as asked: ConnectionError.")


@pytest.mark.timeout(1200)
def test_the_promises_are_kept_in_any_order(emptied: Callable[[], Store], thorough: bool) -> None:
    """A quick run draws a few stories, a thorough one many."""

    class Drawn(Anything):
        """On the store of this run."""

    Drawn.emptied = staticmethod(emptied)

    many = settings(max_examples=120 if thorough else 4, stateful_step_count=30)
    run_state_machine_as_test(Drawn, settings=many)
