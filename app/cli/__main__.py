"""`python -m app.cli`, for where the script is not installed."""

from __future__ import annotations

from app.cli import main

main()
