"""The simulated cluster's own page: it draws what is there, and its buttons break what is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from simulator import cluster as clusters
from simulator.clock import Durations
from simulator.cluster import Cluster
from simulator.ticket_desk import TicketDesk
from tests.browser.conftest import NewPage


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    operator = ("nvidia-device-plugin-daemonset", "nvidia-dcgm-exporter")
    # A machine is away for five seconds, so that a slow browser sees it too.
    with clusters.start(speed=600, operator=operator, durations=Durations(another_machine=3000)) as started:
        yield started


def test_a_person_breaks_a_gpu_sees_it_and_puts_in_another_card(
    cluster: Cluster, new_page: NewPage, tmp_path: Path
) -> None:
    (tmp_path / "one.md").write_text('---\nstate: open\ntitle: "GPU 2 <b>of</b> gpu-a02"\n---\n')
    cluster.control.desk = TicketDesk(tmp_path)
    page = new_page(viewport={"width": 390, "height": 900})
    page.goto(f"{cluster.url}/simulator/")
    gpu = page.locator('[data-key="gpu-gpu-a02-2"]')
    gpu.click()
    expect(gpu).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="lost for good").click()
    expect(gpu).to_have_text("—")
    expect(page.locator("#alerts")).to_contain_text("Xid 79 on GPU 2 of gpu-a02")
    expect(page.get_by_role("status").filter(has_text="What Sickbay should do")).to_be_visible()
    page.get_by_role("button", name="put in another card").click()
    expect(gpu).to_have_text("2")
    expect(page.locator("#more")).to_contain_text("GPU 2 <b>of</b> gpu-a02")
    page.get_by_role("button", name="close this ticket").click()
    expect(page.locator("#more .chip.good")).to_have_text("closed")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_machine_that_is_replaced_is_gone_for_a_while_and_another_comes(cluster: Cluster, new_page: NewPage) -> None:
    page = new_page(viewport={"width": 390, "height": 900})
    page.goto(f"{cluster.url}/simulator/")
    node, gpu = page.locator("article", has_text="gpu-a03"), page.locator('[data-key="gpu-gpu-a03-1"]')
    before = gpu.get_attribute("title")
    node.get_by_role("button", name="replace the machine").click()
    expect(node).to_contain_text("no such node")
    expect(node.get_by_role("button", name="cordon as alice")).to_have_count(0)
    expect(node).to_contain_text("Ready")
    assert before != gpu.get_attribute("title")


def test_the_page_says_when_nobody_answers(cluster: Cluster, new_page: NewPage) -> None:
    page = new_page()
    page.goto(f"{cluster.url}/simulator/")
    expect(page.locator("#live")).to_have_text("live")
    page.route("**/state", lambda route: route.abort())
    expect(page.locator("#live")).to_have_text("the simulator does not answer")
    page.unroute("**/state")
    expect(page.locator("#live")).to_have_text("live")
