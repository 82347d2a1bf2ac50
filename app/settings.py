"""The settings of one process, from its environment. The only module that reads `os.environ`.

What leads to what, and all limits, stand in the policy file; here is only what differs from place to place. Every
setting is described in docs/reference/settings.md, and a test holds the two together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from app.errors import ConfigurationError

MODES: Final = ("observe", "cordon", "approve", "act")
"""From the most careful to the freest."""
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
REDIS_SCHEMES: Final = ("redis", "rediss", "unix")
_NO_USER_HEADERS: Final = frozenset({"authorization", "cookie", "host", "x-sickbay-actor"})
"""Headers that every caller sets for itself."""
_SERVICE_LINK: Final = re.compile(r"_SERVICE_HOST$|_SERVICE_PORT(_\w+)?$|_PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?$")
"""Kubernetes puts such variables into every pod beside a Service; one named `sickbay` makes them look like ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the environment said. Built by `from_environment`; fields in the order of the reference page.

    A process that cannot work without an optional one asks by `require_…`, so that each refuses for its own needs.
    """

    redis_url: str | None = field(default=None, repr=False)
    """SICKBAY_REDIS_URL: redis://, rediss:// or unix:// with the database number. No default. May hold a password."""
    policy: Path = Path("config/policy.yaml")
    """SICKBAY_POLICY: the policy file. A file that is missing or wrong stops the start."""
    mode: str | None = None
    """SICKBAY_MODE: the freest mode that any pool or fault gets here, whatever the policy says. Unset: as policy."""
    node_jobs: bool = True
    """SICKBAY_NODE_JOBS: on or off. Off: this process starts no Job on a machine and follows none."""
    pod_uid: str = ""
    """SICKBAY_POD_UID: uid of the pod that this process runs in. Unset: none, so that a worker may evict any pod."""
    webhook_token_file: Path | None = None
    """SICKBAY_WEBHOOK_TOKEN_FILE: tokens that Alertmanager may present, one a line. web does not start without it."""
    api_token_file: Path | None = None
    """SICKBAY_API_TOKEN_FILE: tokens for the API, one a line, perhaps behind its holder's name. Unset: web takes no
    order by a token, a command sends none."""
    trusted_user_header: str | None = None
    """SICKBAY_TRUSTED_USER_HEADER: the header in which an authenticating proxy names the user. Unset: none."""
    bind: str = "0.0.0.0:8080"
    """SICKBAY_BIND: HOST:PORT on which web listens. All addresses: in a container, the chart decides who reaches it."""
    url: str = "http://127.0.0.1:8080"
    """SICKBAY_URL: where commands reach the API, and the start of links in tickets and messages. No final slash."""
    links: tuple[tuple[str, str], ...] = ()
    """SICKBAY_LINKS: pages elsewhere that web links in its head, name and http(s) address. None."""
    log_level: str = "info"
    """SICKBAY_LOG_LEVEL: debug, info, warning or error. What is below it is not written."""
    alive_file: Path | None = None
    """SICKBAY_ALIVE_FILE: touched by worker and watch each time that their loop comes round. Unset: none."""
    unknown: tuple[str, ...] = ()
    """Names with our prefix that are no setting: a spelling mistake, or one of a newer version after going back. They
    change nothing and stop nothing; a command logs them once at its start."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read the settings; an empty value counts as unset. Without an argument, from the process's environment.

        Raises:
            ConfigurationError: a value cannot be meant. It names the setting, and says what would be right.
        """
        environ = os.environ if environ is None else environ
        values = {
            field_name: read(name, value)
            for name, (field_name, read) in READERS.items()
            if (value := environ.get(name, "").strip())
        }
        unknown = (n for n in environ if n.startswith("SICKBAY_") and n not in READERS and not _SERVICE_LINK.search(n))
        return cls(**values, unknown=tuple(sorted(unknown)))

    def require_redis_url(self) -> str:
        """The URL of Redis, or a refusal: web, worker and watch hold no state of their own."""
        if self.redis_url is None:
            raise _missing("SICKBAY_REDIS_URL", "Set it to the store, for example redis://valkey:6379/0.")
        return self.redis_url

    def require_webhook_token_file(self) -> Path:
        """The file of webhook tokens, or a refusal: an open receiver would let anybody have nodes drained."""
        if self.webhook_token_file is None:
            raise _missing("SICKBAY_WEBHOOK_TOKEN_FILE", "Set it to a file that holds one token a line.")
        return self.webhook_token_file

    def require_api_token_file(self) -> Path:
        """The file of API tokens, or a refusal: a command that changes something must say who asks."""
        if self.api_token_file is None:
            raise _missing("SICKBAY_API_TOKEN_FILE", "Set it to a file that holds the token to present.")
        return self.api_token_file


