"""The promises, stated once, over what a chronicle holds: each function is named after the one it checks.

`keep` may be asked after anything that happened, `keep_when_over` when no operation is open any more. P11 is checked
where alerts are sent, and P9 by the stories with tickets.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from app.domain.budgets import WITH_VENDOR
from app.domain.folding import MAX_FAULTS
from app.domain.marks import ANNOTATION, HELD_ANNOTATIONS, HELD_LABELS, STATE_LABEL, paused_operands, read_mark
from app.domain.operations import Operation, Result, State, cordon_is_owed
from app.domain.plans import repair
from app.domain.plans.planned import PlannedStep, StepState
from app.domain.policies import Mode
from tests.engine.chronicle import Chronicle
from tests.tool_output import bandwidth, diagnosis

LONGEST_PLAN = 3 + sum(len(repair.rung_steps(rung, ())) for rung in repair.RUNGS) + 1
"""A wait, cordon and evidence; every rung with a drain of its own; and the release that was ordered."""

BOOTS = ("reboot", "power-cycle")
REPAIRS = frozenset({"restart", "reset", "reboot", "cycle"})


def keep(told: Chronicle) -> None:
    """What must hold at any moment."""
    operations = told.operations()
    p1_doubt_never_drains(told)
    p4_it_is_looked_again_before_each_act(told)
    p4_only_a_new_boot_id_proves_a_boot(told, operations)
    p5_nothing_is_done_twice(told, operations)
    p5_nothing_is_forgotten(told, operations)
    p6_only_our_own_is_undone(told)
    p7_no_budget_is_exceeded(told, operations)
    p12_deeds_stay_within_the_mode(told)
    for operation in operations:
        p2_p3_only_a_proof_or_a_person_releases(told, operation)
        p5_no_fault_is_lost(told, operation)
        p8_everything_is_bounded(told, operation)
        p10_it_says_why(told, operation)


def keep_when_over(told: Chronicle) -> None:
    """What must hold besides when every operation has ended."""
    assert all(operation.finished for operation in told.operations())
    assert told.story.store.operations.reservations() == {}, "a place is still held"
    p6_everything_is_as_it_was(told)


def p1_doubt_never_drains(told: Chronicle) -> None:
    """Only a node that a known fault was told of is touched."""
    assert {deed.intent.operation.node.name for deed in told.deeds} <= told.ill


def p2_p3_only_a_proof_or_a_person_releases(told: Chronicle, operation: Operation) -> None:
    """Back in service means: a rung done, then its whole proof, and no fault since; or a person's own order."""
    by_order = any(no.kind == "release" and no.operation == operation.id for no in told.noes)
    if operation.result not in {Result.RELEASED, Result.REPLACED} or by_order:
        return
    last = _released_by(operation)
    rung = next(step.rung for step in last if step.rung)
    proofs = repair.LIGHT_VALIDATION if rung in repair.UNDRAINED else repair.VALIDATION
    own = [step for step in last if step.rung]
    assert [step.step for step in own] == [*repair.RUNGS[rung], *proofs], "another proof than the rung's"
    by_person = [step for step in own if step.state is StepState.SKIPPED]
    assert all(step.state is StepState.DONE for step in own if step not in by_person)
    assert len(by_person) <= told.skips[operation.id], "a step of its proof was skipped by nobody"
    assert operation.uncovered_faults == (), "a fault came after the repair"
    assert operation.ladder or told.skips[operation.id] or told.retries[operation.id], "beyond what software repairs"
    node = told.story.cluster.nodes.get(operation.node.name)
    if not by_person and node is not None and node.uid == operation.node.uid:
        _was_proven_on_the_machine(told, operation, proofs)


def p4_it_is_looked_again_before_each_act(told: Chronicle) -> None:
    """A no that came before an intent lets none of it be done; one that came during it, at most what was under way."""
    under_way: Counter[tuple[int, int]] = Counter()
    for deed in told.deeds:
        if not deed.hurts:
            continue
        for no in told.in_force(deed):
            assert no.order > deed.intent.order, f"{deed.verb} {deed.target} was begun after the {no.kind}"
            under_way[no.order, deed.intent.order] += 1
            assert under_way[no.order, deed.intent.order] <= 1, f"{deed.verb} {deed.target} went on after the {no.kind}"


