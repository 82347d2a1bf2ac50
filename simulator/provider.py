"""Whoever provides the machines, behind one HTTP endpoint: another server takes the name of this one.

A made-up interface of the kind that sites put before a cloud's API: a signed POST. The old machine is switched off and
its node deleted; after a while another machine, with other cards, registers under the name: a node with another uid.

POST /simulator/provider/<node>/replace  202; header X-Sickbay-Signature: sha256=<HMAC-SHA256 of the body, in hex>

The same Idempotency-Key replaces a machine once, however often it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simulator.api.routes import Answer, Request
from simulator.api.statuses import method_not_allowed, no_such_path
from simulator.api.store import encode
from simulator.hardware import Machine
from simulator.signed_calls import SignedCalls

PREFIX = "/simulator/provider/"


class Provider:
    """Answers below `PREFIX`; a machine without GPUs is not its own."""

    def __init__(self, machines: Mapping[str, Machine], replace: Callable[[str], None], calls: SignedCalls) -> None:
        self._machines = machines
        self._replace = replace
        self._calls = calls

    def answer(self, request: Request) -> Answer:
        """202 for another machine."""
        name, _, act = request.path.removeprefix(PREFIX).strip("/").partition("/")
        machine = self._machines.get(name)
        if machine is None or not machine.gpus or act != "replace":
            raise no_such_path()
        if request.method != "POST":
            raise method_not_allowed()
        if self._calls.is_new(request):
            self._replace(name)
        return Answer(code=202, body=encode({"accepted": True}))
