"""The story that a person at a browser takes part in, with the real processes: a repair that asks before it hurts."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.test_pages import sign_in
from tests.story.house import House, a_house

NODE = "gpu-a02"
MARK = "window.stillTheSame"


@pytest.mark.timeout(300)
def test_a_person_approves_a_reboot_and_sees_it_happen_without_reloading(tmp_path: Path, new_page: NewPage) -> None:
    with a_house(tmp_path, environ={"SICKBAY_MODE": "approve"}, workloads=False) as house:
        boots, boot_id = house.cluster.machines[NODE].boots, _boot_id(house)
        page = new_page()
        sign_in(page, house.sickbay.url, house.sickbay.api_token_file.read_text().strip())
        house.strike("faults", node=NODE, gpu=3, xid=79)

        page.get_by_role("link", name=f"{NODE}, operation").click()
        page.get_by_role("link", name=f"Approve reboot, {NODE}").click()
        expect(page.locator(".effect")).to_contain_text(f"{NODE} reboots, and whatever still runs on it ends.")
        assert house.cluster.machines[NODE].boots == boots
        page.get_by_label("Reason").fill("tried in a browser")
        page.get_by_role("button", name="Approve reboot").click()
        expect(page.locator(".plan")).to_be_visible()
        page.evaluate(f"{MARK} = true")

        expect(page.locator(".banner")).to_contain_text("released")
        expect(page.locator(".plan")).not_to_contain_text("to do")
        assert page.evaluate(MARK), "the page was loaded anew"
        assert (house.cluster.machines[NODE].boots, _boot_id(house) == boot_id) == (boots + 1, False)
        told = [(entry["actor"], entry["text"]) for entry in house.until(NODE, state="finished")["timeline"]]
        assert ("ana (api token)", "Approved reboot: tried in a browser.") in told


def _boot_id(house: House) -> str:
    return str(house.node(NODE)["status"]["nodeInfo"]["bootID"])
