"""The Job controller: a pod for each Job, its failures against backoffLimit, deadlines, and removal after its time.

activeDeadlineSeconds and ttlSecondsAfterFinished are simulated seconds, as every duration in a spec is. A deadline is
never shorter than `LEAST_S`: at high speeds the threads of this process would miss what machines never do.
"""

from __future__ import annotations

import secrets
import time
from collections import defaultdict
from typing import Any

from simulator.actors.actor import Actor, Party
from simulator.actors.client import ApiClient, ApiRefused
from simulator.actors.pod_status import is_over, is_ready, now
from simulator.actors.view import ClusterView, Key, controller_of, key_of, owner_reference
from simulator.clock import Clock

Object = dict[str, Any]
LEAST_S = 3.0


class Jobs(Party):
    """Non-indexed Jobs. A pod that is deleted before its end counts as failed, as in the real controller."""

    def __init__(self, api: ApiClient, view: ClusterView, clock: Clock) -> None:
        self._api = api
        self._view = view
        self._clock = clock
        self._began: dict[str, float] = {}  # job uid -> monotonic
        self._finished: dict[str, float] = {}
        self._ended: defaultdict[str, dict[str, str]] = defaultdict(dict)  # job uid -> pod uid -> Succeeded | Failed
        self._expected: dict[str, set[str]] = {}  # job uid -> names of pods made and not yet seen
        self.actor = Actor("job-controller", self._look)
        view.listen("jobs", lambda _event, _before, job: self.actor.add(key_of(job)))
        view.listen("pods", self._on_pod)

    def _on_pod(self, event: str, _before: Object | None, pod: Object) -> None:
        owner = controller_of(pod)
        if owner.get("kind") != "Job":
            return
        self._expected.get(owner["uid"], set()).discard(pod["metadata"]["name"])
        if is_over(pod):
            self._ended[owner["uid"]][pod["metadata"]["uid"]] = pod["status"]["phase"]
        elif event == "DELETED":
            self._ended[owner["uid"]][pod["metadata"]["uid"]] = "Failed"
        self.actor.add((pod["metadata"]["namespace"], owner["name"]))

    def _look(self, key: Key) -> None:
        job = self._view.get("jobs", key)
        if job is None or "deletionTimestamp" in job["metadata"]:
            return
        uid, spec = job["metadata"]["uid"], job["spec"]
        if _finished(job):
            self._remove_in_time(job)
            return
        began = self._began.setdefault(uid, time.monotonic())
        ended = list(self._ended[uid].values())
        succeeded, failed = ended.count("Succeeded"), ended.count("Failed")
        active = [pod for pod in self._view.pods_of(uid) if not is_over(pod)]
        status: Object = {"startTime": (job["status"] or {}).get("startTime") or now()}
        deadline = spec.get("activeDeadlineSeconds")
        left = max(self._clock.real(deadline), LEAST_S) - (time.monotonic() - began) if deadline else None
        if left is not None and left <= 0:
            self._end_pods(active)
            status |= _end("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
            active, failed = [], failed + len(active)
        elif failed > spec["backoffLimit"]:
            self._end_pods(active)
            status |= _end("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
            active = []
        elif succeeded >= spec["completions"]:
            reason = "Reached expected number of succeeded pods"
            status |= _end("Complete", "CompletionsReached", reason)
        elif not spec.get("suspend"):
            waiting = self._expected.get(uid, set())
            missing = min(spec["parallelism"], spec["completions"] - succeeded) - len(active) - len(waiting)
            for _ in range(missing):
                self._make_pod(job)
        status |= {"active": len(active), "ready": sum(map(is_ready, active)), "terminating": 0}
        status |= {"succeeded": succeeded} if succeeded else {}
        status |= {"failed": failed} if failed else {}
        self._write(job, status)
        if left is not None and left > 0:
            self.actor.add(key, left)

    def _make_pod(self, job: Object) -> None:
        template = job["spec"]["template"]
        name = f"{job['metadata']['name'][:57]}-{secrets.token_hex(3)[:5]}"
        metadata = {**(template.get("metadata") or {}), "name": name, "ownerReferences": [owner_reference(job)]}
        expected = self._expected.setdefault(job["metadata"]["uid"], set())
        expected.add(name)
        pod = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": template["spec"]}
        try:
            self._api.create("pods", job["metadata"]["namespace"], pod)
        except ApiRefused:
            expected.discard(name)  # admission said no: it is asked again
            raise

    def _end_pods(self, pods: list[Object]) -> None:
        for pod in pods:
            if "deletionTimestamp" not in pod["metadata"]:
                self._api.delete("pods", *key_of(pod), preconditions={"uid": pod["metadata"]["uid"]})

    def _write(self, job: Object, status: Object) -> None:
        if {key: (job["status"] or {}).get(key) for key in status} != status:
            change = {"metadata": {"uid": job["metadata"]["uid"]}, "status": status}
            self._api.patch("jobs", *key_of(job), change, status=True)

    def _remove_in_time(self, job: Object) -> None:
        uid, lives_s = job["metadata"]["uid"], job["spec"].get("ttlSecondsAfterFinished")
        for memory in (self._began, self._ended, self._expected):
            memory.pop(uid, None)
        if lives_s is None:
            return
        left = self._clock.real(lives_s) - (time.monotonic() - self._finished.setdefault(uid, time.monotonic()))
        if left > 0:
            self.actor.add(key_of(job), left)
            return
        self._finished.pop(uid, None)
        self._api.delete("jobs", *key_of(job), propagationPolicy="Background", preconditions={"uid": uid})


def _finished(job: Object) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or []
    return any(one["type"] in ("Complete", "Failed") and one["status"] == "True" for one in conditions)


def _end(kind: str, reason: str, message: str) -> Object:
    """The conditions of a finished Job: the interim one, and the final one."""
    first = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
    at = now()
    conditions = [
        {"type": one, "status": "True", "reason": reason, "message": message}
        | {"lastProbeTime": at, "lastTransitionTime": at}
        for one in (first, kind)
    ]
    return {"conditions": conditions, **({"completionTime": at} if kind == "Complete" else {})}
