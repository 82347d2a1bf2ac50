from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from simulator import cluster
from simulator.actors.alert_bodies import fingerprint_of
from simulator.actors.alert_delivery import pause_after
from simulator.clock import Clock
from simulator.cluster import Cluster
from tests.simulator.conftest import eventually

# The keys of a real body of Alertmanager 0.34, in its order.
KEYS = [
    "receiver",
    "status",
    "alerts",
    "notification_reason",
    "groupLabels",
    "commonLabels",
    "commonAnnotations",
    "routeLabels",
    "externalURL",
    "version",
    "groupKey",
    "truncatedAlerts",
]
ALERT_KEYS = ["status", "labels", "annotations", "startsAt", "endsAt", "generatorURL", "fingerprint"]
LABELS = {
    "alertname",
    "severity",
    "gpu",
    "UUID",
    "pci_bus_id",
    "device",
    "modelName",
    "Hostname",
    "instance",
    "job",
    "namespace",
    "pod",
    "container",
    "prometheus",
    "err_code",
}


class Receiver:
    """A webhook that answers with the codes it is given, and with 202 when they are used up."""

    def __init__(self) -> None:
        self.bodies: list[tuple[int, str, bytes]] = []
        self.codes: list[int] = []
        receiver = self

        class Connection(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                is_watchdog = b"Watchdog" in body
                code = 202 if is_watchdog or not receiver.codes else receiver.codes.pop(0)
                receiver.bodies.append((code, self.headers.get("Authorization", ""), body))
                self.send_response(code)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in the base class
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Connection)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/webhook"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def xids(self, reason: str = "") -> list[Any]:
        """The bodies about GPUs, perhaps only those sent for this reason."""
        bodies = [json.loads(body) for _, _, body in list(self.bodies) if b"Watchdog" not in body]
        return [body for body in bodies if not reason or body["notification_reason"] == reason]

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    a_receiver = Receiver()
    yield a_receiver
    a_receiver.stop()


@pytest.fixture
def alerted(receiver: Receiver, tmp_path: Path) -> Iterator[Cluster]:
    token = tmp_path / "token"
    token.write_text("secret\n")
    exporter = ("nvidia-dcgm-exporter",)
    with cluster.start(
        speed=600, webhook_url=receiver.url, webhook_token_file=token, workloads=False, operator=exporter
    ) as a_cluster:
        yield a_cluster


def fault(a_cluster: Cluster, gpu: int = 3, xid: int = 79) -> None:
    a_cluster.machines["gpu-a03"].raise_xid(gpu, xid)
    a_cluster.alerting.look_now()


def test_a_body_has_the_form_of_the_real_one(alerted: Cluster, receiver: Receiver) -> None:
    fault(alerted)
    eventually(receiver.xids)
    _, authorization, raw = next(one for one in receiver.bodies if b"Watchdog" not in one[2])
    body = json.loads(raw)
    alert = body["alerts"][0]
    assert authorization == "Bearer secret"
    assert raw.endswith(b"}\n")
    assert list(body) == KEYS
    assert list(alert) == ALERT_KEYS
    assert set(alert["labels"]) >= LABELS
    assert (body["version"], body["status"], body["notification_reason"]) == ("4", "firing", "first notification")
    assert (alert["labels"]["err_code"], alert["labels"]["pci_bus_id"]) == ("79", "00000000:5D:00.0")
    assert alert["labels"]["cluster"] == "demo"
    assert alert["endsAt"] == "0001-01-01T00:00:00Z"
    assert alert["fingerprint"] == fingerprint_of(alert["labels"])
    assert body["groupLabels"] == {"Hostname": "gpu-a03", "alertname": "GpuXid"}


def test_the_fingerprint_is_prometheus_own() -> None:
    assert fingerprint_of({}) == "cbf29ce484222325"
    assert fingerprint_of({"b": "2", "a": "1"}) == fingerprint_of({"a": "1", "b": "2"})


