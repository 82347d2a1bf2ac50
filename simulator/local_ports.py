"""TCP ports on 127.0.0.1: a free one, or why a wanted one cannot be had."""

from __future__ import annotations

import socket

HOST = "127.0.0.1"


def free_port() -> int:
    """One that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def why_not(port: int) -> str:
    """Why no server can listen on this port now, in a sentence; empty when one can, and for 0, which is any."""
    with socket.socket() as probe:
        # What a server has just left is free again; what one listens on is not.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except PermissionError:
            return f"Port {port} is not for everybody to listen on. Choose one above 1023, or 0 for a free one."
        except OSError:
            return f"Port {port} of {HOST} is taken by another program. Choose another, or 0 for a free one."
    return ""
