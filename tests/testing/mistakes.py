"""Mistakes planted into the plugin of :mod:`tests.testing.hive`, one each, and what the kit says of them.

Most of them are ones that plugins had: a bound that is off by one, a hook that is misspelt, values in the wrong row.
"""

from __future__ import annotations

from tests.testing import mistakes_in_files, mistakes_in_statistics, mistakes_in_tables
from tests.testing.planting import MISTAKES, Mistake

__all__ = ["MISTAKES", "Mistake", "mistakes_in_files", "mistakes_in_statistics", "mistakes_in_tables"]
