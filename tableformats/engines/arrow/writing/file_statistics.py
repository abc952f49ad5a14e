"""What is known of written data files, collected in columns: bounds from the rows, counts from the footer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ....columnar import compute as pc
from ....plugin.writing.write_target import WriteTarget, added_files_schema, is_repeated, stored_leaves
from ....schema import Field, arrow_type, is_floating

__all__ = ["AddedFiles"]

_UNORDERED = (pa.types.is_boolean, pa.types.is_null)
"""Types of which no bounds are made."""
_FEW_ROWS = 4096
"""Computing bounds of so few rows costs less than asking the footer."""


class AddedFiles:
    """Collects written files, and gives them as :func:`tableformats.plugin.added_files_schema` says."""

    def __init__(self, target: WriteTarget) -> None:
        self.schema = added_files_schema(target)
        self._with_layout = target.with_layout
        leaves = stored_leaves(target)
        self._leaf_ids = [str(path[-1].id) for path in leaves]
        self._plain = [(i, path) for i, path in enumerate(leaves) if not is_repeated(path)]
        self._bounded = {member.name: member.type for member in self.schema.field("lower").type}
        self._partition = list(self.schema.field("partition").type)
        self._files: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self._files)

    def begin(self) -> int:
        """The place of a file that is going to be written, after those that were begun before."""
        self._files.append({})
        return len(self._files) - 1

    def add(
        self,
        place: int,
        path: str,
        size: int,
        partition: tuple[pa.Scalar, ...],
        rows: pa.Table,
        footer: pq.FileMetaData,
        with_nan: Set[int],
    ) -> None:
        """A written file. Files of several places may be added at once.

        Parameters
        ----------
        place : int
            As :meth:`begin` gave it.
        partition : tuple of pyarrow.Scalar
            The values of the target's partition fields.
        rows : pyarrow.Table
            Its rows, by the names of the schema.
        footer : pyarrow.parquet.FileMetaData
            As it was written.
        with_nan : set of int
            The numbers of the leaves that have NaN.
        """
        values = zip(self._partition, partition, strict=True)
        file: dict[str, Any] = {"path": path, "size_bytes": size, "record_count": rows.num_rows}
        file["partition"] = {member.name: _typed(value, member.type) for member, value in values}
        file.update({name: {} for name in ("lower", "upper", "nan_count")}, **self._counts(footer))
        for number, leaf in self._plain:
            self._add_bounds(file, leaf, rows, footer, number, number in with_nan)
        self._files[place] = file

    def add_footer(
        self, path: str, size: int, footer: pq.FileMetaData, values: Callable[[int], Iterable[pa.ChunkedArray]]
    ) -> None:
        """A file without partition values that another writer wrote.

        ``values``: the values of a leaf, by its number. Only floating-point numbers are asked for: a footer does not
        say whether there is NaN.
        """
        file: dict[str, Any] = {"path": path, "size_bytes": size, "record_count": footer.num_rows, "partition": {}}
        file.update({name: {} for name in ("lower", "upper", "nan_count")}, **self._counts(footer))
        for number, leaf in self._plain:
            name, kind = str(leaf[-1].id), arrow_type(leaf[-1].type)
            wanted = self._bounded.get(name)
            if wanted is None:
                continue
            if pa.types.is_floating(kind):
                file["nan_count"][name], found = _float_bounds(values(number))
            else:
                found = _footer_bounds(footer, number, kind)
            for side, value in zip(("lower", "upper"), found or (), strict=False):
                file[side][name] = _typed(value, wanted)
        self._files.append(file)

    def table(self) -> pa.Table:
        """The files, in the order in which they were begun or their footers were added."""
        return pa.Table.from_struct_array(pa.array(self._files, pa.struct(self.schema)))

    def _counts(self, footer: pq.FileMetaData) -> dict[str, Any]:
        """What is wanted of the footer: counts by leaf, and where row groups begin."""
        assert footer.num_columns == len(self._leaf_ids), "leaves are those of the file"
        groups = [footer.row_group(i) for i in range(footer.num_row_groups)]
        nulls: dict[str, int | None] = {}
        values, sizes = {}, {}
        for number, leaf in enumerate(self._leaf_ids):
            chunks = [group.column(number) for group in groups]
            found = [chunk.statistics for chunk in chunks]
            is_counted = all(s is not None and s.has_null_count for s in found)
            nulls[leaf] = sum(s.null_count for s in found) if is_counted else None
            if self._with_layout:
                values[leaf] = sum(chunk.num_values for chunk in chunks)
                sizes[leaf] = sum(chunk.total_compressed_size for chunk in chunks)
        if not self._with_layout:
            return {"null_count": nulls}
        firsts = [_first_byte(group.column(0)) for group in groups]
        return {"null_count": nulls, "value_count": values, "column_sizes": sizes, "split_offsets": firsts}

    def _add_bounds(
        self,
        file: dict[str, Any],
        path: tuple[Field, ...],
        rows: pa.Table,
        footer: pq.FileMetaData,
        number: int,
        has_nan: bool,
    ) -> None:
        leaf = str(path[-1].id)
        kind, is_float = self._bounded.get(leaf), is_floating(path[-1].type)
        if kind is None and not is_float:
            return
        column = _leaf_values(rows, path)
        nans = pc.sum(pc.is_nan(column)).as_py() if has_nan else 0
        if is_float:
            file["nan_count"][leaf] = nans
            if file["null_count"][leaf] is None:  # a column with NaN has no statistics in the file
                file["null_count"][leaf] = column.null_count
        if kind is not None and column.null_count + nans < len(column):
            found = None
            if len(column) > _FEW_ROWS and is_float and not nans and not column.null_count:
                found = _proper_bounds(column)
            elif len(column) > _FEW_ROWS and pa.types.is_string(column.type):
                # Of texts the bounds cost most to compute.
                found = _footer_bounds(footer, number, column.type)
            for side, value in zip(("lower", "upper"), found or _min_max(column), strict=True):
                file[side][leaf] = _typed(value, kind)


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


def _float_bounds(chunks: Iterable[pa.ChunkedArray]) -> tuple[int, tuple[pa.Scalar, pa.Scalar] | None]:
    """How many values are NaN, and the bounds of the others; None: there are no others."""
    nans = 0
    bounds: list[pa.Scalar] = []
    for values in chunks:
        nans += pc.sum(pc.is_nan(values)).as_py() or 0
        bounds += _min_max(values.filter(pc.invert(pc.is_nan(values))))
    lows, highs = (pa.array(ends, values.type) for ends in (bounds[::2], bounds[1::2]))
    found = pc.min(lows), pc.max(highs)
    return nans, found if found[0].is_valid else None


def _proper_bounds(column: pa.ChunkedArray) -> tuple[pa.Scalar, pa.Scalar]:
    """The bounds of floats without NULL and NaN, which NumPy finds in a tenth of Arrow's time."""
    chunks = [chunk.to_numpy() for chunk in column.chunks if len(chunk)]
    bounds = min(chunk.min() for chunk in chunks), max(chunk.max() for chunk in chunks)
    return pa.scalar(bounds[0], column.type), pa.scalar(bounds[1], column.type)


