from __future__ import annotations

from app.store import Store
from tests.building import a_node


def test_the_most_that_a_node_was_seen_with_while_well_stands_when_a_gpu_is_lost(store: Store) -> None:
    store.gpu_counts.saw([a_node()])
    store.gpu_counts.saw([a_node(gpu_capacity=7, gpu_allocatable=7)])
    store.gpu_counts.saw([a_node(gpu_allocatable=0, ready=False)])
    assert store.gpu_counts.when_well("uid-1") == 8


def test_a_node_that_was_never_seen_well_and_one_that_was_recreated_are_unknown(store: Store) -> None:
    store.gpu_counts.saw([a_node(), a_node("gpu-a02", uid="uid-2", gpu_allocatable=7)])
    assert store.gpu_counts.when_well("uid-2") is None
    store.gpu_counts.saw([a_node(uid="uid-3", gpu_capacity=4, gpu_allocatable=4)])
    assert store.gpu_counts.when_well("uid-3") == 4
    assert store.gpu_counts.when_well("uid-1") is None


def test_an_empty_list_of_nodes_is_no_news(store: Store) -> None:
    store.gpu_counts.saw([a_node()])
    store.gpu_counts.saw([])
    assert store.gpu_counts.when_well("uid-1") == 8
