"""Effects carried out on the ports: one line each. What an act answers is kept for people; the next look decides."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from app.domain.effects import (
    CommentTicket,
    CyclePower,
    DeletePod,
    Effect,
    EvictPod,
    OpenTicket,
    PatchNode,
    RemoveNodeJob,
    ReplaceNode,
    StartNodeJob,
)
from app.domain.refusals import NEVER_AGAIN, Refused, pause, refusal_key
from app.errors import PermanentPortError
from workers.ports import Ports, Refusal

P = TypeVar("P")


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
        case DeletePod(namespace=namespace, name=name, uid=uid):
            ports.pods.delete(namespace, name, uid)
        case EvictPod(namespace=namespace, name=name, uid=uid, tries=before):
            return _refused(ports.pods.evict(namespace, name, uid), uid, before + 1, now)
    return {}


def _refused(refusal: Refusal | None, uid: str, tries: int, now: datetime) -> Mapping[str, str]:
    if refusal is None:
        return {}
    until = refusal.retry_at or now + (NEVER_AGAIN if refusal.never else pause(tries, uid))
    told = Refused(until=until, why=refusal.reason, tries=tries, never=refusal.never)
    return {refusal_key(uid): told.written()}


def _there(port: P | None, called: str) -> P:
    if port is None:
        raise PermanentPortError(f"No {called} is set up in the policy.")
    return port
