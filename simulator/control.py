"""The control API below /simulator/: what a test, a demo or a person does to the cluster that is not Kubernetes.

GET  /simulator/                     the control page: the cluster as it is, and buttons for what stands below
GET  /simulator/state                what there is: machines, pods, workloads, alerts, the clock
GET  /simulator/audit?after=&user=&resource=&name=
POST /simulator/break                {"how", "node", "gpu"}: one of `simulator.breakages`
POST /simulator/faults               {"node", "gpu", "xid"}
POST /simulator/behaviours           {"node", and any of the fields of `simulator.hardware.Behaviours`}
POST /simulator/swap                 {"node", "gpu", "same"?}: another card in that place, and nothing wrong with it
POST /simulator/heal                 {"node"}: the machine behaves again, and nothing is wrong with its cards
POST /simulator/budget               {"blocked", "node"?}: the inference replicas off that node are not ready
POST /simulator/cordon               {"node", "unschedulable"}: as a person with kubectl
POST /simulator/reboot               {"node"}: as if somebody pressed the button
POST /simulator/replace              {"node"}: another machine takes its name, as if its provider did it unasked
POST /simulator/register             {"node"}: its kubelet starts again; a deleted node gets another uid
POST /simulator/alerts/resolve       every Xid alert is over, as far as Alertmanager knows
POST /simulator/webhook              {"url", "token_file"?}: where alerts go
POST /simulator/compact              forget the watch history: every earlier watch gets 410
POST /simulator/tickets/close        {"file"}
POST /simulator/acts/<name>          what whoever started the cluster has put into `Control.extra_acts`

The machines' power is `simulator.bmc`, below /simulator/bmc/; who provides them `simulator.provider`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlsplit

from simulator import hardware
from simulator.api.routes import Answer, Request, decoded
from simulator.api.statuses import Refused, bad_request, method_not_allowed, no_such_path
from simulator.api.store import encode
from simulator.breakages import BREAKAGES, hit
from simulator.hardware import Behaviours, Machine
from simulator.state import state_of

if TYPE_CHECKING:
    from simulator.cluster import Cluster
    from simulator.ticket_desk import TicketDesk

Object = dict[str, Any]

_CHOICES: dict[str, tuple[str, ...]] = {
    "reset": get_args(hardware.Reset),
    "reboot": get_args(hardware.Reboot),
    "diagnosis": get_args(hardware.Diagnosis),
    "bandwidth": get_args(hardware.Bandwidth),
    "plugin": get_args(hardware.Plugin),
    "stress": get_args(hardware.Stress),
    "until": ("", *hardware.CURES),
}
_PAGE = Path(__file__).parent / "page"
_FILES = {
    "": ("index.html", "text/html; charset=utf-8"),
    "control.css": ("control.css", "text/css; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
    "control.js": ("control.js", "text/javascript; charset=utf-8"),
}
_HEADERS = {"Content-Security-Policy": "default-src 'self'", "Cache-Control": "no-cache"}


class Control:
    """Answers the requests of the control API.

    Whoever started the cluster may hand in what lies outside it: `extra_acts` (name → what a POST to it does, with a
    button each on the page), the `desk` of the tickets, and `sickbay_url`.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.extra_acts: dict[str, Callable[[Object], object]] = {}
        self.desk: TicketDesk | None = None
        self.sickbay_url = ""
        self._posts: dict[str, Callable[[Object], Object]] = {
            "break": self._break,
            "faults": self._fault,
            "behaviours": self._behave,
            "swap": self._swap,
            "heal": self._heal,
            "budget": self._budget,
            "cordon": self._cordon,
            "reboot": self._reboot,
            "replace": self._replace,
            "register": self._register,
            "alerts/resolve": self._resolve,
            "webhook": self._webhook,
            "tickets/close": self._close_ticket,
            "compact": self._compact,
        }

    def answer(self, request: Request) -> Answer:
        """The page, or JSON; what cannot be done is a Status, as elsewhere on this server."""
        what = request.path.removeprefix("/simulator/").strip("/")
        if request.method == "GET":
            return self._shown(what, request)
        act = self._posts.get(what) or self._extra(what)
        if act is None:
            raise no_such_path()
        if request.method != "POST":
            raise method_not_allowed()
        _refuse_strangers(request)
        given = decoded(request.body) if request.body else {}
        if not isinstance(given, dict):
            raise bad_request("a JSON object is needed")
        return Answer(body=encode(act(given)))

    def _shown(self, what: str, request: Request) -> Answer:
        if what in _FILES:
            name, kind = _FILES[what]
            return Answer(body=(_PAGE / name).read_bytes(), content_type=kind, headers=_HEADERS)
        if what == "state":
            return Answer(body=encode(self.state()))
        if what == "audit":
            query = request.query
            acts = self._cluster.audit.acts(
                after=int(query.get("after") or 0),
                user=query.get("user") or "",
                resource=query.get("resource") or "",
                name=query.get("name") or "",
            )
            return Answer(body=encode({"acts": acts}))
        raise method_not_allowed() if what in self._posts or self._extra(what) else no_such_path()

    def _extra(self, what: str) -> Callable[[Object], Object] | None:
        act = self.extra_acts.get(what.removeprefix("acts/")) if what.startswith("acts/") else None
        return None if act is None else lambda given: {"done": act(given)}

    def state(self) -> Object:
        """The cluster, and what else the page shows."""
        blocked = self._cluster.kubelet.unready.get(("serve", "vllm-chat"))
        return state_of(self._cluster) | {
            "breakages": [
                {"name": name, "label": one.label, "what": one.what, "then": one.then}
                for name, one in BREAKAGES.items()
            ],
            "budget_blocked_except": blocked,
            "acts": list(self.extra_acts),
            "tickets": self.desk.tickets() if self.desk else [],
            "sickbay": self.sickbay_url,
        }

    def _machine(self, given: Object) -> Machine:
        machine = self._cluster.machines.get(str(given.get("node")))
        if machine is None:
            raise Refused(404, "NotFound", f"there is no machine {given.get('node')!r}")
        return machine

    def _gpu(self, given: Object) -> int:
        gpu = given.get("gpu", 0)
        if not isinstance(gpu, int) or not 0 <= gpu < len(self._machine(given).gpus):
            raise bad_request("gpu is the index of a GPU")
        return gpu

    def _break(self, given: Object) -> Object:
        breakage = BREAKAGES.get(str(given.get("how")))
        if breakage is None:
            raise bad_request(f"how is one of {', '.join(BREAKAGES)}")
        breakage.strike(self._cluster, self._machine(given), self._gpu(given))
        return {"then": breakage.then}

    def _fault(self, given: Object) -> Object:
        machine, gpu, xid = self._machine(given), self._gpu(given), given.get("xid", 79)
        if not isinstance(xid, int):
            raise bad_request("xid is a number")
        [line] = hit(self._cluster, machine, gpu, xid)
        return {"kernel": line, "serial": machine.gpus[gpu].serial, "uuid": machine.gpus[gpu].uuid}

    def _behave(self, given: Object) -> Object:
        machine = self._machine(given)
        for one in fields(Behaviours):
            if one.name not in given:
                continue
            if one.name in _CHOICES and given[one.name] not in _CHOICES[one.name]:
                raise bad_request(f"{one.name} is one of {', '.join(_CHOICES[one.name])}")
            setattr(machine.behaviours, one.name, given[one.name])
        return asdict(machine.behaviours)

    def _swap(self, given: Object) -> Object:
        card = self._machine(given).swap(self._gpu(given), same=bool(given.get("same")))
        self._cluster.node_keeper.look_at(self._machine(given).name)
        self._cluster.alerting.look_now()
        return {"serial": card.serial, "uuid": card.uuid}

    def _heal(self, given: Object) -> Object:
        machine = self._machine(given)
        machine.behaviours = Behaviours()
        for card in machine.gpus:
            machine.swap(card.index, same=True)
        self._cluster.node_keeper.look_at(machine.name)
        self._cluster.alerting.look_now()
        return {}

    def _budget(self, given: Object) -> Object:
        kubelet = self._cluster.kubelet
        spared = given.get("node") or self._cluster.nodes[min(2, len(self._cluster.nodes) - 1)]
        kubelet.fail_probes("serve", "vllm-chat", spared if given.get("blocked") else None)
        return {"blocked": bool(given.get("blocked")), "node": spared}

    def _cordon(self, given: Object) -> Object:
        change = {"spec": {"unschedulable": bool(given.get("unschedulable", True)) or None}}
        return self._cluster.person.patch("nodes", "", self._machine(given).name, change)

    def _reboot(self, given: Object) -> Object:
        self._cluster.node_keeper.reboot(self._machine(given).name)
        return {}

    def _replace(self, given: Object) -> Object:
        self._cluster.node_keeper.replace(self._machine(given).name)
        return {}

    def _register(self, given: Object) -> Object:
        self._cluster.node_keeper.register((self._machine(given).name,))
        return {}

    def _resolve(self, _given: Object) -> Object:
        return {"resolved": self._cluster.alerting.resolve_all()}

    def _close_ticket(self, given: Object) -> Object:
        if self.desk is None:
            raise bad_request("there are no tickets here")
        return {"done": self.desk.close(str(given.get("file")))}

    def _webhook(self, given: Object) -> Object:
        token_file = given.get("token_file")
        self._cluster.alerting.send_to(str(given["url"]), Path(token_file) if token_file else None)
        return {}

    def _compact(self, _given: Object) -> Object:
        if self._cluster.real is not None:
            raise bad_request("a real API server forgets by itself")
        self._cluster.store.compact()
        return {}


def _refuse_strangers(request: Request) -> None:
    """A page of another site, open in the same browser, may not break things here."""
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("Host"):
        raise Refused(403, "Forbidden", f"a page of {origin} may not do this")
