"""Stories on the real control plane under the chart's accounts: nothing is forbidden, nothing granted is unused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.domain.rights import Component
from tests.chart.helm import Helm, Object
from tests.chart.release import JOBS, NAMESPACE, Release
from tests.chart.rights import EVERYWHERE, Granted, rights_of
from tests.control_plane.emptying import emptied
from tests.control_plane.plane import ControlPlane
from tests.story.house import POLICY, House, a_house, an_alert

VALUES = ("--set", "redis.trial.enabled=true", "--set", "mode=act", "--set", "nodeJobs.allowTags=true")
ONLY_THERE = {"jobs", "pods/log"}
"""What is granted in the namespace of node jobs alone."""


@pytest.fixture(scope="module")
def asked(control_plane: ControlPlane, helm: Helm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Object]]:
    """Every request of worker and watch over these stories, from the audit log."""
    directory = tmp_path_factory.mktemp("accounts")
    release = Release(control_plane, helm, POLICY)
    with emptied(control_plane) as api:
        release.clear()
        release.put("install", "act", "--set", "nodeJobs.allowTags=true")
        log = control_plane.audit.from_now_on()
        with a_house(directory, nodes=4, real=api, kubeconfigs=release.kubeconfigs()) as house:
            tell(house)
        yield [one for one in log.requests() if one["user"].startswith(f"system:serviceaccount:{NAMESPACE}:")]
        release.take_away()


def tell(house: House) -> None:
    """A drain that a budget keeps; a repair; one that a person ends during a node job; an alert of an unknown node."""
    house.strike("budget", blocked=True, node="gpu-a03")
    house.strike("faults", node="gpu-a03", gpu=6, xid=79)
    house.until("gpu-a03", state="waiting", words="serve/vllm-chat")
    house.strike("budget", blocked=False)
    assert house.until("gpu-a03", state="finished")["result"] == "released"
    house.strike("faults", node="gpu-a01", gpu=1, xid=79)
    house.strike("behaviours", node="gpu-a02", gpu=2, diagnosis="hang")
    house.strike("faults", node="gpu-a02", gpu=2, xid=79)
    assert house.post(an_alert("gpu-z99"))["pending"] == 1
    running = house.until("gpu-a02", state="waiting", words="The diagnosis of gpu-a02 runs")
    house.order(running["id"], "cancel")
    assert house.until("gpu-a02", state="finished")["result"] == "cancelled"
    assert house.until("gpu-a01", state="finished")["result"] == "released"


def test_nothing_that_sickbay_asks_for_is_forbidden(asked: list[Object]) -> None:
    assert asked
    assert [(one["user"], one["verb"], one["uri"]) for one in asked if one["code"] in {401, 403}] == []


@pytest.mark.parametrize("component", list(Component))
def test_what_is_granted_is_what_is_asked_for(asked: list[Object], helm: Helm, component: Component) -> None:
    granted = rights_of(helm.render(*VALUES, "--set-file", f"policy={POLICY}"), f"sickbay-{component}")

    used = set()
    for one in asked:
        if one["user"] == f"system:serviceaccount:{NAMESPACE}:sickbay-{component}":
            resource = f"{one['resource']}/{one['subresource']}" if one["subresource"] else one["resource"]
            used.add(Granted(one["verb"], resource, JOBS if resource in ONLY_THERE else EVERYWHERE))
    assert used == granted
    assert {one["namespace"] for one in asked if one["resource"] == "jobs"} <= {JOBS}


def test_web_asks_the_cluster_for_nothing(asked: list[Object]) -> None:
    assert not [one for one in asked if one["user"].endswith(":sickbay-web")]
