from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.domain.effects import NodeJob, RemoveNodeJob, StartNodeJob
from app.domain.facts import NodeJobView, NodeView
from app.domain.faults import Gpu
from app.domain.operations import Operation, apply
from app.domain.outcomes import Act, Done, Failed, NeedsHuman, Outcome, Wait
from app.domain.people import give
from app.domain.policies import Validation
from tests.building import a_job, a_node, a_policy, a_pool, an_operation, at, remembering
from tests.tool_output import bandwidth, diagnosis
from workers.proof import Proof, Run
from workers.steps.benchmark import Benchmark
from workers.steps.diagnose import SCRIPT, Diagnose

SERIALS = tuple(f"165000000{gpu}" for gpu in range(8))
PASSES = diagnosis(SERIALS)
TO_DO = an_operation(at_step="diagnose")
FIRST, SECOND = "op-1-4-diagnose-1", "op-1-4-diagnose-1-1"
SEEN = remembering(TO_DO, again="0", seen=FIRST, why="")
AGAIN = remembering(TO_DO, again="1", seen=FIRST, why="")


def judged(
    job: NodeJobView | None,
    *,
    operation: Operation = SEEN,
    node: NodeView | None = None,
    proof: Proof | None = None,
    now: datetime | None = None,
    peers: tuple[float, ...] = (),
) -> Act | Outcome:
    run = Run(node or a_node(), job, peers)
    return (proof or Diagnose()).judge(operation, run, a_policy(), now or at(1))


def an_ended(name: str = FIRST, output: str | None = PASSES, **fields: Any) -> NodeJobView:
    """A node job that ran to its end, well unless told otherwise."""
    failed = fields.pop("failed", False)
    ends = {"active": False, "succeeded": not failed, "failed": failed, "exit_code": 1 if failed else 0}
    return a_job(name, **{**ends, "output": output, **fields})


def started(told: Act | Outcome) -> NodeJob:
    assert isinstance(told, Act)
    (effect,) = told.effects
    assert isinstance(effect, StartNodeJob)
    assert effect.key == effect.job.name
    return effect.job


def test_a_proof_starts_its_node_job_with_fixed_words() -> None:
    job = started(judged(None, operation=TO_DO))
    assert (job.name, job.operation, job.node, job.image, job.host) == (FIRST, "op-1", "gpu-a01", "dcgm:1", False)
    assert job.argv == ("/bin/sh", "-c", SCRIPT, "dcgmi diag", "3")
    assert job.runtime_class == "nvidia"


def test_a_worker_that_died_before_the_start_starts_the_same_one() -> None:
    assert started(judged(None, operation=remembering(TO_DO, again="0", why=""))).name == FIRST


def test_one_that_runs_is_waited_for() -> None:
    told = judged(a_job(FIRST))
    assert isinstance(told, Wait)
    assert told.reason == "The diagnosis of gpu-a01 runs, for 45 min at most."
    assert told.memo == {"seen": FIRST}
    assert told.after == timedelta(seconds=30)
    last = judged(a_job(FIRST), now=at(46, seconds=50))
    assert isinstance(last, Wait)
    assert last.after == timedelta(seconds=10)


def test_one_that_cannot_start_says_why() -> None:
    told = judged(a_job(FIRST, started=False, reason="ImagePullBackOff: no such image."))
    assert isinstance(told, Wait)
    assert told.reason == "The diagnosis of gpu-a01 has not started: ImagePullBackOff: no such image."


def test_a_complete_run_that_passes_is_done_and_teaches_the_serials() -> None:
    told = judged(an_ended())
    assert isinstance(told, Done)
    assert told.learned.gpus == tuple(Gpu(serial=serial, index=index) for index, serial in enumerate(SERIALS))


@pytest.mark.parametrize("failed", [True, False])
def test_a_finding_fails_whatever_the_exit_code_says(failed: bool) -> None:
    told = judged(an_ended(output=diagnosis(SERIALS, faulty=3), failed=failed))
    assert isinstance(told, Failed)
    assert "GPU 3" in told.reason


