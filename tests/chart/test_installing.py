"""The chart on a real API server: installed, upgraded through the modes, used under its accounts, and taken away."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.domain.checkup import Grade
from app.domain.policies import Mode, Policy
from app.domain.rights import Component, needs
from app.policy_file import load_policy
from tests.chart.helm import ROOT, Helm, Object
from tests.chart.node_jobs import node_jobs
from tests.chart.release import JOBS, NAMESPACE, Release, eventually
from tests.control_plane.emptying import empty
from tests.control_plane.plane import ControlPlane
from workers.adapters.kubernetes.access import KubernetesAccess
from workers.adapters.kubernetes.manifests import manifest
from workers.adapters.kubernetes.nodes import KubernetesNodes
from workers.checkup import of_cluster

DIGEST = "@sha256:" + "5" * 64
IMAGES = {"host_image": "r.example/host", "diagnose_image": "r.example/dcgm", "benchmark_image": "r.example/nccl"}
RESTRICTED = {"metadata": {"name": "restricted", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped policy with a pool that acts, and images by digest."""
    written = yaml.safe_load((ROOT / "config/policy.yaml").read_text(encoding="utf-8"))
    written["node_jobs"] |= {key: image + DIGEST for key, image in IMAGES.items()}
    written["pools"][0]["mode"] = "act"
    path = tmp_path_factory.mktemp("policy") / "policy.yaml"
    path.write_text(yaml.safe_dump(written))
    return path


@pytest.fixture(scope="module")
def release(control_plane: ControlPlane, helm: Helm, policy: Path) -> Iterator[Release]:
    """Installed in mode act."""
    empty(control_plane)
    made = Release(control_plane, helm, policy)
    made.clear()
    made.put("install", "act")
    yield made
    made.take_away()
    empty(control_plane)


def test_each_upgrade_leaves_the_rights_of_its_mode_and_no_others(release: Release) -> None:
    mode_before = "act"
    for mode in ("observe", "cordon", "approve", "act"):
        told = release.put("upgrade", mode)
        assert f"Mode: {mode}." in told
        disrupts = mode in {"approve", "act"}
        eventually(
            lambda disrupts=disrupts: release.there(f"/api/v1/namespaces/{JOBS}") is disrupts,  # type: ignore[misc]
            f"the namespace of node jobs is not as mode {mode} has it after {mode_before}",
        )
        policies = release.ours("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies")
        assert bool(policies) is disrupts
        for component in Component:
            with release.client(component) as client:
                access = KubernetesAccess(client, JOBS)
                every = needs(component, Mode.ACT, node_jobs=True)
                wanted = set(needs(component, Mode(mode), node_jobs=True))

                def settled(access: KubernetesAccess = access, wanted: set[Any] = wanted, every: Any = every) -> bool:
                    return {need for need in every if access.allowed(need)} == wanted

                eventually(settled, f"{component} has other rights than mode {mode} needs")
        mode_before = mode


def test_tokens_and_the_password_of_the_store_are_kept_over_an_upgrade(release: Release) -> None:
    def secrets() -> dict[str, Any]:
        kept = release.ours(f"/api/v1/namespaces/{NAMESPACE}/secrets")
        return {one["metadata"]["name"]: one["data"] for one in kept}

    before = secrets()
    release.put("upgrade", "act", "--set", "logLevel=debug")

    assert secrets() == before
    assert before.keys() == {"sickbay-webhook", "sickbay-api", "sickbay-valkey"}


