"""Mutants of data files that are written in one process and committed in another."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "files-of-another-target",
        "core:NewFiles._written",
        "self._data.target != target",
        "False",
        "files are committed that were written for other columns, partitions or rules",
        ("write/test_written_files.py",),
    ),
)
