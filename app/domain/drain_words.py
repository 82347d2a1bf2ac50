"""The sentences of a drain: what it waits for, who keeps it, what a person may decide."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from app.domain.drain_rules import local_data
from app.domain.drains import DrainView, is_overdue
from app.domain.facts import PodView
from app.domain.refusals import Refused
from app.domain.timeline import counted, spell

SHOWN_PODS = 5
SHOWN_REFUSALS = 5


def named(pods: Sequence[PodView]) -> str:
    """The first few by their full names."""
    shown = ", ".join(pod.full_name for pod in pods[:SHOWN_PODS])
    return shown + (f" and {len(pods) - SHOWN_PODS} more" if len(pods) > SHOWN_PODS else "")


def waiting_for(view: DrainView, refusals: Iterable[Refused | None], now: datetime) -> str:
    """Everything that keeps the drain from being over."""
    sentences = []
    in_time = [pod for pod in view.leaving if not is_overdue(pod, now)]
    if in_time:
        sentences.append(f"Waits for {named(in_time)} to end within its grace.")
    stuck = [pod for pod in view.leaving if is_overdue(pod, now)]
    if stuck:
        sentences.append(_stuck(stuck, now))
    why = sorted({told.why for told in refusals if told is not None})
    sentences += [f"Waits: {one}" for one in why[:SHOWN_REFUSALS]]
    if len(why) > SHOWN_REFUSALS:
        sentences.append(f"{counted(len(why) - SHOWN_REFUSALS, 'more eviction')} are refused.")
    if view.waited_for:
        sentences.append(f"{named(view.waited_for)} may end by itself.")
    if view.asked_for:
        sentences.append(f"{named(view.asked_for)} has no controller.")
    if view.hold_data:
        sentences.append(f"{_with_data(view.hold_data)}.")
    return " ".join(sentences) or f"Waits to evict {named(view.go)}."


def lets_end(pods: Sequence[PodView], limit: timedelta) -> str:
    """While only work is left that may end by itself."""
    return (
        f"Lets {named(pods)} end by itself, as policy or its owner says, for {spell(limit)} at most; "
        "then a person is asked, and until somebody approves it nothing of it is evicted."
    )


def did_not_end(pods: Sequence[PodView], limit: timedelta) -> str:
    """When it has not ended in time."""
    return (
        f"{named(pods)} was to end by itself and still runs after {spell(limit)}: approve its eviction, retry to wait "
        "as long again, or cancel."
    )


def asks_for_bare(pods: Sequence[PodView]) -> str:
    """When only pods are left that nobody would start again."""
    return f"{named(pods)} has no controller to start it again: approve its eviction, or move it."


def asks_for_data(pods: Sequence[PodView]) -> str:
    """When only pods are left whose data would go with them."""
    return f"{_with_data(pods)}: approve its eviction, or save what is needed."


def hands_over(pod: PodView) -> str:
    """When the drain would end the very worker that carries it out."""
    return (
        f"{pod.full_name} is the worker that carries out this drain: it leaves its own eviction to another worker. "
        "If there is no other, scale up the workers or move this one."
    )


def goes_on_dark(node: str, pods: Sequence[PodView], limit: timedelta) -> str:
    """When a node that is not Ready cannot say that its pods have ended."""
    return (
        f"{node} has not been Ready for {spell(limit)}, so nobody can say whether {named(pods)} has ended; "
        "its grace is over. Only power can bring this node back."
    )


def _stuck(pods: Sequence[PodView], now: datetime) -> str:
    longest = max(now - pod.deleted_at for pod in pods if pod.deleted_at is not None)
    finalizers = sorted({name for pod in pods for name in pod.finalizers})
    held = (
        f"held by {', '.join(finalizers[:SHOWN_PODS])}, which only its owner may take away"
        if finalizers
        else "its kubelet has not said that it ended"
    )
    return f"{named(pods)} should have ended {spell(_rounded(longest))} ago: {held}."


def _rounded(span: timedelta) -> timedelta:
    """To whole minutes, so that a sentence that is said again and again is the same one for a while."""
    return max(timedelta(minutes=1), timedelta(minutes=span // timedelta(minutes=1)))


def _with_data(pods: Sequence[PodView]) -> str:
    volumes = sorted({name for pod in pods for name in local_data(pod)})
    return f"{named(pods)} has data on this node that its eviction deletes (emptyDir {', '.join(volumes[:SHOWN_PODS])})"
