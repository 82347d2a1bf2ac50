"""A file whose time says that the loop of this process goes round, for a probe that starts no Python of ours.

The heartbeat in the store comes from a thread of its own: it tells that the process is there, not that it does work.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


class Alive:
    """Touched by the loop itself; without a path it does nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def touch(self) -> None:
        """The loop has come round. A disk that takes no file is the probe's to find."""
        if self._path is not None:
            with suppress(OSError):
                self._path.touch()
