"""The pages in a real browser: wide and narrow, light and dark, without JavaScript, and for those who see nothing."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.gallery import OFFENDER, TOKEN, Gallery

PAGES = (
    "/",
    "/operations/op-7f3k0017",
    "/operations/op-7f3k0009",
    "/operations/op-7f3k0031",
    "/operations/op-7f3k0017/approve",
    "/operations/op-7f3k0009/release",
    "/nodes/gpu-017",
    f"/gpus/{OFFENDER}",
    "/offenders",
    "/pause",
    "/resume",
    "/sign-in",
)
LOOKS = [(390, "dark"), (1280, "light")]


def sign_in(page: Page, url: str, token: str = TOKEN) -> None:
    """Sign in as ana, by the form."""
    page.goto(f"{url}/sign-in")
    page.get_by_label("Your name").fill("ana")
    page.get_by_label("API token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("footer")).to_contain_text("Signed in as ana (api token)")


@pytest.mark.thorough
@pytest.mark.parametrize(("wide", "color_scheme"), LOOKS)
def test_no_page_scrolls_sideways_or_shuts_anybody_out(
    gallery: Gallery, new_page: NewPage, wide: int, color_scheme: str
) -> None:
    page = new_page(viewport={"width": wide, "height": 900}, color_scheme=color_scheme, reduced_motion="reduce")
    sign_in(page, gallery.url)
    gallery.store.pause.set("ana", "a shelf of rack r3 moves", gallery.now)
    found = []
    for path in PAGES:
        page.goto(f"{gallery.url}{path}")
        width = page.evaluate("document.documentElement.scrollWidth")
        if width > wide:
            found.append(f"{path} is {width} pixels wide")
        report = Axe().run(page)
        found += [
            f"{path}: {broken['help']}: {node['html']}"
            for broken in report.response["violations"]
            for node in broken["nodes"]
        ]

    assert found == []


def test_an_order_is_given_without_javascript(gallery: Gallery, new_page: NewPage) -> None:
    page = new_page(java_script_enabled=False)
    sign_in(page, gallery.url)

    page.get_by_role("link", name="Approve drain, gpu-017").click()
    expect(page.get_by_text("Every pod that is not a DaemonSet's is evicted from gpu-017")).to_be_visible()
    page.get_by_label("Reason").fill("the team knows")
    page.get_by_role("button", name="Approve drain").click()

    page.get_by_role("link", name="gpu-017, operation op-7f3k0017").click()
    expect(page.locator("main")).to_contain_text("Approved drain: the team knows.")


def test_a_release_without_proof_wants_the_nodes_name_typed(gallery: Gallery, new_page: NewPage) -> None:
    page = new_page()
    sign_in(page, gallery.url)
    page.goto(f"{gallery.url}/operations/op-7f3k0009/release")
    page.get_by_label("Reason").fill("the vendor swears by it")
    page.get_by_label("Type gpu-009").fill("gpu-017")
    page.get_by_role("button", name="Release without proof").click()
    expect(page.get_by_role("alert")).to_contain_text("Type the node's name, gpu-009")
    page.get_by_label("Type gpu-009").fill("gpu-009")
    page.get_by_role("button", name="Release without proof").click()
    expect(page.locator(".banner")).to_contain_text("Released by a person without further validation")


def test_a_page_that_stands_open_shows_what_changes_and_keeps_the_focus(gallery: Gallery, new_page: NewPage) -> None:
    page = new_page()
    page.goto(gallery.url)
    expect(page.locator("#live")).to_have_text("Live.")
    page.get_by_role("link", name="gpu-022, operation op-7f3k0022").focus()

    gallery.store.pause.set("ana", "a shelf of rack r3 moves", gallery.now)

    expect(page.get_by_text("a shelf of rack r3 moves")).to_be_visible()
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(focused) == "gpu-022, operation op-7f3k0022"
