"""Puts a worker together from its settings: the only module that names adapters."""

from __future__ import annotations
