"""A real browser, where there is one: Chromium as the system installs it, without a window."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.store import Store
from simulator.valkey import EmbeddedValkey
from tests.browser.gallery import Gallery, open_gallery

if TYPE_CHECKING:  # It is not installed where there is no browser to drive.
    from playwright.sync_api import Browser, ConsoleMessage, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")
PATIENCE_MS = 60_000


def lacking() -> str:
    """What is missing to try the pages in a browser, with what would help; empty when nothing is."""
    if _chromium() is None:
        return "No Chromium is installed, so the pages were not tried in a browser: apt-get install chromium"
    if find_spec("playwright") is None:
        return "Playwright is not installed, so the pages were not tried in a browser: run make test again"
    return ""


def _chromium() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


ALL = [file.name for file in Path(__file__).parent.glob("test_*.py")]
# Where they cannot be run, one test alone tells so, in one line.
collect_ignore = [name for name in ALL if name != "test_a_browser.py"] if lacking() else []


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import expect, sync_playwright  # noqa: PLC0415 - only here is it known to be installed

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=_chromium(), args=list(ARGUMENTS))
        yield started
        started.close()


def _is_complaint(said: ConsoleMessage) -> bool:
    # An answer of 400, which the pages give on purpose, is told as an error too, and so is a server that has ended.
    return said.type == "error" and "Failed to load resource" not in said.text


NewPage = Callable[..., "Page"]


@pytest.fixture
def new_page(browser: Browser) -> Iterator[NewPage]:
    """Opens a page of a browser that nobody has used; keyword arguments are those of Playwright's contexts.

    What the console complains about (an error in the script, something against the policy) fails the test at its end.
    """
    contexts, complaints = [], []

    def make(**given: object) -> Page:
        context = browser.new_context(**given)  # type: ignore[arg-type]  # as the caller says
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if _is_complaint(said) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def gallery(store: Store, valkey: EmbeddedValkey, tmp_path: Path) -> Iterator[Gallery]:
    with open_gallery(store, valkey.url, tmp_path) as opened:
        yield opened
