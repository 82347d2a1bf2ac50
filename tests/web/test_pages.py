"""The pages: every state is shown by glyph and word, what is shown is the store's, and a poll costs nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from app.domain.faults import Fault, Gpu
from app.domain.folding import open_repair
from app.domain.operations import NodeRef, Operation, Result, State, finish
from app.domain.plans.planned import StepState
from app.domain.policies import Mode
from app.store import Change, Committed
from app.web import lanes
from tests.web.browsing import text
from tests.web.conftest import GPU_LABELS, NOON, POLICY, REBOOT, ROOT, Web, alert, body, gpu_node


def _put(web: Web, state: State = State.RUNNING, result: Result | None = None, **other: object) -> Operation:
    """An operation in this state, whatever led there."""
    number = len(web.store.operations.page(limit=500)[0]) + 1
    node = f"gpu-{number:03}"
    gpu = Gpu(serial=f"165092300{number:04}", uuid=f"GPU-{number}", index=3)
    fault = Fault(
        code="xid-79", node=node, gpu=gpu, at=web.clock.now, source="alert GpuXid", evidence="Xid 79 on GPU 3"
    )
    operation, entries = open_repair(
        fault,
        id=f"op-{number:08}",
        node=NodeRef(name=node, uid="u"),
        pool="gpu",
        ladder=REBOOT,
        now=web.clock.now,
    )
    operation = replace(operation, state=state, reason=f"Why {state}.", **other)  # type: ignore[arg-type]
    if result is not None:
        operation, _ = finish(operation, result, f"Ended as {result}.", now=web.clock.now)
    change = Change(operation=operation, expected_version=0, now=web.clock.now, entries=entries)
    assert isinstance(web.store.operations.commit(change), Committed)
    return operation


def _page(web: Web, path: str) -> str:
    answer = web.client.get(path)
    assert answer.status_code == 200, answer.text
    assert answer.mimetype == "text/html"
    return answer.text


def _text(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.mark.parametrize(
    ("state", "lane", "chip"),
    [
        (State.RUNNING, "In progress", "▸ cordon"),
        (State.WAITING, "In progress", "▸ cordon"),
        (State.HELD, "Held", "‖ held"),
        (State.NEEDS_HUMAN, "Needs you", "! needs you"),
        (State.WITH_VENDOR, "With vendor", "⇄ with vendor"),
    ],
)
def test_every_open_state_has_its_lane_its_word_and_its_reason(web: Web, state: State, lane: str, chip: str) -> None:
    operation = _put(web, state)

    for path in ("/", f"/operations/{operation.id}", f"/nodes/{operation.node.name}"):
        if path.startswith("/nodes"):
            web.know(gpu_node(operation.node.name))
        told = _text(_page(web, path))
        assert chip in told
        assert f"Why {state}." in told
    assert lane in _page(web, "/")


@pytest.mark.parametrize("result", list(Result))
def test_every_result_is_shown(web: Web, result: Result) -> None:
    operation = _put(web, result=result)

    told = _text(_page(web, "/"))
    assert f"Ended as {result}." in told
    assert f"1 {result}" in told
    assert f"Ended as {result}." in _page(web, f"/operations/{operation.id}")
    assert "No open operations." in told


def test_what_ended_over_a_day_ago_leaves_the_overview_but_keeps_its_page(web: Web) -> None:
    operation = _put(web, result=Result.RELEASED)
    web.clock.forward(timedelta(hours=25))

    assert operation.id not in _page(web, "/")
    assert "Ended as released." in _page(web, f"/operations/{operation.id}")


@pytest.mark.parametrize("step_state", list(StepState))
def test_every_state_of_a_step_is_told_in_a_word(web: Web, step_state: StepState) -> None:
    plan = _put(web).plan
    operation = _put(web, plan=(replace(plan[0], state=step_state), *plan[1:]))

    word = {"pending": "to do"}.get(step_state, str(step_state))
    assert f"cordon {word}" in _text(_page(web, f"/operations/{operation.id}"))


def test_an_operation_that_asks_shows_the_command_that_approves(web: Web) -> None:
    operation = _put(web, State.NEEDS_HUMAN, asks="cordon")

    html = _page(web, f"/operations/{operation.id}")
    assert f"<code>sickbay approve {operation.id} cordon</code>" in html
    assert "! approve" in _text(html)
    assert "<title>(1) Sickbay" in _page(web, "/")


def test_a_page_names_the_card_the_commands_and_the_plan_to_come(web: Web) -> None:
    operation = _put(web)

    html = _page(web, f"/operations/{operation.id}")
    assert 'href="/gpus/1650923000001"' in html
    assert "kubectl get pods -A -o wide --field-selector spec.nodeName=gpu-001" in html
    assert f"-l sickbay/operation={operation.id}" in html
    assert "Next: cordon, evidence, drain, reboot, diagnose, benchmark, release." in html


def test_the_page_shows_the_timelines_sentences_newest_first(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    operation = web.post(body(alert())).json["alerts"][0]["operation"]
    web.post(body(alert(gpu="5", xid="95")))
    told = [entry["text"] for entry in web.api(f"operations/{operation}")["timeline"]]

    html = _page(web, f"/operations/{operation}")
    assert len(told) == 2
    assert html.index(told[1]) < html.index(told[0])


def test_an_empty_page_tells_whether_the_pipe_is_alive(web: Web) -> None:
    silent = _text(_page(web, "/"))
    assert "? silent No open operations. No alert has come yet." in silent
    assert "The watchdog was never heard" in silent
    assert "http://localhost/webhook/alertmanager" in silent

    web.post(body(alert(labels={"alertname": "Watchdog"}), alert(labels={"alertname": "Other"})))
    for component in ("worker", "watch"):
        web.store.heartbeats.beat(component, "one", web.clock.now)
    quiet = _text(_page(web, "/"))
    assert "✓ all quiet No open operations. The last alert came 0 s ago (Other: ignore)." in quiet
    assert "1 worker alive." in quiet


@pytest.mark.parametrize(
    ("after", "told"),
    [(timedelta(minutes=1), "watchdog 1 min ago"), (timedelta(hours=1), "watchdog silent, last 1 h ago")],
)
def test_a_silent_watchdog_is_told(web: Web, after: timedelta, told: str) -> None:
    web.store.watchdog.heard(web.clock.now)
    web.clock.forward(after)

    assert told in _text(_page(web, "/"))


def test_the_strip_tells_budgets_and_modes(make_web: Callable[..., Web]) -> None:
    (pool,) = POLICY.pools
    pools = (pool, replace(pool, name="b", mode=Mode.OBSERVE), replace(pool, name="c", mode=Mode.OBSERVE))
    web = make_web(policy=replace(POLICY, pools=pools))
    web.know(*(replace(gpu_node(f"gpu-{number}"), ready=False) for number in range(3)))

    told = _text(_page(web, "/"))
    assert "mode act in 1 pool, observe in 2 pools" in told
    assert "disruptions 3 of 3" in told
    for unused in ("cordons 0 of 20", "places with the vendor 0 of 10"):
        assert unused not in told
        assert unused in _text(_page(web, "/system"))


def test_the_fleet_shows_each_node_with_what_it_is_at(web: Web) -> None:
    operation = _put(web, State.HELD)
    labels = {**GPU_LABELS, "topology.kubernetes.io/rack": "r7"}
    web.know(
        gpu_node(operation.node.name),
        replace(gpu_node("gpu-out"), unschedulable=True),
        replace(gpu_node("gpu-down"), ready=False),
        gpu_node("gpu-well", labels=labels),
        replace(gpu_node("cpu-node", labels={}), gpu_capacity=0, gpu_allocatable=0),
    )

    html = _page(web, "/")
    tiles = dict(re.findall(r'title="([a-z0-9-]+): ([^"]+)"', html))
    assert tiles == {
        operation.node.name: "held",
        "gpu-out": "cordoned, not by Sickbay",
        "gpu-down": "not ready",
        "gpu-well": "ready",
    }
    assert "rack r7" in html


def test_a_node_and_a_card_have_pages(web: Web) -> None:
    web.know(gpu_node("gpu-a01", "10.20.0.11"))
    operation = web.post(body(alert())).json["alerts"][0]["operation"]

    node = _page(web, "/nodes/gpu-a01")
    assert "8 of 8 allocatable" in node
    assert "10.20.0.11" in node
    assert operation in node
    card = _page(web, "/gpus/GPU-gpu-a01-3")
    assert "History: 1 occurrence" in card
    assert f'href="/operations/{operation}"' in card


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/nope", "Nothing is at /nope."),
        ("/operations/op-nix", "No operation &#39;op-nix&#39; is on record."),
        ("/nodes/gpu-x", "No node &#39;gpu-x&#39; is in the last inventory."),
        ("/gpus/123", "No fault of a card &#39;123&#39; is on record."),
        ("/<script>alert(1)</script>", "Nothing is at /&lt;script&gt;alert(1)&lt;/script&gt;."),
    ],
)
def test_a_page_that_is_not_there_helps_on(web: Web, path: str, told: str) -> None:
    answer = web.client.get(path)

    assert answer.status_code == 404
    assert answer.mimetype == "text/html"
    assert told in answer.text
    assert 'href="/"' in answer.text


def test_a_label_never_becomes_markup(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    name = "GPUXid<script>alert(1)</script>"
    raw = alert()
    raw["labels"] |= {"alertname": name, "DCGM_FI_DEV_SERIAL": '"><img src=x>'}
    operation = web.post(body(raw)).json["alerts"][0]["operation"]

    for path in ("/", f"/operations/{operation}"):
        assert "<script>alert" not in _page(web, path)
        assert "<img" not in _page(web, path)


def test_the_same_page_again_is_304_although_time_has_passed(web: Web) -> None:
    web.store.watchdog.heard(web.clock.now)
    for component in ("worker", "watch"):
        web.store.heartbeats.beat(component, "one", web.clock.now)
    operation = _put(web)
    for path in ("/", f"/operations/{operation.id}"):
        etag = web.client.get(path).headers["ETag"]
        web.clock.forward(timedelta(seconds=20))

        again = web.client.get(path, headers={"If-None-Match": etag})

        assert (again.status_code, again.text) == (304, "")
        assert again.headers["ETag"] == etag


def test_a_changed_page_has_another_etag(web: Web) -> None:
    etag = web.client.get("/").headers["ETag"]
    _put(web)

    again = web.client.get("/", headers={"If-None-Match": etag})

    assert again.status_code == 200
    assert again.headers["ETag"] != etag


def test_nothing_inline_and_nothing_from_elsewhere(web: Web) -> None:
    operation = _put(web, State.NEEDS_HUMAN, asks="cordon")
    web.know(gpu_node("gpu-001"))

    for path in ("/", f"/operations/{operation.id}", "/nodes/gpu-001", "/nope"):
        answer = web.client.get(path)
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'self'")
        assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son[a-z]+=|https?://(?!localhost)", answer.text)


@pytest.mark.parametrize("name", ["style.css", "live.js", "icon.svg"])
def test_static_files_are_served(web: Web, name: str) -> None:
    with web.client.get(f"/static/{name}") as answer:
        assert answer.status_code == 200


def test_a_browser_that_asks_for_an_icon_gets_one(web: Web) -> None:
    with web.client.get("/favicon.ico") as answer:
        assert answer.mimetype == "image/svg+xml"


def test_the_script_stays_small() -> None:
    assert len((ROOT / "app/web/static/live.js").read_text(encoding="utf-8").splitlines()) < 100


def test_the_overview_says_its_counts_in_one_line() -> None:
    assert lanes.counts(()) == "no open operations"
    assert lanes.lay_out((), (), NOON) == ()


def test_the_last_alerts_name_the_node_that_each_is_about(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    web.post(body(alert(), alert(node="gpu-b77", fingerprint="f2")))

    told = text(web.client.get("/").text.partition('id="alerts"')[2])

    assert "GPUXidError on gpu-a01 repair" in told
    assert "GPUXidError pending" in told


def test_the_policy_is_shown_as_loaded_with_its_lines_and_without_credentials(make_web: Callable[..., Web]) -> None:
    source = "cluster:\n  name: test\n# <b>\npower:\n  url: https://me:secret@bmc.example/hook\n"
    lowered = POLICY.lowered_to(Mode.OBSERVE)
    web = make_web(policy=lowered, policy_source=source)
    web.know(gpu_node("gpu-a01"))

    html = web.client.get("/policy").text

    assert "gpu mode observe nodes with nvidia.com/gpu.present=true ; 1 in the last inventory" in text(html)
    assert "isolate cordon and drain, then a person decides" in text(html)
    assert '<li id="L2"><a href="#L2" aria-label="Line 2">2</a><code>  name: test</code></li>' in html
    assert "https://…@bmc.example/hook" in html
    assert "secret" not in html
    assert "# &lt;b&gt;" in html


def test_the_activity_shows_what_people_ordered_and_what_alertmanager_told(web: Web) -> None:
    web.know(gpu_node("gpu-a01"))
    web.post(body(alert()))
    assert "Nobody has ordered anything." in web.client.get("/activity").text
    (operation,) = web.api("operations")["operations"]
    web.order(f"operations/{operation['id']}/cancel", "a drill")

    told = text(web.client.get("/activity").text)

    assert "api token gpu-a01 Cancelled, the node is given back as it was: a drill." in told
    assert "GPUXidError on gpu-a01 repair" in told
    assert "sickbay gpu-a01" not in told.partition("Last alerts")[0]


def test_the_system_page_says_what_is_alive_and_what_is_missing(web: Web) -> None:
    told = text(web.client.get("/system").text)
    assert "workers No worker was alive within" in told
    assert "inventory The nodes were never read" in told

    web.know(gpu_node("gpu-a01"))
    for component in ("worker", "watch"):
        web.store.heartbeats.beat(component, f"{component}-7", web.clock.now)

    told = text(web.client.get("/system").text)
    assert "complete Web, workers, watch and inventory are there." in told
    assert "worker-7" in told
    assert "cordons 0 of" in told


@pytest.mark.parametrize("path", ["/policy", "/activity", "/system"])
def test_a_page_that_stands_open_costs_nothing_while_nothing_changes(web: Web, path: str) -> None:
    etag = web.client.get(path).headers["ETag"]
    web.clock.forward(timedelta(seconds=5))

    assert web.client.get(path, headers={"If-None-Match": etag}).status_code == 304


def test_pages_elsewhere_are_linked_in_the_head_of_each_page(make_web: Callable[..., Web]) -> None:
    web = make_web(links=(("GPU board", "https://grafana.example/d/gpu?a=1&b=2"),))

    for path in ("/", "/system", "/nowhere"):
        link = '<a class="outside" href="https://grafana.example/d/gpu?a=1&amp;b=2" rel="noopener noreferrer">'
        assert f"{link}GPU board</a>" in web.client.get(path).text
