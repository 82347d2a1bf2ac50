"""A Job and its pod as the API server shows them, narrowed to `NodeJobView`. Pure.

The Job says whether it is over. Why it cannot start, how it ended and whether it ever ran, only its pod says.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import msgspec

from app.domain.facts import NodeJobView
from workers.adapters.kubernetes.answers import shortened
from workers.adapters.kubernetes.lists import Page
from workers.adapters.kubernetes.manifests import STEP_LABEL
from workers.adapters.kubernetes.nodes import Condition

NEVER_RAN = frozenset({"StartError", "ContainerCannotRun", "CreateContainerError"})
"""Reasons of a terminated container whose program was never executed."""


class JobMetadata(msgspec.Struct):
    """Of a Job."""

    name: str
    uid: str
    labels: dict[str, str] | None = None
    created_at: datetime | None = msgspec.field(default=None, name="creationTimestamp")
    deleted_at: datetime | None = msgspec.field(default=None, name="deletionTimestamp")


class TemplateSpec(msgspec.Struct):
    """Of the pod it makes."""

    node: str | None = msgspec.field(default=None, name="nodeName")


class Template(msgspec.Struct):
    """Of the pod it makes."""

    spec: TemplateSpec | None = None


class JobSpec(msgspec.Struct):
    """What is wanted."""

    template: Template | None = None


class JobCondition(Condition):
    """Complete or Failed, once the Job is over."""

    reason: str | None = None


class JobStatus(msgspec.Struct):
    """How far it is."""

    conditions: list[JobCondition] | None = None


class Job(msgspec.Struct):
    """The parts of a Job that matter here."""

    metadata: JobMetadata
    spec: JobSpec | None = None
    status: JobStatus | None = None

    def condition(self, kind: str) -> JobCondition | None:
        """That condition if it is true."""
        conditions = (self.status and self.status.conditions) or []
        return next((one for one in conditions if one.type == kind and one.status == "True"), None)

    def view(self) -> NodeJobView:
        """What the Job itself says, without its pod."""
        template = self.spec and self.spec.template
        failed = self.condition("Failed")
        succeeded = failed is None and self.condition("Complete") is not None
        return NodeJobView(
            name=self.metadata.name,
            uid=self.metadata.uid,
            step=(self.metadata.labels or {}).get(STEP_LABEL, ""),
            node=(template and template.spec and template.spec.node) or "",
            active=not succeeded and failed is None,
            succeeded=succeeded,
            failed=failed is not None,
            started=succeeded,
            reason=(failed and failed.reason) or "",
            created_at=self.metadata.created_at,
        )


class Running(msgspec.Struct):
    """A container that runs."""


class Waiting(msgspec.Struct):
    """A container that waits, and for what."""

    reason: str | None = None
    message: str | None = None


class Terminated(msgspec.Struct):
    """A container that has ended."""

    exit_code: int = msgspec.field(default=-1, name="exitCode")
    reason: str | None = None


class ContainerState(msgspec.Struct):
    """One of the three."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(msgspec.Struct):
    """Of the pod's only container."""

    state: ContainerState | None = None


class JobPodStatus(msgspec.Struct):
    """How far the pod is; `reason` is set when the kubelet refused or lost it."""

    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    containers: list[ContainerStatus] | None = msgspec.field(default=None, name="containerStatuses")


class JobPodMetadata(msgspec.Struct):
    """Of the pod."""

    name: str
    created_at: datetime | None = msgspec.field(default=None, name="creationTimestamp")


class JobPod(msgspec.Struct):
    """The pod that a Job has made."""

    metadata: JobPodMetadata
    status: JobPodStatus | None = None

    @property
    def container(self) -> ContainerState:
        """The state of its container, an empty one before it is known."""
        containers = (self.status and self.status.containers) or []
        return (containers[0].state if containers else None) or ContainerState()


JOB = msgspec.json.Decoder(Job)
JOBS = msgspec.json.Decoder(Page[Job])
JOB_PODS = msgspec.json.Decoder(Page[JobPod])


def with_pod(view: NodeJobView, pod: JobPod | None) -> NodeJobView:
    """The view with what its pod knows of the run.

    Without its pod nobody knows whether a failed one ran, so it counts as started: a reboot that may have been asked
    for has to be waited for.
    """
    if pod is None:
        reason = view.reason
        if view.failed and reason != "DeadlineExceeded":
            reason = "pod was deleted"
        elif view.active:
            # Ordinary for a moment. When it stays so, something refuses the pod: admission, a quota, a missing account.
            reason = "the cluster has made no pod for it"
        return replace(view, started=view.ended, reason=reason)
    state, status = pod.container, pod.status or JobPodStatus()
    ended = state.terminated
    return replace(
        view,
        started=state.running is not None or (ended is not None and ended.reason not in NEVER_RAN),
        exit_code=ended.exit_code if ended else None,
        reason=_reason(view, state, status),
    )


def _reason(view: NodeJobView, state: ContainerState, status: JobPodStatus) -> str:
    if view.succeeded:
        return ""
    if view.reason == "DeadlineExceeded":
        return view.reason
    if state.terminated is not None and state.terminated.reason not in {None, "Completed"}:
        return str(state.terminated.reason)
    if status.reason:
        return _spelled(status.reason, status.message)
    if state.waiting is not None and view.active and state.waiting.reason not in {None, "ContainerCreating"}:
        return _spelled(str(state.waiting.reason), state.waiting.message)
    return view.reason


def _spelled(reason: str, message: str | None) -> str:
    return f"{reason}: {shortened(message)}" if message else reason
