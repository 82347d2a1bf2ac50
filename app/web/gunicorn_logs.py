"""Lets gunicorn's own messages out through the process's structured log, instead of in a form of their own."""

from __future__ import annotations

import logging
from typing import Any

from gunicorn.glogging import Logger  # type: ignore[import-untyped]


class Propagating(Logger):  # type: ignore[misc]  # gunicorn ships no types
    """Named in config/gunicorn.conf.py."""

    def setup(self, cfg: Any) -> None:
        """No handlers of its own: the root logger has the right one already."""
        self.cfg = cfg
        for logger in (self.error_log, self.access_log):
            logger.handlers.clear()
            logger.propagate = True
            logger.setLevel(logging.NOTSET)
