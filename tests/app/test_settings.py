from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from app.errors import ConfigurationError
from app.settings import READERS, Settings

PASSWORD = "opensesame"


def test_an_empty_environment_gives_the_defaults() -> None:
    assert Settings.from_environment({}) == Settings()


def test_an_empty_value_counts_as_unset() -> None:
    assert Settings.from_environment({"SICKBAY_POLICY": " ", "SICKBAY_MODE": ""}) == Settings()


def test_every_setting_is_read_from_its_own_name() -> None:
    settings = Settings.from_environment(
        {
            "SICKBAY_REDIS_URL": "rediss://valkey.example.org:6380/1",
            "SICKBAY_POLICY": "/etc/sickbay/policy.yaml",
            "SICKBAY_MODE": "cordon",
            "SICKBAY_NODE_JOBS": "off",
            "SICKBAY_POD_UID": "0d1f8a7e-7d3c-4a4e-9d55-6a0c4d9d2f10",
            "SICKBAY_WEBHOOK_TOKEN_FILE": "/run/secrets/webhook",
            "SICKBAY_API_TOKEN_FILE": "/run/secrets/api",
            "SICKBAY_TRUSTED_USER_HEADER": "X-Forwarded-User",
            "SICKBAY_BIND": "[::]:9000",
            "SICKBAY_URL": "https://sickbay.example.org/",
            "SICKBAY_LOG_LEVEL": "debug",
            "SICKBAY_ALIVE_FILE": "/run/sickbay/alive",
        }
    )

    assert settings == Settings(
        redis_url="rediss://valkey.example.org:6380/1",
        policy=Path("/etc/sickbay/policy.yaml"),
        mode="cordon",
        node_jobs=False,
        webhook_token_file=Path("/run/secrets/webhook"),
        api_token_file=Path("/run/secrets/api"),
        trusted_user_header="X-Forwarded-User",
        bind="[::]:9000",
        url="https://sickbay.example.org",
        pod_uid="0d1f8a7e-7d3c-4a4e-9d55-6a0c4d9d2f10",
        log_level="debug",
        alive_file=Path("/run/sickbay/alive"),
    )


def test_every_field_has_a_reader_or_is_the_list_of_unknown_names() -> None:
    assert {name for name, _ in READERS.values()} | {"unknown"} == {field.name for field in fields(Settings)}


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("SICKBAY_MODE", "actt", "observe, cordon, approve, act"),
        ("SICKBAY_NODE_JOBS", "false", "on, off"),
        ("SICKBAY_POD_UID", "sickbay/worker-1", "metadata.uid"),
        ("SICKBAY_LOG_LEVEL", "loud", "debug, info, warning, error"),
        ("SICKBAY_REDIS_URL", f"http://:{PASSWORD}@valkey:6379", "redis://"),
        ("SICKBAY_TRUSTED_USER_HEADER", "X Forwarded User", "X-Forwarded-User"),
        ("SICKBAY_TRUSTED_USER_HEADER", "X_Forwarded_User", "X-Forwarded-User"),
        ("SICKBAY_TRUSTED_USER_HEADER", "Authorization", "X-Forwarded-User"),
        ("SICKBAY_BIND", "8080", "0.0.0.0:8080"),
        ("SICKBAY_BIND", "0.0.0.0:http", "0.0.0.0:8080"),
        ("SICKBAY_BIND", "0.0.0.0:70000", "0.0.0.0:8080"),
        ("SICKBAY_URL", "sickbay.example.org", "https://"),
        ("SICKBAY_URL", "https://", "https://"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_with_what_would_be_right(name: str, value: str, remedy: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings.from_environment({name: value})

    assert str(caught.value).startswith(f"{name}: ")
    assert remedy in str(caught.value)
    assert PASSWORD not in str(caught.value)


def test_unknown_names_stop_nothing_and_are_told() -> None:
    settings = Settings.from_environment({"SICKBAY_REDIS_URI": "redis://valkey", "HOME": "/root"})

    assert settings.unknown == ("SICKBAY_REDIS_URI",)


def test_what_kubernetes_tells_of_a_service_named_sickbay_is_no_unknown_name() -> None:
    links = {
        "SICKBAY_SERVICE_HOST": "10.96.0.7",
        "SICKBAY_SERVICE_PORT": "80",
        "SICKBAY_SERVICE_PORT_HTTP": "80",
        "SICKBAY_PORT": "tcp://10.96.0.7:80",
        "SICKBAY_PORT_80_TCP": "tcp://10.96.0.7:80",
        "SICKBAY_PORT_80_TCP_ADDR": "10.96.0.7",
        "SICKBAY_WEB_PORT_80_TCP_PROTO": "tcp",
    }

    assert Settings.from_environment(links) == Settings()


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        (Settings.require_redis_url, "SICKBAY_REDIS_URL"),
        (Settings.require_webhook_token_file, "SICKBAY_WEBHOOK_TOKEN_FILE"),
        (Settings.require_api_token_file, "SICKBAY_API_TOKEN_FILE"),
    ],
)
def test_what_a_process_cannot_do_without_is_asked_for_by_name(ask: Callable[[Settings], object], name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}: This setting is needed and not set"):
        ask(Settings())


def test_what_is_set_is_given() -> None:
    settings = Settings(redis_url="redis://valkey:6379/0", webhook_token_file=Path("a"), api_token_file=Path("b"))

    assert settings.require_redis_url() == "redis://valkey:6379/0"
    assert settings.require_webhook_token_file() == Path("a")
    assert settings.require_api_token_file() == Path("b")


def test_the_password_in_the_redis_url_is_not_shown() -> None:
    assert PASSWORD not in repr(Settings(redis_url=f"redis://:{PASSWORD}@valkey:6379/0"))


def test_links_have_names_with_spaces_and_addresses_of_the_web_only() -> None:
    given = "Runbook=https://wiki.example/a=b?c=d  GPU_board=http://grafana.example/"
    links = Settings.from_environment({"SICKBAY_LINKS": given}).links

    assert links == (("Runbook", "https://wiki.example/a=b?c=d"), ("GPU board", "http://grafana.example/"))


@pytest.mark.parametrize("given", ["Runbook", "=https://x.example", "Runbook=javascript:alert(1)", "Runbook=", "a=//x"])
def test_what_is_no_link_stops_the_start(given: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^SICKBAY_LINKS: "):
        Settings.from_environment({"SICKBAY_LINKS": given})
