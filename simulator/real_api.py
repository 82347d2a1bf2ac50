"""A real API server in place of the simulated one: where it is, and as whom the actors come in.

The machines, kubelets, GPU parts and alerts are then the same, while the controllers and the scheduler are real ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

KUBELET_HOST = "localhost"
"""Where every kubelet's log endpoint is, as an address of type InternalDNS. The API server has to prefer that type."""


class Acts(Protocol):
    """The record of writes, of whatever server."""

    def acts(self, *, after: int = 0, user: str = "", resource: str = "", name: str = "") -> list[dict[str, Any]]:
        """The writes with a higher number, narrowed where asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealApi:
    """One API server.

    Attributes:
        url: https.
        ca: the certificates by which it is known.
        certificate: what the kubelets' log endpoint shows; the server does not check it.
        key: of that certificate.
        actors: the token of somebody who may do everything.
        person: the token of a person.
        kubeconfig: how Sickbay comes in.
        audit: who did what.
    """

    url: str
    ca: Path
    certificate: Path
    key: Path
    actors: str
    person: str
    kubeconfig: Path
    audit: Acts
