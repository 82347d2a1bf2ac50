"""Sickbay without a cluster: the domain, the store, the web process and the command line.

Nothing in here imports `workers`, `simulator` or a client of a cluster, of power or of tickets. Jobs and commands
that live there are named by dotted strings.
"""

from __future__ import annotations

__version__ = "0.1.0"
