"""Every sample, and every single thing that must keep a diagnosis from passing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.domain.diagnostics import DiagnosedGpu, Diagnosis, DiagnosisFailure, read_diagnosis
from app.domain.outcomes import Verdict

SAMPLES = Path(__file__).parents[1] / "samples" / "dcgmi_diag"
LEVEL_3 = ("software", "pcie", "memory", "diagnostic", "memory_bandwidth", "targeted_stress", "targeted_power")


def sample(name: str) -> str:
    return (SAMPLES / name).read_text(encoding="utf-8")


def passed(*gpus: int) -> list[dict[str, Any]]:
    return [{"entity_group": "GPU", "entity_id": gpu, "status": "Pass"} for gpu in gpus]


def document(**changed: object) -> dict[str, Any]:
    """A hand-made level 3 run over two GPUs; a keyword replaces the results of that test, None leaves it out."""
    results = {name: changed.get(name, passed(0, 1)) for name in (*LEVEL_3, *changed)}
    tests = [{"name": name, "results": result} for name, result in results.items() if result is not None]
    return {"DCGM Diagnostic": {"test_categories": [{"category": "Any", "tests": tests}]}}


def read(tree: object, **options: Any) -> Diagnosis:
    return read_diagnosis(json.dumps(tree), **options)


@pytest.mark.parametrize(
    ("name", "verdict", "reason"),
    [
        ("v3_r3_pass_8gpu.json", "pass", "8 GPUs passed 15 tests."),
        ("v4_r3_pass_8gpu.json", "pass", "8 GPUs passed 8 tests."),
        ("v4_r3_thermal_monitor_severity.json", "pass", "8 GPUs passed 8 tests, with 1 remark."),
        (
            "v3_r3_fail_memory_gpu0.json",
            "fail",
            (
                "GPU Memory failed on GPU 0: Found 1 faulty memory elements on GPU 0 Run a field diagnostic on the GPU "
                "(severity isolate)."
            ),
        ),
        (
            "v3_r3_fail_row_remap_pending_quirky_keys.json",
            "fail",
            (
                "Page Retirement/Row Remap failed on GPU 3: GPU 3 had uncorrectable memory errors and row "
                "remappings are pending. Reset the GPU or reboot the system (severity reset)."
            ),
        ),
        (
            "v4_r3_fail_memory_gpu3_isolate.json",
            "fail",
            (
                "memory failed on GPU 3: Found 4096 faulty memory elements on GPU 3 Run a field diagnostic on the GPU "
                "(severity isolate)."
            ),
        ),
        (
            "v4_iterations_2_fail.json",
            "fail",
            (
                "memory failed on GPU 3: Found 4096 faulty memory elements on GPU 3 Run a field diagnostic on the GPU "
                "(severity isolate)."
            ),
        ),
        (
            "v3_preamble_and_holes.txt",
            "fail",
            "PCIe failed on GPU 1: GPU 1 replay rate over the limit (severity unknown).",
        ),
        (
            "v4_fail_beside_a_cpu.json",
            "fail",
            "memory failed on GPU 1: Uncorrectable ECC memory error (severity isolate).",
        ),
        ("v3_null_result_entry.json", "inconclusive", "memory: not run on GPU 0."),
        (
            "v4_r3_all_skip_must_not_pass.json",
            "inconclusive",
            (
                "diagnostic, memory, pcie, targeted_power, targeted_stress: skipped. "
                "memory_bandwidth, nvbandwidth: not in the output."
            ),
        ),
        (
            "v4_r3_fail_persistence_config_only.json",
            "inconclusive",
            (
                "Set up and run again: software failed on GPU 0: Persistence mode for GPU 0 is disabled. Enable "
                'persistence mode by running "nvidia-smi -i <gpuId> -pm 1 " as root (severity config). '
                "7 more findings of this kind."
            ),
        ),
        (
            "v4_runtime_error.json",
            "inconclusive",
            (
                "The diagnosis did not run: Error: Diagnostic could not be run because the Tesla recommended driver "
                "is not being used."
            ),
        ),
        (
            "v4_runtime_error_already_running.json",
            "inconclusive",
            "The diagnosis did not run: Error when executing the diagnostic: Diag already running.",
        ),
    ],
)
def test_every_sample_is_judged_with_its_sentence(name: str, verdict: str, reason: str) -> None:
    diagnosis = read_diagnosis(sample(name))
    assert (diagnosis.verdict, diagnosis.reason) == (verdict, reason)


def test_every_sample_has_its_row_above() -> None:
    rows = next(
        mark.args[1]
        for mark in test_every_sample_is_judged_with_its_sentence.pytestmark  # type: ignore[attr-defined]
    )
    assert {row[0] for row in rows} == {path.name for path in SAMPLES.iterdir()}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "The diagnosis printed nothing."),
        (" \n\t", "The diagnosis printed nothing."),
        (
            "Error: unable to establish a connection to the specified host: localhost\nError: more\n",
            (
                "The output holds no diagnosis. "
                "It begins: Error: unable to establish a connection to the specified host: localhost"
            ),
        ),
        ("dcgmi: command \x1b[1mnot found", "The output holds no diagnosis. It begins: dcgmi: command  [1mnot found"),
        ('{"level": "info", "text": "starting"}', "{...}"),
        (
            '{"DCGM Diagnostic":{"runtime_error":"Unable to run diagnostic on unsupported GPU 0","version":"4.2.3"}}',
            "The diagnosis did not run: Unable to run diagnostic on unsupported GPU 0.",
        ),
        ('{"runtime_error": ["?"]}', "The diagnosis did not run: no error is named."),
        (
            '{"DCGM Diagnostic":{"test_categories":[{"category":"Deployment","tests":[',
            "The output of the diagnosis is cut off or damaged.",
        ),
        (
            '{"DCGM Diagnostic": 4}',
            'The output holds no diagnosis. The root of the diagnosis is no object. It begins: {"DCGM Diagnostic": 4}',
        ),
        ("{" * 5000, "The output holds no diagnosis. It begins: " + "{" * 120),
        ('{"a":' * 5000, "The output holds no diagnosis. It begins: " + ('{"a":' * 24)),
    ],
)
def test_what_did_not_run_is_inconclusive_and_says_so(text: str, reason: str) -> None:
    diagnosis = read_diagnosis(text)
    assert diagnosis.verdict is Verdict.INCONCLUSIVE
    assert diagnosis.reason == reason.replace("{...}", f"The output holds no diagnosis. It begins: {text}")
    assert diagnosis.failures == ()


def test_a_failure_keeps_gpu_test_error_severity_and_number() -> None:
    diagnosis = read_diagnosis(sample("v4_r3_fail_memory_gpu3_isolate.json"))
    assert diagnosis.failures == (
        DiagnosisFailure(
            gpu=3,
            test="memory",
            error="Found 4096 faulty memory elements on GPU 3 Run a field diagnostic on the GPU.",
            severity="isolate",
            error_id=52,
        ),
    )
    assert diagnosis.skipped == ("diagnostic",)


def test_findings_to_set_up_are_listed_once_each_though_the_summary_repeats_them() -> None:
    failures = read_diagnosis(sample("v4_r3_fail_persistence_config_only.json")).failures
    assert [(failure.gpu, failure.severity) for failure in failures] == [(gpu, "config") for gpu in range(8)]


def test_serials_and_gpus_are_read_from_both_versions() -> None:
    for name in ("v3_r3_pass_8gpu.json", "v4_r3_pass_8gpu.json"):
        gpus = read_diagnosis(sample(name)).gpus
        assert gpus == tuple(DiagnosedGpu(index, f"165000000100{index}") for index in range(8))


@pytest.mark.parametrize(
    ("printed", "serial"),
    [
        ("1650000001000", "1650000001000"),
        ("0321000000335", "0321000000335"),
        (1650000001001, "1650000001001"),
        (" 1650000001002 ", "1650000001002"),
        ("0", None),
        ("", None),
        (None, None),
        ("N/A", None),
        ("[N/A]", None),
        ("[Not Supported]", None),
        ("[Unknown Error]", None),
        ("0000000000000", None),
        ("<<<NOT_SUPPORTED>>>", None),
        ("<<<NOT_FOUND>>>", None),
        ({"deep": 1}, None),
    ],
)
def test_a_blank_serial_is_no_serial(printed: object, serial: str | None) -> None:
    entities = [{"entity_id": 0, "serial_num": printed}]
    tree = document() | {"entity_groups": [{"entity_group": "GPU", "entity_group_id": 1, "entities": entities}]}
    assert read(tree).gpus == (DiagnosedGpu(0, serial), DiagnosedGpu(1, None))


def test_a_hand_made_run_passes_so_that_the_tests_below_mean_something() -> None:
    assert read(document()) == Diagnosis(
        Verdict.PASS, "2 GPUs passed 7 tests.", gpus=(DiagnosedGpu(0, None), DiagnosedGpu(1, None))
    )


@pytest.mark.parametrize(
    "results",
    [
        [{"gpu_id": "0", "status": "PASS"}, {"gpu_id": 1, "status": "pass"}],
        [{"gpu_ids": "0,1", "status": "Pass"}],
        [{"gpu_ids": ["0", 1], "status": " Pass "}],
        [{"entity_group_id": 1, "entity_id": 0, "status": "Pass"}, {"entity_id": "1", "status": "Pass"}],
        [None, *passed(0, 1), None],
        [*passed(0, 1), {"entity_group": "CPU", "entity_id": 0, "status": "Fail"}],
        [*passed(0, 1), {"entity_group_id": 7, "entity_id": 0, "status": "Skip"}],
    ],
)
def test_every_way_to_name_gpus_is_understood_and_cpus_are_ignored(results: object) -> None:
    assert read(document(memory=results)).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"pcie": None}, "pcie: not in the output."),
        ({"pcie": []}, "pcie: listed without a result."),
        ({"pcie": passed(0)}, "pcie: not run on GPU 1."),
        ({"pcie": [*passed(0), {"entity_id": 1, "status": "Skip"}]}, "pcie: skipped on GPU 1."),
        ({"pcie": [*passed(0), {"entity_id": 1, "status": "Not Run"}]}, "pcie: skipped on GPU 1."),
        ({"pcie": [{"entity_id": 0, "status": "SKIP"}, {"entity_id": 1, "status": "skip"}]}, "pcie: skipped."),
        ({"pcie": [{"status": "Pass"}]}, "pcie: it names no GPU."),
        ({"pcie": [{"gpu_ids": "all", "status": "Pass"}]}, "pcie: it names no GPU."),
        ({"pcie": [{"entity_id": True, "status": "Pass"}]}, "pcie: it names no GPU."),
        (
            {"pcie": [*passed(0), {"entity_id": 1, "status": "Passed?"}]},
            "pcie on GPU 1: the result 'passed?' is not known.",
        ),
        (
            {"pcie": [*passed(0), {"entity_id": 1, "Status": "Pass"}]},
            "pcie on GPU 1: the result 'without a status' is not known.",
        ),
        (
            {"pcie": [*passed(0), {"entity_id": 1, "status": 1}]},
            "pcie on GPU 1: the result 'without a status' is not known.",
        ),
        ({"pcie": [*passed(0, 1), "Pass"]}, "A result of pcie has no known shape."),
        (
            {"pcie": {"0": passed(0)}},
            "pcie: listed without a result. A result of pcie has no known shape.",
        ),
        (
            {"pcie": [*passed(0), {"entity_id": 1, "status": "Pass", "warnings": [{"error_severity": 2}]}]},
            "pcie on GPU 1: it says pass, but warns of something grave.",
        ),
        ({"memtest": [{"entity_id": 0, "status": "Skip"}]}, "memtest: skipped on GPU 0."),
        (
            {"pcie": None, "memory": None, "diagnostic": passed(1)},
            "diagnostic: not run on GPU 0. memory, pcie: not in the output.",
        ),
    ],
)
def test_whatever_was_not_fully_run_or_read_is_inconclusive(changed: dict[str, Any], reason: str) -> None:
    diagnosis = read(document(**changed))
    assert diagnosis.verdict is Verdict.INCONCLUSIVE
    assert diagnosis.reason.replace("No GPU was tested in full. ", "") == reason


@pytest.mark.parametrize(
    ("findings", "verdict", "severities"),
    [
        ([{"warning": "w", "error_severity": 0}], "fail", ["none"]),
        ([{"warning": "w", "error_severity": 1}], "pass", []),
        ([{"warning": "w", "error_severity": 2}], "fail", ["isolate"]),
        ([{"warning": "w", "error_severity": 3}], "fail", ["unknown"]),
        ([{"warning": "w", "error_severity": 4}], "fail", ["triage"]),
        ([{"warning": "w", "error_severity": 5}], "inconclusive", ["config"]),
        ([{"warning": "w", "error_severity": 6}], "fail", ["reset"]),
        ([{"warning": "w", "error_severity": "6"}], "fail", ["reset"]),
        ([{"warning": "w", "error_severity": 99}], "fail", ["unknown"]),
        ([{"warning": "w", "error_severity": None}], "fail", ["unknown"]),
        ([{"warning": "w", "error_severity": True}], "fail", ["unknown"]),
        ([{"warning": "w", "error_severity": -1}], "fail", ["unknown"]),
        ([{"warning": "w"}], "fail", ["unknown"]),
        (["w"], "fail", ["unknown"]),
        ("w", "fail", ["unknown"]),
        ([None], "fail", ["unknown"]),
        ([], "fail", ["unknown"]),
        (None, "fail", ["unknown"]),
        ([{"warning": {"deep": 1}, "error_severity": 2}], "fail", ["isolate"]),
        ([{"warning": "a", "error_severity": 5}, {"warning": "b", "error_severity": 1}], "inconclusive", ["config"]),
        ([{"warning": "a", "error_severity": 1}, {"warning": "b", "error_severity": 2}], "fail", ["isolate"]),
        ([{"warning": "a", "error_severity": 5}, {"warning": "b"}], "fail", ["config", "unknown"]),
    ],
)
def test_a_fail_is_weighed_by_its_severity(findings: object, verdict: str, severities: list[str]) -> None:
    diagnosis = read(document(pcie=[*passed(0), {"entity_id": 1, "status": "Fail", "warnings": findings}]))
    assert diagnosis.verdict == verdict
    assert [failure.severity for failure in diagnosis.failures] == severities
    assert all(failure.gpu == 1 and failure.error for failure in diagnosis.failures)


def test_a_fail_on_several_gpus_or_on_a_switch_blames_no_single_one() -> None:
    diagnosis = read(document(pcie=[{"gpu_ids": "0,1", "status": "Fail", "warning": "bad riser."}]))
    assert diagnosis.failures == (DiagnosisFailure(None, "pcie", "bad riser.", "unknown"),)
    assert diagnosis.reason == "pcie failed: bad riser (severity unknown)."
    switch = [*passed(0, 1), {"entity_group": "Switch", "entity_id": 0, "status": "Fail", "warnings": ["dead"]}]
    assert read(document(pcie=switch)).failures == (DiagnosisFailure(None, "pcie", "dead", "unknown"),)
    link = [*passed(0, 1), {"entity_group_id": 6, "entity_id": 0, "status": "Fail", "warnings": ["dead"]}]
    assert read(document(pcie=link)).failures == (DiagnosisFailure(None, "pcie", "dead", "unknown"),)


def test_a_fail_outweighs_skips_and_doubts() -> None:
    fail = [{"entity_id": 0, "status": "Fail", "warnings": ["bad"]}, {"entity_id": 1, "status": "Skip"}]
    assert read(document(memory=fail, pcie=None)).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("summary", "verdict"),
    [
        ({"status": "Pass"}, "pass"),
        ({"status": "Fail", "warnings": ["the whole test broke"]}, "fail"),
        ({"status": "Skip"}, "inconclusive"),
        ({"status": "?"}, "inconclusive"),
        ("Fail", "pass"),
    ],
)
def test_a_summary_counts_for_what_no_result_says(summary: object, verdict: str) -> None:
    tree = document()
    tree["DCGM Diagnostic"]["test_categories"][0]["tests"][1]["test_summary"] = summary
    assert read(tree).verdict == verdict


def test_a_test_on_cpus_alone_is_neither_missing_nor_skipped() -> None:
    diagnosis = read(document(cpu_eud=[{"entity_group": "CPU", "entity_id": 0, "status": "Skip"}]))
    assert (diagnosis.verdict, diagnosis.skipped) == (Verdict.PASS, ())


def test_a_skipped_eud_is_remarked_and_does_not_hold_the_node() -> None:
    diagnosis = read(document(**{"EUD Test": [{"gpu_ids": "0", "status": "Skip", "warnings": ["not root"]}]}))
    assert (diagnosis.verdict, diagnosis.skipped) == (Verdict.PASS, ("EUD Test",))
    assert diagnosis.remarks == ("EUD Test on GPU 0: not root", "eud: skipped on GPU 0.")
    assert diagnosis.reason == "2 GPUs passed 7 tests, with 2 remarks."


@pytest.mark.parametrize(
    ("expected", "verdict", "reason"),
    [
        (1, "pass", "2 GPUs passed 7 tests."),
        (2, "pass", "2 GPUs passed 7 tests."),
        (8, "inconclusive", "2 of 8 expected GPUs were tested in full."),
    ],
)
def test_fewer_gpus_than_expected_are_inconclusive(expected: int, verdict: str, reason: str) -> None:
    diagnosis = read(document(), expected_gpus=expected)
    assert (diagnosis.verdict, diagnosis.reason) == (verdict, reason)


@pytest.mark.parametrize(
    ("required", "verdict"),
    [
        (frozenset({"pcie"}), "pass"),
        (frozenset({"PCIe", "GPU Memory"}), "pass"),
        (frozenset({"pcie", "memtest"}), "inconclusive"),
        (frozenset({"pcie", "eud"}), "inconclusive"),
        (frozenset(), "pass"),
    ],
)
def test_named_required_tests_replace_level_3(required: frozenset[str], verdict: str) -> None:
    skip = [{"entity_id": 0, "status": "Skip"}]
    assert read(document(targeted_power=skip, eud=skip), required_tests=required).verdict == verdict


def test_no_test_at_all_never_passes_whatever_is_required() -> None:
    nothing = read({"test_categories": []}, required_tests=frozenset())
    assert (nothing.verdict, nothing.reason) == (
        Verdict.INCONCLUSIVE,
        "No test ran. No GPU was tested in full.",
    )
    software = read({"tests": [{"name": "software", "results": [{"status": "Pass"}]}]}, required_tests=frozenset())
    assert (software.verdict, software.reason) == (Verdict.INCONCLUSIVE, "No GPU was tested in full.")


def test_dcgm_4_has_to_run_nvbandwidth_too() -> None:
    tree = document()
    assert read(tree | {"metadata": {"version": "3.3.9"}}).verdict is Verdict.PASS
    for place in ({"metadata": {"version": "4.2.3"}}, {"metadata": None, "version": " 4.0"}):
        newer = read(tree | place)
        assert (newer.verdict, newer.reason) == (Verdict.INCONCLUSIVE, "nvbandwidth: not in the output.")


def test_the_root_may_have_either_name_or_none() -> None:
    inner = document()["DCGM Diagnostic"]
    assert read({"DCGM GPU Diagnostic": inner}).verdict is Verdict.PASS
    assert read(inner).verdict is Verdict.PASS
    assert read({"tests": inner["test_categories"][0]["tests"]}).verdict is Verdict.PASS


def test_lines_around_the_document_are_passed_over() -> None:
    noise = 'WARNING {not json}\n{"level": "info", "status": "up"}\n'
    assert read_diagnosis(f"{noise}{json.dumps(document())}\nbye {{}}\n").verdict is Verdict.PASS


def test_two_documents_both_have_to_pass() -> None:
    good = json.dumps(document())
    bad = json.dumps(document(pcie=[{"entity_id": 0, "status": "Fail", "warnings": ["bad"]}]))
    assert read_diagnosis(good + "\n" + good).verdict is Verdict.PASS
    assert read_diagnosis(good + "\n" + bad).verdict is Verdict.FAIL


def test_a_whole_part_of_a_lost_whole_is_not_taken_for_it() -> None:
    good = document()
    iterations = json.dumps({"iterations": [document(pcie=None), good]})
    last = iterations[iterations.rindex('{"DCGM Diagnostic"') :]
    assert last.startswith(json.dumps(good))
    assert read_diagnosis(last).reason == "The output of the diagnosis is cut off or damaged."
    category = read(good["DCGM Diagnostic"]["test_categories"][0])
    assert (category.verdict, category.reason[:30]) == (Verdict.INCONCLUSIVE, "The output holds no diagnosis.")


def test_every_iteration_has_to_pass() -> None:
    good, skipped = document(), document(pcie=None)
    assert read({"iterations": [good, good], "Overall Result": "Pass"}).verdict is Verdict.PASS
    assert read({"iterations": [good, skipped], "Overall Result": "Pass"}).reason == "pcie: not in the output."
    assert read({"iterations": [good, None]}).reason == "Iteration 2 cannot be read."
    assert read({"iterations": [good, {"iterations": [good]}]}).reason == "Iteration 2 cannot be read."
    assert read({"iterations": []}).verdict is Verdict.INCONCLUSIVE


def test_an_overall_fail_without_a_finding_is_inconclusive() -> None:
    overall = read({"iterations": [document()], "Overall Result": "FAIL"})
    assert overall.reason == "The overall result is Fail, but no finding says why."
    persistence = [{"entity_id": 0, "status": "Fail", "warnings": [{"warning": "set -pm", "error_severity": 5}]}]
    config = read({"iterations": [document(software=[*persistence, *passed(1)])], "Overall Result": "Fail"})
    assert (config.verdict, config.reason) == (
        Verdict.INCONCLUSIVE,
        "Set up and run again: software failed on GPU 0: set -pm (severity config).",
    )


def test_a_key_given_twice_is_damage() -> None:
    text = json.dumps(document()).replace('"status": "Pass"', '"status": "Fail", "status": "Pass"', 1)
    assert read_diagnosis(text).verdict is Verdict.INCONCLUSIVE


def test_broken_lists_of_gpus_leave_the_gpus_that_the_results_name() -> None:
    for broken in (
        {"entity_groups": [None, {"entity_group": "GPU", "entities": [None, {"entity_id": "x"}]}]},
        {"entity_groups": [{"entity_group": "CPU", "entities": [{"entity_id": 7}]}]},
        {"GPU Device Serials": ["1650000001000"]},
    ):
        assert read(document() | broken).gpus == (DiagnosedGpu(0, None), DiagnosedGpu(1, None))


def test_a_listed_gpu_that_no_test_names_is_missing() -> None:
    tree = document() | {"GPU Device Serials": {"0": "1650000001000", "1": "1650000001001", "2": "1650000001002"}}
    assert "pcie, software, targeted_power, targeted_stress: not run on GPU 2." in read(tree).reason


def test_lists_and_texts_stay_bounded() -> None:
    many = [{"entity_id": 0, "status": "Fail", "warnings": [f"{n} " + "x" * 9000 for n in range(900)]}]
    diagnosis = read(document(pcie=many))
    assert len(diagnosis.failures) == 256
    assert max(len(failure.error) for failure in diagnosis.failures) == 500