def _missing(name: str, remedy: str) -> ConfigurationError:
    return ConfigurationError("This setting is needed and not set.", file=name, remedy=remedy)


def _one_of(words: tuple[str, ...]) -> Callable[[str, str], str]:
    def read(name: str, value: str) -> str:
        if value not in words:
            raise ConfigurationError(
                f"{value!r} is not one of its values.", file=name, remedy=f"Use one of: {', '.join(words)}."
            )
        return value

    return read


def _switch(name: str, value: str) -> bool:
    return bool(_one_of(("on", "off"))(name, value) == "on")


def _path(_name: str, value: str) -> Path:
    return Path(value)


def _uid(name: str, value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]{1,128}", value):
        raise ConfigurationError(f"{value!r} is no uid.", file=name, remedy="Take it from the pod's metadata.uid.")
    return value


def _redis_url(name: str, value: str) -> str:
    if urlsplit(value).scheme not in REDIS_SCHEMES:
        # The value may hold a password: it is not repeated.
        raise ConfigurationError(
            "This is not a Redis URL.", file=name, remedy="Write redis://HOST:PORT/0, rediss://… or unix:///PATH?db=0."
        )
    return value


def _bind(name: str, value: str) -> str:
    host, _, port = value.rpartition(":")
    if not (host and port.isdecimal() and int(port) < 65536):
        raise ConfigurationError(f"{value!r} is not HOST:PORT.", file=name, remedy="Write for example 0.0.0.0:8080.")
    return value


def _header(name: str, value: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", value) or value.lower() in _NO_USER_HEADERS:
        raise ConfigurationError(
            f"{value!r} is no header that names a user.", file=name, remedy="Write for example X-Forwarded-User."
        )
    return value


def _http_url(name: str, value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ConfigurationError(
            f"{value!r} is not an HTTP URL.", file=name, remedy="Write for example https://sickbay.example.org."
        )
    return value.rstrip("/")


def _links(name: str, value: str) -> tuple[tuple[str, str], ...]:
    read = []
    for given in value.split():
        label, equals, url = given.partition("=")
        if not (label and equals):
            remedy = "Write NAME=URL with spaces between several; an underscore in NAME is shown as a space."
            raise ConfigurationError(f"{given!r} is not NAME=URL.", file=name, remedy=remedy)
        _http_url(name, url)
        read.append((label.replace("_", " "), url))  # as it was given: a page may need its final slash
    return tuple(read)


READERS: Final[dict[str, tuple[str, Callable[[str, str], Any]]]] = {
    "SICKBAY_REDIS_URL": ("redis_url", _redis_url),
    "SICKBAY_POLICY": ("policy", _path),
    "SICKBAY_MODE": ("mode", _one_of(MODES)),
    "SICKBAY_NODE_JOBS": ("node_jobs", _switch),
    "SICKBAY_POD_UID": ("pod_uid", _uid),
    "SICKBAY_WEBHOOK_TOKEN_FILE": ("webhook_token_file", _path),
    "SICKBAY_API_TOKEN_FILE": ("api_token_file", _path),
    "SICKBAY_TRUSTED_USER_HEADER": ("trusted_user_header", _header),
    "SICKBAY_BIND": ("bind", _bind),
    "SICKBAY_URL": ("url", _http_url),
    "SICKBAY_LINKS": ("links", _links),
    "SICKBAY_LOG_LEVEL": ("log_level", _one_of(LOG_LEVELS)),
    "SICKBAY_ALIVE_FILE": ("alive_file", _path),
}
"""Each environment variable: the field it fills, and what turns its text into the value."""
