"""The machines' management controllers behind one HTTP endpoint: power-cycling a server from outside.

A made-up interface of the kind that sites put before Redfish or IPMI: a signed POST and a GET. It knows machines, not
Kubernetes, and answers for those that are down.

POST /simulator/bmc/<node>/power-cycle   202; header X-Sickbay-Signature: sha256=<HMAC-SHA256 of the body, in hex>
GET  /simulator/bmc/<node>               {"power": "on" | "off", "boots": n}

The same Idempotency-Key cycles a machine once, however often it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simulator.api.routes import Answer, Request
from simulator.api.statuses import method_not_allowed, no_such_path
from simulator.api.store import encode
from simulator.hardware import Machine
from simulator.signed_calls import SignedCalls

PREFIX = "/simulator/bmc/"


class Bmc:
    """Answers below `PREFIX`."""

    def __init__(self, machines: Mapping[str, Machine], power_cycle: Callable[[str], None], calls: SignedCalls) -> None:
        self._machines = machines
        self._power_cycle = power_cycle
        self._calls = calls

    def answer(self, request: Request) -> Answer:
        """The state of a machine's power, or 202 for a cycle of it."""
        name, _, act = request.path.removeprefix(PREFIX).strip("/").partition("/")
        machine = self._machines.get(name)
        if machine is None or act not in ("", "power-cycle"):
            raise no_such_path()
        if not act:
            if request.method != "GET":
                raise method_not_allowed()
            return Answer(body=encode({"power": "on" if machine.powered else "off", "boots": machine.boots}))
        if request.method != "POST":
            raise method_not_allowed()
        if self._calls.is_new(request):
            self._power_cycle(name)
        return Answer(code=202, body=encode({"accepted": True}))
