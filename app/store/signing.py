"""The key by which the web process signs what browsers carry: one for all its replicas, made when it is first needed.

It is random, so that no cookie gives its finder anything to guess, and nobody who holds a token can sign. To change it,
delete it: every session ends, every open form is too old, and the next request makes another.
"""

from __future__ import annotations

import secrets
from typing import Final

from app.store.connection import Link
from app.store.keys import KEYS

BYTES: Final = 32


class SigningKey:
    """`store.signing_key`."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def read(self) -> bytes:
        """The key; of two who make it at the same moment, both get the first one's."""
        known = self._link.ask("GET", KEYS["signing_key"])
        if known is None:
            self._link.ask("SET", KEYS["signing_key"], secrets.token_hex(BYTES), "NX")
            known = self._link.ask("GET", KEYS["signing_key"])
        return str(known).encode()
