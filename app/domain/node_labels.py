"""What a node's labels say of its place and its driver: what nodes that fall ill together may share."""

from __future__ import annotations

from collections.abc import Mapping


def rack(labels: Mapping[str, str]) -> str:
    """The rack, empty when unknown. No label for it is standard; this is the one most in use."""
    return labels.get("topology.kubernetes.io/rack", "")


def driver_version(labels: Mapping[str, str]) -> str:
    """The driver's version, as GPU feature discovery labels it, empty when unknown; older ones label three numbers."""
    whole = labels.get("nvidia.com/cuda.driver-version.full", "")
    parts = (labels.get(f"nvidia.com/cuda.driver.{part}", "") for part in ("major", "minor", "rev"))
    return whole or ".".join(part for part in parts if part)
