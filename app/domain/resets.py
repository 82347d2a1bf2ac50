"""What `nvidia-smi --gpu-reset` said, and what the GPU says after it: its exit code alone proves nothing.

The wordings are those of nvidia-smi as users have posted them: "was successfully reset", "is currently in use by
another process", "In use by another client" (NVIDIA/gpu-operator#118, NVIDIA/NVSentinel#1692).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_DONE = re.compile(r"^\s*GPU (\S+) was successfully reset", re.IGNORECASE | re.MULTILINE)
_IN_USE = re.compile(r"in use by another|currently being used", re.IGNORECASE)
_REFUSED = re.compile(r"could not be reset", re.IGNORECASE)
_IMPOSSIBLE = re.compile(
    r"not supported|no devices were found|unable to (?:determine|locate|reset)|gpu is lost|fallen off the bus",
    re.IGNORECASE,
)
_LINE = re.compile(r"\s*([A-Za-z][A-Za-z ]*?)\s*(?::\s*(.*?))?\s*")
"""`Name : value`, or the heading of a block."""
_YES = frozenset({"yes", "1"})
_NO = frozenset({"no", "0"})


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


def read_reset(output: str, gpus: int = 1) -> Reset:
    """The judgement of the output of a reset of so many GPUs, followed by what `nvidia-smi -q` says of each of them.

    Done needs all of it: each GPU's word that it was reset, that it asks for no recovery, and that no row of it waits
    to be remapped or could not be. What is not told is not assumed (P2).
    """
    if _IN_USE.search(output):
        return Reset(ResetResult.IN_USE, "The GPU is in use: something still holds it open.")
    done = {name.casefold() for name in _DONE.findall(output)}
    if len(done) < gpus or _REFUSED.search(output):
        if _IMPOSSIBLE.search(output):
            return Reset(ResetResult.IMPOSSIBLE, "The GPU cannot be reset in its state.")
        return Reset(ResetResult.UNREADABLE, "The reset left no word that it was done.")
    return _after(output.splitlines(), gpus)


def _after(lines: list[str], gpus: int) -> Reset:
    told = [(found[1].casefold(), (found[2] or "").casefold()) for line in lines if (found := _LINE.fullmatch(line))]
    actions = [value for name, value in told if name == "gpu recovery action"]
    asked = next((value for value in actions if value != "none"), None)
    if asked:
        return Reset(ResetResult.NO_EFFECT, f"The reset had no effect: the GPU still asks for {asked}.")
    if any(name.startswith("pending") and value in _YES for name, value in told):
        return Reset(ResetResult.NO_EFFECT, "The reset had no effect: row remaps are still pending.")
    if any(name == "remapping failure occurred" and value in _YES for name, value in told):
        return Reset(ResetResult.NO_EFFECT, "The reset does not help: rows of the GPU's memory could not be remapped.")
    if len(actions) < gpus or not all(actions):
        return Reset(ResetResult.UNREADABLE, "The GPU says it was reset, and nothing of what recovery it still needs.")
    if _settled_rows(told) < gpus:
        return Reset(ResetResult.UNREADABLE, "The GPU says it was reset, and nothing of rows that wait to be remapped.")
    return Reset(ResetResult.DONE, "The GPU was reset and asks for no recovery.")


def _settled_rows(told: list[tuple[str, str]]) -> int:
    """How many GPUs say that no row is pending and none has failed, or that they have no such thing (`N/A`).

    `Pending` also stands under MIG and ECC modes: only the one under `Remapped Rows` counts.
    """
    settled, under, pending = 0, False, False
    for name, value in told:
        if name == "remapped rows":
            under, pending = value == "", False
            settled += value == "n/a"
        elif under and name == "pending":
            pending = value in _NO
        elif under and name == "remapping failure occurred":
            settled += pending and value in _NO
            under = False
    return settled
