"""What Sickbay writes on a node, and how all of it is taken back: bodies of merge patches, made and read here only.

One annotation holds what was there before us, written in the same patch as the cordon, so that a process that
dies right after it leaves a node that can be given back exactly as it was (P6).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.domain.facts import NodeView
from app.domain.operations import State
from app.domain.policies import EXCLUDE_LABEL

ANNOTATION = "sickbay/operation"
STATE_LABEL = "sickbay/state"
STATES = frozenset(state.value for state in State if state is not State.FINISHED)
"""The label's values: the state of the operation that holds the node. The cordon sets `running`."""

NOTED, NOTED_UID = "mark", "marked_uid"
"""Where the memo of the step that marks a node keeps the annotation's text too, and the uid of the node it is about."""

HELD_ANNOTATIONS = {
    "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true",
    "karpenter.sh/do-not-disrupt": "true",
}
HELD_LABELS = {
    "nvidia.com/gpu-driver-upgrade.skip": "true",
}
"""Set while Sickbay holds a node, so that nobody deletes, reboots or upgrades it mid-diagnosis; then put back."""


OPERANDS = ("device-plugin", "dcgm", "dcgm-exporter", "gpu-feature-discovery")
"""The GPU Operator's operands that hold GPUs open, and so keep them from being reset."""

DEPLOY_LABELS = {f"nvidia.com/gpu.deploy.{operand}": "paused-by-sickbay" for operand in OPERANDS}
"""A value of our own: "false" may be a site's choice, and other tools leave it alone when they find it.

Only "true" is ever replaced by it, so that is what it is put back to.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Our annotation, read back. `was` is what the node had before us; None stands for absent."""

    operation: str
    step: str
    boot_id: str
    was_unschedulable: bool
    was_annotations: Mapping[str, str | None]
    was_labels: Mapping[str, str | None]


def read_mark(node: NodeView) -> Mark | None:
    """The mark on this node, None when there is none or it is not ours to read."""
    return _read(node.annotations.get(ANNOTATION))


def whose(node: NodeView) -> Mark | str | None:
    """The mark without the step, which our own progress changes; the text of one that cannot be read."""
    mark = read_mark(node)
    return replace(mark, step="") if mark else node.annotations.get(ANNOTATION)


