"""What policy and a pod's owner say of its eviction: now, when its work is done, never, or by deletion at last.

A rule of the policy counts before what the pod says of itself. Nothing here looks at the node or at what was tried.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from app.domain.facts import PodView

DRAIN_LABEL = "sickbay/drain"
ASKS_TO_WAIT = (
    ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
    ("karpenter.sh/do-not-disrupt", "true"),
)
"""Annotations by which other tools that empty nodes are told to leave a pod until it ends by itself."""
SAFE_TO_EVICT = ASKS_TO_WAIT[0][0]
SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
"""Names of volumes, separated by commas, whose content its owner can do without."""


class Do(StrEnum):
    """What a drain does about a pod that runs."""

    AS_MARKED = "as-marked"
    """Wait for one that is marked so by its owner, evict any other."""
    EVICT = "evict"
    """Evict it, marked or not."""
    WAIT = "wait"
    """Let it end by itself, up to `deadlines.completion`; then a person is asked."""
    LEAVE = "leave"
    """Let it run: it ends with the reboot, or not at all."""
    DELETE = "delete"
    """Evict it, and after a time delete it past its budget, with its own grace."""


class Loss(StrEnum):
    """What an eviction may lose for good; accepted by nobody unless a rule or a person says so."""

    BARE_PODS = "bare-pods"
    """A pod without a controller: nobody starts it again."""
    LOCAL_DATA = "local-data"
    """The content of emptyDir volumes on disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainRule:
    """One entry of `pools[].drain`, under a name of its own; the first that matches a pod counts."""

    do: Do = Do.AS_MARKED
    namespaces: tuple[str, ...] = ()
    """Shell patterns; empty matches every namespace."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the pod that must all match."""
    after: timedelta = timedelta(hours=1)
    """For `delete`: how long the drain only evicts."""
    accepts: tuple[Loss, ...] = ()

    def matches(self, pod: PodView) -> bool:
        """Whether the rule is about this pod."""
        named = not self.namespaces or any(fnmatch.fnmatchcase(pod.namespace, one) for one in self.namespaces)
        return named and all(pod.labels.get(name) == value for name, value in self.labels.items())

    def waits_for(self, pod: PodView) -> bool:
        """Whether the pod is to end by itself."""
        return self.do is Do.WAIT or (self.do is Do.AS_MARKED and is_marked(pod))


BY_DEFAULT = DrainRule()


def rule_for(pod: PodView, rules: Mapping[str, DrainRule]) -> DrainRule:
    """The first rule that matches, else what holds where the policy says nothing."""
    return next((rule for rule in rules.values() if rule.matches(pod)), BY_DEFAULT)


def is_marked(pod: PodView) -> bool:
    """Whether its owner asks that it may end by itself, by our own label or a mark of the field."""
    return pod.labels.get(DRAIN_LABEL) == Do.WAIT or any(
        pod.annotations.get(name) == value for name, value in ASKS_TO_WAIT
    )


def local_data(pod: PodView) -> tuple[str, ...]:
    """Names of its volumes whose content an eviction would lose, but for those that its owner can do without."""
    if pod.annotations.get(SAFE_TO_EVICT) == "true":
        return ()
    safe = {name.strip() for name in pod.annotations.get(SAFE_VOLUMES, "").split(",")}
    return tuple(name for name in pod.empty_dirs if name not in safe)
