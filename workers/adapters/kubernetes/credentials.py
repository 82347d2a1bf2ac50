"""As whom Sickbay comes to the API server: from a kubeconfig or the pod's service account, and renewed when refused.

Tokens of service accounts are replaced in their file while we run. The official client reads that file again once a
minute in a pod, and never again for the `tokenFile` of a kubeconfig; some of its versions went on with the old token
for good. So a refusal makes us read everything again, whatever the client does.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import kubernetes.client
import kubernetes.config

from app.errors import ConfigurationError

KEPT_S: Final = 1.0
"""Seconds for which headers are not asked for again: the client's hook costs as much as the rest of a call."""


class Credentials:
    """The headers that say who we are. `configuration` is the official client's; safe to share between threads."""

    def __init__(self, kubeconfig: Path | None) -> None:
        self._kubeconfig = kubeconfig
        self._lock = threading.Lock()
        self._kept: tuple[float, dict[str, str]] = (0.0, {})
        self.configuration = _configuration(kubeconfig)

    def headers(self) -> dict[str, str]:
        """For one call. Asked anew once a second, since the client's own hook may read a token again."""
        until, kept = self._kept
        if time.monotonic() < until:
            return kept
        return self._asked()

    def _asked(self) -> dict[str, str]:
        found = _headers_of(self.configuration)
        self._kept = (time.monotonic() + KEPT_S, found)
        return found

    def renewed(self, refused: Mapping[str, str]) -> bool:
        """After a 401: whether there are other credentials than those that were refused."""
        with self._lock:
            if self._asked() != refused:
                return True
            try:
                fresh = _configuration(self._kubeconfig)
            except ConfigurationError:
                return False  # The file is being replaced; the next refusal reads it again.
            if _headers_of(fresh) == refused:
                return False
            self.configuration = fresh
            self._asked()
            return True


def _configuration(kubeconfig: Path | None) -> Any:
    configuration = kubernetes.client.Configuration()
    defaults = str(kubernetes.config.KUBE_CONFIG_DEFAULT_LOCATION).split(os.pathsep)
    load: Callable[..., None] = kubernetes.config.load_incluster_config
    if kubeconfig is not None:
        load = partial(kubernetes.config.load_kube_config, config_file=str(kubeconfig))
    elif any(Path(each).expanduser().exists() for each in defaults):
        load = kubernetes.config.load_kube_config
    try:
        load(client_configuration=configuration)
    except (kubernetes.config.ConfigException, OSError) as wrong:
        raise ConfigurationError(
            f"The cluster cannot be reached with this: {wrong}.",
            file=str(kubeconfig or "KUBECONFIG"),
            remedy="Set KUBECONFIG to a readable kubeconfig, or run in a pod with a service account.",
        ) from wrong
    return configuration


def _headers_of(configuration: Any) -> dict[str, str]:
    settings = configuration.auth_settings().values()
    return {one["key"]: one["value"] for one in settings if one["in"] == "header" and one["value"]}
