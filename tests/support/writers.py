"""Marks of tests that need the packages that write tables."""

from __future__ import annotations

import importlib.util

import pytest

NEEDED = ("deltalake", "pyiceberg", "pyiceberg_core", "sqlalchemy")
needs_writers = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in NEEDED),
    reason=f"the demo's tables are written by {', '.join(NEEDED)}: pip install '.[demo]'",
)