def _footer_bounds(footer: pq.FileMetaData, number: int, kind: pa.DataType) -> tuple[pa.Scalar, pa.Scalar] | None:
    """The bounds of a column as its file has them; None: some are not there, or there are no values.

    A file has no bounds of very long texts. Text is compared by code points, which is the order of its bytes.
    """
    if any(is_kind(kind) for is_kind in _UNORDERED):
        return None
    found = []
    for i in range(footer.num_row_groups):
        chunk = footer.row_group(i).column(number)
        statistics = chunk.statistics
        if statistics is None or not (statistics.has_min_max or statistics.null_count == chunk.num_values):
            return None
        if statistics.has_min_max:
            is_number = pa.types.is_temporal(kind)
            try:
                found.append(
                    (statistics.min_raw, statistics.max_raw) if is_number else (statistics.min, statistics.max)
                )
            except UnicodeDecodeError:
                return None
    if not found:
        return None
    lows, highs = zip(*found, strict=True)
    return _scalar(min(lows), kind), _scalar(max(highs), kind)


def _scalar(value: Any, kind: pa.DataType) -> pa.Scalar:
    if not pa.types.is_temporal(kind):
        return pa.scalar(value, kind)
    return pa.scalar(value, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)


def _first_byte(chunk: pq.ColumnChunkMetaData) -> int:
    dictionary = chunk.dictionary_page_offset
    first: int = chunk.data_page_offset
    return min(first, dictionary) if dictionary else first


def _typed(value: pa.Scalar | None, kind: pa.DataType) -> pa.Scalar | None:
    """A scalar of the type, of which it may have another spelling; None is NULL."""
    return value if value is None or value.type.equals(kind) else value.cast(kind)
