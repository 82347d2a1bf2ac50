"""Child processes that never outlive their parent, however that dies: for the demo, the benches and the tests.

A small shell between the two waits on a pipe from the parent and ends the child when the pipe closes.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

_KEEPER = '"$@" </dev/null & echo $!; read -r _; { kill -TERM $!; wait $!; } 2>/dev/null'


class Child:
    """One process; `pid` is its own, not the keeper's. Its output is appended to `log`."""

    def __init__(
        self, argv: Sequence[str], *, log: Path, cwd: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        with log.open("ab") as output:
            self._keeper = subprocess.Popen(
                ["/bin/sh", "-c", f"exec 3>&1 >&2; {_KEEPER.replace('echo $!', 'echo $! >&3')}", "sh", *argv],
                cwd=cwd,
                env=dict(environ) if environ is not None else None,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,  # Ctrl-C in a terminal is for the parent, which stops its children in order
            )
        told: IO[bytes] | None = self._keeper.stdout
        assert told is not None  # noqa: S101 - for the type checker
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
        """SIGKILL, as the out-of-memory killer would."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.stop()

    def stop(self) -> None:
        """SIGTERM, and waits for its end."""
        if self._keeper.returncode is None:
            self._keeper.communicate()
