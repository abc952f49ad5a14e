"""What is known of written data files, collected in columns: bounds from the rows, counts from the footer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ....plugin.writing.write_target import WriteTarget, added_files_schema, is_repeated, stored_leaves
from ....schema import Field, is_floating

__all__ = ["AddedFiles"]

_UNORDERED = (pa.types.is_boolean, pa.types.is_null)
"""Types of which no bounds are made."""
_FEW_ROWS = 4096
"""Computing bounds of so few rows costs less than asking the footer."""


class AddedFiles:
    """Collects written files, and gives them as :func:`tableformats.plugin.added_files_schema` says."""

    def __init__(self, target: WriteTarget) -> None:
        self.schema = added_files_schema(target)
        leaves = stored_leaves(target)
        self._leaf_ids = [str(path[-1].id) for path in leaves]
        bounded = {member.name for member in self.schema.field("lower").type}
        self._plain = [(i, path) for i, path in enumerate(leaves) if not is_repeated(path)]
        self._bounded = bounded
        self._columns: dict[str, list[Any]] = {name: [] for name in ("path", "size_bytes", "record_count")}
        self._splits: list[list[int]] = []
        self._members: dict[str, dict[str, list[Any]]] = {
            f.name: {member.name: [] for member in f.type} for f in self.schema if pa.types.is_struct(f.type)
        }

    def __len__(self) -> int:
        return len(self._splits)

    def add(
        self, path: str, size: int, partition: tuple[pa.Scalar, ...], rows: pa.Table, footer: pq.FileMetaData
    ) -> None:
        """A written file.

        Parameters
        ----------
        partition : tuple of pyarrow.Scalar
            The values of the target's partition fields.
        rows : pyarrow.Table
            Its rows, by the names of the schema.
        footer : pyarrow.parquet.FileMetaData
            As it was written.
        """
        for name, value in (("path", path), ("size_bytes", size), ("record_count", rows.num_rows)):
            self._columns[name].append(value)
        for values, value in zip(self._members["partition"].values(), partition, strict=True):
            values.append(value)
        self._add_counts(footer)
        for number, leaf in self._plain:
            self._add_bounds(str(leaf[-1].id), leaf, rows, footer, number)

    def table(self) -> pa.Table:
        """The files, in the order in which they were added."""
        arrays: list[pa.Array] = []
        for f in self.schema:
            if f.name in self._members:
                members = self._members[f.name]
                children = [_array(members[member.name], member.type) for member in f.type]
                arrays.append(_struct(children, f.type, len(self)))
            elif f.name == "split_offsets":
                arrays.append(pa.array(self._splits, f.type))
            else:
                arrays.append(pa.array(self._columns[f.name], f.type))
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _add_counts(self, footer: pq.FileMetaData) -> None:
        assert footer.num_columns == len(self._leaf_ids), "leaves are those of the file"
        groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
        firsts = []
        for number, leaf in enumerate(self._leaf_ids):
            chunks = [group.column(number) for group in groups]
            found = [chunk.statistics for chunk in chunks]
            is_counted = all(s is not None and s.has_null_count for s in found)
            counts = {
                "null_count": sum(s.null_count for s in found) if is_counted else None,
                "value_count": sum(chunk.num_values for chunk in chunks),
                "column_sizes": sum(chunk.total_compressed_size for chunk in chunks),
            }
            for name, count in counts.items():
                self._members[name][leaf].append(count)
            if number == 0:
                firsts = [_first_byte(chunk) for chunk in chunks]
        self._splits.append(firsts)

    def _add_bounds(
        self, leaf: str, path: tuple[Field, ...], rows: pa.Table, footer: pq.FileMetaData, number: int
    ) -> None:
        is_wanted, is_float = leaf in self._bounded, is_floating(path[-1].type)
        if not (is_wanted or is_float):
            return
        column = _leaf_values(rows, path)
        nans = pc.sum(pc.is_nan(column)).as_py() or 0 if is_float else 0
        if is_float:
            self._members["nan_count"][leaf].append(nans)
        if is_wanted:
            has_values = column.null_count + nans < len(column)
            found = _footer_bounds(footer, number, column.type) if has_values and len(column) > _FEW_ROWS else None
            least, greatest = found or (_min_max(column) if has_values else (None, None))
            self._members["lower"][leaf].append(least)
            self._members["upper"][leaf].append(greatest)


def _leaf_values(rows: pa.Table, path: tuple[Field, ...]) -> pa.ChunkedArray:
    """The values of a leaf; a member of a NULL struct is NULL."""
    column = rows.column(path[0].name)
    for member in path[1:]:
        column = pc.struct_field(column, [column.type.get_field_index(member.name)])
    return column


def _min_max(column: pa.ChunkedArray) -> tuple[pa.Scalar | None, pa.Scalar | None]:
    if any(is_kind(column.type) for is_kind in _UNORDERED):
        return None, None
    if pa.types.is_fixed_size_binary(column.type):
        column = column.cast(pa.binary())
    found = pc.min_max(column)
    return found["min"], found["max"]


def _footer_bounds(footer: pq.FileMetaData, number: int, kind: pa.DataType) -> tuple[pa.Scalar, pa.Scalar] | None:
    """The bounds of a column of texts as its file has them, which cost most to compute; None: some are not there.

    A file has no bounds of very long texts. Text is compared by code points, which is the order of its bytes.
    """
    if not pa.types.is_string(kind):
        return None
    found = []
    for i in range(footer.num_row_groups):
        chunk = footer.row_group(i).column(number)
        statistics = chunk.statistics
        if statistics is None or not (statistics.has_min_max or statistics.null_count == chunk.num_values):
            return None
        if statistics.has_min_max:
            found.append((statistics.min, statistics.max))
    if not found:
        return None
    return pa.scalar(min(low for low, _ in found), kind), pa.scalar(max(high for _, high in found), kind)


def _first_byte(chunk: pq.ColumnChunkMetaData) -> int:
    dictionary = chunk.dictionary_page_offset
    first: int = chunk.data_page_offset
    return min(first, dictionary) if dictionary else first


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """An array of scalars of one type, which may be another spelling of ``kind``, or of numbers; None is NULL."""
    typed = next((v.type for v in values if isinstance(v, pa.Scalar)), kind)
    found = pa.array(values, typed)
    return found if found.type.equals(kind) else found.cast(kind)


def _struct(arrays: list[pa.Array], kind: pa.StructType, length: int) -> pa.Array:
    # A struct without members has no arrays to take its length from.
    return pa.StructArray.from_arrays(arrays, fields=list(kind)) if arrays else pa.array([{}] * length, kind)
