from __future__ import annotations

from datetime import timedelta

from redis import Redis

from app.store import Baseline, Pause, Store
from app.store.keys import BOUNDS, KEYS
from tests.store.things import MINUTE, NOW, measure

H100 = "NVIDIA-H100-80GB-HBM3, 8 GPUs, driver 580"


class TestPause:
    def test_it_holds_until_it_is_cleared(self, store: Store) -> None:
        assert store.pause.get() is None
        store.pause.set("ana", "power work in row 4", NOW)
        assert store.pause.get() == Pause(actor="ana", reason="power work in row 4", at=NOW)
        assert store.standing.lift(store.standing.read())
        assert store.pause.get() is None

    def test_a_second_pause_leaves_the_first_as_it_is(self, store: Store) -> None:
        first = store.pause.set("ana", "power work", NOW)
        assert first == Pause(actor="ana", reason="power work", at=NOW)
        assert store.pause.set("ben", "network work", NOW + MINUTE) == first
        assert store.pause.get() == first

    def test_its_sentence_names_who_and_since_when_and_does_not_change_with_time(self) -> None:
        pause = Pause(actor="ana", reason="power work in row 4.", at=NOW)
        assert pause.sentence == "Paused by ana since 2026-03-01 09:41 UTC: power work in row 4."


class TestSignsOfLife:
    def test_the_watchdog_is_remembered_as_last_heard(self, store: Store) -> None:
        assert store.watchdog.last() is None
        store.watchdog.heard(NOW)
        store.watchdog.heard(NOW + MINUTE)
        assert store.watchdog.last() == NOW + MINUTE

    def test_only_who_beat_within_the_time_is_alive(self, store: Store) -> None:
        store.heartbeats.beat("worker", "b", NOW)
        store.heartbeats.beat("worker", "a", NOW - MINUTE)
        store.heartbeats.beat("watch", "w", NOW)
        assert store.heartbeats.alive("worker", NOW, MINUTE) == ("a", "b")
        assert store.heartbeats.alive("worker", NOW, MINUTE / 2) == ("b",)
        assert store.heartbeats.alive("watch", NOW, MINUTE) == ("w",)
        assert store.heartbeats.alive("web", NOW, MINUTE) == ()

    def test_a_late_beat_does_not_turn_the_clock_back(self, store: Store) -> None:
        store.heartbeats.beat("worker", "a", NOW)
        store.heartbeats.beat("worker", "a", NOW - MINUTE)
        assert store.heartbeats.alive("worker", NOW, timedelta(0)) == ("a",)

    def test_the_silent_are_forgotten_after_a_day(self, store: Store, redis: Redis) -> None:
        store.heartbeats.beat("worker", "a", NOW)
        store.heartbeats.beat("worker", "b", NOW + timedelta(days=1, seconds=1))
        assert redis.zrange(KEYS["heartbeats"] + "worker", 0, -1) == ["b"]


class TestBaselines:
    def test_peers_are_the_other_nodes_last_values(self, store: Store) -> None:
        for node, value in (("gpu-1", 480.5), ("gpu-2", 471.0), ("gpu-3", 300.0), ("gpu-3", 479.0)):
            measure(store, H100, node, value, NOW)
        assert store.baselines.peers(H100, besides="gpu-1") == (471.0, 479.0)
        assert store.baselines.peers("NVIDIA-A100, 8 GPUs", besides="gpu-1") == ()

    def test_all_of_them_are_given_by_key_and_node(self, store: Store) -> None:
        measure(store, H100, "gpu-2", 471, NOW)
        measure(store, H100, "gpu-1", 480.5, NOW)
        measure(store, "A100", "gpu-9", 230.0, NOW)
        assert store.baselines.all() == [
            Baseline(key="A100", node="gpu-9", gb_s=230.0, at=NOW),
            Baseline(key=H100, node="gpu-1", gb_s=480.5, at=NOW),
            Baseline(key=H100, node="gpu-2", gb_s=471.0, at=NOW),
        ]

    def test_past_the_bound_the_longest_unmeasured_node_goes(self, store: Store) -> None:
        count = BOUNDS["baseline_nodes"] + 1
        for number in range(count):
            measure(store, H100, f"gpu-{number}", float(number), NOW + number * MINUTE)
        assert store.baselines.peers(H100, besides="") == tuple(float(number) for number in range(1, count))
