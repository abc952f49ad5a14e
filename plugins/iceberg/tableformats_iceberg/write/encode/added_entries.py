"""Entries of new files, from the columns that the writer of the data files gives.

Source: Iceberg spec, "Data File Fields", "Sequence Number Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np
import pyarrow as pa

from tableformats.plugin import Field, PartitionSpec, dataclass, flat, to_numpy
from tableformats.plugin import compute as pc

from ...manifests.entries import ADDED
from .avro_encoding import constant, int_map, lengthed, lists_of_longs, long_map, longs, optional
from .entry_batches import EntryBatch
from .layouts import PARTITION, layout_of
from .metrics import MetricsMode, cut_bounds
from .values import partition_struct

__all__ = ["NewFiles", "added_entries"]

_BINARY = pa.binary()


@dataclass(frozen=True)
class NewFiles:
    """New data files of one partition spec, one row a file.

    Attributes
    ----------
    path : pyarrow.StringArray
        Absolute, as the manifest shall have them.
    size_bytes, record_count : int64[n]
    partition : pyarrow.StructArray
        A member for each partition field, in the spec's order.
    lower, upper : mapping of int to pyarrow.Array
        Exact bounds by column, in the column's Arrow type. Null: unknown.
    value_count, null_count, nan_count, column_size : mapping of int to pyarrow.Array
        int64[n] by column. Null: unknown.
    split_offsets : pyarrow.ListArray, optional
        list<int64>[n].
    sort_order_id : int, optional
    """

    path: pa.Array
    size_bytes: np.ndarray
    record_count: np.ndarray
    partition: pa.StructArray
    lower: Mapping[int, pa.Array] = field(default_factory=dict)
    upper: Mapping[int, pa.Array] = field(default_factory=dict)
    value_count: Mapping[int, pa.Array] = field(default_factory=dict)
    null_count: Mapping[int, pa.Array] = field(default_factory=dict)
    nan_count: Mapping[int, pa.Array] = field(default_factory=dict)
    column_size: Mapping[int, pa.Array] = field(default_factory=dict)
    split_offsets: pa.Array | None = None
    sort_order_id: int | None = None

    def __len__(self) -> int:
        return len(self.path)


def added_entries(
    files: NewFiles,
    format_version: int,
    spec: PartitionSpec,
    snapshot_id: int,
    columns: Mapping[int, Field],
    modes: Mapping[int, MetricsMode],
) -> EntryBatch:
    """Entries of status ADDED whose sequence numbers and first row ids the commit gives.

    Parameters
    ----------
    columns : mapping of int to Field
        The columns of the table by id. Metrics of other ids are left out.
    modes : mapping of int to MetricsMode
        The metrics that the table asks for, by column.
    """
    layout = layout_of(format_version, spec)
    rows = len(files)
    counted = [i for i in sorted(columns) if i in modes and modes[i].counts]
    encoded: dict[int, pa.Array] = {
        100: lengthed(files.path),
        101: constant(b"\x0ePARQUET", rows),
        PARTITION: partition_struct(files.partition, spec.fields, rows),
        103: longs(files.record_count),
        104: longs(files.size_bytes),
        108: _counts(files.column_size, counted, rows),
        109: _counts(files.value_count, counted, rows),
        110: _counts(files.null_count, counted, rows),
        137: _counts(files.nan_count, counted, rows),
        125: _bounds(files.lower, counted, columns, modes, rows, is_lower=True),
        128: _bounds(files.upper, counted, columns, modes, rows, is_lower=False),
    }
    if files.split_offsets is not None:
        encoded[132] = optional(lists_of_longs(flat(files.split_offsets)))
    if files.sort_order_id is not None:
        encoded[140] = optional(constant(longs(np.array([files.sort_order_id]))[0].as_py(), rows))
    for member in layout.members:
        if member.id not in encoded:
            assert member.default is not None
            encoded[member.id] = constant(member.default, rows)
    partition = files.partition.flatten() if spec.fields else []
    return EntryBatch(
        layout=layout,
        status=np.full(rows, ADDED, np.int64),
        snapshot_id=np.full(rows, snapshot_id, np.int64),
        sequence_number=np.full(rows, -1, np.int64),
        file_sequence_number=np.full(rows, -1, np.int64),
        members={m.id: encoded[m.id] for m in layout.members},
        partition=partition,
        record_count=files.record_count,
        size_bytes=files.size_bytes,
    )


def _counts(values: Mapping[int, pa.Array], ids: Sequence[int], rows: int) -> pa.Array:
    """Maps of the known counts; null where a file has none."""
    present = [i for i in ids if i in values]
    if not present:
        return optional(pa.nulls(rows, _BINARY))
    arrays = [flat(values[i]) for i in present]
    valid = np.stack([to_numpy(pc.is_valid(a)) for a in arrays], axis=1)
    numbers = np.stack([to_numpy(pc.fill_null(a, 0)).astype(np.int64) for a in arrays], axis=1)
    return optional(long_map(present, numbers, valid))


def _bounds(
    values: Mapping[int, pa.Array],
    ids: Sequence[int],
    columns: Mapping[int, Field],
    modes: Mapping[int, MetricsMode],
    rows: int,
    *,
    is_lower: bool,
) -> pa.Array:
    found = {
        i: bounds
        for i in ids
        if i in values and (bounds := cut_bounds(flat(values[i]), columns[i], modes[i], is_lower=is_lower)) is not None
    }
    if not found:
        return optional(pa.nulls(rows, _BINARY))
    valid = np.stack([to_numpy(pc.is_valid(a)) for a in found.values()], axis=1)
    # The arrays are one column after the other; a map has the columns of one file.
    by_file = (np.arange(rows)[:, None] + rows * np.arange(len(found))[None, :])[valid]
    items = pc.take(pa.concat_arrays(list(found.values())), pa.array(by_file))
    encoded = lengthed(items) if len(items) else pa.array([], _BINARY)
    return optional(int_map(list(found), encoded, valid))
