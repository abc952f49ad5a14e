"""Marks of tests that need the formats' own packages."""

from __future__ import annotations

import importlib.util

import pytest

NEEDED = ("deltalake", "pyiceberg", "pyiceberg_core", "sqlalchemy")
needs_writers = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in NEEDED),
    reason=f"the demo's tables are compared with {', '.join(NEEDED)}: pip install '.[demo]'",
)
