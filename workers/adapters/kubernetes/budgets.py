"""Whether a PodDisruptionBudget can allow an eviction at all, or a person has to change it first.

Read only after it has said no. A budget that is merely used up is waited for; one that allows nothing by its own words
would be waited for in vain until the drain's deadline.
"""

from __future__ import annotations

import contextlib

import msgspec

from app.errors import PortError
from workers.adapters.kubernetes.answers import Right
from workers.adapters.kubernetes.client import Client, segment

READ = Right("get", "poddisruptionbudgets")


class BudgetSpec(msgspec.Struct):
    """How much it keeps: a number of pods, or a percentage as a text. One of the two is set."""

    least: int | str | None = msgspec.field(default=None, name="minAvailable")
    most_away: int | str | None = msgspec.field(default=None, name="maxUnavailable")


class Budget(msgspec.Struct):
    """The parts of a PodDisruptionBudget that tell whether it can ever allow an eviction."""

    spec: BudgetSpec = msgspec.field(default_factory=BudgetSpec)

    @property
    def never(self) -> str:
        """Why it allows nothing even when all its pods are healthy, as a sentence; empty when it can.

        One that keeps as many pods as there are now, by their number, is not meant: they may become more.
        """
        least, away = self.spec.least, self.spec.most_away
        if away in (0, "0", "0%"):
            return f"It can never allow one, by `maxUnavailable: {away}`."
        if least == "100%":
            return "It can never allow one, by `minAvailable: 100%`."
        return ""


_decode = msgspec.json.Decoder(Budget).decode


def never_allows(client: Client, namespace: str, name: str) -> str:
    """Why this budget can never allow an eviction. Empty when it can, or cannot be read: its no stands all the same."""
    path = f"/apis/policy/v1/namespaces/{segment(namespace)}/poddisruptionbudgets/{segment(name)}"
    with contextlib.suppress(PortError, msgspec.DecodeError):
        body = client.get(path, READ)
        return _decode(body).never if body is not None else ""
    return ""
