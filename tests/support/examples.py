"""How many random cases a test tries: all at night and for mutants, half as many for each change."""

from __future__ import annotations

import os

__all__ = ["EVERY", "examples"]

EVERY = bool(os.environ.get("TF_NIGHTLY") or os.environ.get("TABLEFORMATS_PROFILE"))
"""Whether time does not matter."""


def examples(count: int) -> int:
    """``count``, or half of it."""
    return count if EVERY else count // 2
