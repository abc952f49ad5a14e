"""Metadata columns: values that follow from a row's file and its position there, unless the file stores them itself.

A row's position is added as a last member before any row is removed, so that it stays with its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import CorruptMetadataError
from ...planning.tasks import ScanTask
from ...plugin.columns import MetadataColumn, NameMapping
from ...schema import Field, arrow_type
from .files.column_tree import FileNode, Selection
from .projection import Resolver

__all__ = ["MetadataReader", "with_positions"]


class MetadataReader:
    """Reads metadata columns of files with the same columns.

    Parameters
    ----------
    columns : Sequence[MetadataColumn]
        The columns to read.
    root : FileNode
        The files' columns.
    """

    def __init__(self, columns: Sequence[MetadataColumn], root: FileNode) -> None:
        self._columns = columns
        fields = {c.field.id: f for i, c in enumerate(columns) if (f := _stored_field(c, -1 - i, root)) is not None}
        mapping = NameMapping("id", by_name=frozenset(f.id for f in fields.values() if f.id < 0))
        self._stored_index = {field_id: i for i, field_id in enumerate(fields)}
        self._stored = Resolver(root, mapping).project(list(fields.values()))

    @property
    def leaves(self) -> frozenset[int]:
        """The leaf columns of the file that must be read."""
        return self._stored.leaves

    @property
    def needs_positions(self) -> bool:
        """Whether :meth:`read` needs rows from :func:`with_positions`."""
        return any(column.counts_rows for column in self._columns)

    def read(self, rows: pa.StructArray, selection: Selection, task: ScanTask) -> list[pa.Array]:
        """The metadata columns of ``rows`` of the file of ``task``, each in its field's Arrow type.

        Raises
        ------
        CorruptMetadataError
            Neither the file nor the metadata has a row's value.
        """
        stored = self._stored.read(rows, selection)
        found = []
        for column in self._columns:
            index = self._stored_index.get(column.field.id)
            found.append(_values(column, None if index is None else stored.column(index), rows, task))
        return found


def _values(column: MetadataColumn, stored: pa.Array | None, rows: pa.StructArray, task: ScanTask) -> pa.Array:
    kind = arrow_type(column.field.type)
    if column.null_without is not None and task.file_values.get(column.null_without) is None:
        return pa.nulls(len(rows), kind)
    if stored is not None and not stored.null_count:
        return stored
    computed = _per_file(column, task, len(rows), kind)
    if column.counts_rows:
        computed = pc.add_checked(rows.field(rows.type.num_fields - 1), computed)
    return computed if stored is None else pc.coalesce(stored, computed)


def _per_file(column: MetadataColumn, task: ScanTask, length: int, kind: pa.DataType) -> pa.Array:
    """The file's constant of the column, repeated ``length`` times; zeros if it has none."""
    if column.per_file is None:
        return pa.repeat(pa.scalar(0, kind), length)
    if column.per_file == "partition":
        return _partition(task, length, kind)
    of_every_format = {"path": task.path, "spec_id": task.spec_id}
    first = of_every_format.get(column.per_file, task.file_values.get(column.per_file))
    if first is None:
        raise CorruptMetadataError(
            f"a file has no value for {column.field.name!r}: the metadata lacks {column.per_file!r}",
            path=task.path,
            field=column.field.name,
            hint="Leave the column out, or read an older version",
        )
    return pa.repeat(pa.scalar(first, kind), length)


def _partition(task: ScanTask, length: int, kind: pa.StructType) -> pa.Array:
    """The partition, with a member for each field of all specs; NULL in tables without partition fields."""
    members = list(task.partition.values())
    if not members:
        return pa.nulls(length, kind)
    columns = [pa.repeat(v, length) if v.is_valid else pa.nulls(length, v.type) for v in members]
    return pa.StructArray.from_arrays(columns, fields=list(kind))


def _stored_field(column: MetadataColumn, id_by_name: int, root: FileNode) -> Field | None:
    """The field that finds the file's own values of ``column``; None: the file holds none.

    A field that is found by name has the id ``id_by_name``, which is negative.
    """
    if column.stored_name is not None:
        return Field(id_by_name, column.stored_name, column.field.type)
    if column.stored_id is not None and root.has_ids:
        return Field(column.stored_id, column.field.name, column.field.type)
    return None


def with_positions(batches: Iterable[tuple[int, pa.StructArray]]) -> Iterator[tuple[int, pa.StructArray]]:
    """The same batches with each row's position in the file (int64) as an additional last member.

    Each batch comes with the position of its first row.
    """
    for first, rows in batches:
        positions = pa.array(np.arange(first, first + len(rows), dtype=np.int64))
        fields = [*rows.type, pa.field("", pa.int64())]
        yield first, pa.StructArray.from_arrays([*rows.flatten(), positions], fields=fields)
