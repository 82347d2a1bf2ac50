"""An end in order, whichever signal asks for it: Ctrl-C, SIGTERM, or a terminal that was closed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """A signal asks for the end; `number` is the signal's. No Exception, since nobody may take it for a failure."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def exit_code(self) -> int:
        """As a shell tells that a signal ended a program."""
        return 128 + self.number


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Within the block, the first of these signals raises `Ended`. Only in the main thread.

    Later ones change nothing: what is cleaned up on the way out is cleaned up whole, and every part of that is bounded.
    """
    before = {one: signal.signal(one, _end) for one in ENDING}
    try:
        yield
    finally:
        for one, there in before.items():
            signal.signal(one, there)


@contextmanager
def put_off() -> Iterator[None]:
    """Within the block no signal raises `Ended`; one that comes does at its end.

    For the moment between the start of a process and the note of it by which it is ended. Blocks do not nest.
    """
    if threading.current_thread() is not threading.main_thread():  # no signal raises anything there
        yield
        return
    _waiting.clear()
    _waiting.append(None)
    try:
        yield
    finally:
        came = [number for number in _waiting if number is not None]
        _waiting.clear()
    if came:
        _end(came[0], None)


_waiting: list[int | None] = []
"""Empty outside of `put_off`; within, a None, and after it the signals that came."""


def _end(number: int, _frame: FrameType | None) -> None:
    if _waiting:
        _waiting.append(number)
        return
    for one in ENDING:
        signal.signal(one, signal.SIG_IGN)
    if number == signal.SIGHUP:  # nobody reads any more, and a write would fail
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    raise Ended(number)
