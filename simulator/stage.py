"""Where a scene plays: the simulated cluster and Sickbay, both over HTTP, and what can be asked of them at its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

Object = dict[str, Any]
TIMEOUT_S = 10
SICKBAY = "system:serviceaccount:sickbay:sickbay"
OVER = ("finished", "needs-human")


def _patient() -> requests.Session:
    """Asks again where nobody answers or the answer is 503: whoever plays may restart Valkey at any moment."""
    again = Retry(total=8, backoff_factor=0.1, backoff_max=2, status_forcelist=[503], allowed_methods=["GET"])
    session = requests.Session()
    session.mount("http://", HTTPAdapter(max_retries=again))
    return session


@dataclass(frozen=True, slots=True)
class Before:
    """What a node was like before something befell it."""

    node: str
    operations: int
    boots: int
    act: int
    """The number of the last write to the cluster."""


@dataclass(frozen=True, slots=True)
class Stage:
    """The URLs of the simulated cluster and of Sickbay."""

    cluster: str
    sickbay: str
    tokens: str = ""
    """The directory in which Sickbay's tokens lie."""
    http: requests.Session = field(default_factory=_patient, repr=False, compare=False)

    @property
    def control(self) -> str:
        """The control page."""
        return f"{self.cluster}/simulator/"

    def strike(self, what: str, body: Object) -> None:
        """Lets something befall the cluster."""
        requests.post(f"{self.cluster}/simulator/{what}", json=body, timeout=TIMEOUT_S).raise_for_status()

    def cluster_state(self) -> Object:
        """What is there now, Kubernetes or not."""
        return dict(self._get(f"{self.cluster}/simulator/state"))

    def machine(self, name: str) -> Object:
        """One machine, as the simulator knows it."""
        return next(dict(one) for one in self.cluster_state()["nodes"] if one["name"] == name)

    def node(self, name: str) -> Object:
        """The Node object."""
        return dict(self._get(f"{self.cluster}/api/v1/nodes/{name}"))

    def as_person(self, method: str, path: str, body: Object | None = None) -> None:
        """What somebody does with kubectl."""
        headers = {"Authorization": "Bearer simulator-person"}
        answer = requests.request(method, f"{self.cluster}{path}", json=body, headers=headers, timeout=TIMEOUT_S)
        answer.raise_for_status()

    def writes(self, after: int, *, resource: str = "") -> list[Object]:
        """What Sickbay has written to the cluster since that act, by resource if asked."""
        query = {"user": SICKBAY, "after": str(after), "resource": resource}
        found = self._get(f"{self.cluster}/simulator/audit", **query)["acts"]
        return [dict(one) for one in found if one["verb"] != "get" and one["resource"] != "events"]

    def operations(self, node: str) -> list[Object]:
        """The operations on that node, the latest first, without their timelines."""
        return list(self._get(f"{self.sickbay}/api/v1/operations", node=node, limit="50")["operations"])

    def operation(self, node: str) -> Object | None:
        """The latest operation on that node, with plan and timeline; None while there is none."""
        found = self.operations(node)
        return dict(self._get(f"{self.sickbay}/api/v1/operations/{found[0]['id']}")) if found else None

    def alerts(self) -> list[Object]:
        """The last alerts that Sickbay got, with what it made of them."""
        return list(self._get(f"{self.sickbay}/api/v1/alerts")["alerts"])

    def before(self, node: str) -> Before:
        """The node as it is now, to be compared with at the end."""
        acts = self._get(f"{self.cluster}/simulator/audit")["acts"]
        last = acts[-1]["number"] if acts else 0
        return Before(node, len(self.operations(node)), self.machine(node)["boots"], last)

    def since(self, before: Before) -> Object | None:
        """The operation that was opened on the node since then, or None."""
        return self.operation(before.node) if len(self.operations(before.node)) > before.operations else None

    def over(self, before: Before, states: tuple[str, ...] = OVER) -> Iterator[None]:
        """Yields until that operation has ended or, unless other `states` are given, asks for a person."""
        while (found := self.since(before)) is None or found["state"] not in states:
            yield

    def reaches(self, before: Before, *, state: str = "", step: str = "", words: str = "") -> Iterator[None]:
        """Yields until the operation is in that state, at that step, with these words in its reason; or is over."""
        while (found := self.since(before)) is None or found["state"] not in OVER:
            at = (
                next((one["step"] for one in found["plan"] if one["state"] in ("running", "waiting")), "")
                if found
                else ""
            )
            if found and state in ("", found["state"]) and step in ("", at) and words in found["reason"]:
                return
            yield

    def _get(self, url: str, **query: str) -> Any:
        headers = {"Authorization": "Bearer simulator-client"} if url.startswith(self.cluster) else {}
        answer = self.http.get(url, params=query, headers=headers, timeout=TIMEOUT_S)
        answer.raise_for_status()
        return answer.json()


def wrong_with(
    stage: Stage,
    before: Before,
    *,
    result: str = "released",
    did: tuple[str, ...] = (),
    failed: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
    codes: tuple[str, ...] = (),
    boots: int = 0,
) -> str | None:
    """What is wrong with the end of the one operation since `before`, in a sentence; None when nothing is.

    Args:
        stage: where to look.
        before: the node before it all.
        result: how the operation must have ended.
        did: steps that must have been done, at some attempt.
        failed: steps that must have failed, at some attempt.
        never: steps that must not even have begun.
        codes: the fault codes that it must be about, in any order; empty leaves them open.
        boots: how often the machine must have booted.
    """
    node, opened = before.node, len(stage.operations(before.node)) - before.operations
    operation = stage.since(before)
    if operation is None or opened != 1:
        return f"{opened} operations were opened on {node}, and it should be one."
    if operation["result"] != result:
        ended = operation["result"] or operation["state"]
        return f"{node} should have ended as {result} and is {ended}: {operation['reason']}"
    states = {(one["step"], one["state"]) for one in operation["plan"]}
    begun = {step for step, state in states if state not in ("pending", "skipped")}
    told = {
        "was not done": [step for step in did if (step, "done") not in states],
        "did not fail": [step for step in failed if (step, "failed") not in states],
        "should not have begun": [step for step in never if step in begun],
    }
    for words, steps in told.items():
        if steps:
            return f"{node}: {', '.join(steps)} {words}."
    found = {fault["code"] for fault in operation["faults"]}
    if codes and found != set(codes):
        return f"{node}: the operation is about {', '.join(sorted(found))}, not about {', '.join(codes)}."
    booted = stage.machine(node)["boots"] - before.boots
    if booted != boots:
        return f"{node} booted {booted} times, and it should be {boots}."
    return _marks_on(stage, node)


def _marks_on(stage: Stage, node: str) -> str | None:
    """Whatever Sickbay has not taken away or put back."""
    found = stage.node(node)
    keys = {**(found["metadata"].get("annotations") or {}), **found["metadata"]["labels"]}
    marks = [key for key, value in keys.items() if "sickbay/" in key or (".deploy." in key and value != "true")]
    if found["spec"].get("unschedulable") or marks:
        return f"{node} still carries {', '.join(marks) or 'a cordon'}."
    return None
