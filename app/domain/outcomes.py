"""What one try of a step gave, and the three verdicts that every proof ends in.

An outcome is the judgement of a moment. What is stored of it is decided by `app.domain.operations.apply`.
"""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """How a diagnosis or benchmark is judged: three words, never two."""

    PASS = "pass"
    """It ran in full and found nothing that speaks against giving the node back."""
    FAIL = "fail"
    """It ran and found a fault."""
    INCONCLUSIVE = "inconclusive"
    """It did not run, was skipped, cut off or cannot be read. It proves neither health nor a fault."""
