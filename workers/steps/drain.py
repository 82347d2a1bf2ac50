"""Drain: evict what works on the node through the Eviction API, and wait until it is gone.

Budgets are not circumvented: a refused eviction is asked again, and at the deadline a person is. The one exception is a
rule of the policy that says so for the pods that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from app.domain import drain_words as words
from app.domain.alerts import read_time
from app.domain.deadlines import count_from, due_at, is_past, next_look
from app.domain.drain_rules import Do, rule_for
from app.domain.drains import BARE_PODS, LOCAL_DATA, QUESTIONS, UNFINISHED_WORK, DrainView, is_overdue, sort_pods
from app.domain.effects import DeletePod, Effect, EvictPod
from app.domain.facts import NodeView, PodView
from app.domain.guards import Hurts
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, NeedsHuman, Outcome, Wait
from app.domain.plans.planned import PlannedStep
from app.domain.policies import Policy, Pool
from app.domain.questions import are_allowed
from app.domain.refusals import last_refusal
from app.domain.timeline import counted
from workers.ports import Ports
from workers.step import current

ASKED_PODS = 50
"""Pods that one question is about; the others are asked about after them."""
COUNTED_PODS = 500
"""Evicted pods that the memo keeps apart; more come only from a controller that puts its pods back on the node."""
ANOTHER_WORKER = timedelta(seconds=5)
"""How soon somebody looks again when this worker may not evict itself; half of the times it is another one."""
WITHOUT_KUBELET = frozenset({"power-cycle", "replace", "ticket"})
"""Rungs that do not need the node's kubelet."""
DARK_SINCE, LET_GO = "dark_since", "let_go"
"""Where the memo keeps since when the node is not Ready, and when a person let work go that was waited for.

From then on the drain has its whole time: before that there was nothing that it might have evicted.
"""


@dataclass(frozen=True, slots=True)
class Pods:
    """The node, all pods bound to it, the uids of those whose DaemonSet is gone, and that of this worker's own pod."""

    node: NodeView
    pods: tuple[PodView, ...]
    orphans: frozenset[str] = frozenset()
    own: str = ""


class Drain:
    """Done when every pod that had to go is gone by uid."""

    name: ClassVar[str] = "drain"
    hurts: ClassVar[Hurts] = Hurts.RUNNING_WORK

    def look(self, operation: Operation, node: NodeView, ports: Ports) -> Pods:
        """The pods, from a list that is not older than the last eviction."""
        pods = ports.pods.on_node(node.name)
        return Pods(node, pods, ports.pods.orphans(pods), ports.pods.own())

    def judge(self, operation: Operation, facts: Pods, policy: Policy, now: datetime) -> Act | Outcome:
        """Evict what may go now; otherwise wait, or ask when waiting does not help."""
        step, pool = current(operation), policy.rules_for(facts.node.labels)
        approved = {asks: are_allowed(operation.approvals, asks, (pod.uid for pod in facts.pods)) for asks in QUESTIONS}
        view = sort_pods(facts.pods, rules=pool.drain, orphans=facts.orphans, approved=approved)
        if view.empty:
            return Done(_drained(step, view))
        kept = {
            **_darkness(step, facts.node, now),
            **(count_from(step, LET_GO, now) if approved[UNFINISHED_WORK] else {}),
        }
        ends_dark = _ends_dark(step, pool, kept, now)
        told = _dark(operation, facts.node, view, pool, now) if is_past(ends_dark, now) else None
        if told is not None:
            return told
        ends = due_at(step, pool.deadlines.drain, now, since=read_time(kept.get(LET_GO)))
        refusals = {pod.uid: last_refusal(step.memo, pod.uid) for pod in view.go}
        waiting = words.waiting_for(view, refusals.values(), now)
        if is_past(ends, now) and (view.go or view.leaving or not view.waited_for):
            return NeedsHuman(f"The drain is past its deadline. {waiting} Retry it or cancel.")
        others = [pod for pod in view.go if pod.uid != facts.own]
        deletions = {pod.uid: at for pod in others if (at := _deleted_at(pod, pool, step, now))}
        effects = _effects(operation, others, deletions, now)
        if effects:
            return _act(step, effects, others, waiting, kept)
        asked = _asked(operation, view, pool, now) if not (view.go or view.leaving) else None
        if asked is not None:
            return asked
        never = [one for one in refusals.values() if one is not None and one.never]
        if never:
            return NeedsHuman(f"{waiting} Mend that and retry, or cancel.")
        own = next((pod for pod in view.go if pod.uid == facts.own), None)
        if own is not None and not view.leaving and not others:
            return Wait(words.hands_over(own), after=next_look(now, ends, now + ANOTHER_WORKER), memo=kept)
        if not (view.go or view.leaving):
            limit = pool.deadlines.completion
            text = words.lets_end(view.waited_for, limit)
            return Wait(text, after=next_look(now, due_at(step, limit, now)), memo=kept)
        moments = [ends_dark, *(one.until for one in refusals.values() if one is not None), *deletions.values()]
        return Wait(waiting, after=next_look(now, ends, *moments), memo=kept)


