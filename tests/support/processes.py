"""Processes of tests that write to one table at once."""

from __future__ import annotations

import multiprocessing
from typing import Any

__all__ = ["processes"]

IMPORTED = ["tableformats_delta", "tableformats_iceberg", "tests.write.test_append", "tests.iceberg.commits.test_races"]


def processes() -> Any:
    """A context whose processes share nothing with this one. They come from one that has imported what they need: to
    import it takes each of them a second."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(IMPORTED)
    return found
