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
    "/policy",
    "/activity",
    "/system",
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


def test_rows_are_filtered_and_walked_by_key_and_the_address_keeps_the_filter(
    gallery: Gallery, new_page: NewPage
) -> None:
    page = new_page()
    page.goto(gallery.url)
    page.keyboard.press("/")
    page.keyboard.type("xid 95 budget")
    expect(page.locator("#sifted")).to_have_text("0 of 9 shown")
    page.get_by_role("searchbox").fill("gpu-022")
    expect(page.locator("main article.row:visible")).to_have_count(1)
    assert page.url.endswith("/?q=gpu-022")

    page.reload()
    expect(page.locator("main article.row:visible")).to_have_count(1)
    gallery.store.pause.set("ana", "a shelf of rack r3 moves", gallery.now)
    expect(page.get_by_text("a shelf of rack r3 moves")).to_be_visible()
    expect(page.locator("main article.row:visible")).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/operations/op-7f3k0022")
    page.keyboard.press("o")
    page.wait_for_url(f"{gallery.url}/")


def test_times_are_shown_in_utc_or_local_time_and_the_browser_remembers_which(
    gallery: Gallery, new_page: NewPage
) -> None:
    page = new_page(timezone_id="Asia/Tokyo")
    page.goto(f"{gallery.url}/operations/op-7f3k0017")
    clock = page.locator("ol.time time").first
    utc = clock.text_content()
    assert utc == clock.get_attribute("datetime", timeout=1000)[11:19]  # type: ignore[index]

    page.keyboard.press("u")

    expect(page.get_by_role("button", name="local time")).to_be_visible()
    assert str(clock.text_content())[-8:-6] == f"{(int(str(utc)[:2]) + 9) % 24:02}"
    page.reload()
    expect(page.get_by_role("button", name="local time")).to_be_visible()
    assert str(clock.get_attribute("title")).endswith("local time")


def test_the_keys_are_listed_and_can_be_turned_off(gallery: Gallery, new_page: NewPage) -> None:
    page = new_page()
    page.goto(f"{gallery.url}/offenders")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next row, row before")
    page.get_by_label("Listen to these keys").uncheck()
    page.keyboard.press("Escape")

    page.reload()
    page.keyboard.press("o")
    page.keyboard.press("?")

    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.get_by_label("Listen to these keys")).not_to_be_checked()
    assert page.url.endswith("/offenders")
