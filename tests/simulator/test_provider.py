"""Another machine under the same name: signed, once for each key, seen in the cluster as a node with another uid."""

from __future__ import annotations

import hashlib
import hmac

import requests

from tests.simulator.conftest import Kubernetes, eventually


def order(kubernetes: Kubernetes, node: str, *, key: str = "", signature: str | None = None) -> requests.Response:
    body = b'{"act": "replace"}'
    secret = kubernetes.cluster.provider_calls.secret_file.read_text().strip().encode()
    made = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
    headers = {"X-Sickbay-Signature": made if signature is None else signature, "Idempotency-Key": key}
    url = f"{kubernetes.cluster.url}/simulator/provider/{node}/replace"
    return kubernetes.http.post(url, data=body, headers=headers, timeout=10)


def uid(kubernetes: Kubernetes, node: str) -> str:
    """Empty while there is no such node."""
    found = [one for one in kubernetes.core.list_node().items if one.metadata.name == node]
    return str(found[0].metadata.uid) if found else ""


def test_the_node_goes_and_another_with_other_cards_comes_under_its_name(moving: Kubernetes) -> None:
    before, machine = uid(moving, "gpu-a03"), moving.cluster.machines["gpu-a03"]
    serials, boot_id = {card.serial for card in machine.gpus}, machine.boot_id
    moving.control("break", node="gpu-a03", how="replace", gpu=2)
    assert order(moving, "gpu-a03").status_code == 202
    eventually(lambda: not uid(moving, "gpu-a03"))
    eventually(lambda: uid(moving, "gpu-a03") not in ("", before))
    node = moving.core.read_node("gpu-a03")
    assert not node.spec.unschedulable
    assert node.status.node_info.boot_id == machine.boot_id != boot_id
    assert serials.isdisjoint(card.serial for card in machine.gpus)
    assert not any(card.fault for card in machine.gpus)
    eventually(lambda: moving.core.read_node("gpu-a03").status.allocatable.get("nvidia.com/gpu") == "8")


def test_nothing_that_was_under_way_on_the_old_machine_brings_it_back(moving: Kubernetes) -> None:
    before = uid(moving, "gpu-a02")
    moving.control("reboot", node="gpu-a02")
    order(moving, "gpu-a02")
    eventually(lambda: not uid(moving, "gpu-a02"))
    moving.control("heal", node="gpu-a02")
    eventually(lambda: uid(moving, "gpu-a02") not in ("", before))


def test_the_same_key_orders_one_machine(moving: Kubernetes) -> None:
    first = uid(moving, "gpu-a01")
    assert [order(moving, "gpu-a01", key="one").status_code for _ in range(2)] == [202, 202]
    second = eventually(lambda: (found := uid(moving, "gpu-a01")) != first and found)
    assert order(moving, "gpu-a01", key="one").status_code == 202
    other = uid(moving, "gpu-a02")
    order(moving, "gpu-a02", key="two")
    eventually(lambda: uid(moving, "gpu-a02") != other)  # which comes after whatever the first key has set off
    assert uid(moving, "gpu-a01") == second


def test_an_unsigned_order_and_one_for_the_control_plane_do_nothing(moving: Kubernetes) -> None:
    before = uid(moving, "gpu-a01")
    assert order(moving, "gpu-a01", signature="sha256=0").status_code == 401
    assert order(moving, "control-1").status_code == 404
    assert uid(moving, "gpu-a01") == before


def test_what_an_xid_54_did_survives_a_boot_and_ends_with_another_card(moving: Kubernetes) -> None:
    machine = moving.cluster.machines["gpu-a04"]
    moving.control("break", node="gpu-a04", how="replace", gpu=2)
    machine.boot()
    assert machine.gpus[2].fault == 54
    moving.control("swap", node="gpu-a04", gpu=2)
    assert machine.gpus[2].fault == 0