def p4_only_a_new_boot_id_proves_a_boot(told: Chronicle, operations: list[Operation]) -> None:
    """No boot counts without a new boot id."""
    for operation in operations:
        node = told.story.cluster.nodes.get(operation.node.name)
        if node is None or node.uid != operation.node.uid:
            continue
        boots = sum(
            step.state is StepState.DONE and step.step in BOOTS
            for other in operations
            if other.node == operation.node
            for step in other.plan
        )
        assert boots <= told.story.cluster.machine(node.name).boots - 1, "a boot was believed that never was"


def p5_nothing_is_done_twice(told: Chronicle, operations: list[Operation]) -> None:
    """Each pod is evicted once, each try of a boot is one boot, each node job is started once; by the claim's holder.

    A worker that was held up for longer than its claim may end the one call it was in the middle of.
    """
    world = told.story.cluster
    evicted = Counter(deed.target for deed in told.deeds if deed.verb == "evict")
    assert all(times == 1 for times in evicted.values()), f"evicted twice: {evicted}"
    names = Counter(job.name for job in world.node_jobs.started)
    assert all(times == 1 for times in names.values()), f"started twice: {names}"
    tries: Counter[str] = Counter()
    for operation in operations:
        tries[operation.node.name] += sum(step.attempt for step in operation.plan if step.step in BOOTS)
    for node, times in world.reboots.items():
        assert times <= tries[node], f"{node} was rebooted {times} times for {tries[node]} tries"
    late = Counter(deed.intent.order for deed in told.deeds if not deed.claimed)
    assert all(times == 1 for times in late.values()), "a worker went on without its claim"


def p5_nothing_is_forgotten(told: Chronicle, operations: list[Operation]) -> None:
    """Every open operation will be looked at again, and its node knows it."""
    store = told.story.store.operations
    everything = set(store.due(told.story.now.replace(year=told.story.now.year + 1), limit=1000))
    for operation in operations:
        assert operation.finished == (operation.result is not None)
        assert operation.finished == (operation.next_check_at is None)
        assert operation.finished == (operation.id not in everything), f"{operation.id} would never be looked at"
        assert operation.finished == (store.open_on(operation.node.name) != operation.id)
        assert not (operation.finished and operation.current is not None)
        current = operation.plan.index(operation.current) if operation.current else len(operation.plan)
        # A rung that was drained for and then passed over may stand behind one that a person retries.
        behind = {step.state for step in operation.plan[current + 1 :] if step.step != "drain"}
        owed = operation.current is not None and cordon_is_owed(operation.current)
        assert owed or behind <= {StepState.PENDING, StepState.SKIPPED}, "something was done before its turn"


def p5_no_fault_is_lost(told: Chronicle, operation: Operation) -> None:
    """Whoever ended an operation by order knew of all its faults: one that came later is not let go with them."""
    orders = [no.order for no in told.noes if no.operation == operation.id and no.kind in {"cancel", "release"}]
    if operation.finished and orders:
        late = [order for order, joined in told.joined if joined == operation.id and order > max(orders)]
        assert not late, f"a fault joined {operation.id} after it was ordered to end"


def p6_only_our_own_is_undone(told: Chronicle) -> None:
    """Nothing leaves a node that others cordoned unless a person approved; no cordon but ours is taken away."""
    for deed in told.deeds:
        mark = read_mark(deed.was) if deed.was else None
        if deed.disrupts and mark is not None and mark.was_unschedulable:
            assert deed.seen is not None
            assert "foreign-cordon" in deed.seen.approvals, f"{deed.verb} {deed.target} on a node that others cordoned"
        if deed.uncordons:
            assert mark is not None
            assert not mark.was_unschedulable, "a cordon of somebody else was taken away"
            assert mark.operation == deed.intent.operation.id
        if deed.disrupts and not list(told.in_force(deed)):
            assert mark is not None, f"{deed.verb} {deed.target} on a node that is not marked"
            assert deed.was is not None
            assert deed.was.unschedulable, f"{deed.verb} {deed.target} on a node that takes new work"


def p6_everything_is_as_it_was(told: Chronicle) -> None:
    """No mark of ours is left, what we set is as before, no operand is paused, and the cordon is whose it was."""
    for node in told.story.cluster.nodes.all():
        before = told.untouched.get(node.uid)
        if before is None:
            continue
        assert ANNOTATION not in node.annotations
        assert STATE_LABEL not in node.labels
        assert {key: node.annotations.get(key) for key in HELD_ANNOTATIONS} == {
            key: before.annotations.get(key) for key in HELD_ANNOTATIONS
        }
        assert {key: node.labels.get(key) for key in HELD_LABELS} == {
            key: before.labels.get(key) for key in HELD_LABELS
        }
        assert paused_operands(node) == frozenset(), "an operand that was paused is still paused"
        if node.uid not in told.whose:
            assert node.unschedulable == (node.name in told.cordoned_by_others), "the cordon is not as others left it"