def _read(text: str | None) -> Mark | None:
    if text is None:
        return None
    try:
        told = json.loads(text)
        was = told["was"]
        return Mark(
            operation=str(told["id"]),
            step=str(told["step"]),
            boot_id=str(told["boot_id"]),
            was_unschedulable=bool(was["unschedulable"]),
            was_annotations=_before(was["annotations"]),
            was_labels=_before(was["labels"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def noted(patch: Mapping[str, Any], node: NodeView) -> dict[str, str]:
    """What to remember of a cordon's patch, so that all of it can be taken back when the annotation is gone."""
    return {NOTED: patch["metadata"]["annotations"][ANNOTATION], NOTED_UID: node.uid}


def noted_mark(memos: Iterable[Mapping[str, str]], node: NodeView) -> Mark | None:
    """The mark that the latest of these memos noted of this very node, None when none did."""
    told = next((memo for memo in memos if NOTED in memo), {})
    return _read(told.get(NOTED)) if told.get(NOTED_UID) == node.uid else None


def cordon_patch(node: NodeView, operation: str, earlier: Mark | None = None) -> dict[str, Any]:
    """Cordons and remembers. A mark that is there already keeps its memory: what it found came before us.

    `earlier` is what was noted of an own cordon; it counts while our label shows that its patch has been here.
    """
    mark = read_mark(node) or (earlier if node.labels.get(STATE_LABEL) in STATES else None)
    mine = Mark(
        operation=operation,
        step="cordon",
        boot_id=mark.boot_id if mark else node.boot_id,
        # Whoever had cordoned it before us has taken that back if it is schedulable now.
        was_unschedulable=node.unschedulable and (mark.was_unschedulable if mark else True),
        was_annotations=mark.was_annotations if mark else _present(HELD_ANNOTATIONS, node.annotations),
        was_labels=mark.was_labels if mark else _present(HELD_LABELS, node.labels),
    )
    return {
        "metadata": {
            "annotations": {ANNOTATION: _memory(mine), **HELD_ANNOTATIONS},
            "labels": {STATE_LABEL: State.RUNNING.value, **HELD_LABELS},
        },
        "spec": {"unschedulable": True},
    }


def shown_patch(node: NodeView, operation: str, state: State, step: str) -> dict[str, Any] | None:
    """Shows on the node where its operation stands; None when it does already, or has not to.

    It has not where the operation does not hold it, and where a person's label keeps Sickbay off.
    """
    mark = read_mark(node)
    if mark is None or mark.operation != operation or state is State.FINISHED:
        return None
    if node.labels.get(EXCLUDE_LABEL) == "true":
        return None
    if (node.labels.get(STATE_LABEL), mark.step) == (state.value, step):
        return None
    annotations = {ANNOTATION: _memory(replace(mark, step=step))}
    return {"metadata": {"annotations": annotations, "labels": {STATE_LABEL: state.value}}}


def pause_patch(node: NodeView) -> dict[str, Any]:
    """Pauses the operands that run here. One that a site has switched off, or paused itself, stays as it is."""
    return {
        "metadata": {"labels": {key: ours for key, ours in DEPLOY_LABELS.items() if node.labels.get(key) == "true"}}
    }


def restore_patch(node: NodeView) -> dict[str, Any]:
    """Gives paused operands their labels back; what somebody else has changed meanwhile stays theirs."""
    return {"metadata": {"labels": _running_again(node)}}


def paused_operands(node: NodeView) -> frozenset[str]:
    """The operands that carry our value now."""
    return frozenset(key.rpartition(".")[2] for key, value in DEPLOY_LABELS.items() if node.labels.get(key) == value)


def release_patch(node: NodeView, mark: Mark, *, uncordoned: bool = False) -> dict[str, Any]:
    """Takes our marks away and puts back what was there. What somebody else changed meanwhile stays theirs.

    `uncordoned`: a person took our cordon away before, so one that is there now is not ours to undo.
    """
    patch: dict[str, Any] = {
        "metadata": {
            "annotations": {ANNOTATION: None, **_restored(HELD_ANNOTATIONS, node.annotations, mark.was_annotations)},
            "labels": {
                STATE_LABEL: None,
                **_restored(HELD_LABELS, node.labels, mark.was_labels),
                **_running_again(node),
            },
        },
    }
    if node.unschedulable and not mark.was_unschedulable and not uncordoned:
        patch["spec"] = {"unschedulable": False}
    return patch


def leftovers_patch(node: NodeView, mark: Mark) -> dict[str, Any] | None:
    """What takes our other marks off a node whose annotation somebody took away; None when none is left.

    The cordon, and whatever has another value than ours by now, belong to whoever took it.
    """
    annotations = _changed(HELD_ANNOTATIONS, node.annotations, mark.was_annotations)
    labels: dict[str, str | None] = {
        **({STATE_LABEL: None} if node.labels.get(STATE_LABEL) in STATES else {}),
        **_changed(HELD_LABELS, node.labels, mark.was_labels),
        **_running_again(node),
    }
    return {"metadata": {"annotations": annotations, "labels": labels}} if annotations or labels else None


def _memory(mark: Mark) -> str:
    was = {
        "unschedulable": mark.was_unschedulable,
        "annotations": dict(mark.was_annotations),
        "labels": dict(mark.was_labels),
    }
    return json.dumps({"id": mark.operation, "step": mark.step, "boot_id": mark.boot_id, "was": was}, sort_keys=True)


def _running_again(node: NodeView) -> dict[str, str]:
    return {key: "true" for key, ours in DEPLOY_LABELS.items() if node.labels.get(key) == ours}


def _present(ours: Mapping[str, str], theirs: Mapping[str, str]) -> dict[str, str | None]:
    return {key: theirs.get(key) for key in ours}


def _restored(ours: Mapping[str, str], now: Mapping[str, str], was: Mapping[str, str | None]) -> dict[str, str | None]:
    return {key: was.get(key) for key, value in ours.items() if now.get(key) == value}


def _changed(ours: Mapping[str, str], now: Mapping[str, str], was: Mapping[str, str | None]) -> dict[str, str | None]:
    return {key: before for key, before in _restored(ours, now, was).items() if before != now.get(key)}


def _before(told: Mapping[str, object]) -> dict[str, str | None]:
    return {str(key): None if value is None else str(value) for key, value in told.items()}
