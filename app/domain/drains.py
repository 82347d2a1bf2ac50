"""Which pods of a node have to go, decided from the pod list alone, at least as `kubectl drain` decides it.

A drain is over when every pod that had to go is gone by uid: an accepted eviction is only a promise. docs/drain.md sets
this beside `kubectl drain`, row by row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from app.domain.drain_rules import BY_DEFAULT, Do, DrainRule, Loss, local_data, rule_for
from app.domain.facts import PodView

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
BARE_PODS = Loss.BARE_PODS.value
LOCAL_DATA = Loss.LOCAL_DATA.value
UNFINISHED_WORK = "unfinished-work"
QUESTIONS = (BARE_PODS, LOCAL_DATA, UNFINISHED_WORK)
"""What a person may allow: evictions of bare pods, of pods with local data, of pods that were to end by themselves."""
SLACK = timedelta(seconds=30)
"""How long after its grace a pod may still be there: the kubelet reports the end, and the API server removes it."""


class PodFate(StrEnum):
    """What a drain does about one pod."""

    STAYS = "stays"
    """A mirror pod, a DaemonSet's, one that has finished, or one that the policy leaves."""
    GOES = "goes"
    """To be evicted."""
    LEAVING = "leaving"
    """Told to end, within its grace."""
    WAITED_FOR = "waited for"
    """It ends by itself, since policy or its owner says so."""
    ASKED_FOR = "asked for"
    """A bare pod: nobody would start it again, so a person decides."""
    HOLDS_DATA = "holds data"
    """Its eviction would lose the content of its emptyDir volumes, so a person decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainView:
    """The pods of a node by fate, each in the order of the list."""

    stay: tuple[PodView, ...]
    go: tuple[PodView, ...]
    leaving: tuple[PodView, ...]
    waited_for: tuple[PodView, ...]
    asked_for: tuple[PodView, ...]
    hold_data: tuple[PodView, ...]

    @property
    def empty(self) -> bool:
        """Whether every pod that had to go is gone."""
        return not (self.go or self.leaving or self.left_alone)

    @property
    def left_alone(self) -> tuple[PodView, ...]:
        """Those that have to go and are not touched until they end or a person decides."""
        return self.waited_for + self.asked_for + self.hold_data


def fate(
    pod: PodView, *, rule: DrainRule = BY_DEFAULT, orphaned: bool = False, approved: Collection[str] = ()
) -> PodFate:
    """The fate of one pod by its rule.

    `orphaned`: the DaemonSet that it names is not there any more, so it is a bare pod. `approved`: what a person has
    let go, of the names above.
    """
    if MIRROR_ANNOTATION in pod.annotations or pod.phase in {"Succeeded", "Failed"}:
        return PodFate.STAYS
    if (pod.controller_kind == "DaemonSet" and not orphaned) or rule.do is Do.LEAVE:
        return PodFate.STAYS
    if pod.deleted_at is not None:
        return PodFate.LEAVING
    if rule.waits_for(pod) and UNFINISHED_WORK not in approved:
        return PodFate.WAITED_FOR
    bare = orphaned or not pod.controller_kind
    if bare and Loss.BARE_PODS not in rule.accepts:
        # Who lets a bare pod go for ever lets its volumes go too.
        return PodFate.GOES if BARE_PODS in approved else PodFate.ASKED_FOR
    if local_data(pod) and Loss.LOCAL_DATA not in rule.accepts and LOCAL_DATA not in approved:
        return PodFate.HOLDS_DATA
    return PodFate.GOES


def sort_pods(
    pods: Iterable[PodView],
    *,
    rules: Mapping[str, DrainRule] | None = None,
    orphans: Collection[str] = (),
    approved: Mapping[str, Collection[str]] | None = None,
) -> DrainView:
    """All pods of a node, sorted by fate.

    `orphans` are uids; `approved` holds the uids of those that a person has let go, by the name of what was asked.
    """
    by_fate: dict[PodFate, list[PodView]] = {each: [] for each in PodFate}
    for pod in pods:
        rule = rule_for(pod, rules or {})
        allowed = [asked for asked, uids in (approved or {}).items() if pod.uid in uids]
        by_fate[fate(pod, rule=rule, orphaned=pod.uid in orphans, approved=allowed)].append(pod)
    return DrainView(
        stay=tuple(by_fate[PodFate.STAYS]),
        go=tuple(by_fate[PodFate.GOES]),
        leaving=tuple(by_fate[PodFate.LEAVING]),
        waited_for=tuple(by_fate[PodFate.WAITED_FOR]),
        asked_for=tuple(by_fate[PodFate.ASKED_FOR]),
        hold_data=tuple(by_fate[PodFate.HOLDS_DATA]),
    )


def is_overdue(pod: PodView, now: datetime) -> bool:
    """Whether a pod that was told to end should be gone."""
    return pod.deleted_at is not None and now > pod.deleted_at + SLACK
