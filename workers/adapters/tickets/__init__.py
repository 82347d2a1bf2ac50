"""Ticket systems: one file each behind the port `Tickets`, and one line here. docs/reference/tickets.md describes them.

They are named by dotted strings, so that a worker imports only the one that its policy names.
"""

from __future__ import annotations

import importlib

from app.domain import policies
from app.errors import ConfigurationError
from workers.ports import Tickets

SYSTEMS: dict[str, str] = {
    "file": "workers.adapters.tickets.file:FileTickets",
    "webhook": "workers.adapters.tickets.webhook:WebhookTickets",
}
"""Name in the policy to `module:class`. The class takes the policy's `tickets` and the cluster's name."""


def connect(settings: policies.Tickets, cluster: str) -> Tickets | None:
    """The system that the policy names, None when it names none. Nothing is written or asked yet.

    Raises:
        ConfigurationError: there is no such system, or something that it needs is missing.
    """
    if settings.system is None:
        return None
    if settings.system not in SYSTEMS:
        raise ConfigurationError(
            f"There is no ticket system {settings.system!r}.",
            path="tickets.system",
            remedy=f"Use one of: {', '.join(SYSTEMS)}.",
        )
    module, _, name = SYSTEMS[settings.system].partition(":")
    opened: Tickets = getattr(importlib.import_module(module), name)(settings, cluster)
    return opened
