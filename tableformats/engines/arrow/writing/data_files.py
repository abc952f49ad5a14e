"""Write rows as Parquet files, one partition a file, with the statistics of each file, in bounded memory.

Rows are kept as Arrow data until a partition has enough for a file, or all partitions together have too much; then the
greatest partitions are written. Names of files are random, so no two tasks or attempts write the same one.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ....columnar.arrays import to_arrow
from ....columnar.grouping import group_codes, order_by_code
from ....dataclass import dataclass
from ....errors import ConstraintViolationError, UnsupportedFeatureError
from ....io.local_writes import creating_local
from ....io.paths import scheme_of
from ....io.storage import Storage
from ....plugin.partitions import PartitionField
from ....plugin.writing.write_target import WriteTarget
from ....runtime.io_threads import WriteBehind
from ....schema import Field, arrow_type
from ....schema.transform_values import transformed
from ....write.commit_loop import errors_say_nothing_done
from .file_statistics import AddedFiles
from .parquet_files import ParquetLayout
from .row_order import sorted_rows
from .stored_columns import stored_schema, stored_table

__all__ = ["BUFFER_BYTES", "FileWriter", "discard_files"]

BUFFER_BYTES = 512 << 20
"""The most bytes of rows in memory, over all partitions."""

_CHUNKS = 8
"""A buffer is filled by about so many chunks of rows, each of which is divided among the partitions at once."""
_ARRAY_BYTES = 512
"""What an array takes beside its values: with many partitions most arrays are short."""
_CALIBRATING_BYTES = 1 << 20
"""Rows of fewer bytes do not say how much smaller than rows files are."""
_MANY_BYTES = 8 << 20
"""Of rows: files of so many are made on another thread, and local ones not in memory before they are written."""
_LOCAL_WRITES = 4
"""Files that are made or brought to a local disk at once."""
_ESCAPED = set("\"#%'*/:=?\\{[]^") | {chr(code) for code in (*range(32), 127)}
_NULL_DIRECTORY = "__HIVE_DEFAULT_PARTITION__"
_LONGEST_NAME = 200
"""Bytes; file systems allow 255 for a name."""


@dataclass
class _Pending:
    """The rows of one partition that are not written yet; ``values`` are scalars by partition field."""

    values: tuple[pa.Scalar, ...]
    batches: list[pa.RecordBatch] = field(default_factory=list)
    size: int = 0


class FileWriter:
    """Writes data files as a target says. ``written`` has the paths, relative to the root, of what was begun.

    Parameters
    ----------
    storage : Storage
        The storage of the table.
    target : WriteTarget
    buffer_bytes : int, optional
        The most bytes of rows in memory. None: :data:`BUFFER_BYTES`.

    Raises
    ------
    UnsupportedFeatureError
        The target has a partition transform that is not written.
    """

    def __init__(self, storage: Storage, target: WriteTarget, buffer_bytes: int | None = None) -> None:
        self._storage = storage
        self._target = target
        self._root = storage.root if target.root is None else target.root
        self._buffer_bytes = BUFFER_BYTES if buffer_bytes is None else buffer_bytes
        self._sources = [(f, _source_path(f, target)) for f in target.partitioning]
        self._names = [f.name for f in target.stored_fields]
        self._stored = stored_schema(target)
        self._layout = ParquetLayout(target, self._stored)
        self._pending: dict[tuple[Any, ...], _Pending] = {}
        self._pending_bytes = 0
        self._bytes_a_file = self._arrow_bytes(1.0)
        self._is_calibrated = self._bytes_a_file >= self._buffer_bytes // 2  # it gets no greater
        self._added = AddedFiles(target)
        is_local = scheme_of(self._root) is None
        concurrency = _LOCAL_WRITES if is_local else storage.store_of(self._root).concurrency.large
        self._behind = WriteBehind(concurrency, self._buffer_bytes)
        self.written: list[str] = []

    def write(self, batches: Iterable[pa.RecordBatch]) -> pa.Table:
        """Write all rows, which have the columns of the target's schema by name.

        Returns
        -------
        pyarrow.Table
            The files, as :func:`tableformats.plugin.added_files_schema` says.

        Raises
        ------
        ConstraintViolationError
            The format cannot store a partition value.
        StoreError
            As the store fails. OSError if it is local.
        """
        with self._behind:
            for batch in self._in_chunks(batches):
                for key, values, rows in self._by_partition(batch):
                    self._hold(key, values, rows)
                self._make_room()
            for key in list(self._pending):
                self._flush(key)
        return self._added.table()

    def _hold(self, key: tuple[Any, ...], values: tuple[pa.Scalar, ...], rows: pa.RecordBatch) -> None:
        """Keep rows of a partition until there are enough for a file."""
        pending = self._pending.setdefault(key, _Pending(values))
        pending.batches.append(rows)
        size = rows.nbytes + _ARRAY_BYTES * rows.num_columns
        pending.size += size
        self._pending_bytes += size
        if pending.size >= self._bytes_a_file:
            self._flush(key)

    def _in_chunks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows in batches of a chunk at most; of just about one, if they go to partitions.

        A greater batch makes files of more than the target size, and each batch makes one of every partition.
        """
        most = self._buffer_bytes // _CHUNKS
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            rows = max(1, batch.num_rows * most // max(batch.nbytes, 1))
            for start in range(0, batch.num_rows, rows):
                held.append(batch.slice(start, rows))
                size += held[-1].nbytes
                if size >= most or not self._sources:
                    yield _joined(held)
                    held, size = [], 0
        if held:
            yield _joined(held)

    def discard(self) -> None:
        """Delete what was written. Only for a commit that has certainly not been made."""
        discard_files(self._storage, self._target, self.written)

    def _by_partition(
        self, batch: pa.RecordBatch
    ) -> Iterator[tuple[tuple[Any, ...], tuple[pa.Scalar, ...], pa.RecordBatch]]:
        """(key, partition values, the stored columns of the rows) of the partitions of a batch."""
        if not batch.num_rows:
            return
        rows = batch.select(self._names)
        if not self._sources:
            yield (), (), rows
            return
        columns = [_partition_values(f, path, batch) for f, path in self._sources]
        codes = group_codes(columns)
        stops = np.cumsum(np.bincount(codes))
        for chosen in np.split(order_by_code(codes), stops[:-1]):
            values = tuple(column[int(chosen[0])] for column in columns)
            yield self._key(values), values, rows.take(to_arrow(chosen))

    def _key(self, values: tuple[pa.Scalar, ...]) -> tuple[str | None, ...]:
        """The texts of partition values, which are one for equal values. Without texts, their Python values."""
        return tuple(
            self._text(f, v) if v.is_valid else None for f, v in zip(self._target.partitioning, values, strict=True)
        )

    def _text(self, column: PartitionField, value: pa.Scalar) -> str:
        to_text = self._target.partition_text
        try:
            if to_text is None:  # dates and times by their number, which may lie outside of Python's years
                return repr(value.value if hasattr(value, "value") else value.as_py())
            return to_text(column, value.as_py())
        except (ValueError, OverflowError) as error:
            if isinstance(error, ConstraintViolationError):
                raise
            raise ConstraintViolationError(
                "a partition value lies outside of the years 1 to 9999", field=column.name
            ) from None

    def _arrow_bytes(self, expansion: float) -> int:
        """The bytes of rows that make a file of the target size; rows take ``expansion`` times the bytes of files."""
        wanted = int(self._target.target_file_size * max(expansion, 1.0))
        return min(wanted, max(self._buffer_bytes // 2, self._target.target_file_size))

    def _make_room(self) -> None:
        """Wait for files that are made on other threads, and write partitions, while rows take too much memory."""
        most = self._buffer_bytes + self._buffer_bytes // _CHUNKS  # files of half of the buffer hold somewhat more
        self._behind.wait(most - self._pending_bytes)
        if self._pending_bytes > self._buffer_bytes:
            self._flush_greatest()

    def _flush_greatest(self) -> None:
        """Write partitions, the greatest first, until half of the buffer is free."""
        for key in sorted(self._pending, key=lambda key: -self._pending[key].size):
            if self._pending_bytes <= self._buffer_bytes // 2:
                break
            self._flush(key)

    def _flush(self, key: tuple[Any, ...]) -> None:
        """Write the rows of a partition as one file: here, or on another thread if they are many."""
        pending = self._pending.pop(key)
        self._pending_bytes -= pending.size
        path = self._path(key)
        self.written.append(path)
        write = partial(self._write, self._added.begin(), path, pending)
        if pending.size >= _MANY_BYTES and self._is_calibrated:
            self._behind.start(pending.size, write)
        else:
            write()

    def _write(self, place: int, path: str, pending: _Pending) -> None:
        table = pa.Table.from_batches(pending.batches)
        if self._target.sort_by:
            table = sorted_rows(table, self._target)
        size, footer, with_nan = self._write_file(path, stored_table(table, self._stored), pending.size)
        if pending.size >= _CALIBRATING_BYTES:
            self._bytes_a_file = self._arrow_bytes(pending.size / size)
            self._is_calibrated = True
        self._added.add(place, path, size, pending.values, table, footer, with_nan)

    def _write_file(self, path: str, table: pa.Table, table_bytes: int) -> tuple[int, pq.FileMetaData, frozenset[int]]:
        """(bytes, footer, leaves with NaN) of a file that is written."""
        absolute = f"{self._root}/{path}"
        if table_bytes >= _MANY_BYTES and scheme_of(absolute) is None:
            with errors_say_nothing_done(), creating_local(absolute) as file:
                written = self._layout.write(table, pa.PythonFile(file, mode="w"))
                return file.tell(), *written
        sink = pa.BufferOutputStream()
        written = self._layout.write(table, sink)
        data = sink.getvalue()
        if table_bytes >= _MANY_BYTES:
            self._put(absolute, data)
        else:
            self._behind.submit(data.size, partial(self._put, absolute, data))
        return data.size, *written

    def _put(self, path: str, data: pa.Buffer) -> None:
        with errors_say_nothing_done():
            self._storage.put_new(path, memoryview(data))

    def _path(self, key: tuple[str | None, ...]) -> str:
        """The path of a new file."""
        path = "/".join([*self._directories(key), f"part-{uuid.uuid4()}.parquet"])
        if self._target.place is not None:
            path = self._target.place(path)
        return f"{self._target.directory}/{path}" if self._target.directory else path

    def _directories(self, texts: tuple[str | None, ...]) -> list[str]:
        """Hive's directories of a partition; none where a name would be too long. Readers take values from the
        metadata."""
        if self._target.partition_text is None:
            return []
        found = []
        for (f, _), text in zip(self._sources, texts, strict=True):
            found.append(f"{_escaped(f.name)}={_NULL_DIRECTORY if text is None else _escaped(text)}")
        return found if all(len(name.encode()) <= _LONGEST_NAME for name in found) else []


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def discard_files(storage: Storage, target: WriteTarget, paths: Iterable[str]) -> None:
    """Delete data files. Only for those that certainly no commit names. ``paths`` are relative to the target's root."""
    root = storage.root if target.root is None else target.root
    for path in paths:
        # The error that led here is told, not that a file stays.
        with contextlib.suppress(OSError):
            storage.delete(f"{root}/{path}")


def _source_path(column: PartitionField, target: WriteTarget) -> tuple[Field, ...]:
    """The source column of a partition field: the fields down from the top-level one. () for ``void``."""
    if column.transform.name == "unknown":
        raise UnsupportedFeatureError(
            f"files are not partitioned by {column.transform}", field=column.name, hint="Nothing was written"
        )
    try:
        return target.schema.path_of(column.source_id)
    except KeyError:
        if column.transform.name == "void":
            return ()
        raise UnsupportedFeatureError("the partition field's column was dropped", field=column.name) from None


def _partition_values(column: PartitionField, path: tuple[Field, ...], batch: pa.RecordBatch) -> pa.Array:
    """The partition value of every row. A member of a NULL struct is NULL."""
    if column.transform.name == "void":
        return pa.nulls(batch.num_rows, arrow_type(column.type))
    values = batch.column(path[0].name)
    for member in path[1:]:
        values = pc.struct_field(values, [values.type.get_field_index(member.name)])
    return transformed(column.transform, values, path[-1].type)


def _escaped(text: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)
