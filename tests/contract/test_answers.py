"""What the API server's answers mean, code by code."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.domain.effects import PatchNode
from app.errors import ConfigurationError, PermanentPortError, PortError, TemporaryPortError
from tests.contract.server import DRIP_S, Told, telling
from workers.adapters.kubernetes.answers import LONGEST_PAUSE, Answer, Right, error_of
from workers.adapters.kubernetes.client import connect
from workers.adapters.kubernetes.evictions import refusal_of
from workers.adapters.kubernetes.nodes import KubernetesNodes
from workers.ports import NodeChangedError, Refusal

NOW = datetime(2026, 9, 20, 9, 41, tzinfo=UTC)
RIGHT = Right("patch", "nodes")
BUDGET = {"reason": "DisruptionBudget", "message": "The disruption budget web needs 2 healthy pods and has 2 currently"}
NAMESPACE_ENDS = {"reason": "NamespaceTerminating", "message": "namespace default is being terminated"}
PROCESSED = {**BUDGET, "message": "The disruption budget web is still being processed by the server."}
TWO_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def answer(code: int, body: object, **headers: str) -> Answer:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return Answer(code, {name.replace("_", "-"): value for name, value in headers.items()}, raw)


def status(message: str = "", *, reason: str = "", causes: list[dict[str, str]] | None = None) -> dict[str, Any]:
    return {"kind": "Status", "reason": reason, "message": message, "details": {"causes": causes}}


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (answer(401, status("Unauthorized")), TemporaryPortError, "credentials"),
        (answer(403, status('nodes "x" is forbidden')), PermanentPortError, "the right 'patch' on 'nodes' is missing"),
        (answer(400, status("bad")), PermanentPortError, "refuses to patch nodes (400): bad"),
        (answer(415, status("no")), PermanentPortError, "415"),
        (answer(422, status("invalid")), PermanentPortError, "422"),
        (answer(408, status("late")), TemporaryPortError, "408"),
        (answer(409, status("conflict")), TemporaryPortError, "409"),
        (answer(429, status("busy")), TemporaryPortError, "patience"),
        (answer(500, "upstream connect error"), TemporaryPortError, "upstream connect error"),
        (answer(503, b"\xff\xfe".decode("latin-1")), TemporaryPortError, "503"),
        (answer(504, ""), TemporaryPortError, "no reason given"),
        (answer(302, ""), TemporaryPortError, "302"),
    ],
)
def test_a_failed_answer_is_temporary_or_permanent(given: Answer, kind: type[PortError], words: str) -> None:
    error = error_of(given, RIGHT)

    assert type(error) is kind
    assert words in str(error)


@pytest.mark.parametrize(
    ("given", "pause"),
    [
        (answer(429, status(), retry_after="7"), timedelta(seconds=7)),
        (answer(429, {"details": {"retryAfterSeconds": 3}}), timedelta(seconds=3)),
        (answer(503, "", retry_after="9999999999999999"), LONGEST_PAUSE),
        (answer(503, "", retry_after="Fri, 31 Dec 1999 23:59:59 GMT"), None),
        (answer(503, "", retry_after="0"), None),
        (answer(503, ""), None),
    ],
)
def test_a_pause_that_the_server_asks_for_is_passed_on(given: Answer, pause: timedelta | None) -> None:
    error = error_of(given, RIGHT)

    assert isinstance(error, TemporaryPortError)
    assert error.retry_after == pause


@pytest.mark.parametrize(
    "given",
    [
        answer(201, {"kind": "Status", "status": "Success"}),
        answer(404, status(reason="NotFound")),
        answer(409, status("Precondition failed: UID in precondition: a, UID in object meta: b", reason="Conflict")),
    ],
)
def test_an_eviction_is_done_when_accepted_or_when_that_pod_is_gone(given: Answer) -> None:
    assert refusal_of(given, "default", "web-1", NOW) is None


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        (
            answer(429, status(causes=[BUDGET])),
            Refusal(
                reason="Budget default/web does not allow the eviction of default/web-1 now: "
                "it needs 2 healthy pods and has 2 currently."
            ),
        ),
        (
            answer(429, status(causes=[PROCESSED]), retry_after="10"),
            Refusal(
                reason="Budget default/web does not allow the eviction of default/web-1 now: "
                "it is still being processed by the server.",
                retry_at=NOW + timedelta(seconds=10),
            ),
        ),
        (
            answer(429, status("Cannot evict pod.", causes=[{"reason": "DisruptionBudget"}])),
            Refusal(reason="A budget does not allow the eviction of default/web-1 now: Cannot evict pod."),
        ),
        (
            answer(500, status(TWO_BUDGETS)),
            Refusal(
                reason="default/web-1 is under more than one PodDisruptionBudget, so it can never be evicted.",
                never=True,
            ),
        ),
        (
            answer(403, status("forbidden: unable to create new content", causes=[NAMESPACE_ENDS])),
            Refusal(reason="Namespace default is being deleted, and web-1 with it."),
        ),
    ],
)
def test_a_refusal_is_a_sentence_that_names_what_keeps_the_pod(given: Answer, refusal: Refusal) -> None:
    assert refusal_of(given, "default", "web-1", NOW) == refusal


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (answer(429, status("too many requests"), retry_after="7"), TemporaryPortError, "too many requests"),
        (answer(409, status("modified", reason="Conflict")), TemporaryPortError, "default/web-1 met a change"),
        (answer(500, "upstream connect error"), TemporaryPortError, "upstream connect error"),
        (answer(403, status("forbidden")), PermanentPortError, "the right 'create' on 'pods/eviction' is missing"),
    ],
)
def test_an_eviction_that_failed_is_no_refusal(given: Answer, kind: type[PortError], words: str) -> None:
    with pytest.raises(kind, match=words):
        refusal_of(given, "default", "web-1", NOW)


@pytest.mark.parametrize(
    ("told", "error"),
    [
        (Told(404, status("gone")), NodeChangedError),
        (Told(409, status("modified")), NodeChangedError),
        (Told(422, status("immutable", causes=[{"field": "metadata.uid"}])), NodeChangedError),
        (Told(422, status("invalid", causes=[{"field": "metadata.labels"}])), PermanentPortError),
        (Told(403, status("no")), PermanentPortError),
        (Told(500, status("no")), TemporaryPortError),
    ],
)
def test_a_patch_of_a_node_tells_change_from_failure(tmp_path: Path, told: Told, error: type[Exception]) -> None:
    patch = PatchNode(key="k", node="gpu-a01", uid="u", resource_version="7", body={"spec": {"unschedulable": True}})

    with telling(tmp_path, told) as (client, server), pytest.raises(error):
        KubernetesNodes(client).patch(patch)

    (asked,) = server.asked
    assert asked.headers["content-type"] == "application/merge-patch+json"
    assert asked.headers["authorization"] == "Bearer a-token"
    assert asked.body == {"metadata": {"uid": "u", "resourceVersion": "7"}, "spec": {"unschedulable": True}}


def test_a_read_on_a_connection_that_was_closed_is_asked_once_more(tmp_path: Path) -> None:
    with telling(tmp_path, Told(hang_up=True), Told(404, {})) as (client, server):
        assert KubernetesNodes(client).get("gpu-a01") is None

    assert len(server.asked) == 2


def test_a_write_whose_answer_was_lost_is_not_sent_again(tmp_path: Path) -> None:
    patch = PatchNode(key="k", node="gpu-a01", uid="u", resource_version="7", body={})

    with telling(tmp_path, Told(hang_up=True)) as (client, server), pytest.raises(TemporaryPortError, match="did not"):
        KubernetesNodes(client).patch(patch)

    assert len(server.asked) == 1


@pytest.mark.parametrize("in_a_file", [False, True])
def test_a_token_that_was_replaced_is_read_when_the_old_one_is_refused(tmp_path: Path, in_a_file: bool) -> None:
    config, token = tmp_path / "kubeconfig", tmp_path / "token"
    with telling(tmp_path, Told(401, status("Unauthorized")), Told(404, {})) as (_, server):
        if in_a_file:
            token.write_text("a-token")
            config.write_text(config.read_text().replace("token: a-token", f"tokenFile: {token}"))
        changing = token if in_a_file else config
        server.after(1, lambda: changing.write_text(changing.read_text().replace("a-token", "the-next")))
        client = connect(config)

        assert KubernetesNodes(client).get("gpu-a01") is None
        assert KubernetesNodes(client).get("gpu-a01") is None

        client.close()
    assert [asked.headers["authorization"] for asked in server.asked] == [
        "Bearer a-token",
        "Bearer the-next",
        "Bearer the-next",
    ]


def test_a_token_that_is_still_the_same_is_not_tried_again(tmp_path: Path) -> None:
    with (
        telling(tmp_path, Told(401, status("Unauthorized"))) as (client, server),
        pytest.raises(TemporaryPortError, match="does not accept our credentials"),
    ):
        KubernetesNodes(client).get("gpu-a01")

    assert len(server.asked) == 1


def test_an_api_server_that_cannot_be_reached_is_temporary(tmp_path: Path) -> None:
    with telling(tmp_path, Told()) as (client, _):
        pass

    with pytest.raises(TemporaryPortError, match="did not answer to get nodes"):
        KubernetesNodes(client).get("gpu-a01")


def test_an_answer_that_comes_byte_by_byte_is_not_waited_for_beyond_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No single wait is long; the limit is for all of them together, since a claim outlasts one call and no more."""
    monkeypatch.setattr("workers.adapters.kubernetes.client.ANSWER_S", 10 * DRIP_S)

    with (
        telling(tmp_path, Told(200, dripping=True)) as (client, _),
        pytest.raises(TemporaryPortError, match=r"did not answer to get nodes: .*(timed out|did not end)"),
    ):
        KubernetesNodes(client).get("gpu-a01")


