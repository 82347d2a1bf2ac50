"""The machines' power from outside: signed, once for each key, and seen in the cluster only by what is missing."""

from __future__ import annotations

import hashlib
import hmac
import json

import requests

from tests.simulator.conftest import Kubernetes, eventually


def cycle(kubernetes: Kubernetes, node: str, *, key: str = "", signature: str | None = None) -> requests.Response:
    body = json.dumps({"reason": "test"}).encode()
    secret = kubernetes.cluster.power_calls.secret_file.read_text().strip().encode()
    made = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
    headers = {"X-Sickbay-Signature": made if signature is None else signature}
    headers |= {"Idempotency-Key": key} if key else {}
    url = f"{kubernetes.cluster.url}/simulator/bmc/{node}/power-cycle"
    return kubernetes.http.post(url, data=body, headers=headers, timeout=10)


def power(kubernetes: Kubernetes, node: str) -> tuple[str, int]:
    found = kubernetes.http.get(f"{kubernetes.cluster.url}/simulator/bmc/{node}", timeout=10).json()
    return found["power"], found["boots"]


def ready(kubernetes: Kubernetes, node: str) -> str:
    conditions = kubernetes.core.read_node(node).status.conditions
    return str(next(one.status for one in conditions if one.type == "Ready"))


def test_a_power_cycle_is_seen_by_the_silence_and_proven_by_a_new_boot_id(moving: Kubernetes) -> None:
    before = moving.core.read_node("gpu-a03").status.node_info.boot_id
    assert cycle(moving, "gpu-a03").status_code == 202
    eventually(lambda: power(moving, "gpu-a03") == ("off", 1))
    eventually(lambda: ready(moving, "gpu-a03") == "Unknown")
    eventually(lambda: power(moving, "gpu-a03") == ("on", 2))
    eventually(lambda: ready(moving, "gpu-a03") == "True")
    assert moving.core.read_node("gpu-a03").status.node_info.boot_id != before


def test_it_brings_back_a_machine_that_no_reboot_does(moving: Kubernetes) -> None:
    moving.control("behaviours", node="gpu-a02", reboot="never-ready", until="power")
    moving.control("reboot", node="gpu-a02")
    eventually(lambda: ready(moving, "gpu-a02") == "Unknown")
    assert power(moving, "gpu-a02") == ("on", 1)
    cycle(moving, "gpu-a02")
    eventually(lambda: ready(moving, "gpu-a02") == "True")
    assert power(moving, "gpu-a02") == ("on", 2)


def test_the_same_key_cycles_once(moving: Kubernetes) -> None:
    assert [cycle(moving, "gpu-a01", key="one").status_code for _ in range(2)] == [202, 202]
    eventually(lambda: power(moving, "gpu-a01")[0] == "off")
    eventually(lambda: power(moving, "gpu-a01")[0] == "on")
    assert cycle(moving, "gpu-a01", key="one").status_code == 202
    assert power(moving, "gpu-a01") == ("on", 2)


def test_nobody_cycles_a_machine_without_the_secret(moving: Kubernetes) -> None:
    assert cycle(moving, "gpu-a04", signature="").status_code == 401
    assert cycle(moving, "gpu-a04", signature="sha256=00").status_code == 401
    assert cycle(moving, "no-such-node").status_code == 404
    assert power(moving, "gpu-a04") == ("on", 1)
