from __future__ import annotations

import os
import signal
import threading

import pytest

from simulator.signals import Ended, ended_by_signals, put_off


def test_a_signal_that_comes_while_it_is_put_off_ends_at_the_end_of_the_block() -> None:
    noted: list[str] = []

    def start() -> None:
        with put_off():
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)
            noted.append("the process that was started")
        noted.append("went on")

    with ended_by_signals(), pytest.raises(Ended) as ended:
        start()
    assert noted == ["the process that was started"]
    assert ended.value.number == signal.SIGTERM


def test_a_signal_after_it_ends_at_once() -> None:
    with put_off():
        pass
    with ended_by_signals(), pytest.raises(Ended) as ended:
        os.kill(os.getpid(), signal.SIGINT)
    assert ended.value.number == signal.SIGINT


def test_another_thread_puts_nothing_off() -> None:
    inside, over = threading.Event(), threading.Event()

    def held() -> None:
        with put_off():
            inside.set()
            over.wait(30)

    thread = threading.Thread(target=held)
    thread.start()
    try:
        assert inside.wait(30)
        with ended_by_signals(), pytest.raises(Ended):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        over.set()
        thread.join()