def _darkness(step: PlannedStep, node: NodeView, now: datetime) -> dict[str, str]:
    """What to remember of since when the node is not Ready."""
    if node.ready:
        return {DARK_SINCE: ""} if step.memo.get(DARK_SINCE) else {}
    return {DARK_SINCE: step.memo.get(DARK_SINCE) or now.isoformat()}


def _ends_dark(step: PlannedStep, pool: Pool, dark: Mapping[str, str], now: datetime) -> datetime | None:
    """When a node that is not Ready has been waited for long enough; None while it is Ready."""
    since = read_time(dark.get(DARK_SINCE))
    return None if since is None else due_at(step, pool.deadlines.dark, now, since=since)


def _dark(operation: Operation, node: NodeView, view: DrainView, pool: Pool, now: datetime) -> Done | Failed | None:
    """What becomes of the drain of a node whose kubelet has been silent for too long; None while it goes on.

    Only once every pod was told to end and its grace is over: until then something may work there unseen.
    """
    if view.go or view.left_alone or not all(is_overdue(pod, now) for pod in view.leaving):
        return None
    text = words.goes_on_dark(node.name, view.leaving, pool.deadlines.dark)
    following = operation.plan[operation.plan.index(current(operation)) + 1 :]
    rung = next((planned.rung for planned in following if planned.rung), "")
    return Done(text) if rung in WITHOUT_KUBELET else Failed(text)


def _deleted_at(pod: PodView, pool: Pool, step: PlannedStep, now: datetime) -> datetime | None:
    """When policy has this pod deleted past its budget; None for never."""
    rule = rule_for(pod, pool.drain)
    return due_at(step, rule.after, now) if rule.do is Do.DELETE else None


def _effects(
    operation: Operation, pods: Iterable[PodView], deletions: dict[str, datetime], now: datetime
) -> tuple[Effect, ...]:
    """One act for each pod that may be asked now: its eviction, or by rule its deletion."""
    step = current(operation)
    effects: list[Effect] = []
    for pod in pods:
        names = {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
        refused = last_refusal(step.memo, pod.uid)
        if is_past(deletions.get(pod.uid), now):
            effects.append(DeletePod(key=f"{operation.id}/delete/{pod.uid}", **names))
        elif refused is None or refused.until <= now:
            tries = refused.tries if refused else 0
            effects.append(EvictPod(key=f"{operation.id}/evict/{pod.uid}", tries=tries, **names))
    return tuple(effects)


def _act(
    step: PlannedStep, effects: tuple[Effect, ...], pods: Sequence[PodView], waiting: str, kept: Mapping[str, str]
) -> Act:
    """The acts in one intent. Asking again what was refused is told once, not at each try."""
    told = {effect.uid: effect for effect in effects if isinstance(effect, EvictPod | DeletePod)}
    due = [pod for pod in pods if pod.uid in told]
    asked = {uid for uid in step.memo.get("asked", "").split(",") if uid}
    deleted = [pod for pod in due if isinstance(told[pod.uid], DeletePod)]
    fresh = [pod for pod in due if pod.uid not in asked and pod not in deleted]
    sentences = []
    if fresh:
        sentences.append(f"Evicts {words.named(fresh)}.")
    if deleted:
        sentences.append(f"Deletes {words.named(deleted)} past its budget, as policy says, with its own grace.")
    memo = {"asked": ",".join(sorted(asked | set(told))[:COUNTED_PODS]), **kept}
    return Act(effects, " ".join(sentences) or waiting, memo)


def _asked(operation: Operation, view: DrainView, pool: Pool, now: datetime) -> NeedsHuman | None:
    """What a person has to decide once nothing else is left to evict."""
    if view.asked_for:
        return _ask(BARE_PODS, view.asked_for, words.asks_for_bare)
    if view.hold_data:
        return _ask(LOCAL_DATA, view.hold_data, words.asks_for_data)
    limit = pool.deadlines.completion
    if view.waited_for and is_past(due_at(current(operation), limit, now), now):
        return _ask(UNFINISHED_WORK, view.waited_for, lambda pods: words.did_not_end(pods, limit))
    return None


def _ask(asks: str, pods: Sequence[PodView], told: Callable[[Sequence[PodView]], str]) -> NeedsHuman:
    return NeedsHuman(told(pods), asks=asks, of={pod.uid: pod.full_name for pod in pods[:ASKED_PODS]})


def _drained(step: PlannedStep, view: DrainView) -> str:
    evicted = len([uid for uid in step.memo.get("asked", "").split(",") if uid])
    left = counted(len(view.stay), "pod")
    return f"Drained: {counted(evicted, 'pod')} evicted, {left} of DaemonSets or finished left in place."
