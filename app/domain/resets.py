"""What `nvidia-smi --gpu-reset` said, and what the GPU says after it: its exit code alone proves nothing.

The wordings are those of nvidia-smi as users have posted them: "was successfully reset", "is currently in use by
another process", "In use by another client" (NVIDIA/gpu-operator#118, NVIDIA/NVSentinel#1692).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_DONE = re.compile(r"GPU \S+ was successfully reset", re.IGNORECASE)
_IN_USE = re.compile(r"in use by another", re.IGNORECASE)
_IMPOSSIBLE = re.compile(
    r"not supported|no devices were found|unable to (?:determine|locate)|gpu is lost|fallen off the bus", re.IGNORECASE
)
_RECOVERY = re.compile(r"GPU Recovery Action\s*:\s*(\S.*?)\s*$", re.MULTILINE)
_PENDING = re.compile(r"^\s*Pending\s*:\s*(\S+)\s*$|Rows Pending\s*:\s*(\S+)", re.MULTILINE)


class ResetResult(StrEnum):
    """How a reset ended."""

    DONE = "done"
    IN_USE = "in-use"
    """Something still holds the GPU open."""
    IMPOSSIBLE = "impossible"
    """This GPU, in this state, cannot be reset."""
    NO_EFFECT = "no-effect"
    """It says that it was reset, and still asks for recovery."""
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Reset:
    """The result, in a sentence."""

    result: ResetResult
    reason: str


def read_reset(output: str) -> Reset:
    """The judgement of the output of a reset followed by `nvidia-smi -q` of that GPU."""
    if _IN_USE.search(output):
        return Reset(ResetResult.IN_USE, "The GPU is in use: something still holds it open.")
    if not _DONE.search(output):
        if _IMPOSSIBLE.search(output):
            return Reset(ResetResult.IMPOSSIBLE, "The GPU cannot be reset in its state.")
        return Reset(ResetResult.UNREADABLE, "The reset left no word that it was done.")
    action = _RECOVERY.search(output)
    if action is None:
        return Reset(ResetResult.UNREADABLE, "The GPU says it was reset, and nothing of what recovery it still needs.")
    if action.group(1).casefold() != "none":
        return Reset(ResetResult.NO_EFFECT, f"The reset had no effect: the GPU still asks for {action.group(1)}.")
    pending = _PENDING.search(output)
    if pending is not None and (pending.group(1) or pending.group(2)).casefold() in {"yes", "1"}:
        return Reset(ResetResult.NO_EFFECT, "The reset had no effect: row remaps are still pending.")
    return Reset(ResetResult.DONE, "The GPU was reset and asks for no recovery.")
