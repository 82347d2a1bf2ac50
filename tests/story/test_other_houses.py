"""Stories that need a house of their own: observe mode, no inventory yet, and processes that die."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from tests.story.house import House, a_house, an_alert, eventually

DEATHS = 10


README = Path(__file__).parents[2] / "README.md"


def readme_body() -> str:
    """The body of the README's curl call."""
    called = README.read_text().partition("<!-- curl -->")[2].partition("<!-- /curl -->")[0]
    return called.partition("-d '")[2].partition("'\n```")[0]


def test_observe_changes_no_object_and_says_what_it_would_have_done(tmp_path: Path) -> None:
    with a_house(tmp_path, environ={"SICKBAY_MODE": "observe"}) as house:
        before = {name: house.node(name)["metadata"]["uid"] for name in house.cluster.nodes}
        answer = house.post_body(readme_body())
        assert (answer["accepted"], answer["alerts"][0]["decision"]) == (1, "repair")
        assert house.post_body(readme_body())["duplicates"] == 1
        operation = house.until("gpu-a02", state="held")
        assert "would cordon gpu-a02" in operation["reason"]
        assert "reboot" in operation["reason"]
        assert not house.writes()
        assert before == {name: house.node(name)["metadata"]["uid"] for name in house.cluster.nodes}


@pytest.mark.thorough
def test_an_alert_that_comes_before_the_first_inventory_is_not_lost(tmp_path: Path) -> None:
    with a_house(tmp_path) as house:
        house.sickbay.children["watch"].kill()
        _forget_inventory(house)
        answer = house.post(an_alert("gpu-a02", xid=79))
        assert answer["pending"] == 1
        operation = house.until("gpu-a02")
        assert house.node("gpu-a02")["spec"]["unschedulable"]
        house.sickbay.start_one("watch")
        assert house.until("gpu-a02", state="finished")["id"] == operation["id"]


def test_a_store_that_is_emptied_midway_brings_its_node_before_a_person(tmp_path: Path) -> None:
    with a_house(tmp_path) as house:
        house.post(an_alert("gpu-a02", xid=79))
        lost = house.until("gpu-a02", state="waiting")
        redis.from_url(house.valkey.url).flushdb()
        done = _begun(house)
        found = house.until("gpu-a02", state="needs-human", words="its record was lost")
        assert found["id"] == lost["id"]
        assert house.node("gpu-a02")["spec"]["unschedulable"]
        eventually(lambda: _label(house, "gpu-a02") == "needs-human", lambda: "the node does not tell")
        house.order(found["id"], "cancel")
        assert house.until("gpu-a02", state="finished")["result"] == "cancelled"
        assert _begun(house) == done
        given_back = house.node("gpu-a02")
        assert not given_back["spec"].get("unschedulable")
        assert "sickbay/operation" not in given_back["metadata"]["annotations"]


def _begun(house: House) -> list[str]:
    """The evictions and node jobs so far."""
    return [act["name"] for act in house.writes() if act["verb"] == "create"]


def _label(house: House, node: str) -> str | None:
    label: str | None = house.node(node)["metadata"]["labels"].get("sickbay/state")
    return label


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_killed_workers_a_second_worker_and_a_restarted_valkey_change_nothing(tmp_path: Path) -> None:
    with a_house(tmp_path, workers=2) as house:
        nodes = ["gpu-a01", "gpu-a02", "gpu-a03", "gpu-a04"]
        for node in nodes:
            house.post(an_alert(node, xid=79))
        for death in range(DEATHS):
            _until_something_moves(house, nodes)
            name = f"worker-{death % 2 + 1}"
            house.sickbay.children[name].kill()
            house.sickbay.start_one(name)
            if death == DEATHS // 2:
                house.valkey.restart()
        for node in nodes:
            operation = house.until(node, state="finished", patience=200)
            assert operation["result"] == "released", operation["timeline"]
            assert len([act for act in house.writes(node=node) if act["verb"] == "patch"]) == 2
            assert house.cluster.machines[node].boots == 2


def _until_something_moves(house: House, nodes: list[str]) -> None:
    before = _versions(house, nodes)
    eventually(lambda: _versions(house, nodes) != before or _all_over(house, nodes), lambda: "nothing moves", 120)


def _versions(house: House, nodes: list[str]) -> list[int]:
    return [one["version"] if (one := house.operation(node)) else 0 for node in nodes]


def _all_over(house: House, nodes: list[str]) -> bool:
    return all((one := house.operation(node)) and one["state"] == "finished" for node in nodes)


def _forget_inventory(house: House) -> None:
    client = redis.Redis.from_url(house.valkey.url)
    for key in client.scan_iter("sickbay:inventory*"):
        client.delete(key)
    client.close()
