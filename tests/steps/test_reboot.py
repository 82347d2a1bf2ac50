from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from app.domain.effects import StartNodeJob
from app.domain.facts import NodeJobView, NodeView
from app.domain.operations import Operation
from app.domain.outcomes import Act, Done, Failed, NeedsHuman, Outcome, Wait
from tests.building import a_case, a_job, a_node, a_policy, an_operation, at, remembering
from workers.booting import Boot
from workers.steps.reboot import ARGV, Reboot

TO_DO = an_operation(at_step="reboot")
NAME = "op-1-3-reboot-1"
SENT = remembering(TO_DO, boot_id="b-111", asked_at=at().isoformat())
NEW = a_node(boot_id="b-222")


def judged(
    node: NodeView, job: NodeJobView | None = None, *, operation: Operation = SENT, now: datetime | None = None
) -> Act | Outcome:
    return Reboot().judge(operation, Boot(node, job), a_policy(), now or at(1))


def a_reboot_job(**fields: Any) -> NodeJobView:
    return a_job(NAME, step="reboot", **fields)


def test_the_boot_id_is_remembered_before_the_request_is_sent() -> None:
    told = judged(a_node(), operation=TO_DO)
    assert isinstance(told, Act)
    assert told.memo == {"boot_id": "b-111", "asked_at": at(1).isoformat()}
    (start,) = told.effects
    assert isinstance(start, StartNodeJob)
    assert (start.key, start.job.argv, start.job.host, start.job.runtime_class) == (NAME, ARGV, True, None)
    assert (start.job.image, start.job.node) == ("host:1", "gpu-a01")


def test_without_a_boot_id_nothing_is_sent_since_nothing_could_be_proven() -> None:
    waiting = remembering(TO_DO)
    assert isinstance(judged(a_node(boot_id=""), operation=TO_DO), Wait)
    assert isinstance(judged(a_node(boot_id=""), operation=waiting, now=at(29)), Wait)
    told = judged(a_node(boot_id=""), operation=waiting, now=at(30))
    assert isinstance(told, NeedsHuman)
    assert told.reason.endswith("Nothing was sent.")


def test_a_worker_that_died_before_the_request_sends_the_same_one_again() -> None:
    told = judged(a_node())
    assert isinstance(told, Act)
    assert [effect.key for effect in told.effects] == [NAME]
    assert told.memo["boot_id"] == "b-111"


def test_a_request_that_was_seen_is_never_sent_twice() -> None:
    seen = remembering(TO_DO, boot_id="b-111", asked_at=at().isoformat(), seen="uid-1")
    assert judged(a_node(), operation=seen) == Wait("Waits for gpu-a01 to boot.", after=timedelta(seconds=30))
    told = judged(a_node(), a_reboot_job())
    assert isinstance(told, Wait)
    assert told.memo == {"seen": f"uid-{NAME}"}


def test_a_boot_is_proven_by_an_id_that_is_there_and_differs_also_when_not_ready_was_never_seen() -> None:
    case = a_case("boot_ids")
    sent = remembering(TO_DO, boot_id=case["before"], asked_at=at().isoformat())
    for poll in case["polls"]:
        told = judged(
            a_node(boot_id=poll["boot_id"]), a_reboot_job(), operation=sent, now=at(0, seconds=poll["seconds"])
        )
        assert type(told).__name__ == poll["outcome"], poll


@pytest.mark.parametrize(
    ("node", "minutes", "outcome", "reason"),
    [
        (NEW, 6, Done, "Rebooted: a new boot id, Ready, 8 GPUs back after 6 min."),
        (NEW, 600, Done, "Rebooted: a new boot id, Ready, 8 GPUs back after 10 h."),
        (replace(NEW, ready=False), 6, Wait, "gpu-a01 has booted: it is not Ready yet."),
        (replace(NEW, gpu_allocatable=7), 6, Wait, "gpu-a01 has booted: 7 of 8 GPUs are back."),
        (replace(NEW, gpu_allocatable=7), 30, Failed, "gpu-a01 has booted, but 7 of 8 GPUs are back after 30 min."),
        (replace(NEW, ready=False), 30, Failed, "gpu-a01 has booted, but it is not Ready yet after 30 min."),
        (a_node(ready=False), 6, Wait, "Waits for gpu-a01 to boot."),
        (a_node(), 30, Failed, "gpu-a01 shows no new boot id 30 min after the reboot was asked for."),
        (a_node(boot_id=""), 30, Failed, "gpu-a01 shows no new boot id 30 min after the reboot was asked for."),
    ],
)
def test_a_reboot_is_done_when_boot_readiness_and_gpus_prove_it_and_failed_at_its_deadline(
    node: NodeView, minutes: float, outcome: type[Outcome], reason: str
) -> None:
    told = judged(node, a_reboot_job(), now=at(minutes))
    assert isinstance(told, outcome)
    assert told.reason == reason


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"started": False, "reason": "ImagePullBackOff: no such image"},
            "The reboot of gpu-a01 could not be sent: ImagePullBackOff: no such image.",
        ),
        ({"started": False}, "The reboot of gpu-a01 could not be sent: its node job never ran."),
        ({"exit_code": 1}, "gpu-a01 refused to reboot: the command ended with exit code 1."),
        ({"exit_code": 127}, "gpu-a01 refused to reboot: the command ended with exit code 127."),
    ],
)
def test_a_request_that_was_refused_is_not_waited_for(fields: dict[str, Any], reason: str) -> None:
    assert judged(a_node(), a_reboot_job(active=False, failed=True, **fields)) == Failed(reason)


@pytest.mark.parametrize("exit_code", [None, 137, 143, 255])
def test_a_request_that_ended_as_a_shutdown_ends_things_is_waited_for(exit_code: int | None) -> None:
    assert isinstance(judged(a_node(), a_reboot_job(active=False, failed=True, exit_code=exit_code)), Wait)


def test_a_request_that_succeeded_proves_nothing() -> None:
    assert isinstance(judged(a_node(), a_reboot_job(active=False, succeeded=True, exit_code=0)), Wait)


def test_the_deadline_counts_from_the_request_and_not_from_a_wait_before_it() -> None:
    asked_late = remembering(TO_DO, boot_id="b-111", asked_at=at(40).isoformat())
    assert isinstance(judged(a_node(), a_reboot_job(), operation=asked_late, now=at(41)), Wait)
    assert isinstance(judged(a_node(), a_reboot_job(), operation=asked_late, now=at(70)), Failed)


def test_a_node_whose_evidence_a_person_skipped_is_proven_by_boot_and_readiness() -> None:
    bare = replace(SENT, plan=tuple(step for step in SENT.plan if step.step != "evidence"))
    told = judged(NEW, operation=bare)
    assert isinstance(told, Done)
