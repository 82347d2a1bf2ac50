"""Child processes that end with their parent, however that dies: for the demo, the benches and the tests.

A small shell between the two, the keeper, waits on a pipe from the parent. When the pipe closes it sends SIGTERM to the
child, after `STOP_S` SIGKILL, and at last ends whatever the child has left in their common process group.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

STOP_S = 10
"""Seconds from SIGTERM to SIGKILL."""
_MARGIN_S = 5.0  # for the keeper's own work, on a machine that is busy

# File descriptor 3 is the way back to the parent, and is nobody else's; what the child prints goes to the log.
_KEEPER = """
exec 3>&1 >&2
stop_s=$1; shift
"$@" </dev/null 3>&- & child=$!
echo $child >&3
exec 3>&-
read -r _
exec 2>/dev/null
kill -TERM $child
{ sleep "$stop_s"; kill -KILL $child; } &
wait $child
kill -KILL 0
"""


class Child:
    """One process; `pid` is its own, not the keeper's. Its output is appended to `log`."""

    def __init__(
        self, argv: Sequence[str], *, log: Path, cwd: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        with log.open("ab") as output:
            self._keeper = subprocess.Popen(
                ["/bin/sh", "-c", _KEEPER, "sh", str(STOP_S), *argv],
                cwd=cwd,
                env=dict(environ) if environ is not None else None,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,  # Ctrl-C in a terminal is for the parent, which stops its children in order
            )
        assert self._keeper.stdout is not None  # noqa: S101 - for the type checker
        with self._keeper.stdout as told:
            self.pid = int(told.readline())

    @property
    def alive(self) -> bool:
        """Whether it still runs; one that has ended but was not waited for does not."""
        try:
            os.kill(self.pid, 0)
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except ProcessLookupError:
            return False
        except OSError:  # no /proc (macOS): the signal was taken, so it is there
            return True

    def kill(self) -> None:
        """SIGKILL, as the out-of-memory killer would, and waits for its end."""
        if self._keeper.returncode is None:  # else the number may be another process's by now
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self.stop()

    def ask_to_end(self) -> None:
        """SIGTERM, without waiting, so that several can end at the same time."""
        assert self._keeper.stdin is not None  # noqa: S101 - for the type checker
        self._keeper.stdin.close()

    def stop(self) -> None:
        """SIGTERM, and waits for its end: not much longer than `STOP_S`, whatever it does. Twice is once."""
        self.ask_to_end()
        try:
            self._keeper.wait(STOP_S + _MARGIN_S)
        except subprocess.TimeoutExpired:  # the keeper itself was stopped
            os.killpg(self._keeper.pid, signal.SIGKILL)
            self._keeper.wait()
