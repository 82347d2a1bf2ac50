"""The control plane of the tests itself: it starts, knows who asks, writes down what they did, and ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.control_plane import binaries
from tests.control_plane.plane import ControlPlane


def test_it_is_the_version_that_go_mod_asks_for(control_plane: ControlPlane) -> None:
    assert control_plane.ask("GET", "/version").json()["gitVersion"] == binaries.version()


def test_who_has_no_rights_is_refused_and_the_audit_knows(control_plane: ControlPlane) -> None:
    account = {"metadata": {"name": "nobody", "namespace": "default"}}
    control_plane.ask("POST", "/api/v1/namespaces/default/serviceaccounts", account)
    token = control_plane.service_account_token("default", "nobody")

    answer = control_plane.ask("GET", "/api/v1/nodes", token=token)

    assert answer.status_code == 403
    user = "system:serviceaccount:default:nobody"
    (seen,) = control_plane.audit.requests(user=user)
    assert (seen["verb"], seen["resource"], seen["code"]) == ("list", "nodes", 403)
    assert not control_plane.audit.acts(user=user)


def test_what_a_write_sent_is_in_the_audit(control_plane: ControlPlane) -> None:
    body = {"metadata": {"name": "a-map"}, "data": {"one": "1"}}
    control_plane.ask("POST", "/api/v1/namespaces/default/configmaps", body)

    seen = control_plane.audit.acts(resource="configmaps", name="a-map")[-1]

    assert (seen["verb"], seen["namespace"], seen["code"]) == ("create", "default", 201)
    assert seen["sent"]["data"] == {"one": "1"}


def test_programs_are_found_where_envtest_users_have_them_and_else_in_the_cache(tmp_path: Path) -> None:
    assets, caches = tmp_path / "assets", tmp_path / "caches"
    environ = {"KUBEBUILDER_ASSETS": str(assets), "XDG_CACHE_HOME": str(caches)}
    own = binaries.cache(environ)
    for place in (assets / "etcd", own / "etcd", own / "kubectl"):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()

    assert binaries.found(environ) == {"etcd": assets / "etcd", "kubectl": own / "kubectl"}
    assert binaries.missing(environ) == ["kube-apiserver", "kube-controller-manager", "kube-scheduler"]


def test_another_version_is_built_into_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("go.mod", "go.sum"):
        (tmp_path / name).write_bytes((binaries.HERE / name).read_bytes())
    before = binaries.cache({"XDG_CACHE_HOME": "/caches"})
    monkeypatch.setattr(binaries, "HERE", tmp_path)
    assert binaries.cache({"XDG_CACHE_HOME": "/caches"}) == before

    (tmp_path / "go.mod").write_text((tmp_path / "go.mod").read_text().replace("v1.36.3", "v1.36.4"))

    assert binaries.cache({"XDG_CACHE_HOME": "/caches"}) != before
