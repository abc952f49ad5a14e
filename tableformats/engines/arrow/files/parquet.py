"""Parquet data files, read one row group at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ....errors import CorruptMetadataError
from ....limits import Limits
from ..values.calendars import OldCalendars
from ..values.casts import without_views
from .column_tree import Selection, file_tree
from .data_file import BATCH_ROWS, WHOLE_FILE, DataFile, counted_rows, typed_errors, with_typed_errors

__all__ = ["ParquetFile"]


class ParquetFile(DataFile):
    """A Parquet file. Only the selected leaf columns are read."""

    def __init__(self, path: str, source: pa.NativeFile, limits: Limits) -> None:
        self.path = path
        # int96 values as nanoseconds would wrap around outside of the years 1677 to 2262.
        self._file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us", pre_buffer=True)
        self.root = file_tree(self._file.schema_arrow, b"PARQUET:field_id", path, limits)
        self.num_rows = self._file.metadata.num_rows
        if self.root.leaves.stop != len(self._file.schema):
            raise CorruptMetadataError(
                "the Arrow schema in the file does not describe its columns", path=path, hint="Rewrite the file"
            )
        old, columns = OldCalendars.of(self._file.metadata.metadata), self._file.schema
        if old is not None and self.root.children:
            self.root = self.root.with_calendars(lambda i, kind: old.of_column(columns.column(i).physical_type, kind))

    def rows(self, selection: Selection) -> Iterator[tuple[int, pa.StructArray]]:
        first, metadata = 0, self._file.metadata
        for number in range(metadata.num_row_groups):
            with typed_errors(self.path):
                group = metadata.row_group(number)
                is_chosen = self.byte_range == WHOLE_FILE or self.byte_range.contains(_middle(group))
            if is_chosen:
                yield from counted_rows(self._row_group(number, selection), first, group.num_rows, self.path)
            first += group.num_rows
        if first != self.num_rows:
            raise CorruptMetadataError(
                f"the file holds {first} rows where its footer counts {self.num_rows}",
                path=self.path,
                hint="Restore the file",
            )

    def _row_group(self, number: int, selection: Selection) -> Iterator[pa.StructArray]:
        # One row group per call: Arrow then buffers the column chunks of only one.
        batches = self._file.reader.iter_batches(
            BATCH_ROWS, row_groups=[number], column_indices=selection.leaves, use_threads=True
        )
        yield from with_typed_errors((without_views(batch.to_struct_array()) for batch in batches), self.path)


def _middle(group: Any) -> int:
    """The offset of the middle of a Parquet row group, as parquet-java computes it.

    A damaged footer gives every task of the file the same answer, so each row group still belongs to one task.
    """
    if not group.num_columns:
        return 0
    columns = [group.column(i) for i in range(group.num_columns)]
    first = columns[0]
    start = first.data_page_offset
    if first.dictionary_page_offset is not None and 0 < first.dictionary_page_offset < start:
        start = first.dictionary_page_offset
    return int(start + sum(column.total_compressed_size for column in columns) // 2)
