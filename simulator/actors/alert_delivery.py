"""The way from Alertmanager to a webhook: one POST, and how long to wait after one that failed.

Source: prometheus/alertmanager 0.34, notify/util.go and retry_stage.go. 2xx is done; 5xx and no answer come again
after a growing pause; anything else is not tried again before the group's next flush.
"""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

import urllib3

from simulator.clock import Clock

LONGEST_PAUSE_S = 60.0
KEPT = 1000


class Delivery:
    """Posts bodies. `deliveries` holds the last ones: wall clock, body, and the answer's code (0 for no answer)."""

    def __init__(self) -> None:
        self._url = ""
        self._token_file: Path | None = None
        self._http = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(total=10))
        self.deliveries: deque[tuple[float, bytes, int]] = deque(maxlen=KEPT)

    @property
    def wanted(self) -> bool:
        """Whether there is a receiver."""
        return bool(self._url)

    def send_to(self, url: str, token_file: Path | None) -> None:
        """Sets the receiver; its token is read from the file at each POST, so that it can be rotated."""
        self._url, self._token_file = url, token_file

    def post(self, body: bytes) -> int:
        """The answer's code, 0 when there was none."""
        headers = {"Content-Type": "application/json", "User-Agent": "Alertmanager/0.34.0"}
        if self._token_file is not None:
            headers["Authorization"] = f"Bearer {self._token_file.read_text().strip()}"
        try:
            code = self._http.request("POST", self._url, body=body, headers=headers).status
        except urllib3.exceptions.HTTPError:
            code = 0
        self.deliveries.append((time.time(), body, code))
        return code

    def close(self) -> None:
        """Closes kept connections."""
        self._http.clear()


def pause_after(code: int, tries: int, clock: Clock) -> float:
    """Real seconds until the next try, after so many that failed."""
    if code == 0 or code >= 500:
        return float(min(LONGEST_PAUSE_S, clock.durations.webhook_retry * 1.5 ** (tries - 1)))
    return clock.real(clock.durations.group_interval)
