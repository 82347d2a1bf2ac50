"""Crash safety, written once: look, judge, store the intent, look again, act, and look again.

An operation is advanced turn by turn until it has to wait. A turn ends in one commit of an outcome, or in an act:

1. the intent is committed together with the claim and the budgets' places; whoever loses that race stops here;
2. node, pause and budgets are read afresh and the guards asked again (P4);
3. the effects are carried out, each only while the claim outlasts a call;
4. what they answered is noted, the claim is given back, and the next turn looks at what is there now.

So a worker that dies anywhere leaves an intent, and the next look tells how far it came. Nothing here knows a
particular step, and no step knows about any of this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any

import structlog
from rq.timeouts import BaseTimeoutException

from app.domain import operations, repeats
from app.domain.budgets import CORDONS, DISRUPTIONS, WITH_VENDOR
from app.domain.effects import Effect, PatchNode
from app.domain.facts import NodeView
from app.domain.guards import Hurts, limits_of
from app.domain.notices import notice_of
from app.domain.operations import Changed, Operation
from app.domain.outcomes import Act, Done, Failed, Learned, NeedsHuman, Outcome, Wait
from app.domain.policies import Policy
from app.domain.tickets import intent_of
from app.domain.timeline import Entry
from app.errors import PermanentPortError, StoreUnavailable, TemporaryPortError
from app.learning import cards_by_both_names, measured
from app.logs import about
from app.store import Change, Claim, ClaimedBy, ClaimRequest, Committed, Conflict, NoPlace, Store
from workers.abreast import groups, perform_together
from workers.left_running import in_the_way
from workers.objections import Objections
from workers.ports import NodeChangedError, Ports
from workers.step import Step, current

CLAIM = timedelta(seconds=60)
"""How long a worker may act on one intent; one that died is taken over after this."""

CALL = timedelta(seconds=15)
"""The longest a single call on a port takes, retries included; no effect starts with less of the claim left."""

MAX_TURNS = 50
"""Turns without waiting, after which others get the worker; the due index brings the operation back."""

FRESH = timedelta(seconds=1)
"""How old a look may be before an act that hurts."""

OWN_ERROR = timedelta(minutes=1)
"""How far an operation is pushed ahead that made Sickbay itself fail, so that it cannot spin."""

log = structlog.get_logger("sickbay.engine")


class Next(Enum):
    """What the next turn may do at once: nothing, see what an act has done, or whatever is due."""

    WAIT = auto()
    SEE = auto()
    GO_ON = auto()


@dataclass(frozen=True, slots=True)
class Engine:
    """One worker's means. `owner` names it in claims; `clock` gives UTC now; `steps` maps names to steps."""

    store: Store
    ports: Ports
    policy: Policy
    steps: Mapping[str, Step[Any]]
    owner: str
    clock: Callable[[], datetime]
    at_once: int = 1
    """Evictions that are asked for side by side; a no that comes meanwhile stops those that have not begun."""

    @property
    def objections(self) -> Objections:
        """What may stand against going on."""
        return Objections(self.store, self.ports, self.policy)

    def advance(self, operation_id: str, *, only_urgent: bool = False) -> bool:
        """Does all that can be done now. True when more could be done at once, but `only_urgent` left it to others.

        Urgent is what keeps new work away. All that follows waits until every urgent job is done: what hurts running
        work, and the look at what the cordon has done, since in a storm another node may still be taking work.
        Raises StoreUnavailable: without the record nothing may be decided.
        """
        with about(operation=operation_id):
            for _ in range(MAX_TURNS):
                operation = self.store.operations.load(operation_id)
                if operation is None or operation.finished:
                    return False
                if only_urgent and (operation.holds_node or self._hurts(operation) is Hurts.RUNNING_WORK):
                    return True
                match self._turn(operation):
                    case Next.WAIT:
                        return False
                    case Next.SEE if only_urgent:
                        return True
            return True

    def _turn(self, operation: Operation) -> Next:
        """One look and what follows from it."""
        now = self.clock()
        judged: Act | Outcome
        held: Changed | None = None
        node: NodeView | None = None
        try:
            node = self.ports.nodes.get(operation.node.name)
            stopped = self.objections.stopped(operation, node, now)
            if stopped is not None:
                return self._settle(operation, stopped, now)
            assert node is not None  # noqa: S101 - a node that is gone is an interruption, so it has stopped above
            step = self._step(operation)
            facts = step.look(operation, node, self.ports)
            judged = self._lasting(operation, step.judge(operation, facts, self.policy, now), now)
            held = self.objections.held(operation, step, node, now) if isinstance(judged, Act) else None
        except TemporaryPortError as error:
            judged = _later(operation, error)
        except PermanentPortError as error:
            judged = NeedsHuman(f"{error} Retry when that is mended.")
        except (BaseTimeoutException, StoreUnavailable):
            raise
        except Exception as error:  # noqa: BLE001 - a bug in one step must not stop the others; it is told and retried
            return self._settle(operation, _own_error(operation, error, now), now)
        if held is not None:
            return self._settle(operation, held, now)
        if isinstance(judged, Act):
            assert node is not None  # noqa: S101 - only a node that is there is judged
            return self._act(operation, node, self._step(operation), judged, now)
        return self._outcome(operation, judged, now)

    def _lasting(self, operation: Operation, judged: Act | Outcome, now: datetime) -> Act | Outcome:
        """What was judged, or what comes before it: the end of an earlier node job, a pause before an act undone."""
        planned = current(operation)
        if isinstance(judged, Wait):
            return replace(judged, memo={**judged.memo, **repeats.begun_anew(planned)})
        if isinstance(judged, Act):
            judged = in_the_way(operation, judged, self.ports.node_jobs, now) or judged
        if isinstance(judged, Act):
            return repeats.held_back(planned, judged, now) or judged
        return judged

    def _act(self, operation: Operation, node: NodeView, step: Step[Any], act: Act, now: datetime) -> Next:
        """Intent, look again, act."""
        intent, entries = operations.begin(operation, act, now=now)
        until = now + CLAIM
        change = Change(
            operation=intent,
            expected_version=operation.version,
            entries=entries,
            claim=ClaimRequest(owner=self.owner, until=until),
            places=limits_of(step.hurts, self.policy, self.policy.pool_of(node.labels), node.labels),
            gives_back=(CORDONS, DISRUPTIONS) if step.hurts is Hurts.NOBODY else (),
            disrupted=step.hurts is Hurts.RUNNING_WORK,
            hurts=step.hurts is not Hurts.NOTHING,
            attempt=operations.next_rung(operation),
            ticket=intent_of(act.effects, operation, now),
            now=now,
        )
        match self.store.operations.commit(change):
            case Committed(version, fence):
                claim = Claim(owner=self.owner, fence=fence, until=until)
                self._say(intent, entries)
            case NoPlace(budget):
                without = self.objections.without_a_place(operation, step, budget, now)
                return Next.GO_ON if without is None else self._settle(operation, without, now)
            case ClaimedBy():
                return Next.WAIT
            case _:  # somebody was first, or the breaker tripped since the guards were asked: the next look says which
                return Next.GO_ON
        held = replace(intent, version=version)
        try:
            if all(isinstance(effect, PatchNode) for effect in act.effects):
                # A patch is refused by a node that has changed: only what is on record need be asked again.
                stopped = self.objections.held(held, step, node, self.clock())
            else:
                stopped = self.objections.looked_again(held, step, self.clock)
            if stopped is not None:
                return self._settle(held, stopped, self.clock(), claim)
            return self._perform(held, step, act.effects, claim)
        except TemporaryPortError as error:
            return self._outcome(held, _later(held, error), self.clock(), claim)
        except PermanentPortError as error:
            return self._outcome(held, NeedsHuman(f"{error} Retry when that is mended."), self.clock(), claim)
        except (BaseTimeoutException, StoreUnavailable):
            raise
        except Exception as error:  # noqa: BLE001 - as above
            return self._settle(held, _own_error(held, error, self.clock()), self.clock(), claim)

    def _perform(self, operation: Operation, step: Step[Any], effects: tuple[Effect, ...], claim: Claim) -> Next:
        """The effects in order, evictions side by side, then what they answered and the claim's return.

        An error leaves the rest undone.

        Before each one that hurts running work it is asked again whether anybody has changed the operation meanwhile,
        and after a second also whether node, pause and guards still allow it: the first may have taken long.
        """
        answers: dict[str, str] = {}
        trouble: Outcome | None = None
        done = 0
        looked_at = self.clock()
        for group in groups(effects, self.at_once):
            now = self.clock()
            if now + CALL > claim.until or self._overtaken(operation, step):
                break
            tried = repeats.done_again(current(operation), effects, now)
            if step.hurts is Hurts.RUNNING_WORK and now - looked_at > FRESH:
                if self.objections.looked_again(operation, step, self.clock) is not None:
                    break
                looked_at = now
            told, well, trouble = self._answers(operation, group, tried, now)
            answers.update(told)
            done += well
            if well < len(group):
                break
        noted = operations.note(operation, answers)
        if trouble is not None:
            return self._outcome(noted, trouble, self.clock(), claim, answers)
        settled = self._settle(noted, (noted, ()), self.clock(), claim, answers, more=True)
        return Next.SEE if settled is Next.GO_ON and done == len(effects) else settled

    def _answers(
        self, operation: Operation, group: tuple[Effect, ...], tried: Mapping[str, str], now: datetime
    ) -> tuple[Mapping[str, str], int, Outcome | None]:
        """What these effects answered, how many went well, and what to make of one that did not."""
        answers: dict[str, str] = {}
        trouble: Outcome | None = None
        well = 0
        for effect, answer in zip(group, perform_together(group, self.ports, now), strict=True):
            try:
                answers.update(answer())
                answers.update(tried)
                well += 1
                log.info("acted", effect=type(effect).__name__, key=effect.key)
            except NodeChangedError:
                answers.update(tried)
            except TemporaryPortError as error:
                trouble = trouble or _later(operation, error)
            except PermanentPortError as error:
                trouble = NeedsHuman(f"{error} Retry when that is mended.")
        return answers, well, trouble

    def _overtaken(self, operation: Operation, step: Step[Any]) -> bool:
        """Whether an alert or a person has changed the operation since its intent was stored."""
        if step.hurts is not Hurts.RUNNING_WORK:
            return False
        stored = self.store.operations.load(operation.id)
        return stored is None or stored.version != operation.version

    def _outcome(
        self,
        operation: Operation,
        outcome: Outcome,
        now: datetime,
        claim: Claim | None = None,
        answers: Mapping[str, str] | None = None,
    ) -> Next:
        if operation.current is None:  # a failed read while it waits before a person: nothing has changed
            return self._settle(operation, operations.ask(operation, operation.reason, asks="", now=now), now)
        learned = outcome.learned if isinstance(outcome, Done | Failed) else Learned()
        operation = operations.learn(operation, learned)
        changed = operations.apply(operation, outcome, now=now)
        more = not isinstance(outcome, Wait | NeedsHuman)
        # A rung counts as tried from its first step on, also when that had nothing to act on.
        attempt = operations.next_rung(operation)
        return self._settle(operation, changed, now, claim, answers, more=more, attempt=attempt, learned=learned)

    def _settle(
        self,
        before: Operation,
        changed: Changed,
        now: datetime,
        claim: Claim | None = None,
        answers: Mapping[str, str] | None = None,
        *,
        more: bool | None = None,
        attempt: str | None = None,
        learned: Learned | None = None,
    ) -> Next:
        """Commits what has become of the operation. `more` says whether to go on at once; else its state does.

        What a proof has `learned` of cards and bandwidth is stored by the same commit: a proof that lost a race, or
        whose worker died, has measured nothing.
        """
        operation, entries = changed
        # Nothing of a node that only waits for a vendor is under way: its place is for repairs that can be done.
        only_vendor = operation.state is operations.State.HELD and operation.waits_for == WITH_VENDOR
        change = Change(
            operation=operation,
            expected_version=before.version,
            gives_back=(DISRUPTIONS,) if only_vendor else (),
            entries=entries,
            held_claim=(claim.owner, claim.fence) if claim else None,
            drop_claim_of=claim.owner if claim else None,
            attempt=attempt,
            worker=self.owner,
            joins=cards_by_both_names(operation) if learned else (),
            baseline=measured(operation, learned, now) if learned else None,
            now=now,
        )
        committed = self.store.operations.commit(change)
        if isinstance(committed, ClaimedBy):
            return Next.WAIT
        if isinstance(committed, Conflict):
            if claim is not None:
                self._keep_answers(before, claim, answers or {}, now)
            return Next.GO_ON
        self._say(operation, entries)
        goes_on = operation.state is operations.State.RUNNING if more is None else more
        return Next.GO_ON if goes_on else Next.WAIT

    def _keep_answers(self, before: Operation, claim: Claim, answers: Mapping[str, str], now: datetime) -> None:
        """After a lost race with an alert or a person: what was answered is put on the step as it stands now.

        Else an act that was answered would be taken for one that was not, and done again.
        """
        for _ in range(MAX_TURNS):
            stored = self.store.operations.load(before.id)
            if stored is None or stored.finished:
                return
            same = _same_step(before, stored)
            change = Change(
                operation=operations.note(stored, answers) if same else stored,
                expected_version=stored.version,
                held_claim=(claim.owner, claim.fence),
                drop_claim_of=claim.owner,
                now=now,
            )
            if not isinstance(self.store.operations.commit(change), Conflict):
                return

    def _say(self, operation: Operation, entries: tuple[Entry, ...]) -> None:
        for entry in entries:
            log.info("timeline", node=operation.node.name, state=operation.state, actor=entry.actor, text=entry.text)
        if self.ports.notices is not None:
            self.ports.notices.tell(notice_of(operation, entries))

    def _step(self, operation: Operation) -> Step[Any]:
        step = operation.current
        assert step is not None  # noqa: S101 - callers have handled the end of the plan
        return self.steps[step.step]

    def _hurts(self, operation: Operation) -> Hurts:
        return self._step(operation).hurts if operation.current else Hurts.NOTHING


def _later(operation: Operation, error: TemporaryPortError) -> Wait:
    """Waits as long as the server asked, else twice as long each time, for a minute at most."""
    step = operation.current
    errors = int(step.memo.get("errors", "0")) if step else 0
    backoff = error.retry_after or timedelta(seconds=min(2**errors, 60))
    return Wait(f"{error} It is tried again.", after=backoff, memo={"errors": str(min(errors + 1, 6))})


def _same_step(before: Operation, stored: Operation) -> bool:
    """Whether both are at the same try of the same step."""
    then, now = before.current, stored.current
    return then is not None and now is not None and (then.step, then.rung, then.run) == (now.step, now.rung, now.run)


def _own_error(operation: Operation, error: Exception, now: datetime) -> Changed:
    """Pushed ahead, with the kind of error alone: its text may hold what nobody should read, and goes to the log."""
    log.error("own error", node=operation.node.name, exc_info=error)
    text = f"Sickbay itself failed here ({type(error).__name__}, see its log); it looks again."
    return operations.hold(operation, text, now=now, after=OWN_ERROR)
