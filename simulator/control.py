"""The control API below /simulator/: what a test, a demo or a person does to the cluster that is not Kubernetes.

GET  /simulator/state                what there is: machines, pods, workloads, alerts, the clock
GET  /simulator/audit?after=&user=&resource=&name=
POST /simulator/faults               {"node", "gpu", "xid"}
POST /simulator/behaviours           {"node", and any of the fields of `simulator.hardware.Behaviours`}
POST /simulator/swap                 {"node", "gpu", "same"?}: another card in that place, and nothing wrong with it
POST /simulator/budget               {"blocked", "node"?}: the inference replicas off that node are not ready
POST /simulator/cordon               {"node", "unschedulable"}: as a person with kubectl
POST /simulator/reboot               {"node"}: as if somebody pressed the button
POST /simulator/register             {"node"}: its kubelet starts again; a deleted node gets another uid
POST /simulator/alerts/resolve       every Xid alert is over, as far as Alertmanager knows
POST /simulator/webhook              {"url", "token_file"?}: where alerts go
POST /simulator/compact              forget the watch history: every earlier watch gets 410
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from simulator import hardware
from simulator.actors.pod_status import is_ready
from simulator.actors.view import key_of
from simulator.api.routes import Answer, Request, decoded
from simulator.api.statuses import Refused, bad_request, method_not_allowed, no_such_path
from simulator.api.store import encode
from simulator.hardware import Behaviours, Machine
from simulator.kernel_lines import SPARES_PROGRAMS
from simulator.objects import GPU

if TYPE_CHECKING:
    from simulator.cluster import Cluster

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


class Control:
    """Answers the requests of the control API."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._posts: dict[str, Callable[[Object], Object]] = {
            "faults": self._fault,
            "behaviours": self._behave,
            "swap": self._swap,
            "budget": self._budget,
            "cordon": self._cordon,
            "reboot": self._reboot,
            "register": self._register,
            "alerts/resolve": self._resolve,
            "webhook": self._webhook,
            "compact": self._compact,
        }

    def answer(self, request: Request) -> Answer:
        """The answer as JSON; what cannot be done is a Status, as elsewhere on this server."""
        what = request.path.removeprefix("/simulator/").strip("/")
        if request.method == "GET" and what == "state":
            return Answer(body=encode(self.state()))
        if request.method == "GET" and what == "audit":
            query = request.query
            acts = self._cluster.audit.acts(
                after=int(query.get("after") or 0),
                user=query.get("user") or "",
                resource=query.get("resource") or "",
                name=query.get("name") or "",
            )
            return Answer(body=encode({"acts": acts}))
        if what not in self._posts:
            raise no_such_path()
        if request.method != "POST":
            raise method_not_allowed()
        given = decoded(request.body) if request.body else {}
        if not isinstance(given, dict):
            raise bad_request("a JSON object is needed")
        return Answer(body=encode(self._posts[what](given)))

    def state(self) -> Object:
        """Everything, as one document."""
        cluster = self._cluster
        pods = cluster.view.all("pods")
        return {
            "clock": {"speed": cluster.clock.speed, "simulated_s": round(cluster.clock.simulated(), 1)},
            "nodes": [self._node(machine) for machine in cluster.machines.values()],
            "pods": [
                _pod(pod) | {"says": cluster.kubelet.last_line(key_of(pod))}
                for pod in pods
                if pod["metadata"]["namespace"] not in ("gpu-operator", "kube-system")
            ],
            "checkpoints": cluster.kubelet.storage.checkpoints,
            "budgets": [_budget(one) for one in cluster.view.all("poddisruptionbudgets")],
            "alerts": cluster.alerting.shown(),
        }

    def _node(self, machine: Machine) -> Object:
        node = self._cluster.view.get("nodes", ("", machine.name)) or {"spec": {}, "status": {}}
        return {
            "name": machine.name,
            "up": machine.up,
            "power": "on" if machine.powered else "off",
            "ready": is_ready(node),
            "unschedulable": bool(node["spec"].get("unschedulable")),
            "boot_id": machine.boot_id,
            "boots": machine.boots,
            "allocatable": (node["status"].get("allocatable") or {}).get(GPU, "0"),
            "behaviours": asdict(machine.behaviours),
            "kernel": machine.kernel[-20:],
            "gpus": [asdict(card) | {"bus_id": card.bus_id} for card in machine.gpus],
        }

    def _machine(self, given: Object) -> Machine:
        machine = self._cluster.machines.get(str(given.get("node")))
        if machine is None:
            raise Refused(404, "NotFound", f"there is no machine {given.get('node')!r}")
        return machine

    def _fault(self, given: Object) -> Object:
        machine, gpu = self._machine(given), self._gpu(given)
        xid = given.get("xid", 79)
        if not isinstance(xid, int):
            raise bad_request("xid is a number")
        line = machine.raise_xid(gpu, xid)
        if xid not in SPARES_PROGRAMS:
            self._cluster.kubelet.crash(machine.name, gpu, xid)
        self._cluster.node_keeper.look_at(machine.name)
        self._cluster.alerting.look_now()
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

    def _gpu(self, given: Object) -> int:
        gpu = given.get("gpu", 0)
        if not isinstance(gpu, int) or not 0 <= gpu < len(self._machine(given).gpus):
            raise bad_request("gpu is the index of a GPU")
        return gpu

    def _swap(self, given: Object) -> Object:
        machine = self._machine(given)
        card = machine.swap(self._gpu(given), same=bool(given.get("same")))
        self._cluster.node_keeper.look_at(machine.name)
        self._cluster.alerting.look_now()
        return {"serial": card.serial, "uuid": card.uuid}

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

    def _register(self, given: Object) -> Object:
        self._cluster.node_keeper.register((self._machine(given).name,))
        return {}

    def _resolve(self, _given: Object) -> Object:
        return {"resolved": self._cluster.alerting.resolve_all()}

    def _webhook(self, given: Object) -> Object:
        token_file = given.get("token_file")
        self._cluster.alerting.send_to(str(given["url"]), Path(token_file) if token_file else None)
        return {}

    def _compact(self, _given: Object) -> Object:
        self._cluster.store.compact()
        return {}


def _pod(pod: Object) -> Object:
    metadata, status = pod["metadata"], pod.get("status") or {}
    return {
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "node": pod["spec"].get("nodeName", ""),
        "phase": status.get("phase", ""),
        "ready": is_ready(pod),
        "terminating": "deletionTimestamp" in metadata,
    }


def _budget(budget: Object) -> Object:
    return {
        "namespace": budget["metadata"]["namespace"],
        "name": budget["metadata"]["name"],
        **(budget["status"] or {}),
    }
