from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.facts import NodeView
from app.domain.marks import (
    ANNOTATION,
    DEPLOY_LABELS,
    HELD_ANNOTATIONS,
    HELD_LABELS,
    STATE_LABEL,
    Mark,
    cordon_patch,
    leftovers_patch,
    noted,
    noted_mark,
    pause_patch,
    paused_operands,
    read_mark,
    release_patch,
    restore_patch,
    shown_patch,
)
from app.domain.operations import State
from app.domain.policies import EXCLUDE_LABEL
from tests.building import a_node, cordoned, patched

values = st.sampled_from(["true", "false", "", "somebody's"])
names = st.sampled_from(["team", "nvidia.com/gpu.product", "x/y"])
some_annotations = st.dictionaries(names | st.sampled_from(list(HELD_ANNOTATIONS)), values)
some_labels = st.dictionaries(names | st.sampled_from(list(HELD_LABELS)), values)
nodes = st.builds(
    lambda annotations, labels, unschedulable, boot_id: a_node(
        annotations=annotations, labels=labels, unschedulable=unschedulable, boot_id=boot_id
    ),
    some_annotations,
    some_labels,
    st.booleans(),
    st.sampled_from(["b-111", ""]),
)


def mark_on(node: NodeView) -> Mark:
    mark = read_mark(node)
    assert mark is not None
    return mark


def released(node: NodeView) -> NodeView:
    return patched(node, release_patch(node, mark_on(node)))


@given(nodes)
def test_a_node_is_given_back_exactly_as_it_was(before: NodeView) -> None:
    assert released(cordoned(before)) == before


@given(nodes, st.integers(1, 4))
def test_a_cordon_that_is_repeated_after_a_crash_does_not_remember_itself(before: NodeView, times: int) -> None:
    node = before
    for _ in range(times):
        node = cordoned(node)
    assert released(node) == before


@given(nodes)
def test_a_later_operation_that_finds_an_old_mark_remembers_what_came_before_both(before: NodeView) -> None:
    node = cordoned(cordoned(before, "op-1"), "op-2")
    assert mark_on(node).operation == "op-2"
    assert released(node) == before


@given(nodes)
def test_the_node_is_cordoned_and_protected_while_it_is_held(before: NodeView) -> None:
    node = cordoned(before)
    assert node.unschedulable
    assert HELD_ANNOTATIONS.items() <= dict(node.annotations).items()
    assert HELD_LABELS.items() <= dict(node.labels).items()
    assert node.labels[STATE_LABEL] == "running"


@given(nodes, st.sampled_from([*HELD_ANNOTATIONS, *HELD_LABELS]), st.none() | st.just("somebody's"))
def test_what_somebody_changed_or_took_away_meanwhile_stays_theirs(before: NodeView, key: str, now: str | None) -> None:
    part = "annotations" if key in HELD_ANNOTATIONS else "labels"
    held = cordoned(before)
    changed = patched(held, {"metadata": {part: {key: now}}})
    after = released(changed)
    assert getattr(after, part).get(key) == now
    assert {name: value for name, value in getattr(after, part).items() if name != key} == {
        name: value for name, value in getattr(before, part).items() if name != key
    }


def test_a_persons_uncordon_is_not_undone_and_a_persons_cordon_not_taken() -> None:
    uncordoned = replace(cordoned(), unschedulable=False)
    assert "spec" not in release_patch(uncordoned, mark_on(uncordoned))
    theirs = cordoned(a_node(unschedulable=True))
    assert "spec" not in release_patch(theirs, mark_on(theirs))
    assert released(theirs).unschedulable


def test_the_mark_tells_operation_boot_and_what_was_before() -> None:
    key = next(iter(HELD_LABELS))
    mark = mark_on(cordoned(a_node(unschedulable=True, labels={key: "false"})))
    assert (mark.operation, mark.boot_id, mark.was_unschedulable) == ("op-1", "b-111", True)
    assert mark.was_labels == {key: "false"}
    assert set(mark.was_annotations.values()) == {None}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "op-1",
        "[]",
        "null",
        "7",
        "{}",
        '{"id": "op-1", "step": "drain", "boot_id": "b"}',
        '{"id": "op-1", "step": "drain", "boot_id": "b", "was": null}',
        '{"id": "op-1", "step": "", "boot_id": "b", "was": {"unschedulable": false, "annotations": [], "labels": {}}}',
        "[" * 100_000,
        "9" * 10_000,
    ],
)
def test_an_annotation_that_cannot_be_read_is_no_mark_and_no_accident(text: str) -> None:
    assert read_mark(a_node(annotations={ANNOTATION: text})) is None


@pytest.mark.parametrize("state", [state for state in State if state is not State.FINISHED])
def test_a_held_node_shows_state_and_step_of_its_operation_and_forgets_nothing(state: State) -> None:
    before = a_node(unschedulable=True, labels={next(iter(HELD_LABELS)): "false"})
    held = cordoned(before)
    body = shown_patch(held, "op-1", state, "reboot")
    assert body is not None
    after = patched(held, body)
    assert (after.labels[STATE_LABEL], mark_on(after).step) == (state.value, "reboot")
    assert replace(mark_on(after), step="cordon") == mark_on(held)
    assert shown_patch(after, "op-1", state, "reboot") is None
    assert released(after) == before


@pytest.mark.parametrize(
    ("node", "operation", "state"),
    [
        (a_node(), "op-1", State.HELD),
        (cordoned(), "op-2", State.HELD),
        (cordoned(), "op-1", State.FINISHED),
        (cordoned(a_node(labels={EXCLUDE_LABEL: "true"})), "op-1", State.HELD),
    ],
)
def test_nothing_is_shown_where_the_operation_does_not_hold_the_node(
    node: NodeView, operation: str, state: State
) -> None:
    assert shown_patch(node, operation, state, "drain") is None


