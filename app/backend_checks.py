"""What the policy must say of ticket systems, power and provider, so that each rung has something that carries it out.

`app.policy_checks` lists these checks beside those of all other keys. Nothing is asked or opened here: whether a secret
or a service is there, the worker finds out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from app.domain.policies import Policy, Tickets
from app.yaml_records import Objection, below, nearest

TICKET_SYSTEMS: Final[Mapping[str, tuple[str, ...]]] = {"file": ("directory",), "webhook": ("url", "secret_file")}
"""Each ticket system with the keys of `tickets` that it needs and that mean nothing to the others."""
BACKENDS: Final = {"power-cycle": "power", "replace": "provider"}
"""The key that says by whom a rung is carried out. For `ticket` none is asked for: without one a person is asked."""
_PRINTED: Final = re.compile(r"[!-~]+")


def url(text: str) -> Iterator[Objection]:
    """HTTP, with a host and without a password: secrets come as files, and this file is read by many."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, good = urlsplit(""), False
    if not good or not _PRINTED.fullmatch(text):
        yield Objection(
            "", f"{text[:80]!r} is no URL of a service.", "Write it like https://hooks.example.com/sickbay."
        )
    elif "@" in parts.netloc:
        yield Objection("", "A password in a URL is seen by everybody.", "Name the file of a secret in `secret_file`.")
    elif parts.query or parts.fragment:
        yield Objection("", f"{text[:80]!r} does not end with its path.", "Take out what stands behind the path.")


def path(text: str) -> Iterator[Objection]:
    """Of a file or a directory, as the worker sees it."""
    if not text.strip() or not text.isprintable():
        yield Objection("", f"{text[:80]!r} is no path.", "Write the path as the worker sees it.")


def ticket_system(name: str) -> Iterator[Objection]:
    """One that there is."""
    if name not in TICKET_SYSTEMS:
        yield Objection("", f"{name[:80]!r} is no ticket system.", nearest(name, TICKET_SYSTEMS))


def tickets(written: Tickets) -> Iterator[Objection]:
    """What the system needs, and nothing that only another one reads."""
    needed = TICKET_SYSTEMS[written.system] if written.system else ()
    for key in needed:
        if not getattr(written, key):
            problem = f"The ticket system {written.system!r} needs `{key}`."
            yield Objection(below("system"), problem, f"Add `{key}:` below it.")
    for key in dict.fromkeys(key for keys in TICKET_SYSTEMS.values() for key in keys if key not in needed):
        if getattr(written, key):
            readers = " or ".join(f"`system: {name}`" for name, keys in TICKET_SYSTEMS.items() if key in keys)
            yield Objection(below(key), f"Nothing reads `{key}` here.", f"Set {readers}, or take `{key}` out.")


def backends(policy: Policy) -> Iterator[Objection]:
    """Each rung that a pool says it has must have something that carries it out."""
    for place, pool in enumerate(policy.pools):
        for at, rung in enumerate(pool.capabilities):
            key = BACKENDS.get(rung)
            if key is not None and getattr(policy, key) is None:
                problem = f"Nothing is set up that could carry out {rung!r}."
                remedy = f"Set `{key}`, or take {rung!r} out: a ladder that has it passes over it here."
                yield Objection(f"pools[{place}].capabilities[{at}]", problem, remedy)
