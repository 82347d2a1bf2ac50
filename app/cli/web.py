"""`sickbay web`: puts the web process together from its settings and lets gunicorn run it.

Whatever is missing or wrong is said before gunicorn starts. The store need not be there yet: until it is, alerts are
answered with 503, and /readyz says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click
import structlog
from flask import Flask
from gunicorn.app.base import Application  # type: ignore[import-untyped]

from app import logs
from app.domain.policies import Mode, Policy
from app.domain.xids import Catalogue
from app.policy_file import load_policy
from app.queue import WorkQueues
from app.secret_files import read_tokens
from app.settings import Settings
from app.store import Store, connect
from app.web import Parts, create_app
from app.xid_file import load_xids

CONFIG: Final = Path(__file__).parents[2] / "config"

log = structlog.get_logger(__name__)


@click.command()
def command() -> None:
    """Receive alerts; serve the page, the API, health and metrics on SICKBAY_BIND.

    Needs SICKBAY_REDIS_URL, SICKBAY_WEBHOOK_TOKEN_FILE and a valid policy (SICKBAY_POLICY); takes orders only with
    SICKBAY_API_TOKEN_FILE or SICKBAY_TRUSTED_USER_HEADER. It talks to Redis alone, never to the cluster.
    """
    settings = Settings.from_environment()
    settings.require_redis_url()
    read_tokens(settings.require_webhook_token_file())
    if settings.api_token_file is not None:
        read_tokens(settings.api_token_file)
    policy = load_policy(settings.policy).lowered_to(Mode(settings.mode) if settings.mode else None)
    catalogue = load_xids(CONFIG / "xids.yaml")
    logs.configure("web", settings.log_level)
    if settings.unknown:
        log.warning("settings not known", names=list(settings.unknown))
    Server(settings, policy, catalogue).run()


def build(settings: Settings, policy: Policy, catalogue: Catalogue) -> Flask:
    """The application by these settings; connects on first use."""
    url = settings.require_redis_url()
    parts = Parts(
        store=Store(connect(url)),
        queues=WorkQueues(connect(url, decode=False)),
        policy=policy,
        catalogue=catalogue,
        webhook_tokens=settings.require_webhook_token_file(),
        api_tokens=settings.api_token_file,
        user_header=settings.trusted_user_header,
        https=settings.url.startswith("https://"),
        links=settings.links,
        policy_source=settings.policy.read_text(encoding="utf-8-sig"),
    )
    return create_app(parts)


class Server(Application):  # type: ignore[misc]  # gunicorn ships no types
    """gunicorn with config/gunicorn.conf.py, and an application that is built in the worker process."""

    def __init__(self, settings: Settings, policy: Policy, catalogue: Catalogue) -> None:
        self._given = (settings, policy, catalogue)
        super().__init__()

    def load_config(self) -> None:
        """The file, then the address. No command line of gunicorn's, and none of its environment."""
        self.load_config_from_file(str(CONFIG / "gunicorn.conf.py"))
        self.cfg.set("bind", self._given[0].bind)
        self.cfg.set("proc_name", "sickbay-web")

    def load(self) -> Any:
        """Called in the worker, so that no connection is shared over a fork."""
        return build(*self._given)
