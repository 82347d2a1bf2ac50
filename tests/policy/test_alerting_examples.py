"""The examples for Prometheus and Alertmanager: what they fire is what Sickbay reads, by the field's own tools.

The tools are promtool and amtool (Debian: prometheus, prometheus-alertmanager). Without them their tests are skipped,
which CI does not allow.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.domain.policies import Policy
from app.domain.xids import read_xid
from app.policy_file import load_policy

ROOT = Path(__file__).parents[2]
RULES = ROOT / "config" / "prometheus-rules.example.yaml"
ALERTMANAGER = ROOT / "config" / "alertmanager.example.yaml"
EXAMPLES = {"prometheus-rules": RULES, "alertmanager": ALERTMANAGER}
PAGES = {page.name: page.read_text() for page in (ROOT / "README.md", ROOT / "docs" / "alertmanager.md")}
SNIPPETS = [
    (page, name, snippet)
    for page, text in PAGES.items()
    for name, snippet in re.findall(r"<!-- begin ([\w-]+) -->\n+```yaml\n(.*?)```\n+<!-- end \1 -->", text, re.DOTALL)
]

needs_amtool = pytest.mark.skipif(shutil.which("amtool") is None, reason="amtool is not installed")
needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(ROOT / "config" / "policy.yaml")


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_page_holds_both_examples() -> None:
    assert [(page, name) for page, name, _ in SNIPPETS if page == "alertmanager.md"] == [
        ("alertmanager.md", "prometheus-rules"),
        ("alertmanager.md", "alertmanager"),
    ]


def test_every_snippet_that_is_begun_is_found() -> None:
    assert sum(text.count("<!-- begin ") for text in PAGES.values()) == len(SNIPPETS)


@pytest.mark.parametrize(("page", "name", "snippet"), SNIPPETS, ids=[f"{page}-{name}" for page, name, _ in SNIPPETS])
def test_a_snippet_says_the_same_as_the_example(page: str, name: str, snippet: str) -> None:
    assert yaml.safe_load(snippet) == loaded(EXAMPLES[name])


def test_the_rule_uses_the_gauge_itself_and_waits_for_nothing() -> None:
    (rule,) = [rule for group in loaded(RULES)["groups"] for rule in group["rules"] if rule["alert"] == "SickbayXid"]
    assert rule["expr"] == "DCGM_FI_DEV_XID_ERRORS > 0"
    assert "for" not in rule


def test_the_names_of_the_rules_are_in_the_policy(policy: Policy) -> None:
    names = [rule["alert"] for group in loaded(RULES)["groups"] for rule in group["rules"]]
    assert [(policy.alerts.is_xid(name), policy.alerts.is_watchdog(name)) for name in names] == [
        (True, False),
        (False, True),
    ]


def test_the_receiver_tells_everything_with_a_token_from_a_file() -> None:
    (receiver,) = [receiver for receiver in loaded(ALERTMANAGER)["receivers"] if receiver["name"] == "sickbay"]
    (webhook,) = receiver["webhook_configs"]
    assert webhook["url"].endswith("/webhook/alertmanager")
    assert (webhook["send_resolved"], webhook["max_alerts"]) == (True, 0)
    assert webhook["http_config"]["authorization"].keys() == {"type", "credentials_file"}


def test_xids_and_the_watchdog_are_told_at_once_and_the_watchdog_often() -> None:
    xids, watchdog = loaded(ALERTMANAGER)["route"]["routes"]
    assert (xids["group_wait"], watchdog["group_wait"]) == ("0s", "0s")
    assert watchdog["repeat_interval"] == "1m"


@needs_promtool
def test_promtool_accepts_the_rules() -> None:
    run("promtool", "check", "rules", str(RULES))


@needs_promtool
def test_an_xid_of_the_exporter_fires_an_alert_that_names_it(tmp_path: Path, policy: Policy) -> None:
    gpu = {"gpu": "3", "UUID": "GPU-1", "Hostname": "gpu-004", "instance": "10.0.0.4:9400"}
    series = "DCGM_FI_DEV_XID_ERRORS{" + ",".join(f'{name}="{value}"' for name, value in gpu.items())
    alert = {**gpu, "err_code": "79", "severity": "warning"}
    (tmp_path / "test.yaml").write_text(
        yaml.safe_dump(
            {
                "rule_files": [str(RULES)],
                "evaluation_interval": "1m",
                "tests": [
                    {
                        "interval": "1m",
                        "input_series": [
                            {"series": series + ',err_code="79"}', "values": "_ 79 79"},
                            {"series": series + ',err_code="0"}', "values": "0 _ _"},
                        ],
                        "alert_rule_test": [
                            {"eval_time": "0m", "alertname": "SickbayXid", "exp_alerts": []},
                            {
                                "eval_time": "1m",
                                "alertname": "SickbayXid",
                                "exp_alerts": [
                                    {
                                        "exp_labels": alert,
                                        "exp_annotations": {"summary": "Xid 79 on GPU 3 of gpu-004"},
                                    }
                                ],
                            },
                        ],
                    }
                ],
            }
        )
    )
    run("promtool", "test", "rules", str(tmp_path / "test.yaml"))
    assert read_xid(alert) == 79


@needs_amtool
def test_amtool_accepts_the_configuration() -> None:
    run("amtool", "check-config", str(ALERTMANAGER))


@needs_amtool
def test_every_alert_that_the_policy_names_is_routed_to_sickbay_and_no_other(policy: Policy) -> None:
    names = [pattern.replace("*", ending) for pattern in policy.alerts.xid for ending in ("", "FellOffBus")]
    for name in [*names, "GPUXidError", *policy.alerts.watchdog]:
        assert routed(name) == "sickbay", name
    for name in ["GPUHighTemperature", "KubeNodeNotReady", "TestAlert"]:
        assert routed(name) == "nobody", name


def routed(name: str) -> str:
    return run("amtool", "config", "routes", "test", f"--config.file={ALERTMANAGER}", f"alertname={name}").strip()