def test_a_second_gpu_joins_the_group_as_a_new_alert(alerted: Cluster, receiver: Receiver) -> None:
    fault(alerted)
    eventually(receiver.xids)
    fault(alerted, gpu=4)
    body = eventually(lambda: receiver.xids("new alerts added"))[0]
    assert [one["labels"]["gpu"] for one in body["alerts"]] == ["3", "4"]
    assert "gpu" not in body["commonLabels"]


def test_a_5xx_is_tried_again_until_it_is_taken(alerted: Cluster, receiver: Receiver) -> None:
    receiver.codes = [503, 500]
    fault(alerted)
    eventually(lambda: len(receiver.xids()) == 3)
    assert [code for code, _, body in receiver.bodies if b"Watchdog" not in body] == [503, 500, 202]
    assert {body["notification_reason"] for body in receiver.xids()} == {"first notification"}


def test_the_alert_is_resolved_when_the_exporter_starts_afresh(alerted: Cluster, receiver: Receiver) -> None:
    fault(alerted)
    eventually(receiver.xids)
    alerted.machines["gpu-a03"].restart_exporter()
    body = eventually(lambda: receiver.xids("all alerts resolved"))[0]
    assert body["alerts"][0]["endsAt"] > body["alerts"][0]["startsAt"]


def test_an_alert_that_is_called_off_stays_off_while_the_gauge_still_shows_it(
    alerted: Cluster, receiver: Receiver
) -> None:
    fault(alerted)
    eventually(receiver.xids)
    assert alerted.alerting.resolve_all() == 1
    eventually(lambda: receiver.xids("all alerts resolved"))
    watchdogs = len(receiver.bodies)
    eventually(lambda: len(receiver.bodies) > watchdogs + 2)
    assert len(receiver.xids("first notification")) == 1


@pytest.mark.parametrize(
    ("code", "tries", "pause_s"),
    [(0, 1, 0.5), (503, 1, 0.5), (503, 3, 1.125), (500, 99, 60.0), (400, 1, 5.0), (401, 4, 5.0), (429, 1, 5.0)],
)
def test_only_a_5xx_or_silence_is_tried_again_soon(code: int, tries: int, pause_s: float) -> None:
    assert pause_after(code, tries, Clock(speed=60)) == pause_s


def test_the_watchdog_keeps_coming(alerted: Cluster, receiver: Receiver) -> None:
    eventually(lambda: len([1 for _, _, body in receiver.bodies if b"Watchdog" in body]) >= 3)


def test_a_flapping_alert_ends_and_comes_back_as_often_as_it_is_told(alerted: Cluster, receiver: Receiver) -> None:
    alerted.alerting.flap(alerted.machines["gpu-a03"], 3, 95, times=2)
    fault(alerted, xid=95)
    eventually(lambda: len(receiver.xids("first notification")) == 3)
    assert len(receiver.xids("all alerts resolved")) == 2
    starts = {one["alerts"][0]["startsAt"] for one in receiver.xids("first notification")}
    fingerprints = {one["alerts"][0]["fingerprint"] for one in receiver.xids()}
    assert (len(starts), len(fingerprints)) == (3, 1)


def test_a_change_of_the_recovery_action_brings_the_drivers_sentence_with_it(
    alerted: Cluster, receiver: Receiver
) -> None:
    fault(alerted, xid=79)
    fault(alerted, xid=154)
    body = eventually(lambda: [one for one in receiver.xids() if one["commonLabels"].get("err_code") == "154"])[0]
    words = "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
    assert body["commonAnnotations"]["description"] == words


def test_a_machine_that_throttles_raises_an_alert_without_an_xid(alerted: Cluster, receiver: Receiver) -> None:
    alerted.machines["gpu-a03"].hot = True
    body = eventually(receiver.xids)[0]
    assert body["commonLabels"]["alertname"] == "GpuThermalThrottling"
    assert "err_code" not in body["commonLabels"]
    alerted.machines["gpu-a03"].hot = False
    eventually(lambda: receiver.xids("all alerts resolved"))
