"""Structured logs: one event per fact, one JSON object a line on standard error; columns when a person watches.

    log = structlog.get_logger(__name__)
    log.info("node cordoned", node=name, reason=sentence)

An event is a short fixed phrase, so that it can be searched for; what varies stands in keys. Standard library loggers
(gunicorn, rq, urllib3) come out in the same form. Secrets never become a key; nothing here could tell one.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

import structlog
from structlog.typing import EventDict, Processor

_QUIET: Final = ("urllib3", "kubernetes.client.rest", "werkzeug")
"""Libraries that tell of every request; heard from warnings on."""


def configure(component: str, level: str = "info", *, stream: TextIO | None = None) -> None:
    """Set up logging for this process. Called once, by the command that runs it; calling again replaces it.

    `component` is web, worker, watch or the command's name, and stands in every line. `level` is one of
    `app.settings.LOG_LEVELS`. `stream` is standard error as it is now, unless given.
    """
    out = sys.stderr if stream is None else stream
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.processors.StackInfoRenderer(),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        # Tests and the demo configure more than once in a process; a cached logger would keep the first stream.
        cache_logger_on_first_use=False,
    )
    sink = logging.StreamHandler(out)
    sink.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.ExtraAdder()],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _in_reading_order(component),
                *_rendering(out),
            ],
        )
    )
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(sink)
    root.setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


@contextmanager
def about(**keys: str) -> Iterator[None]:
    """Put the keys into every event inside the block, whichever module logs it.

    An operation's id goes in so: `with about(operation=operation.id, node=operation.node.name): ...`
    """
    with structlog.contextvars.bound_contextvars(**keys):
        yield


def _in_reading_order(component: str) -> Processor:
    """When, how grave, who, what; then what varies, as it was given."""

    def order(_logger: object, _method: str, event: EventDict) -> EventDict:
        first = {"at": event.pop("at"), "level": event.pop("level"), "component": component}
        return {**first, "event": event.pop("event"), **event}

    return order


def _rendering(out: TextIO) -> list[Processor]:
    if out.isatty():
        return [structlog.dev.ConsoleRenderer(timestamp_key="at", exception_formatter=structlog.dev.plain_traceback)]
    # Local variables stay out of tracebacks: they may be tokens, and they make a line of a page.
    frames = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    return [
        structlog.processors.ExceptionRenderer(frames),
        structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
    ]
