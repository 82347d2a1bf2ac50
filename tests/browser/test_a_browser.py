"""Whether the tests beside this one could be run at all."""

from __future__ import annotations

import pytest

from tests.browser.conftest import lacking


def test_there_is_a_browser_to_try_the_pages_in() -> None:
    if missing := lacking():
        pytest.skip(missing)
