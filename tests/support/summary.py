"""What the laboratories count while they run; ``conftest.py`` prints it after the tests."""

from __future__ import annotations

from collections import Counter

CASES: Counter[str] = Counter()
"""What was judged -> how often."""
