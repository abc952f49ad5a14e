"""What the files of a table say about its versions, read by the formats' specifications alone.

Nothing here uses the library. A ledger has the versions in order, with who made each and the rows that it has. Reading
one also looks at the invariants of the published models of both formats (TLA+ and Fizzbee): ValidDeltaLog,
ConsistentRead's precondition that versions are contiguous, SequentialSequenceNumbers, NoDanglingDeleteFiles,
AllSnapshotsCommitted.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .model import Rows

__all__ = ["Entry", "Files", "Ledger", "files_below", "local_files", "table_of"]

Files = Mapping[str, bytes]
"""The files of a table by their paths relative to its root."""


@dataclass(frozen=True)
class Entry:
    """One version.

    Attributes
    ----------
    version : int
        As operations name it: the number of a Delta version, the id of an Iceberg snapshot.
    maker : str or None
        The operation that made it, by what it left in the metadata. None: nothing was left.
    rows : Rows
    applications : mapping of str to int
        Of each application the transaction that the table has.
    read : int or None
        The version that its maker says to have read.
    """

    version: int
    maker: str | None
    rows: Rows
    applications: Mapping[str, int] = field(default_factory=dict)
    read: int | None = None


@dataclass
class Ledger:
    """The versions of a table in order, and what of its files is against the specification."""

    format: str = "delta"
    entries: list[Entry] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    referenced: set[str] = field(default_factory=set)
    """The files that some version names, relative to the root."""


class Cache:
    """What was parsed of files that never change, by their paths."""

    def __init__(self) -> None:
        self._found: dict[str, Any] = {}

    def of(self, path: str, make: Callable[[], Any]) -> Any:
        if path not in self._found:
            self._found[path] = make()
        return self._found[path]


def table_of(data: bytes) -> pa.Table:
    """The rows of a Parquet file."""
    return pq.ParquetFile(io.BytesIO(data)).read()


def files_below(files: Mapping[str, bytes], root: str) -> dict[str, bytes]:
    """The files of a store in memory that are below ``root``, by relative path."""
    return {path[len(root) + 1 :]: data for path, data in list(files.items()) if path.startswith(f"{root}/")}


def local_files(root: Path) -> dict[str, bytes]:
    """The files of a directory, by relative path. What disappears in the meantime is left out."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_file():
            try:
                found[path.relative_to(root).as_posix()] = path.read_bytes()
            except FileNotFoundError:
                continue
    return found
