"""Effects carried out on the ports: one line each. What an act answers is kept for people; the next look decides."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeVar

from app.domain.drains import refusal_key
from app.domain.effects import (
    CommentTicket,
    CyclePower,
    Effect,
    EvictPod,
    OpenTicket,
    PatchNode,
    RemoveNodeJob,
    ReplaceNode,
    StartNodeJob,
)
from app.errors import PermanentPortError
from workers.ports import Ports

P = TypeVar("P")

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
        case CyclePower(node=node, key=key):
            _there(ports.power, "power backend").cycle(node, key)
            return {"sent": now.isoformat()}
        case ReplaceNode(node=node, key=key):
            _there(ports.provider, "provider of machines").replace(node, key)
            return {"sent": now.isoformat()}
        case OpenTicket(draft=draft):
            opened = _there(ports.tickets, "ticket system").open(draft)
            return {"answered": opened.key, "answered_by": opened.system, "answered_url": opened.url}
        case CommentTicket(ticket=ticket, text=text):
            _there(ports.tickets, "ticket system").comment(ticket, text)
            return {"commented": ticket.key}
        case EvictPod(namespace=namespace, name=name, uid=uid):
            refusal = ports.pods.evict(namespace, name, uid)
            if refusal is not None:
                until = refusal.retry_at or now + EVICT_AGAIN
                return {refusal_key(uid): f"{until.isoformat()} {refusal.reason}"}
    return {}


def _there(port: P | None, called: str) -> P:
    if port is None:
        raise PermanentPortError(f"No {called} is set up in the policy.")
    return port
