"""Evictions that were refused: what a step remembers of each, and when it asks again. Pure; times are UTC.

One memo entry a pod, `<time> <tries> <sentence>`, with an exclamation mark behind the number where no later try can go
well. An entry without a number is one try, as an earlier version wrote it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.domain.alerts import read_time

FIRST_PAUSE = timedelta(seconds=5)
LONGEST_PAUSE = timedelta(seconds=40)
"""A budget that is free again is noticed no later than this: nothing tells of it, so it is asked."""
JITTER = 0.2
"""Up to this share more, so that the drains of a storm do not ask in step."""
NEVER_AGAIN = timedelta(minutes=30)
"""When an eviction that no budget can allow is tried once more, in case nobody says that it was mended."""
_NEVER = "!"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Why a pod stayed, until when it is not asked again, after how many tries; `never` if asking does not help."""

    until: datetime
    why: str
    tries: int = 1
    never: bool = False

    def written(self) -> str:
        """As the memo keeps it."""
        return f"{self.until.isoformat()} {self.tries}{_NEVER if self.never else ''} {self.why}"


def refusal_key(pod_uid: str) -> str:
    """Where a step's memo keeps the refusal of this pod."""
    return f"refused/{pod_uid}"


def last_refusal(memo: Mapping[str, str], pod_uid: str) -> Refused | None:
    """The latest refusal of this pod's eviction, None when there was none or it cannot be read."""
    until, _, rest = memo.get(refusal_key(pod_uid), "").partition(" ")
    at = read_time(until)
    if at is None:
        return None
    tries, _, why = rest.partition(" ")
    number = tries.removesuffix(_NEVER)
    if not number.isdecimal():
        return Refused(until=at, why=rest)
    return Refused(until=at, why=why, tries=int(number), never=tries != number)


def standing_refusal(memo: Mapping[str, str], pod_uid: str, now: datetime) -> Refused | None:
    """The refusal because of which this pod is not asked again yet; None when it may be asked."""
    told = last_refusal(memo, pod_uid)
    return told if told is not None and told.until > now else None


def pause(tries: int, pod_uid: str) -> timedelta:
    """How long to wait after so many refusals in a row: twice as long each time, and a little apart for each pod."""
    doubled: int = 2 ** min(max(tries - 1, 0), 8)
    longest = min(FIRST_PAUSE * doubled, LONGEST_PAUSE)
    draw = int.from_bytes(hashlib.sha256(f"{pod_uid} {tries}".encode()).digest()[:4], "big") / 2**32
    return longest * (1 + JITTER * draw)
