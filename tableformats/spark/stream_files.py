"""The files that a stream reads, with numbers that stay the same whenever an offset is read again.

All files of a version are numbered in the order of their stored paths, whatever filter the stream has. The files of a
version never change, but the order in which a log lists them may.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import UnsupportedFeatureError
from ..expressions import tree as ex
from ..table.changes import CHANGE_COLUMNS
from .file_groups import check_schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from ..table.scan import Scan, ScanPlan
    from ..table.table import Table
    from .options import ReadOptions

__all__ = ["ALL", "AppendedFiles", "InitialFiles", "StreamFiles"]

ALL = -1
"""As the end of a range of files: after the last one."""

_SKIP_OPTIONS = {
    "delete": ("ignoreDeletes", "skipChangeCommits", "streaming-skip-delete-snapshots"),
    "change": ("skipChangeCommits", "streaming-skip-overwrite-snapshots"),
}
"""The options that let a stream skip versions, by the kind of version."""


class StreamFiles:
    """The files of a scan by version and number.

    Parameters
    ----------
    rows : Scan
        The scan.
    schema : StructType
        The columns of the stream.

    Raises
    ------
    UnsupportedFeatureError
        The scan has other columns than the stream.
    """

    def __init__(self, rows: Scan, schema: StructType) -> None:
        check_schema(rows, schema)
        self._rows = rows
        self._listing = replace(rows, filter=ex.TRUE).plan()
        self._plan: ScanPlan | None = self._listing if rows.filter == ex.TRUE else None
        self._versions = self._versions_of(self._listing)
        self._numbers = _numbers(self._versions, self._listing.survivors["path"])
        self._sizes = pc.fill_null(self._listing.survivors["size_bytes"], 0).to_numpy()

    def _versions_of(self, plan: ScanPlan) -> np.ndarray:
        """The version of each file of ``plan``, as int64[n]."""
        raise NotImplementedError

    def sizes(self, version: int) -> list[int]:
        """The size in bytes of each file of the version, by number."""
        rows = self._versions == version
        return np.bincount(self._numbers[rows], self._sizes[rows]).astype(np.int64).tolist()  # type: ignore[no-any-return]

    def plan(self, ranges: Mapping[int, tuple[int, int]]) -> ScanPlan:
        """The plan of ranges of files.

        Parameters
        ----------
        ranges : Mapping[int, tuple[int, int]]
            By version, the first number and the number after the last one (:data:`ALL`: to the end).
        """
        if self._plan is None:
            self._plan = self._rows.plan()
        plan = self._plan
        versions, numbers = self._versions, self._numbers
        if plan is not self._listing:
            versions = self._versions_of(plan)
            known = _keys(self._versions, self._listing.survivors["path"])
            indexes = pc.index_in(_keys(versions, plan.survivors["path"]), value_set=known)
            numbers = numbers[indexes.to_numpy()]
        chosen = np.zeros(len(plan), bool)
        for version, (first, last) in ranges.items():
            end = last if last != ALL else np.iinfo(np.int64).max
            chosen |= (versions == version) & (numbers >= first) & (numbers < end)
        return plan.take(np.flatnonzero(chosen))


class InitialFiles(StreamFiles):
    """All files of the version that a stream begins with."""

    def __init__(self, table: Table, version: int, options: ReadOptions, schema: StructType) -> None:
        self.version = version
        snapshot = table.snapshot()
        snapshot = snapshot if snapshot.version == version else table.snapshot(version)
        super().__init__(options.restrict(snapshot), schema)

    def _versions_of(self, plan: ScanPlan) -> np.ndarray:
        return np.full(len(plan), self.version, np.int64)


class AppendedFiles(StreamFiles):
    """The files that the versions from ``first`` to the current one appended."""

    def __init__(self, table: Table, first: int, options: ReadOptions, schema: StructType) -> None:
        changes = table.changes(first)
        table_columns = [f.name for f in changes.schema if f not in CHANGE_COLUMNS]
        super().__init__(options.restrict(changes.select(*table_columns)), schema)
        self._location = table.location
        self._skipped_kinds = {kind for kind, names in _SKIP_OPTIONS.items() if any(map(options.flag, names))}
        self._kinds = pc.fill_null(_constant(self._listing, 0), "change").to_numpy(zero_copy_only=False)

    def _versions_of(self, plan: ScanPlan) -> np.ndarray:
        return _constant(plan, 1).to_numpy()

    def sizes(self, version: int) -> list[int]:
        """The size in bytes of each file that the version appended; empty for a version that is skipped.

        Raises
        ------
        UnsupportedFeatureError
            The version deleted or changed rows, and no option says to skip it.
        """
        kinds = set(self._kinds[self._versions == version])
        if kinds <= {"insert"}:
            return super().sizes(version)
        kind = "delete" if kinds == {"delete"} else "change"
        if kind in self._skipped_kinds:
            return []
        what = "deleted rows" if kind == "delete" else "deleted or changed rows"
        raise UnsupportedFeatureError(
            f"version {version} {what}, and a stream gives appended rows alone",
            path=self._location,
            field=f"version {version}",
            hint=f"Pass over such versions with {' or '.join(_SKIP_OPTIONS[kind])}, or read them with readChangeFeed",
        )


def _constant(plan: ScanPlan, which: int) -> pa.Array:
    """One of the change columns, which are partition values, for each file."""
    return _flat(pc.struct_field(plan.survivors["partition"], str(CHANGE_COLUMNS[which].id)))


def _numbers(versions: np.ndarray, paths: pa.ChunkedArray) -> np.ndarray:
    """The rank of each file's path among the sorted paths of its version, as int64[n]; equal for equal paths."""
    numbers = np.zeros(len(versions), np.int64)
    if not len(versions):
        return numbers
    table = pa.table({"version": versions, "path": paths})
    order = pc.sort_indices(table, [("version", "ascending"), ("path", "ascending")]).to_numpy()
    version, path = versions[order], _flat(paths.take(order))
    is_new = np.ones(len(order), bool)
    same_path = pc.equal(path.slice(1), path.slice(0, len(path) - 1)).to_numpy(zero_copy_only=False)
    is_new[1:] = (version[1:] != version[:-1]) | ~same_path
    counted = np.cumsum(is_new)
    numbers[order] = counted - counted[np.searchsorted(version, version)]
    return numbers


def _keys(versions: np.ndarray, paths: pa.ChunkedArray) -> pa.Array:
    return pc.binary_join_element_wise(pa.array(versions).cast(pa.string()), _flat(paths), "\0")


def _flat(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)
