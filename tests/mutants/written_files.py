"""Mutants of data files: what is written in one process and committed in another, and disks that fail."""

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
    Mutant(
        "statistics-of-a-name",
        "core:ParquetLayout._without_statistics",
        "if path not in nameless and",
        "if self._paths.index((path, i)) not in with_nan and",
        "a file of rows with NaN has bounds without it, where two columns have one dotted name",
        ("write/test_written_files.py",),
    ),
    Mutant(
        "no-footer-is-what-went-wrong",
        "core:ParquetLayout.write",
        "contextlib.suppress(RuntimeError, OSError)",
        "contextlib.suppress()",
        "a disk that is full while a large file is written is told as a RuntimeError of Parquet's writer",
        ("io/test_pieces.py",),
    ),
)
