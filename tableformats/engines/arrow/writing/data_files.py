"""Write rows as Parquet files, one partition a file, with the statistics of each file, in bounded memory.

Rows are kept as Arrow data until a partition has enough for a file, or all partitions together have too much; then the
greatest partition is written. Names of files are random, so no two tasks or attempts write the same one.
"""

from __future__ import annotations

import contextlib
import io
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ....errors import ConstraintViolationError
from ....io.storage import Storage
from ....plugin.write import FormatAppend, added_files_schema
from ....schema import Field
from .rows import has_nan

__all__ = ["FileOptions", "FileWriter"]

_ESCAPED = set("\"#%'*/:=?\\{[]^") | {chr(code) for code in (*range(32), 127)}
_NULL_DIRECTORY = "__HIVE_DEFAULT_PARTITION__"
_LONGEST_NAME = 200
"""Bytes; file systems allow 255 for a name."""
_UNORDERED = (pa.types.is_boolean, pa.types.is_binary, pa.types.is_null)


@dataclass(frozen=True)
class FileOptions:
    """How data files are written.

    Attributes
    ----------
    target_size : int
        A file is written once its rows take so many bytes in memory.
    buffer_size : int
        The most bytes of rows in memory, over all partitions.
    row_group_rows : int
        The most rows of a row group.
    compression : str
        A codec of Parquet.
    """

    target_size: int = 256 << 20
    buffer_size: int = 512 << 20
    row_group_rows: int = 1 << 20
    compression: str = "zstd"


@dataclass
class _Pending:
    """The rows of one partition that are not written yet; ``values`` are scalars by partition column."""

    values: tuple[pa.Scalar, ...]
    tables: list[pa.RecordBatch] = field(default_factory=list)
    size: int = 0


