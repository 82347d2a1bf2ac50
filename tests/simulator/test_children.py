from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simulator import children
from simulator.children import Child
from tests.simulator.conftest import eventually

DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
SLEEPER = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
PARENT_OF_ONE = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SLEEPER!r}])"


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_child_that_takes_no_sigterm_is_killed_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "STOP_S", 1)
    child = Child([sys.executable, "-c", DEAF], log=tmp_path / "log")
    eventually(lambda: "deaf" in child.log.read_text())
    began = time.monotonic()
    child.stop()
    assert time.monotonic() - began < 10
    assert not alive(child.pid)


def test_a_child_that_hears_ends_at_once_and_can_be_stopped_twice(tmp_path: Path) -> None:
    child = Child([sys.executable, "-c", "import time; time.sleep(600)"], log=tmp_path / "log")
    assert child.alive
    began = time.monotonic()
    child.stop()
    child.stop()
    assert time.monotonic() - began < children.STOP_S
    assert not alive(child.pid)


def test_what_the_child_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    child = Child([sys.executable, "-c", PARENT_OF_ONE], log=tmp_path / "log")
    grandchild = int(eventually(child.log.read_text))
    child.kill()
    eventually(lambda: not alive(grandchild))


def test_a_keeper_that_was_stopped_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "STOP_S", 0)
    monkeypatch.setattr(children, "_MARGIN_S", 0.5)
    child = Child([sys.executable, "-c", "import time; time.sleep(600)"], log=tmp_path / "log")
    keeper = os.getpgid(child.pid)
    os.kill(keeper, signal.SIGSTOP)
    child.stop()
    eventually(lambda: not alive(keeper) and not child.alive)


@pytest.mark.sigkill
def test_a_deaf_child_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from simulator import children
children.STOP_S = 1
child = children.Child([sys.executable, "-c", {DEAF!r}], log=Path({str(tmp_path / "log")!r}))
while "deaf" not in child.log.read_text():
    pass
print(child.pid, flush=True)
sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert alive(pid)
        parent.send_signal(signal.SIGKILL)
    eventually(lambda: not alive(pid))
