"""The web application on a real Valkey, with its clock in the test's hands, and the nodes that alerts speak of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from rq import Queue
from rq.serializers import JSONSerializer

from app.domain.facts import NodeView
from app.domain.policies import AlertNames, ClusterName, Mode, Policy, Pool, Rung
from app.domain.xids import XidClass
from app.queue import QUEUES, WorkQueues
from app.store import Store, connect
from app.web import Parts, create_app
from app.xid_file import load_xids
from simulator.valkey import EmbeddedValkey

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests" / "samples"
NOON = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)
TOKEN = "webhook-token-one"
API_TOKEN = "api-token-number-one"
GPU_LABELS = {"nvidia.com/gpu.present": "true"}

CATALOGUE = load_xids(ROOT / "config" / "xids.yaml")
REBOOT = (Rung(rung="reboot"),)
POLICY = Policy(
    cluster=ClusterName(name="test"),
    alerts=AlertNames(xid=("GpuXid*", "GPUXid*")),
    pools=(Pool(name="gpu", selector=GPU_LABELS, mode=Mode.ACT),),
    ladders={XidClass.RESET: REBOOT, XidClass.REBOOT: REBOOT, XidClass.ISOLATE: ()},
    own_acts={},
)


@dataclass
class Clock:
    """Stands still until a test moves it."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now

    def forward(self, span: timedelta) -> None:
        self.now += span


@dataclass
class Web:
    """The application as its callers see it, and what lies behind it."""

    parts: Parts
    client: FlaskClient
    clock: Clock
    tokens: Path
    api_tokens: Path

    @property
    def store(self) -> Store:
        return self.parts.store

    def post(self, body: Any, token: str | None = TOKEN) -> Any:
        """Deliver a body as Alertmanager does; the client's answer, whose JSON any test may look into."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.client.post("/webhook/alertmanager", data=raw, content_type="application/json", headers=headers)

    def order(self, path: str, reason: object = "because", token: str | None = API_TOKEN, **seen: object) -> Any:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.client.post(f"/api/v1/{path}", json={"reason": reason, **seen}, headers=headers)

    def api(self, path: str) -> Any:
        answer = self.client.get(f"/api/v1/{path}")
        assert answer.status_code == 200, answer.text
        return answer.json

    def know(self, *nodes: NodeView, exporter_pods: dict[str, str] | None = None) -> None:
        """Write the inventory as the watch would."""
        pools = {node.name: pool.name for node in nodes if (pool := self.parts.policy.pool_of(node.labels))}
        self.store.inventory.write(nodes, pools, exporter_pods or {}, (), at=self.clock.now)

    def jobs(self) -> list[tuple[str, str, list[str]]]:
        """Queue, function and ids of all that waits."""
        redis = self.parts.queues._redis
        queues = [Queue(name, connection=redis, serializer=JSONSerializer) for name in QUEUES]
        return [(queue.name, str(job.func_name), list(job.args[0])) for queue in queues for job in queue.jobs]


def gpu_node(name: str, *addresses: str, labels: dict[str, str] | None = None, uid: str = "") -> NodeView:
    return NodeView(
        name=name,
        uid=uid or f"uid-{name}",
        resource_version="1",
        labels=GPU_LABELS if labels is None else labels,
        addresses=addresses,
        gpu_capacity=8,
        gpu_allocatable=8,
        boot_id="boot-1",
    )


def alert(node: str = "gpu-a01", xid: str = "79", gpu: str = "3", **other: Any) -> dict[str, Any]:
    """One alert; keyword arguments replace members."""
    labels = {"alertname": "GPUXidError", "err_code": xid, "gpu": gpu, "Hostname": node}
    labels["UUID"] = f"GPU-{node}-{gpu}"
    return {
        "status": "firing",
        "labels": labels,
        "annotations": {},
        "startsAt": "2026-09-20T11:59:30Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus.example/graph",
        "fingerprint": f"{node}-{xid}-{gpu}",
        **other,
    }


def body(*alerts: object, **other: object) -> dict[str, object]:
    """A message of Alertmanager with these alerts."""
    return {"version": "4", "groupKey": "{}:{}", "truncatedAlerts": 0, "status": "firing", "alerts": alerts, **other}


def case(name: str) -> Any:
    return json.loads((SAMPLES / "bodies" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture
def make_web(store: Store, valkey: EmbeddedValkey, tmp_path: Path) -> Iterator[Callable[..., Web]]:
    """Builds an application; keyword arguments replace its parts."""
    tokens, api_tokens = tmp_path / "webhook-tokens", tmp_path / "api-tokens"
    tokens.write_text(f"{TOKEN}\n")
    api_tokens.write_text(f"{API_TOKEN}\n")
    redis = connect(valkey.url, decode=False)

    def make(**given: Any) -> Web:
        clock = Clock()
        values: dict[str, Any] = {
            "store": store,
            "queues": WorkQueues(redis),
            "policy": POLICY,
            "catalogue": CATALOGUE,
            "webhook_tokens": tokens,
            "api_tokens": api_tokens,
            "now": clock,
        }
        parts = Parts(**{**values, **given})
        app = create_app(parts)
        app.testing = True
        return Web(parts, app.test_client(), clock, tokens, api_tokens)

    yield make
    redis.close()


@pytest.fixture
def web(make_web: Callable[..., Web]) -> Web:
    return make_web()


def decisions(answer: Any) -> Sequence[str]:
    assert answer.status_code == 202, answer.text
    return [one["decision"] for one in answer.json["alerts"]]
