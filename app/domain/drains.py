"""Which pods of a node have to go, decided from the pod list alone, at least as `kubectl drain` decides it.

A drain is over when every pod that had to go is gone by uid: an accepted eviction is only a promise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.domain.alerts import read_time
from app.domain.facts import PodView

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"


def refusal_key(pod_uid: str) -> str:
    """Where the drain's memo keeps until when, and why, this pod's eviction was refused: `<time> <sentence>`."""
    return f"refused/{pod_uid}"


def standing_refusal(memo: Mapping[str, str], pod_uid: str, now: datetime) -> tuple[datetime, str] | None:
    """Until when the eviction of this pod is not asked again, and why; None when it may be asked."""
    until, _, why = memo.get(refusal_key(pod_uid), "").partition(" ")
    at = read_time(until)
    return (at, why) if at is not None and at > now else None


class PodFate(StrEnum):
    """What a drain does about one pod."""

    STAYS = "stays"
    """A mirror pod, a DaemonSet's, or one that has finished."""
    GOES = "goes"
    """To be evicted."""
    LEAVING = "leaving"
    """Told to end, within its grace."""
    ASKED_FOR = "asked for"
    """A bare pod: nobody would start it again, so a person decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainView:
    """The pods of a node by fate, each in the order of the list."""

    stay: tuple[PodView, ...]
    go: tuple[PodView, ...]
    leaving: tuple[PodView, ...]
    asked_for: tuple[PodView, ...]

    @property
    def empty(self) -> bool:
        """Whether every pod that had to go is gone."""
        return not (self.go or self.leaving or self.asked_for)


def fate(pod: PodView, *, approved: bool = False) -> PodFate:
    """The fate of one pod; with `approved` a person has let it go although it is a bare one."""
    if MIRROR_ANNOTATION in pod.annotations or pod.phase in {"Succeeded", "Failed"}:
        return PodFate.STAYS
    if pod.controller_kind == "DaemonSet":
        return PodFate.STAYS
    if pod.deleted_at is not None:
        return PodFate.LEAVING
    if not pod.controller_kind and not approved:
        return PodFate.ASKED_FOR
    return PodFate.GOES


def sort_pods(pods: Iterable[PodView], *, approved: Collection[str] = ()) -> DrainView:
    """All pods of a node, sorted by fate; `approved` are the uids of the bare ones that a person has let go."""
    by_fate: dict[PodFate, list[PodView]] = {each: [] for each in PodFate}
    for pod in pods:
        by_fate[fate(pod, approved=pod.uid in approved)].append(pod)
    return DrainView(
        stay=tuple(by_fate[PodFate.STAYS]),
        go=tuple(by_fate[PodFate.GOES]),
        leaving=tuple(by_fate[PodFate.LEAVING]),
        asked_for=tuple(by_fate[PodFate.ASKED_FOR]),
    )