def p7_no_budget_is_exceeded(told: Chronicle, operations: list[Operation]) -> None:
    """Places are never more than the policy's, and nothing is disrupted without one."""
    budgets = told.story.policy.budgets
    held = told.story.store.operations.reservations()
    limits = {"cordons": budgets.cordons, "disruptions": budgets.disruptions}
    for name, nodes in held.items():
        assert len(nodes) <= limits.get(name, len(nodes)), f"{len(nodes)} nodes hold one of {name}"
    for operation in operations:
        disrupted = any(deed.disrupts for deed in told.deeds if deed.intent.operation.id == operation.id)
        only_vendor = operation.state is State.WITH_VENDOR or operation.waits_for == WITH_VENDOR
        if disrupted and not operation.finished and not only_vendor:
            assert operation.node.name in held.get("disruptions", ()), "a node is disrupted that holds no place"


def p8_everything_is_bounded(told: Chronicle, operation: Operation) -> None:
    """No rung twice for one cause, from the mildest to the gravest; every list and every number of tries has an end."""
    taken = [rung for rung, _ in groupby(step.rung for step in operation.plan if step.rung)]
    assert len(taken) == len(set(taken)), f"a rung was taken twice: {taken}"
    begun = [step.rung for step in operation.plan if step.rung and step.attempt]
    assert tuple(dict.fromkeys(begun)) == repair.by_gravity(begun)
    assert all(step.attempt <= 1 + told.retries[operation.id] for step in operation.plan)
    assert len(operation.plan) <= LONGEST_PLAN
    assert len(operation.faults) <= MAX_FAULTS
    owing = [step for step in operation.plan if step.step == "pause-operands" and step.attempt]
    repaid = [step for step in operation.plan if step.step == "restore-operands" and step.over]
    assert not (owing and operation.finished and not repaid and operation.result is not Result.OVERTAKEN)


def p10_it_says_why(told: Chronicle, operation: Operation) -> None:
    """One plain sentence, and the same ones in the timeline."""
    said = [operation.reason, *(entry.text for entry in told.story.store.timeline.read(operation.id))]
    for text in said:
        assert text.endswith((".", "?", "!")), f"no sentence: {text!r}"


def p12_deeds_stay_within_the_mode(told: Chronicle) -> None:
    """In mode observe nothing is touched, and in mode cordon nothing is disrupted."""
    for deed in told.deeds:
        undoing = deed.intent.step in {repair.RELEASE, *repair.UNDOES}
        assert undoing or deed.intent.mode is not Mode.OBSERVE, f"{deed.verb} in mode observe"
        assert not (deed.disrupts and deed.intent.mode is Mode.CORDON), f"{deed.verb} in mode cordon"


def _released_by(operation: Operation) -> tuple[PlannedStep, ...]:
    """The steps of the plan between the release before and the one that was done."""
    done = max(place for place, step in enumerate(operation.plan) if step.step == repair.RELEASE and step.attempt)
    before = [place for place, step in enumerate(operation.plan[:done]) if step.step == repair.RELEASE]
    return operation.plan[max(before, default=-1) + 1 : done]


def _was_proven_on_the_machine(told: Chronicle, operation: Operation, proofs: tuple[str, ...]) -> None:
    """The machine itself said so, asked after all that was done to it and after the last of its faults."""
    own = [deed.at for deed in told.deeds if deed.intent.operation.id == operation.id and deed.verb in REPAIRS]
    since = max([operation.opened_at, *own, *(fault.at for fault in operation.faults)])
    serials = told.story.cluster.machine(operation.node.name).serials
    passes = {"diagnose": diagnosis(serials), "benchmark": bandwidth(gpus=len(serials))}
    ended = told.story.cluster.node_jobs.ended
    for proof in proofs:
        good = [
            job
            for job in ended
            if job.name.startswith(f"{operation.id}-") and job.step == proof and job.succeeded
            if job.created_at and job.created_at >= since and job.output == passes.get(proof, job.output)
        ]
        assert good, f"released without a {proof} that passed"
