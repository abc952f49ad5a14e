"""Tests of statistics against what the Parquet files themselves hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ..schema import Field, arrow_type
from ..table.table import Snapshot
from .findings import Findings, sample
from .fixtures import ConformanceFixtures, read_parquet
from .live_files import LiveFile
from .parquet import Unreadable
from .values import canonical, dotted, is_nan, order

__all__ = ["BoundsChecks"]

_MOST_FILES = 50
"""Files whose values are compared, evenly spread where there are more."""


class BoundsChecks(ConformanceFixtures):
    """Part of :class:`FormatConformance`."""

    def test_bounds_hold_for_the_files_values(self, current_snapshot: Snapshot, live_files: list[LiveFile]) -> None:
        """No value of a file, NULL and NaN left out, is below its lower or above its upper bound."""
        findings = Findings("bounds hold for every value of their file that is neither NULL nor NaN")
        for file, path, column in _columns(current_snapshot, live_files):
            where = f"{file.path}, column {dotted(path)}"
            values = [v for v in canonical(column) if v is not None and not is_nan(v)]
            for name, side, most in (("lower", file.bounds.lower, "at most"), ("upper", file.bounds.upper, "at least")):
                bound = file.bound(side, path[-1])
                if bound is None:
                    continue
                kind = arrow_type(path[-1].type)
                if bound.type != kind:
                    findings.add(f"{where}, type of the {name} bound", str(bound.type), str(kind))
                elif values:
                    value, extreme = canonical(bound)[0], (min if name == "lower" else max)(values)
                    if not is_nan(value) and order(value, extreme) * (1 if name == "lower" else -1) > 0:
                        shown = _shown(column, extreme)
                        findings.add(f"{where}, {name} bound", str(bound[0]), f"{most} {shown}, which the file has")
        findings.check()

    def test_counts_of_columns_are_those_of_the_files(
        self, current_snapshot: Snapshot, live_files: list[LiveFile]
    ) -> None:
        """Counts of NULLs, of NaNs and of values, where they are given, are those of the file's physical rows."""
        findings = Findings("null_count, nan_count and value_count are those of the files' physical rows")
        for file, path, column in _columns(current_snapshot, live_files):
            values = canonical(column)
            nulls = sum(value is None for value in values)
            for name, wanted in (
                ("null_count", nulls),
                ("nan_count", sum(map(is_nan, values))),
                ("value_count", len(values)),
            ):
                count = file.bound(getattr(file.bounds, name), path[-1])
                if count is not None:
                    findings.equal(f"{file.path}, column {dotted(path)}, {name}", count[0].as_py(), wanted)
        findings.check()


def _columns(current: Snapshot, files: Sequence[LiveFile]) -> Iterator[tuple[LiveFile, tuple[Field, ...], pa.Array]]:
    """The columns of the files, as far as pyarrow alone can read them; one that a file lacks is NULL in all rows."""
    for file, data in read_parquet(sample(files, _MOST_FILES), current):
        identities = {f.source_id for f in file.spec.fields if f.transform.name == "identity"}
        for path in current.schema.leaves():
            # The values of these are in the partition, whatever the file holds.
            from_partition = current.format_snapshot.name_mapping.partition_values_first
            if path[-1].id in identities and from_partition:
                continue
            try:
                column = data.column(path)
            except Unreadable:
                continue
            if column is None and path[-1].id not in identities and not any(f.initial_default for f in path):
                column = pa.nulls(data.num_rows, arrow_type(path[-1].type))
            if column is not None:
                yield file, path, column


def _shown(column: pa.Array, value: Any) -> str:
    """A canonical value as Arrow shows it: a date, not its days."""
    return str(column[canonical(column).index(value)])
