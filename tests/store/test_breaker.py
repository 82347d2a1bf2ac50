"""The breaker where it cannot be raced: it trips in the commit that opens one operation too many."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis import Redis

from app.domain.breaker import Breaker, Fleet, Opened, trips
from app.domain.operations import Operation
from app.store import ClaimRequest, Committed, FellIll, Standing, Store, Trip, Tripped
from simulator.valkey import EmbeddedValkey
from tests.store.things import MINUTE, NOW, all_at_once, change, committed, finished, node, operation

RULES = Breaker()
CASE: Any = json.loads((Path(__file__).parents[1] / "samples" / "cases" / "mass_failure.json").read_text())


def know(store: Store, racks: dict[str, str], driver: str = "590.48") -> None:
    """An inventory of these nodes, each with its rack."""
    labels = {"nvidia.com/cuda.driver-version.full": driver}
    nodes = [
        node(name, labels={"topology.kubernetes.io/rack": rack, **labels} if rack else labels)
        for name, rack in racks.items()
    ]
    store.inventory.write(nodes, dict.fromkeys(racks, "train"), {}, (), at=NOW)


def fall_ill(
    store: Store, name: str, *, rack: str = "", at: datetime = NOW, rules: Breaker = RULES, code: str = "xid-79"
) -> Operation:
    opened = Opened(node=name, at=at, rack=rack, driver="590.48", code=code)
    return committed(store, operation(f"op-{name}", name, at=at), ill=FellIll(opened, rules), now=at)


def cordon(store: Store, one: Operation) -> object:
    return store.operations.commit(change(one, places={"cordons": 1_000}, hurts=True))


FLEET = {f"gpu-{number}": f"r{number // 16}" for number in range(64)}


class TestTripping:
    def test_it_trips_with_the_first_node_beyond_the_limit_and_not_before(self, store: Store) -> None:
        know(store, FLEET)
        opened = [fall_ill(store, f"gpu-{number}", rack="r0") for number in range(3)]
        assert store.breaker.tripped() is None
        assert cordon(store, opened[0]) == Committed(version=2, fence=0)

        last = fall_ill(store, "gpu-3", rack="r0", at=NOW + MINUTE)

        assert store.breaker.tripped() == Trip(at=NOW + MINUTE)
        assert cordon(store, last) == cordon(store, opened[1]) == Tripped()
        assert store.operations.reservations() == {"cordons": {"gpu-0"}}

    def test_the_sentence_is_told_by_all_that_fell_ill(self, store: Store) -> None:
        know(store, FLEET)
        assert store.breaker.sentence(RULES) is None
        for number in range(16):
            fall_ill(store, f"gpu-{number}", rack="r0")

        assert store.breaker.sentence(RULES) == (
            "The breaker has tripped: 16 of 16 nodes in rack r0 fell ill within 1 min, and the limit is 3."
        )

    def test_the_sentence_follows_what_falls_ill_what_the_fleet_is_and_what_the_rules_are(self, store: Store) -> None:
        know(store, FLEET)
        for number in range(4):
            fall_ill(store, f"gpu-{number}", rack="r0")
        told = [store.breaker.sentence(RULES), store.breaker.sentence(RULES)]
        fall_ill(store, "gpu-4", rack="r0", at=NOW + MINUTE)
        told.append(store.breaker.sentence(RULES))
        know(store, {name: rack for name, rack in FLEET.items() if name != "gpu-15"})
        told.append(store.breaker.sentence(RULES))
        told.append(store.breaker.sentence(Breaker(least=2)))

        assert [" ".join(str(one).split()[4:7]) + str(one)[-3:] for one in told] == [
            "4 of 16 3.",
            "4 of 16 3.",
            "5 of 16 3.",
            "5 of 15 3.",
            "5 of 15 2.",
        ]
        assert store.standing.lift(store.standing.read())
        assert store.breaker.sentence(RULES) is None

    def test_what_hurts_nothing_goes_on_and_gives_back(self, store: Store) -> None:
        know(store, FLEET)
        opened = [fall_ill(store, f"gpu-{number}", rack="r0") for number in range(6)]

        proven = committed(store, opened[0], claim=ClaimRequest(owner="worker-a", until=NOW + MINUTE))
        committed(store, finished(proven))
        assert store.operations.reservations() == {}

    def test_a_node_that_falls_ill_again_counts_once(self, store: Store) -> None:
        know(store, FLEET)
        for number in range(9):
            at = NOW + number * MINUTE / 2
            fallen = FellIll(Opened(node="gpu-1", at=at, rack="r0"), RULES)
            one = committed(store, operation(f"op-{number}", "gpu-1", at=at), ill=fallen, now=at)
            committed(store, finished(one, at=at), now=at)

        assert len(store.breaker.opened()) == 9
        assert store.breaker.tripped() is None

    def test_nodes_without_rack_and_code_share_the_cluster_alone(self, store: Store) -> None:
        know(store, FLEET)
        for number in range(3):
            opened = Opened(node=f"gpu-{number}", at=NOW)
            committed(store, operation(f"op-{number}", f"gpu-{number}"), ill=FellIll(opened, RULES))
        assert store.breaker.tripped() is None

    def test_an_operation_that_is_no_failure_does_not_count(self, store: Store) -> None:
        for number in range(20):
            committed(store, operation(f"op-{number}", f"gpu-{number}"))
        assert store.breaker.opened() == []
        assert store.breaker.tripped() is None

    def test_the_first_trip_stays_the_one_that_is_told(self, store: Store) -> None:
        for number in range(8):
            fall_ill(store, f"gpu-{number}", at=NOW + number * MINUTE)
        assert store.breaker.tripped() == Trip(at=NOW + 3 * MINUTE)

    @given(
        st.lists(
            st.tuples(st.integers(0, 12), st.sampled_from(["r0", "r1", ""]), st.sampled_from([0, 7, 200])),
            min_size=1,
            max_size=12,
        )
    )
    def test_the_script_trips_exactly_when_the_rule_of_the_domain_does(
        self, server: EmbeddedValkey, falls: Sequence[tuple[int, str, int]]
    ) -> None:
        with Redis.from_url(server.url, decode_responses=True) as redis:
            redis.flushall()
            store, at, said = Store(redis), NOW, None
            racks = {f"gpu-{number}": f"r{number % 3}" for number in range(40)}
            know(store, racks)
            fleet = store.breaker.fleet()
            opened: list[Opened] = []
            for place, (number, rack, later) in enumerate(falls):
                at += timedelta(seconds=later)
                fallen = Opened(node=f"gpu-{number}", at=at, rack=rack, driver="590.48", code="xid-79")
                opened.append(fallen)
                one = operation(f"op-{place}", f"of-{place}", at=at)
                committed(store, one, ill=FellIll(fallen, RULES), now=at)
                said = said or trips(opened, fleet, RULES, at)
                assert (store.breaker.tripped() is not None) is (said is not None)


class TestFleet:
    def test_it_is_counted_with_the_inventory_over_nodes_in_pools(self, store: Store) -> None:
        know(store, {"gpu-1": "r0", "gpu-2": "r0", "gpu-3": ""}, driver="590.48")
        assert store.breaker.fleet() == Fleet(nodes=3, racks={"r0": 2}, drivers={"590.48": 3})

        store.inventory.write([node("gpu-1"), node("cpu-1")], {"gpu-1": "train"}, {}, (), at=NOW)
        assert store.breaker.fleet() == Fleet(nodes=1)

    def test_before_the_first_inventory_it_is_empty(self, store: Store) -> None:
        assert store.breaker.fleet() == Fleet()


class TestResume:
    def test_after_it_everything_passes_and_is_counted_anew(self, store: Store) -> None:
        know(store, FLEET)
        opened = [fall_ill(store, f"gpu-{number}", rack="r0") for number in range(8)]

        tripped = store.standing.read()
        assert store.standing.lift(tripped) is True
        assert store.standing.read() == Standing()

        assert store.breaker.tripped() is None
        assert cordon(store, opened[0]) == Committed(version=2, fence=0)
        fall_ill(store, "gpu-9", rack="r0")
        assert store.breaker.tripped() is None


class TestRaces:
    def test_ten_workers_cannot_pass_together_once_it_has_tripped(self, store: Store) -> None:
        """Ten cordons and four openings at the same moment: whatever the order, none passes behind the trip."""
        know(store, FLEET)
        ready = [committed(store, operation(f"op-{number}", f"gpu-{number}")) for number in range(10)]
        acts: list[Callable[[], object]] = [partial(cordon, store, one) for one in ready]
        acts += [partial(fall_ill, store, f"gpu-{number}", rack="r2") for number in range(32, 36)]
        passed = [given for given in all_at_once(acts) if isinstance(given, Committed)]

        assert store.breaker.tripped() is not None
        assert len(store.operations.reservations().get("cordons", ())) == len(passed)
        held = [one for one in ready if store.operations.load(one.id).version == 1]  # type: ignore[union-attr]
        assert all(cordon(store, one) == Tripped() for one in held)

    def test_of_ten_nodes_that_fall_ill_at_once_one_trips_it(self, store: Store) -> None:
        know(store, FLEET)
        all_at_once([partial(fall_ill, store, f"gpu-{number}", rack="r0") for number in range(10)])

        assert store.breaker.tripped() == Trip(at=NOW)
        assert len(store.breaker.opened()) == 10


@pytest.mark.parametrize("event", CASE["events"], ids=lambda event: str(event["cause"]))
def test_a_mass_failure_of_the_field_trips_it_and_is_named(store: Store, event: dict[str, Any]) -> None:
    """Three that happened: a power feed, a new driver, a host engine whose port moved."""
    racks = {f"gpu-{number:03}": f"r{number // 16}" for number in range(CASE["fleet"])}
    drivers = {name: "590.1" if place >= 60 else "580.9" for place, name in enumerate(racks)}
    nodes = [
        node(
            name,
            labels={"topology.kubernetes.io/rack": racks[name], "nvidia.com/cuda.driver-version.full": drivers[name]},
        )
        for name in racks
    ]
    store.inventory.write(nodes, dict.fromkeys(racks, "train"), {}, (), at=NOW)
    sick = [name for name in reversed(racks) if event["rack"] in {"all", racks[name]}][: event["nodes"]]
    cordoned = 0
    for place, name in enumerate(sick):
        at = NOW + timedelta(seconds=CASE["window_s"]) * place / len(sick)
        fallen = Opened(node=name, at=at, rack=racks[name], driver=drivers[name], code=event["code"])
        one = committed(store, operation(f"op-{name}", name, at=at), ill=FellIll(fallen, RULES), now=at)
        cordoned += isinstance(cordon(store, one), Committed)

    assert cordoned <= CASE["most_cordoned"]
    assert len(store.operations.page(limit=500)[0]) == event["nodes"]
    assert event["named"] in str(store.breaker.sentence(RULES))
