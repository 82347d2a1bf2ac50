"""The control page's server side: what it serves, what its buttons do, and who may press them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from simulator.breakages import BREAKAGES
from simulator.ticket_desk import TicketDesk
from tests.simulator.conftest import Kubernetes, eventually


def get(kubernetes: Kubernetes, path: str) -> Any:
    return kubernetes.http.get(f"{kubernetes.cluster.url}/simulator/{path}", timeout=10)


def alerts(kubernetes: Kubernetes, node: str) -> list[tuple[str, str]]:
    """GPU and code of what fires there."""
    labels = [one["labels"] for one in get(kubernetes, "state").json()["alerts"] if one["status"] == "firing"]
    return sorted((one["gpu"], one.get("err_code", "")) for one in labels if one["Hostname"] == node)


@pytest.fixture
def well(moving: Kubernetes) -> Kubernetes:
    for node in moving.cluster.nodes:
        moving.control("heal", node=node)
    eventually(lambda: not any(alerts(moving, node) for node in moving.cluster.nodes))
    return moving


def test_the_page_is_one_file_of_each_kind_and_needs_nothing_from_elsewhere(moving: Kubernetes) -> None:
    page = get(moving, "")
    assert page.headers["Content-Type"].startswith("text/html")
    assert page.headers["Content-Security-Policy"] == "default-src 'self'"
    linked = re.findall(r'(?:href|src)="([^"]+)"', page.text)
    assert sorted(linked) == ["control.css", "control.js", "icon.svg"]
    for name in linked:
        text = get(moving, name).text
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in text


def test_the_page_of_another_site_may_break_nothing(moving: Kubernetes) -> None:
    url = f"{moving.cluster.url}/simulator/break"
    body = {"how": "application", "node": "gpu-a01", "gpu": 0}
    stranger = moving.http.post(url, json=body, headers={"Origin": "https://elsewhere.example"}, timeout=10)
    assert stranger.status_code == 403
    own = moving.http.post(url, json=body, headers={"Origin": moving.cluster.url}, timeout=10)
    assert own.status_code == 200


@pytest.mark.parametrize("how", BREAKAGES)
def test_each_way_to_break_a_gpu_raises_an_alert_on_its_node(well: Kubernetes, how: str) -> None:
    then = well.control("break", how=how, node="gpu-a04", gpu=6)["then"]
    assert then == BREAKAGES[how].then
    eventually(lambda: "6" in [gpu for gpu, _ in alerts(well, "gpu-a04")])


def test_a_memory_fault_shows_both_of_its_codes(well: Kubernetes) -> None:
    well.control("break", how="memory", node="gpu-a04", gpu=6)
    eventually(lambda: alerts(well, "gpu-a04") == [("6", "48"), ("6", "63")])


def test_a_burst_has_its_tails_on_other_gpus_and_says_what_to_do(well: Kubernetes) -> None:
    well.control("break", how="burst", node="gpu-a04", gpu=6)
    tails = [(gpu, "45") for gpu in "017"]
    eventually(lambda: alerts(well, "gpu-a04") == sorted([*tails, ("6", "154"), ("6", "79")]))
    kernel = well.cluster.machines["gpu-a04"].kernel
    assert kernel[-1].endswith("GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")
    assert any(line.endswith("caused by previous Xid 79") for line in kernel)


def test_what_is_handed_in_stands_in_the_state_and_can_be_done(moving: Kubernetes) -> None:
    given: list[Any] = []
    moving.cluster.control.extra_acts = {"ring-the-bell": given.append}
    assert get(moving, "state").json()["acts"] == ["ring-the-bell"]
    assert moving.control("acts/ring-the-bell", loud=True) == {"done": None}
    assert given == [{"loud": True}]
    answer = moving.http.post(f"{moving.cluster.url}/simulator/acts/unknown", json={}, timeout=10)
    assert answer.status_code == 404


def test_the_vendor_closes_a_ticket_by_its_state_alone(moving: Kubernetes, tmp_path: Path) -> None:
    ticket = '---\nstate: open\nkey: "one"\ntitle: "GPU 6 of gpu-a03"\n---\n\nstate: of the art\n'
    (tmp_path / "one.md").write_text(ticket)
    moving.cluster.control.desk = TicketDesk(tmp_path)
    told = {"file": "one.md", "title": "GPU 6 of gpu-a03", "state": "open"}
    assert get(moving, "state").json()["tickets"] == [told]
    moving.control("tickets/close", file="../../one.md")
    assert get(moving, "state").json()["tickets"] == [told | {"state": "closed"}]
    assert (tmp_path / "one.md").read_text() == ticket.replace("state: open", "state: closed")
    assert moving.control("tickets/close", file="two.md") == {"done": "There is no ticket two.md."}


def test_the_state_shows_who_uses_which_gpu_and_what_is_paused(moving: Kubernetes) -> None:
    label = '{"metadata": {"labels": {"nvidia.com/gpu.deploy.dcgm": "paused-for-reset"}}}'
    moving.patch("/api/v1/nodes/gpu-a02", label)

    def node() -> Any:
        return next(one for one in get(moving, "state").json()["nodes"] if one["name"] == "gpu-a02")

    eventually(lambda: node()["labels"] == {"nvidia.com/gpu.deploy.dcgm": "paused-for-reset"})
    pods = get(moving, "state").json()["pods"]
    assert all(len(one["gpus"]) in (0, one["asks"]) for one in pods)
    moving.patch("/api/v1/nodes/gpu-a02", label.replace("paused-for-reset", "true"))
