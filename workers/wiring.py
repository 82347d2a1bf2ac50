"""Puts a worker together from its settings: the only module that names adapters."""

from __future__ import annotations

import functools
import os
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from redis import Redis

from app.domain.policies import Hook, Mode, Policy
from app.intake import Intake
from app.policy_file import load_policy
from app.queue import WorkQueues
from app.settings import Settings
from app.store import Store
from app.store import connect as connect_store
from app.xid_file import load_xids
from workers.abreast import AT_ONCE
from workers.adapters import tickets
from workers.adapters.absent_node_jobs import AbsentNodeJobs
from workers.adapters.kubernetes.access import KubernetesAccess
from workers.adapters.kubernetes.client import Client
from workers.adapters.kubernetes.client import connect as connect_cluster
from workers.adapters.kubernetes.node_jobs import KubernetesNodeJobs
from workers.adapters.kubernetes.nodes import KubernetesNodes
from workers.adapters.kubernetes.notices import KubernetesNotices
from workers.adapters.kubernetes.places import KubernetesPlaces
from workers.adapters.kubernetes.pods import KubernetesPods
from workers.adapters.kubernetes.watching import feeds
from workers.adapters.power.http_hook import HttpPower
from workers.adapters.provider.http_hook import HttpProvider
from workers.engine import Engine
from workers.ports import Access, NodeJobs, Nodes, Ports
from workers.signed_hook import SignedHook
from workers.steps import STEPS
from workers.watch.seen import Feeds

XIDS = Path(__file__).parents[1] / "config" / "xids.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wiring:
    """Everything a worker or watch process works with. `redis` answers in bytes, as RQ wants it."""

    policy: Policy
    store: Store
    redis: Redis
    queues: WorkQueues
    intake: Intake
    ports: Ports
    feeds: Feeds
    engine: Engine
    clock: Callable[[], datetime]


@functools.cache
def own_wiring() -> Wiring:
    """The wiring by this process's environment, made once. RQ jobs have no other way to their means."""
    return wire(Settings.from_environment())


def wire(settings: Settings) -> Wiring:
    """Connects everything. Raises ConfigurationError, naming what is missing or wrong, before anything is touched."""
    url = settings.require_redis_url()
    policy = load_policy(settings.policy).lowered_to(Mode(settings.mode) if settings.mode else None)
    store = Store(connect_store(url))
    redis = connect_store(url, decode=False)
    cluster = connect_cluster()
    ports = Ports(
        nodes=KubernetesNodes(cluster),
        pods=KubernetesPods(cluster, utc_now, settings.pod_uid),
        node_jobs=_node_jobs(cluster, policy, settings),
        places=KubernetesPlaces(cluster),
        baselines=store.baselines,
        outbox=store.outbox,
        history=store.history,
        gpu_counts=store.gpu_counts,
        tickets=tickets.connect(policy.tickets, policy.cluster.name),
        power=HttpPower(_hook(policy.power)) if policy.power else None,
        notices=KubernetesNotices(cluster) if _may_mark(policy) else None,
        provider=HttpProvider(_hook(policy.provider)) if policy.provider else None,
    )
    owner = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"
    return Wiring(
        policy=policy,
        store=store,
        redis=redis,
        queues=WorkQueues(redis),
        intake=Intake(store, policy, load_xids(XIDS)),
        ports=ports,
        feeds=feeds(cluster, policy.node_jobs.namespace if settings.node_jobs else None),
        engine=Engine(
            store=store, ports=ports, policy=policy, steps=STEPS, owner=owner, clock=utc_now, at_once=AT_ONCE
        ),
        clock=utc_now,
    )


def access_of(policy: Policy) -> tuple[Nodes, Access]:
    """What `sickbay doctor` asks the cluster by. Raises ConfigurationError as `wire`."""
    cluster = connect_cluster()
    return KubernetesNodes(cluster), KubernetesAccess(cluster, policy.node_jobs.namespace)


def _may_mark(policy: Policy) -> bool:
    """Whether any pool may be touched: where all only observe there is no right to write to the cluster."""
    return any(mode is not Mode.OBSERVE for mode in (pool.mode for pool in policy.pools))


def _node_jobs(cluster: Client, policy: Policy, settings: Settings) -> NodeJobs:
    if not settings.node_jobs:
        return AbsentNodeJobs()
    return KubernetesNodeJobs(cluster, policy.node_jobs.namespace, policy.node_jobs.pull_secrets)


def _hook(hook: Hook) -> SignedHook:
    return SignedHook(hook.url, Path(hook.secret_file))


def utc_now() -> datetime:
    """The clock of the shell; the domain gets its time as an argument."""
    return datetime.now(UTC)
