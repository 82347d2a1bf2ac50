"""Effects carried out on the ports: one line each. What an act answers is kept for people; the next look decides."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from app.domain.drains import refusal_key
from app.domain.effects import Effect, EvictPod, PatchNode, RemoveNodeJob, StartNodeJob
from workers.ports import Ports

EVICT_AGAIN = timedelta(seconds=10)
"""When a refused eviction is asked again, if the server names no time."""


def perform(effect: Effect, ports: Ports, now: datetime) -> Mapping[str, str]:
    """Does it. What it answered is for the step's memo. Raises PortError or NodeChangedError when it was not done."""
    match effect:
        case PatchNode():
            ports.nodes.patch(effect)
        case StartNodeJob(job=job):
            ports.node_jobs.start(job)
        case RemoveNodeJob(name=name):
            ports.node_jobs.remove(name)
        case EvictPod(namespace=namespace, name=name, uid=uid):
            refusal = ports.pods.evict(namespace, name, uid)
            if refusal is not None:
                until = refusal.retry_at or now + EVICT_AGAIN
                return {refusal_key(uid): f"{until.isoformat()} {refusal.reason}"}
    return {}
