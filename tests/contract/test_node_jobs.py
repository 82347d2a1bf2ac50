"""What any cluster behind the port `NodeJobs` does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.domain.diagnostics import read_diagnosis
from app.domain.effects import NodeJob
from app.domain.facts import NodeJobView
from app.domain.outcomes import Verdict
from tests.contract.clusters import NODE, ClusterUnderTest

DIAGNOSE = ("/bin/sh", "-c", "exec dcgmi diag -r 3 -j")
BENCHMARK = ("all_reduce_perf", "-b", "512M", "-e", "8G", "-f", "2", "-g", "8")
REBOOT = ("chroot", "/host", "systemctl", "reboot")


def node_job(name: str = "op-1-diagnose", *, argv: tuple[str, ...] = DIAGNOSE, hours: float = 1) -> NodeJob:
    return NodeJob(
        name=name,
        operation="op-1",
        step="diagnose",
        node=NODE,
        image="registry.example/tool@sha256:0",
        argv=argv,
        deadline=timedelta(hours=hours),
    )


def ended(cluster: ClusterUnderTest, name: str = "op-1-diagnose") -> NodeJobView:
    def over() -> bool:
        view = cluster.node_jobs.get(name)
        assert view is not None
        return view.ended

    cluster.until(over)
    view = cluster.node_jobs.get(name)
    assert view is not None
    return view


def test_a_node_job_that_was_never_started_is_none(cluster: ClusterUnderTest) -> None:
    assert cluster.node_jobs.get("op-1-diagnose") is None


def test_a_started_node_job_is_active_and_says_what_it_is(cluster: ClusterUnderTest) -> None:
    cluster.behave(diagnosis="hang")
    cluster.node_jobs.start(node_job(hours=100))

    view = cluster.node_jobs.get("op-1-diagnose")

    assert view is not None
    assert (view.name, view.step, view.node, view.active, view.ended) == (
        "op-1-diagnose",
        "diagnose",
        NODE,
        True,
        False,
    )
    assert view.created_at is not None
    assert view.output is None


def test_starting_twice_finds_the_first(cluster: ClusterUnderTest) -> None:
    cluster.node_jobs.start(node_job())
    first = cluster.node_jobs.get("op-1-diagnose")

    cluster.node_jobs.start(node_job())

    again = cluster.node_jobs.get("op-1-diagnose")
    assert first is not None
    assert again is not None
    assert again.uid == first.uid


@pytest.mark.parametrize(
    ("diagnosis", "succeeded", "exit_code", "verdict"),
    [
        ("pass", True, 0, Verdict.PASS),
        ("fail", False, 205, Verdict.FAIL),
        ("skip", True, 0, Verdict.INCONCLUSIVE),
        ("garbage", True, 0, Verdict.INCONCLUSIVE),
    ],
)
def test_an_ended_node_job_has_its_exit_code_and_its_output(
    cluster: ClusterUnderTest, diagnosis: str, succeeded: bool, exit_code: int, verdict: Verdict
) -> None:
    cluster.behave(diagnosis=diagnosis)
    cluster.node_jobs.start(node_job())

    view = ended(cluster)

    assert (view.succeeded, view.failed, view.active) == (succeeded, not succeeded, False)
    assert (view.started, view.exit_code) == (True, exit_code)
    assert view.reason == ("" if succeeded else "Error")
    assert view.output is not None
    assert read_diagnosis(view.output, expected_gpus=8).verdict is verdict


def test_a_node_job_that_hangs_is_ended_at_its_deadline(cluster: ClusterUnderTest) -> None:
    cluster.behave(bandwidth="hang")
    cluster.node_jobs.start(node_job(argv=BENCHMARK, hours=3 / 3600))

    view = ended(cluster)

    assert view.failed
    assert view.reason == "DeadlineExceeded"
    assert not view.output


def test_the_node_jobs_of_an_operation_are_found_without_their_output(cluster: ClusterUnderTest) -> None:
    cluster.node_jobs.start(node_job())
    ended(cluster)

    (view,) = cluster.node_jobs.of_operation("op-1")

    assert (view.name, view.ended, view.output) == ("op-1-diagnose", True, None)
    assert cluster.node_jobs.of_operation("op-2") == ()


def test_a_removed_node_job_is_gone_and_removing_it_again_is_done_already(cluster: ClusterUnderTest) -> None:
    cluster.behave(diagnosis="hang")
    cluster.node_jobs.start(node_job())

    cluster.node_jobs.remove("op-1-diagnose")
    cluster.node_jobs.remove("op-1-diagnose")

    assert cluster.node_jobs.get("op-1-diagnose") is None
    cluster.until(lambda: cluster.node_jobs.of_operation("op-1") == ())


def test_a_removed_node_job_counts_as_there_until_its_pod_has_ended(cluster: ClusterUnderTest) -> None:
    cluster.behave(diagnosis="hang")
    cluster.node_jobs.start(node_job())
    cluster.until(lambda: (view := cluster.node_jobs.get("op-1-diagnose")) is not None and view.started)

    cluster.node_jobs.remove("op-1-diagnose")

    assert cluster.node_jobs.get("op-1-diagnose") is None
    cluster.until(lambda: cluster.node_jobs.of_operation("op-1") == ())
    assert [pod.name for pod in cluster.pods.on_node(NODE) if pod.name.startswith("op-1-diagnose")] == []


def test_a_node_job_that_somebody_deleted_is_none(cluster: ClusterUnderTest) -> None:
    cluster.behave(diagnosis="hang")
    cluster.node_jobs.start(node_job())

    cluster.lose_node_job("op-1-diagnose")

    assert cluster.node_jobs.get("op-1-diagnose") is None


def test_a_reboot_shows_by_a_new_boot_id_and_its_node_job_is_over(cluster: ClusterUnderTest) -> None:
    before = cluster.nodes.get(NODE)
    assert before is not None
    cluster.node_jobs.start(node_job("op-1-reboot", argv=REBOOT))

    def back() -> bool:
        node = cluster.nodes.get(NODE)
        return node is not None and node.ready and node.boot_id not in {"", before.boot_id}

    cluster.until(back)
    view = ended(cluster, "op-1-reboot")
    assert view.started
    assert view.exit_code not in range(1, 126)
