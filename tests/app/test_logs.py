from __future__ import annotations

import io
import json
import logging
from collections.abc import Generator
from typing import Any

import pytest
import structlog

from app import logs


class Terminal(io.StringIO):
    """A stream that a person watches."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Generator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_json_object_with_time_level_component_and_keys() -> None:
    stream = io.StringIO()
    logs.configure("worker", stream=stream)

    structlog.get_logger("workers.engine").info("node cordoned", node="gpu-a01")

    (line,) = lines(stream)
    assert line.pop("at").endswith("Z")
    assert line == {
        "level": "info",
        "component": "worker",
        "event": "node cordoned",
        "node": "gpu-a01",
        "logger": "workers.engine",
    }


def test_the_operation_stands_in_every_event_inside_its_block_and_in_none_after_it() -> None:
    stream = io.StringIO()
    logs.configure("worker", stream=stream)
    log = structlog.get_logger()

    with logs.about(operation="op-7"):
        log.info("inside")
        logging.getLogger("rq.worker").warning("inside a %s", "library")
    log.info("after")

    assert [(line["event"], line.get("operation")) for line in lines(stream)] == [
        ("inside", "op-7"),
        ("inside a library", "op-7"),
        ("after", None),
    ]


def test_what_is_below_the_level_is_not_written() -> None:
    stream = io.StringIO()
    logs.configure("web", "warning", stream=stream)

    structlog.get_logger().info("quiet")
    logging.getLogger("gunicorn").info("quiet")
    structlog.get_logger().warning("loud")

    assert [line["event"] for line in lines(stream)] == ["loud"]


def test_configuring_again_replaces_and_does_not_double() -> None:
    first, second = io.StringIO(), io.StringIO()
    log = structlog.get_logger()
    logs.configure("web", stream=first)
    logs.configure("web", stream=second)

    log.info("once")

    assert (first.getvalue(), len(lines(second))) == ("", 1)


def test_a_traceback_is_structured_and_shows_no_local_variable() -> None:
    stream = io.StringIO()
    logs.configure("web", stream=stream)
    token = "opensesame"

    try:
        ().index(len(token))
    except ValueError:
        structlog.get_logger().exception("request failed")

    (line,) = lines(stream)
    assert line["exception"][0]["exc_type"] == "ValueError"
    assert token not in stream.getvalue()


def test_a_person_at_a_terminal_sees_columns_and_no_json() -> None:
    stream = Terminal()
    logs.configure("web", stream=stream)

    structlog.get_logger().info("node cordoned", node="gpu-a01")

    assert "node cordoned" in stream.getvalue()
    assert not stream.getvalue().startswith("{")
