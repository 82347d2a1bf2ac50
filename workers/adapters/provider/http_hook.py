"""Another machine by a signed HTTP hook: a cloud's API, Cluster API, a script of the site, behind one contract."""

from __future__ import annotations

from workers.signed_hook import SignedHook


class HttpProvider:
    """The port `Provider`."""

    def __init__(self, hook: SignedHook) -> None:
        self._hook = hook

    def replace(self, node: str, key: str) -> None:
        """Asks for a machine to take this one's name; the hook knows a repetition by its key."""
        self._hook.call("replace", node, key)
