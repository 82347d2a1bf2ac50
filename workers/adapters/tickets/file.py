"""Tickets as files: a directory, one Markdown file a ticket, closed by a person who edits its `state` to `closed`.

For sites without a ticket system, for the demo, and for whatever picks files up. All workers must share the directory,
on a file system with hard links: a ticket appears whole or not at all, and only once. The directory is never made here,
since one that is missing may be a volume that is not mounted, with tickets in it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
from pathlib import Path

from app.domain import policies
from app.domain.tickets import TicketDraft, TicketRef, TicketState
from app.errors import ConfigurationError, PermanentPortError, PortError, TemporaryPortError

SYSTEM = "file"
READ_LIMIT = 1024 * 1024
"""Bytes of a ticket that are read; people may add to it."""

_STATE = re.compile(r"""state\s*:\s*["']?([A-Za-z]+)["']?\s*(?:#.*)?""", re.IGNORECASE)
_KEY = re.compile(r"key\s*:\s*(.*)")
_LATER = frozenset({errno.EAGAIN, errno.EINTR, errno.ESTALE, errno.ETIMEDOUT})  # A network file system hiccups.


class FileTickets:
    """The port `Tickets` on `tickets.directory`."""

    def __init__(self, settings: policies.Tickets, _cluster: str) -> None:
        if not settings.directory:
            raise ConfigurationError(
                "The ticket system `file` needs a directory.", path="tickets.directory", remedy="Name one."
            )
        self._directory = Path(settings.directory)

    def find(self, key: str) -> TicketRef | None:
        """The file of that key, None when there is none."""
        text = self._read(key)
        if text is None:
            return None
        told = _header(text, _KEY)
        if told is not None and told.strip().strip("\"'") != key:
            raise PermanentPortError(f"The file {self._path(key).name} is about another ticket ({told[:100]}).")
        return self._ref(key)

    def open(self, draft: TicketDraft) -> TicketRef:
        """Written beside its place and then linked to it, which the file system grants only to the first."""
        path = self._path(draft.key)
        beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        try:
            try:
                _write(beside, _text_of(draft))
                with contextlib.suppress(FileExistsError):
                    os.link(beside, path)
                    _sync(self._directory)
            finally:
                beside.unlink(missing_ok=True)
        except OSError as error:
            raise _trouble(error, "be written to", self._directory) from error
        return self._ref(draft.key)

    def comment(self, ref: TicketRef, text: str) -> None:
        """At the end of the file, if it is not in it."""
        known = self._read(ref.key)
        if known is None:
            raise PermanentPortError(f"There is no ticket {ref.key} in {self._directory}.")
        if text in known:
            return
        try:
            descriptor = os.open(self._path(ref.key), os.O_WRONLY | os.O_APPEND)
            with os.fdopen(descriptor, "ab", buffering=0) as file:
                file.write(f"\n## Comment\n\n{text}\n".encode())
                os.fsync(file.fileno())
        except OSError as error:
            raise _trouble(error, "be written to", self._directory) from error

    def state(self, ref: TicketRef) -> TicketState:
        """The word behind `state:` in the file's head."""
        text = self._read(ref.key)
        told = _header(text, _STATE) if text is not None else None
        try:
            return TicketState((told or "").lower())
        except ValueError:
            return TicketState.UNKNOWN

    def _ref(self, key: str) -> TicketRef:
        return TicketRef(system=SYSTEM, key=key, url=self._path(key).absolute().as_uri())

    def _path(self, key: str) -> Path:
        """A name that people recognise, and a hash that makes it the key's alone."""
        slug = re.sub(r"[^A-Za-z0-9]+", "-", key).strip("-")[:60]
        return self._directory / f"{slug}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.md"

    def _read(self, key: str) -> str | None:
        try:
            with self._path(key).open("rb") as file:
                return file.read(READ_LIMIT).decode(errors="replace")
        except OSError as error:
            if error.errno == errno.ENOENT and self._directory.is_dir():
                return None
            raise _trouble(error, "be read in", self._directory) from error


def _text_of(draft: TicketDraft) -> str:
    """The file. Values in its head are JSON texts, which YAML reads the same: nothing in them can end the head."""
    fields = "".join(f"{name}: {json.dumps(value)}\n" for name, value in draft.fields.items())
    head = f"state: open\nkey: {json.dumps(draft.key)}\ntitle: {json.dumps(draft.title)}\n{fields}"
    hint = "<!-- To close this ticket, write `state: closed` in the second line. -->"
    return f"---\n{head}---\n\n{hint}\n\n{draft.body_markdown}"


def _header(text: str, pattern: re.Pattern[str]) -> str | None:
    """What the head's line of that form holds; None when there is no head or no such line."""
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        return None
    for line in lines[1:]:
        if line.strip() == "---":
            return None
        if found := pattern.fullmatch(line.strip()):
            return found.group(1)
    return None


def _write(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o664)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    """So that a name outlives the machine's fall."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _trouble(error: OSError, act: str, directory: Path) -> PortError:
    kind = TemporaryPortError if error.errno in _LATER else PermanentPortError
    return kind(f"Tickets cannot {act} {directory}: {error.strerror or error}.")
