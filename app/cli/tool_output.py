"""What the judging commands share: how the file they are given is read, and what exit code a verdict is.

What is in the file is not looked at here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from app.domain.outcomes import Verdict
from app.errors import SickbayError

EXIT_CODES: Final = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.INCONCLUSIVE: 2}

MOST_BYTES: Final = 64 * 1024 * 1024
"""Far above any diagnosis (tens of kilobytes a node); more is a mistaken file."""


def read_text(file: Path) -> str:
    """The text of the file, `-` for standard input; bytes that are no UTF-8 are replaced.

    Raises `SickbayError`, which ends a command with 3, when it cannot be read or is too large.
    """
    try:
        if file == Path("-"):
            content = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with file.open("rb") as stream:
                content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise SickbayError(
            f"{file} cannot be read ({error.strerror or error}). Name a file, or - for standard input."
        ) from error
    if len(content) > MOST_BYTES:
        raise SickbayError(f"{file} is larger than {MOST_BYTES // 1024**2} MiB. Name the output of one run.")
    return content.decode("utf-8", errors="replace")
