"""Rights follow the mode, and are those that the adapter's requests need: none is missing, and none is too much."""

from __future__ import annotations

import re

import pytest

from app.domain.policies import Mode
from app.domain.rights import Component, needs
from tests.chart.helm import ROOT, Helm
from tests.chart.rights import EVERYWHERE, Granted, of_kind, rights_of

STORE = ("--set", "redis.urlSecret.name=store")
TAGS = ("--set", "nodeJobs.allowTags=true")
JOBS = "sickbay-node-jobs"

READS = {Granted("get", "nodes"), Granted("list", "nodes"), Granted("list", "pods")}
FOLLOWS = {Granted(verb, resource) for verb in ("list", "watch") for resource in ("nodes", "pods")}
MARKS = {Granted("patch", "nodes"), Granted("create", "events")}
EVICTS = {
    Granted("create", "pods/eviction"),
    Granted("get", "poddisruptionbudgets"),
    Granted("list", "daemonsets"),
}
RUNS = {Granted(verb, "jobs", JOBS) for verb in ("create", "get", "list", "delete")} | {
    Granted("get", "pods/log", JOBS)
}
FOLLOWS_JOBS = {Granted("list", "jobs", JOBS), Granted("watch", "jobs", JOBS)}


@pytest.mark.parametrize(
    ("mode", "node_jobs", "worker", "watch"),
    [
        ("observe", "true", READS, FOLLOWS),
        ("observe", "false", READS, FOLLOWS),
        ("cordon", "true", READS | MARKS, FOLLOWS),
        ("cordon", "false", READS | MARKS, FOLLOWS),
        ("approve", "true", READS | MARKS | EVICTS | RUNS, FOLLOWS | FOLLOWS_JOBS),
        ("approve", "false", READS | MARKS | EVICTS, FOLLOWS),
        ("act", "true", READS | MARKS | EVICTS | RUNS, FOLLOWS | FOLLOWS_JOBS),
        ("act", "false", READS | MARKS | EVICTS, FOLLOWS),
    ],
)
def test_each_mode_has_the_rights_that_it_needs_and_no_other(
    helm: Helm, mode: str, node_jobs: str, worker: set[Granted], watch: set[Granted]
) -> None:
    objects = helm.render(*STORE, *TAGS, "--set", f"mode={mode}", "--set", f"nodeJobs.enabled={node_jobs}")

    assert rights_of(objects, "sickbay-worker") == worker
    assert rights_of(objects, "sickbay-watch") == watch
    assert rights_of(objects, "sickbay-web") == set()
    assert rights_of(objects, "node-job") == set()


def test_what_is_granted_is_what_the_adapter_asks_for(helm: Helm) -> None:
    """Each request names its right (`Right("patch", "nodes")`), a feed the resource that it lists and watches."""
    adapter = ROOT / "workers" / "adapters" / "kubernetes"
    code = "\n".join(file.read_text(encoding="utf-8") for file in adapter.glob("*.py"))
    asked = set(re.findall(r'Right\("(\w+)", "([\w/]+)"\)', code))
    followed = re.findall(r'KubernetesFeed\(client, [\w.]+, "(\w+)"', code)
    asked |= {(verb, resource) for resource in followed for verb in ("list", "watch")}

    objects = helm.render(*STORE, *TAGS, "--set", "mode=act", "--set", "deletePods=true")

    granted = rights_of(objects, "sickbay-worker") | rights_of(objects, "sickbay-watch")
    assert {(right.verb, right.resource) for right in granted} == asked


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("node_jobs", [True, False])
def test_what_is_granted_is_what_the_doctor_asks_for(helm: Helm, mode: Mode, node_jobs: bool) -> None:
    switch = ("--set", f"mode={mode}", "--set", f"nodeJobs.enabled={str(node_jobs).lower()}")
    objects = helm.render(*STORE, *TAGS, *switch)

    for component in Component:
        wanted = {
            Granted(
                need.verb,
                f"{need.resource}/{need.subresource}" if need.subresource else need.resource,
                JOBS if need.on_node_jobs else EVERYWHERE,
            )
            for need in needs(component, mode, node_jobs=node_jobs)
        }
        assert rights_of(objects, f"sickbay-{component}") == wanted


@pytest.mark.parametrize(("mode", "may"), [("act", True), ("approve", True), ("cordon", False), ("observe", False)])
def test_pods_may_be_deleted_only_where_that_is_asked_for_and_work_may_be_disrupted(
    helm: Helm, mode: str, may: bool
) -> None:
    objects = helm.render(*STORE, *TAGS, "--set", f"mode={mode}", "--set", "deletePods=true")

    assert (Granted("delete", "pods") in rights_of(objects, "sickbay-worker")) is may


@pytest.mark.parametrize(("mode", "node_jobs"), [("observe", "true"), ("cordon", "true"), ("act", "false")])
def test_where_no_node_jobs_run_there_is_no_privileged_namespace(helm: Helm, mode: str, node_jobs: str) -> None:
    objects = helm.render(*STORE, *TAGS, "--set", f"mode={mode}", "--set", f"nodeJobs.enabled={node_jobs}")

    assert of_kind(objects, "Namespace") == of_kind(objects, "ValidatingAdmissionPolicy") == []
    assert [one for one in objects if one["metadata"].get("namespace", "sickbay") != "sickbay"] == []


def test_only_the_namespace_of_node_jobs_lets_privileged_pods_in(helm: Helm) -> None:
    (namespace,) = of_kind(helm.render(*STORE, *TAGS, "--set", "mode=act"), "Namespace")

    assert namespace["metadata"]["name"] == JOBS
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"


def test_every_rule_says_why_it_is_there() -> None:
    """A comment stands above each rule in the templates."""
    for name in ("rights.yaml", "node-jobs.yaml"):
        lines = (ROOT / "charts/sickbay/templates" / name).read_text(encoding="utf-8").splitlines()
        rules = [place for place, line in enumerate(lines) if line.strip().startswith("- apiGroups:")]
        assert rules
        assert [lines[place] for place in rules if not lines[place - 1].strip().startswith("# ")] == []