INCONCLUSIVE = [
    (None, "was deleted before it ended"),
    (an_ended(output=None), "it left no output (exit code 0)"),
    (an_ended(output=""), "it left no output (exit code 0)"),
    (an_ended(output=None, failed=True, reason="DeadlineExceeded"), "DeadlineExceeded"),
    (an_ended(output=diagnosis(SERIALS, skipped=True)), "skipped"),
    (an_ended(output=PASSES[: len(PASSES) // 2]), ""),
    (an_ended(output="Error: unable to connect to host engine"), ""),
    (an_ended(output=diagnosis(SERIALS[:7])), ""),
    (an_ended(failed=True), "its output passes, but it ended with exit code 1"),
    (an_ended(failed=True, reason="OOMKilled"), "its output passes, but it ended with OOMKilled"),
]


@pytest.mark.parametrize(("job", "why"), INCONCLUSIVE)
def test_what_proves_nothing_is_tried_again_and_never_passes(job: NodeJobView | None, why: str) -> None:
    told = judged(job)
    assert started(told).name == SECOND
    assert isinstance(told, Act)
    assert told.reason.startswith("The diagnosis of gpu-a01 is inconclusive: ")
    assert why in told.reason
    assert told.reason.endswith(". It is tried again.")
    assert (told.memo["again"], told.memo["why"]) == ("1", "")


@pytest.mark.parametrize(("job", "why"), INCONCLUSIVE)
def test_what_proves_nothing_twice_is_brought_before_a_person(job: NodeJobView | None, why: str) -> None:
    operation = AGAIN if job is not None else remembering(TO_DO, again="1", seen=SECOND, why="")
    told = judged(replace(job, name=SECOND) if job is not None else None, operation=operation)
    assert isinstance(told, NeedsHuman)
    assert why in told.reason
    assert told.reason.endswith("It was tried 2 times: look at the tools, then retry.")


def test_a_retry_by_a_person_starts_under_a_new_name() -> None:
    asked, _ = apply(AGAIN, NeedsHuman("Inconclusive."), now=at(50))
    retried, _ = give(asked, "retry", actor="ann", reason="Image mended.", now=at(60))
    assert started(judged(None, operation=retried)).name == "op-1-4-diagnose-2"


@pytest.mark.parametrize(("minutes", "ended"), [(46.99, False), (47, True)])
def test_one_that_hangs_is_ended_after_its_deadline_and_a_grace(minutes: float, ended: bool) -> None:
    told = judged(a_job(FIRST), now=at(minutes))
    assert isinstance(told, Act) is ended
    if isinstance(told, Act):
        assert told.effects == (RemoveNodeJob(key=f"{FIRST}/remove", name=FIRST),)
        assert told.reason == "Ends the diagnosis of gpu-a01: it did not end within 45 min."


def test_one_that_hung_is_inconclusive_once_it_is_gone_and_says_that_it_hung() -> None:
    ended = remembering(TO_DO, again="0", seen=FIRST, why="it did not end within 45 min")
    told = judged(None, operation=ended, now=at(48))
    assert started(told).name == SECOND
    assert isinstance(told, Act)
    assert "is inconclusive: it did not end within 45 min." in told.reason


def test_one_that_survives_its_end_is_neither_ended_for_ever_nor_joined_by_another() -> None:
    ended = remembering(TO_DO, again="0", seen=FIRST, why="it did not end within 45 min")
    assert isinstance(judged(a_job(FIRST), operation=ended, now=at(48)), Wait)
    told = judged(a_job(FIRST), operation=ended, now=at(50))
    assert isinstance(told, NeedsHuman)
    assert told.reason.endswith(f"Delete {FIRST}, then retry.")


def test_one_that_never_started_keeps_its_reason_when_it_is_ended() -> None:
    told = judged(a_job(FIRST, started=False, reason="ErrImagePull: denied."), now=at(60))
    assert isinstance(told, Act)
    assert told.memo["why"] == "it did not end within 45 min (ErrImagePull: denied)"


@pytest.mark.parametrize("operation", [SEEN, TO_DO])
def test_one_without_a_time_of_creation_is_bounded_by_the_step(operation: Operation) -> None:
    told = judged(a_job(FIRST, created_at=None), operation=operation, now=at(60))
    assert isinstance(told, Act if operation is SEEN else Wait)


def test_without_a_known_number_of_gpus_a_pass_proves_nothing() -> None:
    blind = replace(SEEN, plan=tuple(replace(step, memo={}) if step.step == "evidence" else step for step in SEEN.plan))
    unknown = judged(an_ended(), operation=blind, node=a_node(gpu_capacity=0))
    assert isinstance(unknown, Act)
    assert "how many GPUs gpu-a01 must have is not known" in unknown.reason
    assert isinstance(judged(an_ended(), operation=blind), Done)


def test_a_gpu_that_is_back_after_the_evidence_was_noted_has_to_pass_too() -> None:
    seven = replace(
        SEEN, plan=tuple(replace(step, memo={"gpus": "7"}) if step.step == "evidence" else step for step in SEEN.plan)
    )
    assert isinstance(judged(an_ended(output=diagnosis(SERIALS[:7])), operation=seven), Act)


def test_a_diagnosis_of_fewer_cards_teaches_no_serials_since_indexes_have_moved() -> None:
    told = judged(an_ended(output=diagnosis(SERIALS[:7], faulty=3)))
    assert isinstance(told, Failed)
    assert told.learned.gpus == ()


def test_a_pool_may_ask_for_other_tests_and_more_tries() -> None:
    patient = a_policy(a_pool(validation=Validation(inconclusive_tries=3)))
    run = Run(a_node(), an_ended(SECOND, output=""), ())
    assert isinstance(Diagnose().judge(AGAIN, run, patient, at(1)), Act)


# The benchmark

MEASURING = remembering(an_operation(at_step="benchmark"), again="0", seen="op-1-5-benchmark-1", why="")


def measured(output: str | None, *, peers: tuple[float, ...] = (), failed: bool = False) -> Act | Outcome:
    job = an_ended("op-1-5-benchmark-1", output=output, step="benchmark", failed=failed)
    return judged(job, operation=MEASURING, proof=Benchmark(), peers=peers)


def test_the_benchmark_runs_over_as_many_gpus_as_the_node_must_have() -> None:
    job = started(judged(None, operation=an_operation(at_step="benchmark"), proof=Benchmark()))
    assert job.argv == ("all_reduce_perf", "-b", "512M", "-e", "8G", "-f", "2", "-g", "8", "-c", "1")
    assert job.image == "nccl:1"


def test_a_correct_and_fast_run_is_done_and_teaches_its_bandwidth() -> None:
    told = measured(bandwidth(peak=478.8))
    assert isinstance(told, Done)
    assert told.learned.bus_bandwidth == pytest.approx(478.8, rel=0.02)
    assert told.learned.baseline == "gpu/unknown/8"


@pytest.mark.parametrize(
    ("output", "peers", "failed"),
    [
        (bandwidth(peak=390.0), (), False),
        (bandwidth(peak=430.0), (482.0, 480.0, 481.0), False),
        (bandwidth(wrong=3), (), True),
        (bandwidth(wrong=3), (), False),
    ],
)
def test_a_wrong_or_slow_run_fails_and_teaches_no_bandwidth(
    output: str, peers: tuple[float, ...], failed: bool
) -> None:
    told = measured(output, peers=peers, failed=failed)
    assert isinstance(told, Failed)
    assert told.learned.bus_bandwidth is None


@pytest.mark.parametrize("output", [None, "", "NCCL version 2.21.5+cuda12.4", bandwidth()[:900]])
def test_a_run_that_was_cut_off_is_tried_again(output: str | None) -> None:
    assert started(measured(output)).name == "op-1-5-benchmark-1-1"


def test_the_deadline_counts_from_the_start_of_the_node_job() -> None:
    assert isinstance(judged(a_job(FIRST, created_at=at(10)), now=at(50)), Wait)


@pytest.mark.parametrize(("began", "reason"), [(True, "ContainersNotReady"), (False, "")])
def test_one_that_began_or_tells_no_reason_is_said_to_run(began: bool, reason: str) -> None:
    assert "runs, for 45 min at most" in judged(a_job(FIRST, started=began, reason=reason)).reason


def test_a_diagnosis_teaches_no_serial_that_two_gpus_report_and_says_so() -> None:
    told = judged(an_ended(output=diagnosis((SERIALS[1], *SERIALS[1:]))))
    assert isinstance(told, Done)
    assert [gpu.serial for gpu in told.learned.gpus[:3]] == [None, None, SERIALS[2]]
    assert told.reason.endswith(" 2 GPUs report the serial 1650000001, so it names none of them.")
