"""Metadata columns: values that a row has by its file and its place in it, unless the file stores them itself.

Rows are numbered before anything drops some of them, in a member behind those that were read; it stays with its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import CorruptMetadataError
from ..plugin.base import MetadataColumn, NameMapping
from ..scan import ScanTask
from ..schema import Field
from .nodes import FileNode, Selection
from .projection import Resolver

__all__ = ["MetadataReader", "numbered"]


class MetadataReader:
    """Some metadata columns of the file of one task."""

    def __init__(self, columns: Sequence[MetadataColumn], root: FileNode, task: ScanTask) -> None:
        self._columns = columns
        self._task = task
        # By name and never by id: the columns are none of the schema.
        stored = [Field(-1 - i, c.stored_name or "", c.field.type) for i, c in enumerate(columns)]
        self._stored = Resolver(root, NameMapping(), {}, task.path).project(stored)

    @property
    def leaves(self) -> frozenset[int]:
        """The leaf columns of the file that must be read."""
        return self._stored.leaves

    @property
    def needs_positions(self) -> bool:
        """Whether :meth:`read` needs rows that were :func:`numbered`."""
        return any(column.counts_rows for column in self._columns)

    def read(self, rows: pa.StructArray, selection: Selection) -> list[pa.Array]:
        """The columns of ``rows``, in the order they were given, each int64.

        Raises
        ------
        CorruptMetadataError : neither the file nor the metadata has a row's value
        """
        stored = self._stored.read(rows, selection)
        return [self._values(column, stored.column(i), rows) for i, column in enumerate(self._columns)]

    def _values(self, column: MetadataColumn, stored: pa.Array, rows: pa.StructArray) -> pa.Array:
        if not stored.null_count:
            return stored
        first = self._task.file_values.get(column.per_file)
        if first is None:
            raise CorruptMetadataError(
                f"a file has no value for {column.field.name!r}: the metadata lacks {column.per_file!r}",
                path=self._task.path, field=column.field.name, hint="Leave the column out, or read an older version",
            )  # fmt: skip
        computed = pa.repeat(pa.scalar(first, pa.int64()), len(rows))
        if column.counts_rows:
            computed = pc.add(rows.field(rows.type.num_fields - 1), computed)
        return pc.coalesce(stored, computed)


def numbered(batches: Iterable[pa.StructArray]) -> Iterator[pa.StructArray]:
    """The rows of a file, each with its position (int64) as one more member at the end."""
    start = 0
    for rows in batches:
        positions = pa.array(np.arange(start, start + len(rows), dtype=np.int64))
        fields = [*rows.type, pa.field("", pa.int64())]
        yield pa.StructArray.from_arrays([*rows.flatten(), positions], fields=fields)
        start += len(rows)
