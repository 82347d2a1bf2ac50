from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from redis import Redis

from app.domain.placement import Inventory, KnownNode, Placed, place
from app.store import Store, connect
from app.store.keys import KEYS
from tests.store.things import NOW, node

GFD = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "topology.kubernetes.io/zone": "z1"}


def write(store: Store, *nodes: Any, at: Any = NOW, **what: Any) -> None:
    told = {"pools": {}, "exporter_pods": {}, "ours": ()} | what
    store.inventory.write(nodes, told["pools"], told["exporter_pods"], told["ours"], at=at)


def test_before_the_first_writing_there_is_none(store: Store) -> None:
    assert store.inventory.read() is None
    assert store.inventory.nodes() == []
    assert store.inventory.written_at() is None


def test_it_places_alerts_by_what_was_written(store: Store) -> None:
    write(
        store,
        node("gpu-001", addresses=("10.0.0.1",), labels={"a": "b"}),
        exporter_pods={"gpu-operator/dcgm-1": "gpu-001"},
    )
    known = KnownNode(name="gpu-001", uid="uid-gpu-001", addresses=("10.0.0.1",), labels={"a": "b"})
    inventory = Inventory(nodes=(known,), exporter_pods={"gpu-operator/dcgm-1": "gpu-001"})
    assert store.inventory.read() == (inventory, NOW)
    assert place({"instance": "10.0.0.1:9400"}, inventory) == Placed(known)


def test_nodes_are_summed_up_for_the_page(store: Store) -> None:
    write(
        store,
        node("gpu-002", labels={**GFD, "nvidia.com/cuda.driver-version.full": "580.65.06"}, boot_id="b2"),
        node("gpu-001", gpu_capacity=8, gpu_allocatable=7, unschedulable=True, ready=False),
        pools={"gpu-002": "train"},
        ours={"gpu-001"},
    )
    first, second = store.inventory.nodes()
    assert (first.name, first.uid, first.pool, first.marked_by_us) == ("gpu-001", "uid-gpu-001", None, True)
    assert (first.ready, first.unschedulable, first.gpu_capacity, first.gpu_allocatable) == (False, True, 8, 7)
    assert (first.product, first.driver_version, first.zone, first.rack) == ("", "", "", "")
    assert (second.pool, second.product, second.zone) == ("train", "NVIDIA-H100-80GB-HBM3", "z1")
    assert (second.driver_version, second.boot_id, second.marked_by_us) == ("580.65.06", "b2", False)


def test_an_older_feature_discovery_labels_the_driver_in_three_numbers(store: Store) -> None:
    labels = {
        f"nvidia.com/cuda.driver.{part}": value for part, value in (("major", "535"), ("minor", "183"), ("rev", "01"))
    }
    write(store, node("gpu-001", labels=labels))
    assert store.inventory.nodes()[0].driver_version == "535.183.01"


def test_a_writing_replaces_the_last_one_whole(store: Store) -> None:
    write(store, node("gpu-001"), node("gpu-002"))
    write(store, node("gpu-002"), at=NOW + timedelta(seconds=5))
    assert [seen.name for seen in store.inventory.nodes()] == ["gpu-002"]
    assert store.inventory.written_at() == NOW + timedelta(seconds=5)


def test_what_others_write_is_seen_and_the_time_is_always_the_latest(store: Store, redis: Redis) -> None:
    other = Store(redis)
    write(other, node("gpu-001"))
    assert len(store.inventory.nodes()) == 1
    write(other, node("gpu-001"), at=NOW + timedelta(hours=1))
    read = store.inventory.read()
    assert read is not None
    assert read[1] == NOW + timedelta(hours=1)
    write(other, node("gpu-001"), node("gpu-002"))
    assert len(store.inventory.nodes()) == 2


def test_one_of_a_newer_version_counts_as_none_so_that_alerts_wait(store: Store, redis: Redis) -> None:
    write(store, node("gpu-001"))
    redis.hset(KEYS["inventory"], mapping={"digest": "d", "document": '{"v": 99}'})
    assert store.inventory.read() is None
    assert store.inventory.nodes() == []


@pytest.mark.parametrize("count", [1_000])
def test_a_thousand_nodes_are_read_once_and_not_decoded_again(store: Store, count: int) -> None:
    write(store, *(node(f"gpu-{number:04}", labels=GFD) for number in range(count)))
    first, second = store.inventory.read(), store.inventory.read()
    assert first is not None
    assert second is not None
    assert first[0] is second[0]


def test_a_client_that_answers_in_bytes_is_refused(redis: Redis) -> None:
    with connect("redis://127.0.0.1:1", decode=False) as bare, pytest.raises(ValueError, match="decode_responses=True"):
        Store(bare)
    Store(redis)
