"""A signed HTTP call to something of the site's own; the contract stands in docs/reference/hooks.md.

    POST <url>/<node>/<act>
    Idempotency-Key: <key>
    X-Sickbay-Signature: sha256=<hexadecimal HMAC of the body>

    {"node": "gpu-a01", "act": "power-cycle", "key": "op-7f3k2m9q-6-power-cycle-1"}

Any 2xx means that it is taken on; what comes of it is seen elsewhere.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import timedelta
from pathlib import Path
from typing import Final
from urllib.parse import quote

import requests

from app.errors import ConfigurationError, PermanentPortError, TemporaryPortError
from app.secret_files import read_secret

TIMEOUT_S: Final = (3.0, 10.0)
"""To connect, and until the answer begins; what follows its code is not read."""


class SignedHook:
    """One hook: its URL, and the file of the secret by which calls are signed, read anew for each."""

    def __init__(self, url: str, secret_file: Path) -> None:
        self._url = url.rstrip("/")
        self._secret_file = secret_file

    def call(self, act: str, node: str, key: str) -> None:
        """Asks for it once. PortError when it was not taken on: temporary when a later try may go well."""
        body = json.dumps({"node": node, "act": act, "key": key}, sort_keys=True).encode()
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": key,
            "X-Sickbay-Signature": f"sha256={self._signature(body)}",
        }
        asked = f"{act} of {node} at {self._url}"
        try:
            answer = requests.post(
                f"{self._url}/{quote(node, safe='')}/{act}",
                data=body,
                headers=headers,
                timeout=TIMEOUT_S,
                allow_redirects=False,  # a page that asks to sign in is no consent
                stream=True,
            )
            answer.close()
        except requests.RequestException as error:
            raise TemporaryPortError(f"The {asked} was not answered: {type(error).__name__}.") from error
        if 200 <= answer.status_code < 300:
            return
        told = f"The {asked} was answered with {answer.status_code}."
        if answer.status_code == 429 or answer.status_code >= 500:
            raise TemporaryPortError(told, retry_after=_retry_after(answer))
        raise PermanentPortError(told)

    def _signature(self, body: bytes) -> str:
        try:
            secret = read_secret(self._secret_file)
        except ConfigurationError as error:
            raise PermanentPortError(str(error)) from error
        return hmac.new(secret, body, hashlib.sha256).hexdigest()


def _retry_after(answer: requests.Response) -> timedelta | None:
    told = answer.headers.get("Retry-After", "")
    return timedelta(seconds=min(int(told), 3600)) if told.isdecimal() else None
