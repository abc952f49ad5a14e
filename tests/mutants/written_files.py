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
    Mutant(
        "files-in-any-order",
        "core:AddedFiles.add",
        "self._files[place] = file",
        "self._files.append(file)",
        "files that several threads make are listed beside empty places, in any order",
        ("write/test_written_files.py",),
    ),
    Mutant(
        "rows-of-unfinished-files-take-no-memory",
        "core:FileWriter._make_room",
        "self._behind.wait(most - self._pending_bytes)",
        "pass",
        "rows are taken from a stream as fast as they come, whatever the files take that are not done",
        ("write/test_written_files.py",),
    ),
    Mutant(
        "a-great-batch-is-one-file",
        "core:FileWriter._in_chunks",
        "max(1, batch.num_rows * most // max(batch.nbytes, 1))",
        "max(1, batch.num_rows)",
        "an Arrow table of one chunk becomes one file, of whatever size",
        ("write/test_written_files.py",),
    ),
)
