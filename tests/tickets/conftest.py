from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog

from tests.tickets.receiver import Receiver, running


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """The stories are told by the timeline; the log of a thousand turns only costs time."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    yield
    structlog.reset_defaults()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A ticket system behind HTTP, empty."""
    with running() as started:
        yield started
