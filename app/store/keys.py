"""Every key of the store and every bound, in one place: Python and Lua both take them from here.

What lies under each key is written in docs/reference/store.md, which a test holds complete. A name that ends in a
colon is a family: an id, a node or the name of a card follows.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Final

KEYS: Final = {
    "operation": "sickbay:operation:",
    "timeline": "sickbay:timeline:",
    "all": "sickbay:operations:all",
    "open": "sickbay:operations:open",
    "finished": "sickbay:operations:finished",
    "on_node": "sickbay:operations:on-node",
    "due": "sickbay:due",
    "places": "sickbay:places:",
    "budgets": "sickbay:budgets",
    "cordons": "sickbay:cordons",
    "waiting": "sickbay:waiting:",
    "out": "sickbay:out",
    "disruptions": "sickbay:disruptions:",
    "seen": "sickbay:seen:",
    "alerts": "sickbay:alerts",
    "pending": "sickbay:pending",
    "pending_since": "sickbay:pending:since",
    "history": "sickbay:history:",
    "alias": "sickbay:alias:",
    "dies": "sickbay:dies:",
    "cards": "sickbay:cards",
    "node_attempts": "sickbay:attempts:node:",
    "card_attempts": "sickbay:attempts:card:",
    "breaker": "sickbay:breaker",
    "ill": "sickbay:breaker:ill",
    "fleet": "sickbay:breaker:fleet",
    "inventory": "sickbay:inventory",
    "gpu_counts": "sickbay:gpu-counts",
    "pause": "sickbay:pause",
    "signing_key": "sickbay:signing-key",
    "watchdog": "sickbay:watchdog",
    "heartbeats": "sickbay:heartbeats:",
    "baseline": "sickbay:baseline:",
    "baselines": "sickbay:baselines",
    "ticket": "sickbay:ticket:",
}

DAY_S: Final = 86_400

BOUNDS: Final = {
    "finished": 2_000,
    "finished_s": 90 * DAY_S,
    "timeline": 500,
    "alerts": 1_000,
    "pending": 10_000,
    "seen_s": 14 * DAY_S,
    "history": 1_000,
    "history_s": 730 * DAY_S,
    "cards": 20_000,
    "dies": 64,
    "attempts": 50,
    "attempts_s": 90 * DAY_S,
    "ill": 2_000,
    "ill_s": DAY_S,
    "cordons": 10_000,
    "cordons_s": DAY_S,
    "disruptions": 50,
    "disruptions_s": 90 * DAY_S,
    "heartbeats_s": DAY_S,
    "baseline_nodes": 256,
    "baseline_s": 180 * DAY_S,
    "baselines": 1_000,
    "ticket_s": 730 * DAY_S,
}
"""Most members of each list or set, and seconds (`_s`) until a key that is not written again is gone."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")


def lua_tables() -> str:
    """The two tables as Lua source, put before each script."""
    return "\n".join((_lua_table("K", KEYS), _lua_table("BOUND", BOUNDS)))


def plain(name: str) -> str:
    """The name as it may stand in a key: itself, or a hash of it when it is long or holds anything unusual."""
    return name if _PLAIN.fullmatch(name) else hashed(name)


def hashed(text: str) -> str:
    """SHA-256 of a text in hex: one length for whatever a label holds."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _lua_table(name: str, members: dict[str, str] | dict[str, int]) -> str:
    return f"local {name} = {{{', '.join(f'{key} = {json.dumps(value)}' for key, value in members.items())}}}"
