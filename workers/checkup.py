"""Asks everything that `sickbay doctor` judges. Nothing is changed: rights are reviewed, a node job is a dry run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from redis import Redis
from redis.exceptions import RedisError

from app.domain import checkup
from app.domain.checkup import Finding, Grade
from app.domain.effects import NodeJob
from app.domain.facts import NodeView
from app.domain.policies import Mode, Policy
from app.domain.remediators import REMEDIATORS, beside
from app.domain.rights import Component, needs
from app.errors import PortError
from workers.cards import SCRIPT
from workers.ports import Access, Nodes
from workers.step import in_driver_root


def of_store(redis: Redis) -> Iterator[Finding]:
    """Whether the store answers, and keeps what it is given."""
    try:
        redis.ping()
        kept = redis.info("persistence")
        memory = redis.info("memory")
    except RedisError as wrong:
        yield Finding(Grade.BAD, "store", f"The store does not answer: {wrong}.")
        return
    yield Finding(Grade.GOOD, "store", "The store answers.")
    if not int(kept.get("aof_enabled", 0)):
        told = "The store keeps no append-only file: a restart of it forgets what it was told last. Set appendonly yes."
        yield Finding(Grade.REMARK, "store", told)
    evicts = str(memory.get("maxmemory_policy", "noeviction"))
    if evicts != "noeviction":
        told = f"The store forgets records when it is full ({evicts}). Set maxmemory-policy noeviction."
        yield Finding(Grade.BAD, "store", told)


def of_cluster(
    policy: Policy, component: Component, nodes: Nodes, access: Access, *, node_jobs: bool
) -> Iterator[Finding]:
    """Rights, pools, dependencies and other remediators, as the API server tells. What it does not tell is unknown."""
    mode = checkup.freest(policy)
    try:
        asked = needs(component, Mode.ACT, node_jobs=True, deletes=True)
        allowed = {need: access.allowed(need) for need in asked}
        deletes = checkup.deletes_pods(policy)
        yield from checkup.of_rights(component, mode, allowed, node_jobs=node_jobs, deletes=deletes)
        if component is Component.WATCH:
            return
        there = nodes.all()
        yield from checkup.of_pools(policy, there)
        groups = access.groups()
        yield from checkup.of_operator(policy, groups)
        pods = {
            word: frozenset[str]().union(*(access.nodes_of_pods(label, value) for label, value in other.pods))
            for word, other in REMEDIATORS.items()
        }
        labels = {node.name: node.labels for node in there}
        yield from checkup.of_others(policy, beside(labels, groups, pods), there)
        if node_jobs and mode.rank >= Mode.APPROVE.rank:
            yield from _of_node_jobs(policy, there, access)
    except PortError as wrong:
        yield Finding(Grade.UNKNOWN, "cluster", str(wrong))


def _of_node_jobs(policy: Policy, nodes: tuple[NodeView, ...], access: Access) -> Iterator[Finding]:
    node = next((one for one in nodes if policy.rules_for(one.labels).mode.rank >= Mode.APPROVE.rank), None)
    if node is None:
        return
    job = NodeJob(
        name=f"doctor-{node.uid}",
        operation="doctor",
        step="inventory",
        node=node.name,
        image=policy.node_jobs.host_image,
        argv=in_driver_root(policy.rules_for(node.labels), SCRIPT),
        deadline=timedelta(minutes=1),
        host=True,
    )
    refusal = access.refusal_of(job)
    if refusal is None:
        yield Finding(Grade.GOOD, "node jobs", f"The cluster would take a node job in {policy.node_jobs.namespace}.")
    else:
        yield Finding(Grade.BAD, "node jobs", f"The cluster would not take a node job: {refusal}.")