def test_a_page_of_a_proxy_is_no_node(tmp_path: Path) -> None:
    with telling(tmp_path, Told(200, b"<html>sign in</html>")) as (client, _), pytest.raises(TemporaryPortError):
        KubernetesNodes(client).get("gpu-a01")


def test_a_throttled_call_is_not_slept_over(tmp_path: Path) -> None:
    throttled = Told(429, status("busy"), {"Retry-After": "30"})

    with telling(tmp_path, throttled) as (client, server), pytest.raises(TemporaryPortError) as raised:
        KubernetesNodes(client).get("gpu-a01")

    assert raised.value.retry_after == timedelta(seconds=30)
    assert len(server.asked) == 1


def test_lists_are_read_page_by_page(tmp_path: Path) -> None:
    def page(name: str, rest: str) -> dict[str, Any]:
        return {"metadata": {"continue": rest}, "items": [{"metadata": {"name": name, "uid": name}}]}

    with telling(tmp_path, Told(200, page("a", "more")), Told(200, page("b", ""))) as (client, server):
        assert [node.name for node in KubernetesNodes(client).all()] == ["a", "b"]

    assert "continue=more" in server.asked[1].path


def test_pages_that_expired_midway_are_begun_anew_later(tmp_path: Path) -> None:
    with (
        telling(tmp_path, Told(410, status("too old"))) as (client, _),
        pytest.raises(TemporaryPortError, match="anew"),
    ):
        KubernetesNodes(client).all()


def test_a_kubeconfig_that_is_not_there_is_a_wrong_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="KUBECONFIG"):
        connect(tmp_path / "absent")
