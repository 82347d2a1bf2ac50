"""Power by a signed HTTP hook: a BMC's script, a rack controller, whatever the site has, behind one contract."""

from __future__ import annotations

from workers.signed_hook import SignedHook


class HttpPower:
    """The port `Power`."""

    def __init__(self, hook: SignedHook) -> None:
        self._hook = hook

    def cycle(self, node: str, key: str) -> None:
        """Off and on; the hook knows a repetition by its key."""
        self._hook.call("power-cycle", node, key)
