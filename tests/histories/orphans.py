"""Files that are left over: each file is named by a version or listed as an orphan, and never both."""

from __future__ import annotations

from collections.abc import Iterable

import tableformats as tf

from .ledger import Ledger

__all__ = ["AFTER_ALL_MS", "orphans_of", "wrong_orphans"]

AFTER_ALL_MS = 4_000_000_000_000
"""A time after that of every file."""


def orphans_of(table: tf.Table) -> set[str]:
    """All files that nothing names, relative to the table."""
    paths = table.orphan_files(AFTER_ALL_MS)["path"].to_pylist()
    return {path[len(table._opened.directory.rstrip("/")) + 1 :] for path in paths}


def wrong_orphans(table: tf.Table, files: Iterable[str], ledger: Ledger) -> list[str]:
    """What the listing of orphans says otherwise than the ledger, which reads the files by itself."""
    listed = orphans_of(table)
    files = [path for path in files if not path.endswith("/")]  # which stands for a directory in S3
    kept = {path for path in files if _is_of_the_table(path)}
    unnamed = set(files) - ledger.referenced - kept
    found = [f"the orphan {path} is named by a version" for path in sorted(listed & (ledger.referenced | kept))]
    return found + [f"{path} is named by nothing and no orphan" for path in sorted(unnamed - listed)]


def _is_of_the_table(path: str) -> bool:
    """Whether a file is part of the table although nothing names it. Temporary files are not.

    Hadoop keeps a hidden file with the checksum of each file on a disk.
    """
    name = path.rpartition("/")[2]
    if name.startswith(".") and name.endswith(".crc"):
        return True
    return not name.startswith(".") and (path.startswith("_delta_log/") or name == "version-hint.text")
