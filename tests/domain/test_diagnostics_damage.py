"""Damage to an output never makes a better verdict of it than the whole output deserved."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.diagnostics import read_diagnosis
from app.domain.outcomes import Verdict

SAMPLES = sorted((Path(__file__).parents[1] / "samples" / "dcgmi_diag").iterdir())
PASSING = [path for path in SAMPLES if "pass_8gpu" in path.name]
NOT_PASSING = [path for path in SAMPLES if "pass_8gpu" not in path.name and "monitor" not in path.name]

every_sample = pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
every_passing = pytest.mark.parametrize("path", PASSING, ids=lambda path: path.stem)
every_not_passing = pytest.mark.parametrize("path", NOT_PASSING, ids=lambda path: path.stem)


def tree_of(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return json.loads(text[text.index("{") :])


def results_of(node: Any) -> Iterator[dict[str, Any]]:
    """Every result of a GPU anywhere in the tree, in order."""
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        if isinstance(child, dict) and "status" in child and child.get("entity_group") != "CPU":
            yield child
        yield from results_of(child)


@every_sample
def test_an_output_cut_at_its_end_never_passes(path: Path) -> None:
    text = path.read_text(encoding="utf-8").rstrip()
    for end in range(0, len(text), max(1, len(text) // 150)):
        assert read_diagnosis(text[:end]).verdict is Verdict.INCONCLUSIVE


@every_sample
def test_an_output_cut_at_its_beginning_never_passes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    start = text.index("{") + 1
    for begin in range(start, len(text), max(1, len(text) // 150)):
        assert read_diagnosis(text[begin:]).verdict is not Verdict.PASS


@every_sample
def test_an_output_with_a_hole_never_passes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    chance = random.Random(path.name)
    whole = read_diagnosis(text).verdict
    for _ in range(100):
        begin = chance.randrange(len(text))
        hole = text[:begin] + text[begin + chance.randrange(1, 2000) :]
        assert whole is Verdict.PASS or read_diagnosis(hole).verdict is not Verdict.PASS


@every_passing
def test_any_single_result_that_is_not_a_pass_spoils_the_pass(path: Path) -> None:
    count = sum(1 for _ in results_of(tree_of(path)))
    changes: list[Callable[[dict[str, Any]], None]] = [
        lambda result: result.update(status="Skip"),
        lambda result: result.update(status="Fail"),
        lambda result: result.update(status="Not Run"),
        lambda result: result.update(status="Unheard of"),
        lambda result: result.pop("status"),
    ]
    for number in range(count):
        for change in changes:
            tree = tree_of(path)
            result = list(results_of(tree))[number]
            if "entity_id" not in result and "gpu_id" not in result and change is changes[-1]:
                continue  # A summary without a status says nothing that the results do not say.
            change(result)
            verdict = read_diagnosis(json.dumps(tree)).verdict
            assert verdict is not Verdict.PASS, (number, result)


@every_passing
def test_leaving_out_any_test_or_category_spoils_the_pass(path: Path) -> None:
    root = next(key for key in tree_of(path) if key.startswith("DCGM"))
    for category in range(len(tree_of(path)[root]["test_categories"])):
        tree = tree_of(path)
        del tree[root]["test_categories"][category]
        assert read_diagnosis(json.dumps(tree)).verdict is Verdict.INCONCLUSIVE
        for test in range(len(tree_of(path)[root]["test_categories"][category]["tests"])):
            tree = tree_of(path)
            tests = tree[root]["test_categories"][category]["tests"]
            name = tests[test]["name"]
            tests[test]["name"] = "renamed"
            if category:  # The deployment checks of 3.x are one test to us, whatever each is called.
                assert read_diagnosis(json.dumps(tree)).verdict is Verdict.INCONCLUSIVE, name
            tests[test] = None
            if category or len(tests) == 1:
                assert read_diagnosis(json.dumps(tree)).verdict is Verdict.INCONCLUSIVE, name


@every_sample
def test_order_of_keys_indentation_and_case_of_words_change_nothing(path: Path) -> None:
    whole = read_diagnosis(path.read_text(encoding="utf-8"))
    tree = tree_of(path)
    for result in results_of(tree):
        result["status"] = result["status"].upper()
    for text in (json.dumps(tree, sort_keys=True), json.dumps(tree, indent="\t"), json.dumps(_reversed(tree))):
        again = read_diagnosis(f"Successfully ran diagnostic for group.\n{text}\nDone.\n")
        assert (again.verdict, again.reason, set(again.failures)) == (
            whole.verdict,
            whole.reason,
            set(whole.failures),
        )


def _reversed(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _reversed(value) for key, value in reversed(node.items())}
    return [_reversed(value) for value in node] if isinstance(node, list) else node


@every_not_passing
def test_renaming_tests_or_gpus_makes_no_pass(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for old, new in (
        ('"entity_id"', '"entity"'),
        ('"gpu_id"', '"gpu"'),
        ('"entity_group": "GPU"', '"entity_group": "CPU"'),
        ('"results"', '"outcomes"'),
        ('"tests"', '"checks"'),
        ('"warnings"', '"remarks"'),
        ('"error_severity"', '"severity"'),
        ('"Skip"', '"Skipped"'),
        ('"Fail"', '"Failure"'),
        ('"memory"', '"eud"'),
        ('"iterations"', '"rounds"'),
        ('"runtime_error"', '"remark"'),
    ):
        assert read_diagnosis(text.replace(old, new)).verdict is not Verdict.PASS, (old, new)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["Pass", "Fail", "0", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("DCGM Diagnostic", "test_categories", "tests", "results", "name", "category", "status"),
                    *("warnings", "warning", "error_severity", "entity_id", "entity_group", "gpu_ids", "version"),
                    *("entity_groups", "entities", "serial_num", "GPU Device Serials", "iterations", "metadata"),
                    *("test_summary", "runtime_error", "entity_group_id", "error_id"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(json_values)
def test_no_random_tree_passes_or_breaks_the_reader(tree: Any) -> None:
    assert read_diagnosis(json.dumps(tree)).verdict is not Verdict.PASS


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    assert read_diagnosis(text).verdict is Verdict.INCONCLUSIVE