def test_a_node_without_the_annotation_has_no_mark() -> None:
    assert read_mark(a_node()) is None


def test_an_annotation_cannot_make_a_release_write_other_keys() -> None:
    was = {"unschedulable": False, "annotations": {"evil": "1"}, "labels": {"evil": "1"}}
    forged = json.dumps({"id": "op-1", "step": "drain", "boot_id": "b", "was": was})
    node = a_node(annotations={ANNOTATION: forged}, unschedulable=True)
    metadata = release_patch(node, mark_on(node))["metadata"]
    assert metadata == {"annotations": {ANNOTATION: None}, "labels": {STATE_LABEL: None}}


def test_the_patch_names_nothing_but_our_keys() -> None:
    body = cordon_patch(a_node(labels={"team": "x"}, annotations={"owner": "y"}), "op-1")
    assert set(body) == {"metadata", "spec"}
    assert set(body["metadata"]["annotations"]) == {ANNOTATION, *HELD_ANNOTATIONS}
    assert set(body["metadata"]["labels"]) == {STATE_LABEL, *HELD_LABELS}


# Operands

deploy_values = st.sampled_from(["true", "false", "paused-for-driver-upgrade", ""])
deployed = st.dictionaries(st.sampled_from(list(DEPLOY_LABELS)), deploy_values)


def paused(node: NodeView) -> NodeView:
    return patched(node, pause_patch(node))


@given(nodes, deployed)
def test_operands_are_paused_and_get_their_labels_back_whatever_the_site_had(
    plain: NodeView, labels: dict[str, str]
) -> None:
    before = replace(plain, labels={**plain.labels, **labels})
    during = paused(before)
    running = {key.rpartition(".")[2] for key, value in labels.items() if value == "true"}
    assert paused_operands(during) == running
    assert not [key for key in DEPLOY_LABELS if during.labels.get(key) == "true"]
    assert patched(during, restore_patch(during)) == before


@given(nodes, deployed)
def test_a_release_gives_paused_operands_their_labels_back_too(plain: NodeView, labels: dict[str, str]) -> None:
    before = replace(plain, labels={**plain.labels, **labels})
    assert released(paused(cordoned(before))) == before


@given(deployed, st.sampled_from(list(DEPLOY_LABELS)), st.none() | deploy_values)
def test_an_operand_that_somebody_has_switched_meanwhile_stays_so(
    labels: dict[str, str], key: str, now: str | None
) -> None:
    during = patched(paused(a_node(labels=labels)), {"metadata": {"labels": {key: now}}})
    after = patched(during, restore_patch(during))
    assert after.labels.get(key) == now


def test_pausing_twice_changes_nothing_more() -> None:
    node = paused(a_node(labels=dict.fromkeys(DEPLOY_LABELS, "true")))
    assert set(node.labels.values()) == {"paused-by-sickbay"}
    assert paused(node) == node
    assert pause_patch(node) == {"metadata": {"labels": {}}}


# An annotation that somebody took away


def without_annotation(node: NodeView) -> NodeView:
    return patched(node, {"metadata": {"annotations": {ANNOTATION: None}}})


def noted_of(before: NodeView) -> Mark:
    body = cordon_patch(before, "op-1")
    mark = noted_mark([{"gpus": "8"}, noted(body, before)], before)
    assert mark is not None
    return mark


@given(nodes)
def test_what_was_there_is_put_back_by_the_record_when_the_annotation_is_gone(before: NodeView) -> None:
    left = without_annotation(cordoned(before))
    body = leftovers_patch(left, noted_of(before))
    assert body is not None
    after = patched(left, body)
    assert after == replace(before, unschedulable=True)  # the cordon is left to whoever took the annotation
    assert leftovers_patch(after, noted_of(before)) is None


@given(nodes, values)
def test_what_somebody_else_changed_since_is_left_alone_also_then(before: NodeView, theirs: str) -> None:
    (key,) = HELD_LABELS
    labels = {**cordoned(before).labels, key: theirs, STATE_LABEL: "mine"}
    left = replace(without_annotation(cordoned(before)), labels=labels)
    after = patched(left, leftovers_patch(left, noted_of(before)) or {})
    assert after.labels[STATE_LABEL] == "mine"
    assert after.labels.get(key) == (before.labels.get(key) if theirs == "true" else theirs)


def test_operands_that_are_still_paused_run_again_although_the_annotation_is_gone() -> None:
    before = a_node(labels=dict.fromkeys(DEPLOY_LABELS, "true"))
    held = cordoned(before)
    left = without_annotation(patched(held, pause_patch(held)))
    assert patched(left, leftovers_patch(left, noted_of(before)) or {}).labels == before.labels


def test_a_record_counts_for_the_node_that_it_was_made_of_alone() -> None:
    memo = noted(cordon_patch(a_node(), "op-1"), a_node())
    assert noted_mark([memo], a_node(uid="uid-2")) is None
    assert noted_mark([{}], a_node()) is None
    assert noted_mark([], a_node()) is None


def test_a_cordon_whose_annotation_was_taken_at_once_does_not_take_its_own_marks_for_somebody_elses() -> None:
    left = without_annotation(cordoned())
    again = patched(left, cordon_patch(left, "op-1", noted_of(a_node())))
    assert released(again) == a_node()
    fresh = patched(a_node(), cordon_patch(a_node(labels={}), "op-1", noted_of(a_node(unschedulable=True))))
    assert not mark_on(fresh).was_unschedulable
