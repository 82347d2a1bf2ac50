"""What `sickbay doctor` asks, of the fake cluster and of a real store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from redis.exceptions import ResponseError

from app.domain.checkup import Finding, Grade
from app.domain.policies import Mode, Policy
from app.domain.rights import Component, Need
from app.errors import PermanentPortError
from app.store import connect
from simulator import valkey as embedded
from tests.building import ROOT, a_policy, a_pool
from tests.fakes import FakeAccess, FakeCluster
from workers.checkup import of_cluster, of_store

POLICY = a_policy(a_pool())


def asked(
    access: FakeAccess,
    policy: Policy = POLICY,
    component: Component = Component.WORKER,
    *,
    node_jobs: bool = True,
    nodes: int = 2,
) -> list[Finding]:
    return list(of_cluster(policy, component, FakeCluster(nodes=nodes).nodes, access, node_jobs=node_jobs))


def bad(findings: list[Finding]) -> list[str]:
    return [finding.told for finding in findings if finding.grade is Grade.BAD]


def test_a_cluster_in_which_everything_is_in_place_is_good() -> None:
    findings = asked(FakeAccess())

    assert {finding.grade for finding in findings} == {Grade.GOOD}
    assert {finding.about for finding in findings} == {"rights", "pools", "operator", "others", "node jobs"}


def test_a_missing_right_is_found() -> None:
    access = FakeAccess()
    access.missing = {Need("patch", "nodes")}

    (told,) = bad(asked(access))
    assert told.startswith("May not patch nodes")


def test_a_node_job_that_the_cluster_would_not_take_is_found_before_it_is_needed() -> None:
    access = FakeAccess()
    access.refuses = 'namespaces "sickbay-node-jobs" not found'

    assert bad(asked(access)) == ['The cluster would not take a node job: namespaces "sickbay-node-jobs" not found.']


@pytest.mark.parametrize(
    ("mode", "node_jobs", "nodes"), [(Mode.CORDON, True, 2), (Mode.ACT, False, 2), (Mode.ACT, True, 0)]
)
def test_where_no_node_job_runs_none_is_tried(mode: Mode, node_jobs: bool, nodes: int) -> None:
    access = FakeAccess()
    access.refuses = "it is not to be asked"

    assert bad(asked(access, a_policy(a_pool(mode=mode)), node_jobs=node_jobs, nodes=nodes)) == []


def test_kured_on_the_nodes_of_a_pool_that_acts_is_bad() -> None:
    access = FakeAccess()
    access.pods = {("name", "kured"): frozenset({"gpu-a02"})}

    (told,) = bad(asked(access))
    assert "kured repairs nodes of pool gpu too (gpu-a02)" in told
    assert bad(asked(access, a_policy(a_pool(beside=("kured",))))) == []


def test_of_the_watch_only_its_rights_are_asked() -> None:
    assert {finding.about for finding in asked(FakeAccess(), component=Component.WATCH)} == {"rights"}


def test_what_the_api_server_does_not_tell_is_unknown() -> None:
    access = FakeAccess()
    access.fails = PermanentPortError("The API server is away.")

    assert asked(access) == [Finding(Grade.UNKNOWN, "cluster", "The API server is away.")]


def test_a_store_that_forgets_is_told_of() -> None:
    with embedded.start(appendonly=False) as server:
        redis = connect(server.url)
        assert [finding.grade for finding in of_store(redis)] == [Grade.GOOD, Grade.REMARK]
        try:
            redis.config_set("maxmemory-policy", "allkeys-lru")
        except ResponseError:
            pytest.fail("the embedded Valkey takes no settings")
        assert [finding.grade for finding in of_store(redis)] == [Grade.GOOD, Grade.REMARK, Grade.BAD]
        redis.close()
    assert [finding.grade for finding in of_store(connect(server.url))] == [Grade.BAD]


def doctor(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "app.cli", "doctor", *arguments]
    given = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **environ}
    return subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, check=False, timeout=60)


def test_the_command_tells_all_that_is_missing_and_ends_with_1() -> None:
    told = doctor()

    assert told.returncode == 1
    assert "ok       policy: config/policy.yaml is good; the freest pool has mode observe." in told.stdout
    assert "BAD      store: SICKBAY_REDIS_URL: This setting is needed and not set." in told.stdout
    assert "BAD      cluster: KUBECONFIG: The cluster cannot be reached" in told.stdout


def test_a_bad_policy_is_all_that_the_command_tells(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("pools: []\n")

    told = doctor(SICKBAY_POLICY=str(tmp_path / "policy.yaml"))

    assert told.returncode == 1
    assert told.stdout.startswith("BAD      policy: ")
    assert "store" not in told.stdout
