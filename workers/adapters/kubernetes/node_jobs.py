"""Node jobs: Kubernetes Jobs in one namespace, found again by name and by the operation's label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.domain.effects import NodeJob
from app.domain.facts import NodeJobView
from app.errors import TemporaryPortError
from workers.adapters.kubernetes.answers import Right, error_of
from workers.adapters.kubernetes.client import Client, segment
from workers.adapters.kubernetes.job_views import JOB, JOB_PODS, JOBS, JobPod, with_pod
from workers.adapters.kubernetes.lists import decoded, read_list
from workers.adapters.kubernetes.manifests import CONTAINER, NAME_LABEL, OPERATION_LABEL, manifest

NAMESPACE = "sickbay-node-jobs"
OUTPUT_LIMIT = 4 * 1024 * 1024
"""Bytes of a log that are read: eight GPUs' level 3 diagnosis is some 20 kB. What is cut off never parses as a pass."""


class KubernetesNodeJobs:
    """The port `NodeJobs`."""

    def __init__(self, client: Client, namespace: str = NAMESPACE, pull_secrets: Sequence[str] = ()) -> None:
        self._client = client
        self._pull_secrets = tuple(pull_secrets)
        self._namespace = namespace
        self._jobs = f"/apis/batch/v1/namespaces/{segment(namespace)}/jobs"
        self._pods = f"/api/v1/namespaces/{segment(namespace)}/pods"

    def start(self, job: NodeJob) -> None:
        """Creates it, or finds the one that has its name."""
        right = Right("create", "jobs")
        answer = self._client.ask("POST", self._jobs, right, body=manifest(job, self._namespace, self._pull_secrets))
        if answer.ok or (answer.code == 409 and answer.status.reason == "AlreadyExists"):
            return
        raise error_of(answer, right)

    def get(self, name: str) -> NodeJobView | None:
        """How it stands, with its output once it has ended; None when there is none of that name.

        While the log of an ended one cannot be read (the machine is down), it counts as active: its output may come
        yet, and the caller's own deadline ends the wait.
        """
        right = Right("get", "jobs")
        body = self._client.get(f"{self._jobs}/{segment(name)}", right)
        if body is None:
            return None
        job = decoded(JOB, body, right)
        if job.metadata.deleted_at is not None:
            return None  # It is on its way out, with its pod.
        pod = self._pod_of(name)
        view = with_pod(job.view(), pod)
        if not view.ended or pod is None:
            return view
        try:
            return replace(view, output=self._output(pod.metadata.name))
        except TemporaryPortError as wrong:
            reason = f"its log cannot be read yet: {wrong}"
            return replace(view, active=True, succeeded=False, failed=False, reason=reason)

    def of_operation(self, operation: str) -> tuple[NodeJobView, ...]:
        """Those that an operation has started and that still exist, without output.

        One that is being deleted is still there: its pod may use the GPUs until its grace is over.
        """
        query = {"labelSelector": f"{OPERATION_LABEL}={operation}"}
        jobs, _ = read_list(self._client, self._jobs, Right("list", "jobs"), JOBS, query)
        return tuple(job.view() for job in jobs)

    def remove(self, name: str) -> None:
        """Deletes it once its pod has ended, which gets its grace."""
        right = Right("delete", "jobs")
        query = {"propagationPolicy": "Foreground"}
        answer = self._client.ask("DELETE", f"{self._jobs}/{segment(name)}", right, query=query)
        if not answer.ok and answer.code != 404:
            raise error_of(answer, right)

    def _pod_of(self, name: str) -> JobPod | None:
        query = {"labelSelector": f"{NAME_LABEL}={name}"}
        pods, _ = read_list(self._client, self._pods, Right("list", "pods"), JOB_PODS, query)
        return max(pods, key=lambda pod: str(pod.metadata.created_at), default=None)

    def _output(self, pod: str) -> str | None:
        right = Right("get", "pods/log")
        query: dict[str, str | int] = {"container": CONTAINER, "limitBytes": OUTPUT_LIMIT}
        answer = self._client.ask("GET", f"{self._pods}/{segment(pod)}/log", right, query=query)
        if answer.code in {400, 404}:
            return None  # Its container never started, or the pod is gone meanwhile.
        if not answer.ok:
            raise error_of(answer, right)
        return answer.body.decode(errors="replace")
