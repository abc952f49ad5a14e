"""The live files of a snapshot as its batches say, reconciled by the rule of the contract in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ..dataclass import dataclass
from ..plugin import Bounds, FileBatch, FormatSnapshot, PartitionSpec, ReadRequest
from ..plugin.report import ScanReport
from ..schema import Field

__all__ = ["LiveFile", "find_live_files"]


@dataclass(frozen=True)
class LiveFile:
    """One live file of a snapshot, with what its batch says of it.

    Attributes
    ----------
    path : str
        As stored.
    absolute : str
        As ``FormatSnapshot.resolve_paths`` gives it.
    spec : PartitionSpec
    batch : FileBatch
    row : int
        The file's row of the batch.
    bounds : Bounds
        Of all leaf columns, for all rows of the batch; empty where there are no statistics.
    """

    path: str
    absolute: str
    spec: PartitionSpec
    batch: FileBatch
    row: int
    bounds: Bounds

    def value(self, column: str) -> Any:
        """The Python value of a column of ``FileBatch.files``; None where there is no such column."""
        files = self.batch.files
        return files[column][self.row].as_py() if column in files.schema.names else None

    def partition(self, field_id: int) -> pa.Array | None:
        """The value of a partition field, as an array of one; None where the batch has no such member."""
        values = self.batch.files["partition"]
        place = values.type.get_field_index(str(field_id))
        return None if place < 0 else values.slice(self.row, 1).flatten()[place]

    def bound(self, side: dict[int, pa.Array], field: Field) -> pa.Array | None:
        """One value of ``bounds``, such as ``bounds.lower``, as an array of one; None where it is unknown."""
        array = side.get(field.id)
        if array is None or not array[self.row].is_valid:
            return None
        return array.slice(self.row, 1)

    @property
    def file_format(self) -> str:
        return self.value("file_format") or "parquet"

    @property
    def record_counts(self) -> dict[str, int | None]:
        """What each place of the interface says of the number of physical rows, by its name."""
        found = {"FileBatch.files": self.value("record_count")}
        if self.batch.statistics is not None:
            rows = np.array([self.row], np.int64)
            found["Statistics.record_counts"] = self.batch.statistics.record_counts(rows)[0].as_py()
        if self.bounds.record_count is not None:
            found["Bounds.record_count"] = self.bounds.record_count[self.row].as_py()
        return found


def find_live_files(snapshot: FormatSnapshot, columns: Sequence[Field]) -> list[LiveFile]:
    """The files of a snapshot: of every key the first row decides, and the file is live where ``live`` is true.

    Parameters
    ----------
    snapshot : FormatSnapshot
    columns : sequence of Field
        The columns whose bounds are asked for.
    """
    found: list[LiveFile] = []
    seen: set[bytes] = set()
    for batch in snapshot.read(ReadRequest(tuple(columns), ScanReport())):
        rows = _live_rows(batch, seen)
        stored = batch.files["path"].take(pa.array(rows, pa.int64()))
        absolute = snapshot.resolve_paths(stored).to_pylist()
        bounds = Bounds() if batch.statistics is None else batch.statistics.bounds(columns, None)
        spec = snapshot.specs[batch.spec_id]
        for path, where, row in zip(stored.to_pylist(), absolute, rows, strict=True):
            found.append(LiveFile(path, where, spec, batch, row, bounds))
    return found


def _live_rows(batch: FileBatch, seen: set[bytes]) -> list[int]:
    """The rows of a batch that are live; adds its keys to those that were ``seen`` in newer batches."""
    if batch.keys is None:
        return list(range(batch.files.num_rows)) if batch.live is None else np.flatnonzero(batch.live).tolist()
    rows = []
    for row, key in enumerate(batch.keys.to_pylist()):
        if key not in seen:
            seen.add(key)
            if batch.live is None or batch.live[row]:
                rows.append(row)
    return rows
