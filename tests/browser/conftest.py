"""A real browser, where there is one: Chromium as the system installs it, without a window."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from app.store import Store
from simulator.valkey import EmbeddedValkey
from tests.browser.gallery import Gallery, open_gallery

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")
PATIENCE_MS = 60_000

expect.set_options(timeout=PATIENCE_MS)


def _chromium() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without a Chromium one of these tests stands for all of them, and skips: one line says what is missing."""
    mine = [item for item in items if Path(__file__).parent in item.path.parents]
    if mine and _chromium() is None:
        config.hook.pytest_deselected(items=mine[1:])
        items[:] = [item for item in items if item not in mine[1:]]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Skips, with what would help, where no Chromium is installed."""
    path = _chromium()
    if path is None:
        pytest.skip("No Chromium is installed, so the pages were not tried in a browser: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield started
        started.close()


def _is_complaint(said: ConsoleMessage) -> bool:
    # An answer of 400, which the pages give on purpose, is told as an error too, and so is a server that has ended.
    return said.type == "error" and "Failed to load resource" not in said.text


NewPage = Callable[..., Page]


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
