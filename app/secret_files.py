"""Tokens that lie in files: read afresh for each use, so that a rotation needs no restart. It checks, it never logs.

A file holds one token a line, which may stand behind the name of whoever holds it: `ana 7f3k2m9q`. During a rotation it
holds two, the new and the old, and both open the door.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from pathlib import Path

from app.errors import ConfigurationError

MAX_BYTES = 16 * 1024
"""A token file larger than this is some other file, named by mistake."""


LONGEST_NAME = 64
SHORTEST = 16
"""Characters of the shortest token that is accepted: what is shorter can be guessed by trying."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token and who holds it; `name` is empty where the file does not say."""

    secret: bytes = field(repr=False)
    name: str = ""


def read_tokens(path: Path) -> tuple[bytes, ...]:
    """The tokens in the file without the names of their holders. Raises ConfigurationError as `read_named_tokens`."""
    return tuple(token.secret for token in read_named_tokens(path))


def read_secret(path: Path) -> bytes:
    """The first line of the file, whole: a secret by which something is signed. Raises ConfigurationError."""
    return _lines(path)[0]


def read_named_tokens(path: Path) -> tuple[Token, ...]:
    """The tokens in the file, in its order, without blank lines and the white space around them.

    Reading a few bytes costs some microseconds, and a mounted secret changes by a swapped link that file times do
    not show reliably; so there is no cache to be wrong.

    Raises:
        ConfigurationError: the file cannot be read, is too large, holds no token, a line of more than two words or a
            token shorter than SHORTEST. Its content is never in the text.
    """
    lines = [line.split() for line in _lines(path)]
    if any(len(words) > 2 for words in lines):
        remedy = "A line is a token, or a name and a token with a space between them."
        raise ConfigurationError("A line of the token file has more than two words.", file=str(path), remedy=remedy)
    short = [number for number, words in enumerate(lines, 1) if len(words[-1]) < SHORTEST]
    if short:
        problem = f"Token {short[0]} of {len(lines)} is shorter than {SHORTEST} characters, so it could be guessed."
        remedy = "Make one with `openssl rand -hex 32`."
        raise ConfigurationError(problem, file=str(path), remedy=remedy)
    return tuple(Token(words[-1], b"".join(words[:-1]).decode("utf-8", "replace")[:LONGEST_NAME]) for words in lines)


def matches(presented: bytes, tokens: tuple[bytes, ...]) -> bool:
    """Whether the presented token is one of those, in a time that tells nothing about how close it came."""
    return holder(presented, tuple(Token(token) for token in tokens)) is not None


def holder(presented: bytes, tokens: tuple[Token, ...]) -> Token | None:
    """The token that was presented, as it stands in the file, found as blindly."""
    found = None
    for token in tokens:
        # No early return: which of the two tokens of a rotation matched is nobody's business either.
        if hmac.compare_digest(presented, token.secret):
            found = token
    return found


def _lines(path: Path) -> list[bytes]:
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
    lines = [line.strip() for line in content.splitlines() if line.strip()]
    if not lines:
        raise ConfigurationError("The token file is empty.", file=str(path), remedy="Put one token a line into it.")
    return lines
