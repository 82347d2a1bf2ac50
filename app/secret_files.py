"""Tokens that lie in files: read afresh for each use, so that a rotation needs no restart. It checks, it never logs.

A file holds one token a line. During a rotation it holds two, the new and the old, and both open the door.
"""

from __future__ import annotations

import hmac
from pathlib import Path

from app.errors import ConfigurationError

MAX_BYTES = 16 * 1024
"""A token file larger than this is some other file, named by mistake."""


def read_tokens(path: Path) -> tuple[bytes, ...]:
    """The tokens in the file, in its order, without blank lines and the white space around them.

    Reading a few bytes costs some microseconds, and a mounted secret changes by a swapped link that file times do
    not show reliably; so there is no cache to be wrong.

    Raises:
        ConfigurationError: the file cannot be read, is too large or holds no token. Its content is never in the text.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        problem = f"The token file cannot be read ({error.strerror})."
        raise ConfigurationError(problem, file=str(path), remedy="It must exist and be readable.") from error
    if len(content) > MAX_BYTES:
        raise ConfigurationError(
            f"The token file is larger than {MAX_BYTES} bytes.", file=str(path), remedy="Put one token a line into it."
        )
    tokens = tuple(line.strip() for line in content.splitlines() if line.strip())
    if not tokens:
        raise ConfigurationError("The token file is empty.", file=str(path), remedy="Put one token a line into it.")
    return tokens


def matches(presented: bytes, tokens: tuple[bytes, ...]) -> bool:
    """Whether the presented token is one of those, in a time that tells nothing about how close it came."""
    found = False
    for token in tokens:
        # No early return: which of the two tokens of a rotation matched is nobody's business either.
        found |= hmac.compare_digest(presented, token)
    return found
