"""What the web process is made of: built once by its command or a test, and handed to every view."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, cast

from flask import current_app

from app.domain.policies import Policy
from app.domain.xids import Catalogue
from app.intake import Intake
from app.metrics import FleetCollector, WebMetrics
from app.queue import WorkQueues
from app.store import Store

BODY_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of a webhook body: some ten thousand alerts. A larger one is answered with 413, which is never sent again."""


def utc_now() -> datetime:
    """The clock of this process."""
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """`webhook_tokens` and `api_tokens` are files, read for each request. `now` is the only clock that views read.

    `user_header` is the header in which a trusted proxy names who asks. `https`: browsers reach the pages by it alone.
    `links` are pages elsewhere, name and address, for the head of each page; `policy_source` is the policy's text.
    """

    store: Store
    queues: WorkQueues
    policy: Policy
    catalogue: Catalogue
    webhook_tokens: Path
    api_tokens: Path | None = None
    user_header: str | None = None
    https: bool = False
    links: tuple[tuple[str, str], ...] = ()
    policy_source: str = ""
    body_limit: int = BODY_LIMIT
    now: Callable[[], datetime] = utc_now
    metrics: WebMetrics = field(default_factory=WebMetrics)

    @property
    def intake(self) -> Intake:
        """The path of an alert."""
        return Intake(self.store, self.policy, self.catalogue)

    @property
    def fleet(self) -> FleetCollector:
        """What a scrape reads from the store."""
        return FleetCollector(self.store, self.queues, self.policy, self.now)


def parts() -> Parts:
    """Those of the application that answers now."""
    return cast("Parts", current_app.extensions["sickbay"])