def test_the_pods_are_let_into_a_namespace_of_the_restricted_standard(release: Release) -> None:
    release.plane.ask("POST", "/api/v1/namespaces", RESTRICTED).raise_for_status()
    try:
        for one in release.ours(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"):
            spec = {**one["spec"]["template"]["spec"], "serviceAccountName": "default"}
            path = "/api/v1/namespaces/restricted/pods?dryRun=All"
            eventually(lambda: release.there("/api/v1/namespaces/restricted/serviceaccounts/default"), "no account")
            answer = release.plane.ask("POST", path, {"metadata": {"generateName": "try-"}, "spec": spec})
            assert answer.status_code == 201, answer.text
    finally:
        release.plane.ask("DELETE", "/api/v1/namespaces/restricted")


def test_web_may_do_nothing_at_all(release: Release) -> None:
    token = release.plane.service_account_token(NAMESPACE, "sickbay-web")

    for path in ("/api/v1/nodes", "/api/v1/pods", f"/api/v1/namespaces/{NAMESPACE}/secrets"):
        assert release.plane.ask("GET", path, token=token).status_code == 403


def test_the_doctor_finds_everything_in_place(release: Release, policy: Path) -> None:
    node = {"metadata": {"name": "gpu-doctor", "labels": {"nvidia.com/gpu.present": "true"}}}
    release.plane.ask("POST", "/api/v1/nodes", node).raise_for_status()
    with release.client(Component.WORKER) as client:
        access = KubernetesAccess(client, JOBS)
        findings = list(
            of_cluster(load_policy(policy), Component.WORKER, KubernetesNodes(client), access, node_jobs=True)
        )

    assert [finding for finding in findings if finding.grade in {Grade.BAD, Grade.UNKNOWN}] == []
    assert [finding.told for finding in findings if finding.about == "node jobs"] == [
        "The cluster would take a node job in sickbay-node-jobs."
    ]


STEPS = ("benchmark", "diagnose", "inventory", "reboot", "recovery-check", "reset")


def policy_of(path: Path) -> Policy:
    """The policy that the release was installed with."""
    return load_policy(path)


def job_of(step: str, path: Path) -> Object:
    """The Job that this step starts under this policy."""
    return manifest(node_jobs(policy_of(path))[step], JOBS)


def tried(release: Release, job: Object) -> Any:
    """What the API server answers to the worker."""
    token = release.plane.service_account_token(NAMESPACE, "sickbay-worker")
    return release.plane.ask("POST", f"/apis/batch/v1/namespaces/{JOBS}/jobs?dryRun=All", job, token=token)


@pytest.mark.parametrize("step", STEPS)
def test_the_node_job_of_each_step_is_let_in(release: Release, policy: Path, step: str) -> None:
    answer = tried(release, job_of(step, policy))

    assert answer.status_code == 201, answer.text


def pod(job: Object) -> Object:
    return dict(job["spec"]["template"]["spec"])


def other(**changes: Any) -> Callable[[Object], None]:
    """Changes the only container."""
    return lambda job: job["spec"]["template"]["spec"]["containers"][0].update(changes)


def others(**changes: Any) -> Callable[[Object], None]:
    """Changes the pod."""
    return lambda job: job["spec"]["template"]["spec"].update(changes)


def mounts(volume: Object, at: str) -> Callable[[Object], None]:
    """Puts this volume in place of what is mounted."""

    def change(job: Object) -> None:
        others(volumes=[volume])(job)
        other(volumeMounts=[{"name": volume["name"], "mountPath": at}])(job)

    return change


ROOT_VOLUME = {"name": "host", "hostPath": {"path": "/"}}
REFUSED: dict[str, tuple[str, Callable[[Object], None], str]] = {
    "another image": ("reboot", other(image="r.example/evil" + DIGEST), "No node job of Sickbay runs"),
    "the image of another step": ("reboot", other(image="r.example/dcgm" + DIGEST), "No node job of Sickbay runs"),
    "the image by tag": ("reboot", other(image="r.example/host:1"), "No node job of Sickbay runs"),
    "another command": ("reboot", other(command=["chroot", "/host", "sh"]), "No node job of Sickbay runs"),
    "one more word": ("reboot", other(command=["chroot", "/host", "systemctl", "reboot", "-f"]), "No node job"),
    "another root": ("reset", lambda job: set_word(job, 1, "/host/tmp"), "No node job of Sickbay runs"),
    "a shell in place of UUIDs": (
        "reset",
        lambda job: set_word(job, 6, "GPU-0; reboot"),
        "No node job of Sickbay runs",
    ),
    "another level": ("diagnose", lambda job: set_word(job, 4, "9"), "No node job of Sickbay runs"),
    "arguments": ("reboot", other(args=["-f"]), "its command alone"),
    "a variable": ("reboot", other(env=[{"name": "LD_PRELOAD", "value": "/host/x.so"}]), "no environment"),
    "another directory of the host": (
        "reboot",
        mounts({"name": "host", "hostPath": {"path": "/etc"}}, "/host"),
        "mounts the host only to enter it",
    ),
    "the host beside the GPUs": ("diagnose", mounts(ROOT_VOLUME, "/host"), "mounts the host only to enter it"),
    "the host at another place": ("reboot", mounts(ROOT_VOLUME, "/elsewhere"), "finds the host at /host"),
    "a secret": ("reboot", mounts({"name": "s", "secret": {"secretName": "s"}}, "/s"), "mounts the host only"),
    "the host's processes beside the GPUs": ("diagnose", others(hostPID=True), "no more of the host"),
    "the host's network": ("reboot", others(hostNetwork=True), "no more of the host"),
    "a container before it": (
        "reboot",
        others(initContainers=[{"name": "first", "image": "r.example/host" + DIGEST}]),
        "one container",
    ),
    "another account": ("reboot", others(serviceAccountName="default"), "runs as node-job"),
    "a token": ("reboot", others(automountServiceAccountToken=True), "runs as node-job"),
    "no node": ("reboot", lambda job: job["spec"]["template"]["spec"].pop("nodeName"), "bound to one node"),
    "a second try": ("reboot", lambda job: job["spec"].update(backoffLimit=1), "tried once"),
    "no deadline": ("reboot", lambda job: job["spec"].pop("activeDeadlineSeconds"), "tried once"),
}


def set_word(job: Object, place: int, word: str) -> None:
    job["spec"]["template"]["spec"]["containers"][0]["command"][place] = word


@pytest.mark.parametrize("what", REFUSED)
def test_a_job_that_is_none_of_sickbays_is_kept_out(release: Release, policy: Path, what: str) -> None:
    step, change, sentence = REFUSED[what]
    job = copy.deepcopy(job_of(step, policy))
    change(job)

    answer = tried(release, job)

    assert answer.status_code == 422, answer.text
    assert sentence in answer.json()["message"]


def test_not_even_the_administrator_may_run_a_bare_pod_there(release: Release, policy: Path) -> None:
    bare = {"metadata": {"name": "bare"}, "spec": pod(job_of("reboot", policy))}

    answer = release.plane.ask("POST", f"/api/v1/namespaces/{JOBS}/pods?dryRun=All", bare)

    assert answer.status_code == 422
    assert "must be that of a Job" in answer.json()["message"]


def test_the_pod_of_a_node_job_is_made_and_may_be_taken_away_again(release: Release, policy: Path) -> None:
    job = job_of("inventory", policy)
    job["metadata"]["name"] = job["spec"]["template"]["metadata"]["labels"]["sickbay/node-job"] = "op-1-made"
    token = release.plane.service_account_token(NAMESPACE, "sickbay-worker")
    jobs, pods = f"/apis/batch/v1/namespaces/{JOBS}/jobs", f"/api/v1/namespaces/{JOBS}/pods"
    release.plane.ask("POST", jobs, job, token=token).raise_for_status()

    eventually(lambda: bool(release.plane.ask("GET", pods).json()["items"]), "the Job makes no pod")

    release.plane.ask("DELETE", f"{jobs}/op-1-made?propagationPolicy=Background", token=token).raise_for_status()
    eventually(lambda: not release.there(f"{jobs}/op-1-made"), "the Job does not go")


def test_uninstalling_leaves_nothing_of_it(release: Release) -> None:
    release.take_away()

    for path in (
        "/api/v1/namespaces",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
        f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments",
        f"/api/v1/namespaces/{NAMESPACE}/secrets",
        f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts",
    ):
        assert release.ours(path) == [], path
    release.put("install", "act")
