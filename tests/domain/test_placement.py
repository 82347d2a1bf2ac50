from __future__ import annotations

import pytest

from app.domain.placement import Inventory, KnownNode, NotPlaced, Placed, place
from tests.building import a_case

ONE = KnownNode(name="gpu-a01", uid="1", addresses=("10.20.0.11", "fd00::11"))
TWO = KnownNode(name="gpu-a02", uid="2", addresses=("10.20.0.12", ""))
HERE = Inventory(nodes=(ONE, TWO), exporter_pods={"gpu-operator/dcgm-x7k2p": "gpu-a02"})


@pytest.mark.parametrize(
    ("labels", "node"),
    [
        ({"Hostname": "gpu-a01"}, ONE),
        ({"hostname": " GPU-A01. "}, ONE),
        ({"node": "gpu-a01"}, ONE),
        ({"kubernetes_node": "gpu-a01"}, ONE),
        ({"nodename": "gpu-a01"}, ONE),
        ({"exported_node": "gpu-a01"}, ONE),
        ({"instance": "10.20.0.11:9400"}, ONE),
        ({"instance": "10.20.0.11"}, ONE),
        ({"instance": "[fd00::11]:9400"}, ONE),
        ({"instance": "fd00::11"}, ONE),
        ({"instance": "gpu-a02:9400"}, TWO),
        ({"namespace": "gpu-operator", "pod": "dcgm-x7k2p", "instance": "10.244.3.7:9400"}, TWO),
        ({"Hostname": "dcgm-x7k2p", "namespace": "gpu-operator", "pod": "dcgm-x7k2p"}, TWO),
        ({"Hostname": "gpu-a02", "instance": "10.20.0.12:9400"}, TWO),
    ],
)
def test_a_single_match_is_a_place_by_name_address_or_exporter_pod(labels: dict[str, str], node: KnownNode) -> None:
    assert place(labels, HERE) == Placed(node)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ({}, "no node is known by an alert without a node label"),
        ({"Hostname": ""}, "no node is known by an alert without a node label"),
        ({"Hostname": "gpu-a0"}, "no node is known by Hostname='gpu-a0'"),
        ({"Hostname": " . "}, "no node is known by Hostname=' . '"),
        ({"instance": ":9400"}, "no node is known by instance=':9400'"),
        ({"instance": "[fd00::12]:9400"}, "no node is known by instance='[fd00::12]:9400'"),
        ({"namespace": "other", "pod": "dcgm-x7k2p"}, "no node is known by an alert without a node label"),
    ],
)
def test_no_match_is_no_place_and_says_what_was_looked_for(labels: dict[str, str], reason: str) -> None:
    assert place(labels, HERE) == NotPlaced(reason)


def test_labels_that_name_two_nodes_are_a_contradiction_which_stays_one() -> None:
    told = place({"Hostname": "gpu-a01", "node": "gpu-a02"}, HERE)
    assert told == NotPlaced(
        "the labels contradict each other: Hostname means gpu-a01; node means gpu-a02", conflict=True
    )


def test_an_exporter_pod_on_another_node_contradicts_the_name() -> None:
    told = place({"Hostname": "gpu-a01", "namespace": "gpu-operator", "pod": "dcgm-x7k2p"}, HERE)
    assert isinstance(told, NotPlaced)
    assert told.conflict


def test_a_very_long_name_is_cut_in_the_reason() -> None:
    told = place({"Hostname": "x" * 10_000}, HERE)
    assert isinstance(told, NotPlaced)
    assert len(told.reason) < 200


def test_every_form_of_a_node_name_that_fleets_use_finds_one_node_or_none() -> None:
    case = a_case("node_names")
    inventory = Inventory(
        nodes=tuple(
            KnownNode(name=one["name"], uid=str(number), addresses=tuple(one["addresses"]))
            for number, one in enumerate(case["nodes"])
        )
    )
    for one in case["cases"]:
        told = place(one["labels"], inventory)
        found = told.node.name if isinstance(told, Placed) else None
        assert found == one["node"], one
        assert (isinstance(told, NotPlaced) and told.conflict) is one["conflict"], one