class FileWriter:
    """Writes the data files of one append. ``written`` has the paths, relative to the root, of what was begun."""

    def __init__(self, storage: Storage, append: FormatAppend, options: FileOptions) -> None:
        self._storage = storage
        self._append = append
        self._options = options
        self._partition_names = [f.name for f in append.partition_fields]
        self._schema = added_files_schema(append.schema, append.partition_fields)
        self._pending: dict[tuple[Any, ...], _Pending] = {}
        self._rows: list[pa.Table] = []
        self.written: list[str] = []

    def write(self, batches: Iterable[pa.RecordBatch]) -> pa.Table:
        """Write all rows. Returns the files, as :func:`tableformats.plugin.added_files_schema` says.

        Raises
        ------
        ConstraintViolationError
            The format cannot store a partition value.
        StoreError
            As the store fails. OSError if it is local.
        """
        for batch in batches:
            for key, values, rows in self._by_partition(batch):
                pending = self._pending.setdefault(key, _Pending(values))
                pending.tables.append(rows)
                pending.size += rows.nbytes
                if pending.size >= self._options.target_size:
                    self._flush(key)
            while sum(pending.size for pending in self._pending.values()) > self._options.buffer_size:
                self._flush(max(self._pending, key=lambda key: self._pending[key].size))
        for key in list(self._pending):
            self._flush(key)
        return pa.concat_tables(self._rows) if self._rows else self._schema.empty_table()

    def discard(self) -> None:
        """Delete what was written. Only for an append that has certainly not been committed."""
        for path in self.written:
            # The error that led here is told, not that a file stays.
            with contextlib.suppress(OSError):
                self._storage.delete(self._storage.join(*path.split("/")))

    def _by_partition(
        self, batch: pa.RecordBatch
    ) -> Iterator[tuple[tuple[Any, ...], tuple[pa.Scalar, ...], pa.RecordBatch]]:
        """(key, partition values, the rows without partition columns) of the partitions of a batch."""
        if not batch.num_rows:
            return
        if not self._partition_names:
            yield (), (), batch
            return
        encoded = [pc.dictionary_encode(batch.column(name), null_encoding="encode") for name in self._partition_names]
        codes = np.stack([column.indices.to_numpy() for column in encoded], axis=1)
        tuples, inverse = np.unique(codes, axis=0, return_inverse=True)
        rows = batch.drop_columns(self._partition_names)
        order = np.argsort(inverse.reshape(-1), kind="stable")
        stops = np.cumsum(np.bincount(inverse.reshape(-1)))
        for number, members in enumerate(tuples):
            values = tuple(column.dictionary[int(code)] for column, code in zip(encoded, members, strict=True))
            chosen = order[0 if number == 0 else stops[number - 1] : stops[number]]
            yield self._texts(values), values, rows.take(pa.array(chosen))

    def _texts(self, values: tuple[pa.Scalar, ...]) -> tuple[str | None, ...]:
        fields = self._append.partition_fields
        return tuple(self._text(f, v) if v.is_valid else None for f, v in zip(fields, values, strict=True))

    def _text(self, column: Field, value: pa.Scalar) -> str:
        try:
            return self._append.partition_text(column, value.as_py())
        except (ValueError, OverflowError) as error:
            if isinstance(error, ConstraintViolationError):
                raise
            raise ConstraintViolationError(
                "a partition value lies outside of the years 1 to 9999", field=column.name
            ) from None

    def _flush(self, key: tuple[Any, ...]) -> None:
        pending = self._pending.pop(key)
        table = pa.Table.from_batches(pending.tables)
        path = "/".join([*_directories(self._partition_names, key), f"part-{uuid.uuid4()}.parquet"])
        sink = io.BytesIO()
        pq.write_table(table, sink, row_group_size=self._options.row_group_rows, compression=self._options.compression)
        self.written.append(path)
        self._storage.put(self._storage.join(*path.split("/")), sink.getvalue())
        self._rows.append(self._row(path, sink.tell(), pending.values, table))

    def _row(self, path: str, size: int, values: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        lower, upper, nulls = [], [], []
        for member in self._schema.field("lower").type:
            column = table.column(member.name)
            least, greatest = _file_bounds(column)
            lower.append(_one(least, member.type))
            upper.append(_one(greatest, member.type))
            nulls.append(pa.array([column.null_count], pa.int64()))
        partition = [_one(v, f.type) for v, f in zip(values, self._schema.field("partition").type, strict=True)]
        structs = [partition, lower, upper, nulls]
        columns = [
            pa.array([path]),
            pa.array([size], pa.int64()),
            pa.array([table.num_rows], pa.int64()),
            *(_struct(arrays, f.type) for arrays, f in zip(structs, list(self._schema)[3:], strict=True)),
        ]
        return pa.table(columns, schema=self._schema)


def _file_bounds(column: pa.ChunkedArray) -> tuple[pa.Scalar | None, pa.Scalar | None]:
    if any(is_kind(column.type) for is_kind in _UNORDERED) or has_nan(column):
        return None, None
    found = pc.min_max(column)
    try:
        found["min"].as_py(), found["max"].as_py()
    except (ValueError, OverflowError):  # years that Python's dates do not have
        return None, None
    return found["min"], found["max"]


def _one(value: pa.Scalar | None, kind: pa.DataType) -> pa.Array:
    return pa.nulls(1, kind) if value is None else pa.array([value], kind)


def _struct(arrays: list[pa.Array], kind: pa.StructType) -> pa.Array:
    # A struct without members has no arrays to take its length from.
    return pa.StructArray.from_arrays(arrays, fields=list(kind)) if arrays else pa.array([{}], kind)


def _directories(names: list[str], texts: tuple[str | None, ...]) -> list[str]:
    """Hive's directories of a partition; none where a name would be too long. Readers take values from the metadata."""
    found = []
    for name, text in zip(names, texts, strict=True):
        found.append(f"{_escaped(name)}={_NULL_DIRECTORY if text is None else _escaped(text)}")
    return found if all(len(name.encode()) <= _LONGEST_NAME for name in found) else []


def _escaped(text: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)
