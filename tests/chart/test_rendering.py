"""What the chart makes of its values."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.domain.policies import Policy
from app.policy_file import policy_or_problems
from app.settings import READERS, Settings
from tests.chart.helm import CHART, ROOT, Helm, Object
from tests.chart.rights import of_kind
from workers.commands.alive import Alive

STORE = ("--set", "redis.urlSecret.name=store")
TRIAL = ("--set", "redis.trial.enabled=true")
ACT = ("--set", "mode=act", "--set", "nodeJobs.allowTags=true")


def pods(objects: list[Object]) -> dict[str, Any]:
    """The pod specs by the component that they are of."""
    made = [*of_kind(objects, "Deployment"), *of_kind(objects, "StatefulSet")]
    return {
        one["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"]: one["spec"]["template"]["spec"]
        for one in made
    }


def environment(pod: Any) -> dict[str, str]:
    """The variables of its container, a text where the value comes from a Secret or the pod itself."""
    return {one["name"]: one.get("value", "from-elsewhere") for one in pod["containers"][0]["env"]}


def test_lint_finds_nothing(helm: Helm) -> None:
    told = helm.run("lint", "--strict", str(CHART), *STORE)

    assert told.returncode == 0, told.stdout + told.stderr
    assert "WARNING" not in told.stdout


@pytest.mark.parametrize("component", ["web", "worker", "watch", "valkey"])
def test_every_pod_meets_the_restricted_standard_and_writes_nowhere(helm: Helm, component: str) -> None:
    pod = pods(helm.render(*TRIAL))[component]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert all("hostPath" not in volume for volume in pod["volumes"])


def test_web_and_the_store_get_no_token_of_the_cluster(helm: Helm) -> None:
    made = pods(helm.render(*TRIAL))

    tokens = {component: pod["automountServiceAccountToken"] for component, pod in made.items()}
    assert tokens == {"web": False, "valkey": False, "worker": True, "watch": True}


def test_every_pod_stays_off_gpu_nodes(helm: Helm) -> None:
    for pod in pods(helm.render(*TRIAL)).values():
        terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        wanted = {"key": "nvidia.com/gpu.present", "operator": "NotIn", "values": ["true"]}
        assert [term["matchExpressions"] for term in terms] == [[wanted]]


@pytest.mark.parametrize("mode", ["observe", "cordon", "approve", "act"])
@pytest.mark.parametrize("store", [STORE, TRIAL])
def test_the_settings_of_each_pod_are_ones_that_sickbay_reads(helm: Helm, mode: str, store: tuple[str, ...]) -> None:
    values = ("--set", f"mode={mode}", "--set", "url=https://s.example", "--set", "trustedUserHeader=X-User")
    made = pods(helm.render(*store, *values, "--set", "nodeJobs.allowTags=true"))

    for component in ("web", "worker", "watch"):
        given = environment(made[component])
        assert given.keys() <= READERS.keys()
        settings = Settings.from_environment({**given, "SICKBAY_REDIS_URL": "redis://store:6379/0"})
        assert settings.mode == mode
        assert settings.node_jobs == (mode in {"approve", "act"})
        assert settings.url == "https://s.example"


def test_nothing_but_web_gets_the_tokens_and_the_header(helm: Helm) -> None:
    made = pods(helm.render(*STORE, "--set", "trustedUserHeader=X-User"))

    doors = {"SICKBAY_WEBHOOK_TOKEN_FILE", "SICKBAY_API_TOKEN_FILE", "SICKBAY_TRUSTED_USER_HEADER", "SICKBAY_BIND"}
    assert doors <= environment(made["web"]).keys()
    assert not doors & (environment(made["worker"]).keys() | environment(made["watch"]).keys())


def test_the_policy_and_the_catalogue_are_the_shipped_ones(helm: Helm, tmp_path: Path) -> None:
    (config,) = of_kind(helm.render(*STORE), "ConfigMap")

    policy = tmp_path / "policy.yaml"
    policy.write_text(config["data"]["policy.yaml"])
    assert policy_or_problems(policy) == policy_or_problems(ROOT / "config/policy.yaml")
    assert isinstance(policy_or_problems(policy), Policy)
    shipped = (ROOT / "config/xids.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(config["data"]["xids.yaml"]) == yaml.safe_load(shipped)


def test_a_policy_of_ones_own_is_taken_and_starts_new_pods(helm: Helm, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text((ROOT / "config/policy.yaml").read_text().replace("name: main", "name: elsewhere"))

    before, after = helm.render(*STORE), helm.render(*STORE, "--set-file", f"policy={own}")

    (config,) = of_kind(after, "ConfigMap")
    assert "name: elsewhere" in config["data"]["policy.yaml"]
    sums = [
        {one["spec"]["template"]["metadata"]["annotations"]["sickbay/policy"] for one in of_kind(objects, "Deployment")}
        for objects in (before, after)
    ]
    assert len(sums[0]) == len(sums[1]) == 1
    assert sums[0] != sums[1]


def test_the_namespace_of_node_jobs_is_the_policys(helm: Helm, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text((ROOT / "config/policy.yaml").read_text().replace("sickbay-node-jobs", "gpu-jobs"))

    objects = helm.render(*STORE, *ACT, "--set-file", f"policy={own}")

    assert [one["metadata"]["name"] for one in of_kind(objects, "Namespace")] == ["gpu-jobs"]
    assert {one["metadata"]["namespace"] for one in of_kind(objects, "Role")} == {"gpu-jobs"}


def test_a_store_over_tls_has_its_ca_mounted(helm: Helm) -> None:
    pod = pods(helm.render(*STORE, "--set", "redis.caSecret=ca"))["worker"]

    assert {"name": "redis-ca", "secret": {"secretName": "ca"}} in pod["volumes"]
    mounts = {one["mountPath"] for one in pod["containers"][0]["volumeMounts"]}
    assert "/etc/sickbay/redis-ca" in mounts


def test_the_image_is_the_charts_version_or_the_digest_that_is_given(helm: Helm) -> None:
    digest = "sha256:" + "0" * 64
    assert pods(helm.render(*STORE))["web"]["containers"][0]["image"] == "sickbay:0.1.0"
    pinned = pods(helm.render(*STORE, "--set", "image.repository=r.example/s", "--set", f"image.digest={digest}"))
    assert {pod["containers"][0]["image"] for pod in pinned.values()} == {f"r.example/s@{digest}"}


def test_the_chart_has_the_version_of_the_code() -> None:
    from app import __version__  # noqa: PLC0415 - only its text is compared

    assert yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"] == __version__


@pytest.mark.parametrize("component", ["worker", "watch"])
def test_the_probe_of_what_listens_nowhere_looks_at_the_age_of_its_file(
    helm: Helm, component: str, tmp_path: Path
) -> None:
    pod = pods(helm.render(*STORE))[component]
    (container,) = pod["containers"]
    alive = environment(pod)["SICKBAY_ALIVE_FILE"]
    program, switch, code = container["livenessProbe"]["exec"]["command"]
    assert {"name": "alive", "mountPath": str(Path(alive).parent)} in container["volumeMounts"]
    assert (program, switch) == ("python3", "-c")
    file = tmp_path / "alive"
    probe = [sys.executable, "-c", code.replace(alive, str(file))]

    assert subprocess.run(probe, check=False, capture_output=True).returncode == 1
    Alive(file).touch()
    assert subprocess.run(probe, check=False).returncode == 0
    os.utime(file, (time.time() - 400, time.time() - 400))
    assert subprocess.run(probe, check=False).returncode == 1


def test_the_notes_say_the_mode_first_and_then_the_receiver_of_the_example(helm: Helm) -> None:
    """`helm install` prints them; without a cluster only a dry run does."""
    values = ("--dry-run=client", "--namespace", "sickbay", *STORE)
    told = helm.run("install", "sickbay", str(CHART), *values)
    assert told.returncode == 0, told.stderr
    notes = told.stdout.partition("NOTES:")[2].strip()
    assert notes.startswith("Mode: observe. Sickbay decides everything and touches nothing")
    first, last = notes.index("     route:"), notes.index("\n\n3. ")
    pasted = yaml.safe_load(notes[first:last])
    example = yaml.safe_load((ROOT / "config/alertmanager.example.yaml").read_text(encoding="utf-8"))
    assert pasted["route"]["routes"] == example["route"]["routes"]
    assert pasted["receivers"] == [one for one in example["receivers"] if one["name"] == "sickbay"]
