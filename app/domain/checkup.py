"""What `sickbay doctor` makes of what it saw: findings, each one sentence with what to do about it. Pure.

It says whether this process could do its work in this cluster, and whether it should: beside another remediator it
should not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.domain.drain_rules import Do
from app.domain.facts import NodeView
from app.domain.policies import Mode, Policy, Pool
from app.domain.remediators import REMEDIATORS
from app.domain.rights import Component, Need, needs
from app.domain.timeline import counted

SHOWN: Final = 3
GPU_OPERATOR: Final = "nvidia.com"
"""The group of its ClusterPolicy."""


class Grade(StrEnum):
    """How good or bad it is."""

    GOOD = "good"
    REMARK = "remark"
    """Sickbay works, perhaps not as it is meant to."""
    UNKNOWN = "unknown"
    """It could not be asked."""
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    grade: Grade
    about: str
    told: str


def freest(policy: Policy) -> Mode:
    """The mode of the pool that may go furthest."""
    return max((pool.mode for pool in policy.pools), key=lambda mode: mode.rank)


def of_rights(
    component: Component, mode: Mode, allowed: Mapping[Need, bool], *, node_jobs: bool, deletes: bool = False
) -> Iterator[Finding]:
    """Each right that is missing, and each that this mode does not need. `allowed` holds all that is ever needed.

    `deletes`: whether a rule of some pool's drain deletes pods.
    """
    wanted = needs(component, mode, node_jobs=node_jobs, deletes=deletes)
    for need in wanted:
        if not allowed[need]:
            remedy = f"Upgrade the chart with mode={mode}{_besides(need)}."
            told = f"May not {need}{_where(need)}, which mode {mode} needs. {remedy}"
            yield Finding(Grade.BAD, "rights", told)
    if all(allowed[need] for need in wanted):
        yield Finding(Grade.GOOD, "rights", f"Has every right that {component} needs in mode {mode}.")
    surplus = [need for need, granted in allowed.items() if granted and need not in wanted]
    if surplus:
        names = ", ".join(f"{need}{_where(need)}" for need in surplus)
        yield Finding(Grade.REMARK, "rights", f"May also {names}, which mode {mode} does not need.")


def _besides(need: Need) -> str:
    return " and deletePods=true" if need.verb == "delete" and not need.on_node_jobs else ""


def deletes_pods(policy: Policy) -> bool:
    """Whether a rule of some pool's drain deletes pods."""
    return any(rule.do is Do.DELETE for pool in policy.pools for rule in pool.drain.values())


def of_pools(policy: Policy, nodes: Collection[NodeView]) -> Iterator[Finding]:
    """How many nodes each pool has; a pool without any is looked after by nobody."""
    for pool in policy.pools:
        count = len(_in(pool, policy, nodes))
        told = f"Pool {pool.name}, mode {pool.mode}: {counted(count, 'node')}."
        if count:
            yield Finding(Grade.GOOD, "pools", told)
        else:
            yield Finding(Grade.REMARK, "pools", f"{told} Nothing carries the labels of its selector.")


def of_others(policy: Policy, found: Mapping[str, Collection[str]], nodes: Collection[NodeView]) -> Iterator[Finding]:
    """Who else repairs nodes of the pools. `found` is `remediators.beside` over all nodes.

    Bad where a pool may disrupt its nodes and its `beside` does not name the other.
    """
    clean = True
    for pool in policy.pools:
        names = {node.name for node in _in(pool, policy, nodes)}
        for word, on in found.items():
            shared = sorted(names & set(on))
            if shared and word not in pool.beside:
                clean = False
                yield _other(pool, word, shared)
    if clean:
        yield Finding(Grade.GOOD, "others", "Nobody else is known to repair these nodes, but whom `beside` names.")


def of_operator(policy: Policy, groups: Collection[str]) -> Iterator[Finding]:
    """Whether the GPU Operator is there, by whose labels a reset pauses what holds the GPUs."""
    if GPU_OPERATOR in groups:
        yield Finding(Grade.GOOD, "operator", "The GPU Operator is installed.")
    elif any("reset" in pool.capabilities for pool in policy.pools):
        told = "The GPU Operator is not installed, so a reset cannot pause what holds the GPUs: take `reset` out."
        yield Finding(Grade.REMARK, "operator", told)


def _other(pool: Pool, word: str, shared: list[str]) -> Finding:
    listed = ", ".join(shared[:SHOWN]) + (", …" if len(shared) > SHOWN else "")
    told = f"{REMEDIATORS[word].called} repairs nodes of pool {pool.name} too ({listed})."
    if pool.mode.rank < Mode.APPROVE.rank:
        return Finding(Grade.REMARK, "others", f"{told} Mode {pool.mode} does not disrupt them; keep it so.")
    remedy = f"Take it off these nodes, or name {word} under the pool's `beside` if the two cannot meet."
    return Finding(Grade.BAD, "others", f"{told} In mode {pool.mode} the two undo each other's work. {remedy}")


def _in(pool: Pool, policy: Policy, nodes: Collection[NodeView]) -> list[NodeView]:
    found = ((node, policy.pool_of(node.labels)) for node in nodes)
    return [node for node, its in found if its is not None and its.name == pool.name]


def _where(need: Need) -> str:
    return " in the namespace of node jobs" if need.on_node_jobs else ""
