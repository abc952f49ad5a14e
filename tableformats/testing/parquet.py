"""The values that a Parquet file holds of a table's columns, read with pyarrow alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..io.storage import Storage
from ..plugin import NameMapping
from ..schema import Field, arrow_type

__all__ = ["ParquetData", "Unreadable"]

_FIELD_ID = b"PARQUET:field_id"
_OLD_CALENDARS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""Files with these keys count days and instants by another calendar than pyarrow does."""


class Unreadable(Exception):
    """What pyarrow alone cannot say of a file: the test leaves it out."""


class ParquetData:
    """One data file of a table.

    Parameters
    ----------
    storage : Storage
        Where the file is.
    path : str
        Absolute.
    mapping : NameMapping
        How the table's columns are found in its files.

    Raises
    ------
    Unreadable
        pyarrow cannot read the file. A file that is not there is an OSError.
    """

    def __init__(self, storage: Storage, path: str, mapping: NameMapping) -> None:
        self._mapping = mapping
        with storage.open_file(path) as source:
            try:
                file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
                self._rows = file.read()
            except (pa.ArrowException, NotImplementedError) as error:
                raise Unreadable(f"{path}: {error}") from error
            self._metadata = file.metadata
        keys = self._metadata.metadata or {}
        self._is_of_old_calendar = any(key in keys for key in _OLD_CALENDARS)
        self._has_ids = any(_FIELD_ID in (f.metadata or {}) for f in _fields_below(self._rows.schema))

    @property
    def num_rows(self) -> int:
        """Physical rows: those that the table deleted count too."""
        return int(self._metadata.num_rows)

    @property
    def row_group_starts(self) -> list[int]:
        """The offset of each row group's first page, in bytes."""
        starts = []
        for i in range(self._metadata.num_row_groups):
            column = self._metadata.row_group(i).column(0)
            starts.append(min(at for at in (column.dictionary_page_offset, column.data_page_offset) if at))
        return starts

    def column(self, path: Sequence[Field]) -> pa.Array | None:
        """The values of a column, in its type now; None where the file does not have it.

        Raises
        ------
        Unreadable
            pyarrow alone does not find or convert it.
        """
        found: Any = None
        for depth, field in enumerate(path):
            children = list(self._rows.schema) if found is None else [found.type.field(i) for i in _places(found.type)]
            place = self._place(children, path[: depth + 1])
            if place is None:
                return None
            found = _flat(self._rows.column(place)) if found is None else pc.struct_field(found, [place])
            if depth + 1 < len(path) and not pa.types.is_struct(found.type):
                raise Unreadable(f"{field.name!r} is no struct in the file")
        return self._converted(found, path[-1])

    def _place(self, children: Sequence[pa.Field], path: Sequence[Field]) -> int | None:
        field, mapping = path[-1], self._mapping
        if mapping.by == "name" or field.id in mapping.by_name:
            return _only([i for i, child in enumerate(children) if child.name == field.stored_name])
        if self._has_ids:
            wanted = str(field.id).encode()
            return _only([i for i, child in enumerate(children) if (child.metadata or {}).get(_FIELD_ID) == wanted])
        raise Unreadable("the file has no field ids")

    def _converted(self, values: pa.Array, field: Field) -> pa.Array:
        target = arrow_type(field.type)
        if isinstance(values.type, pa.BaseExtensionType):
            values = values.storage
        if pa.types.is_struct(values.type) and not values.type.equals(target):
            raise Unreadable(f"column {field.name!r} is stored in parts")  # a shredded variant
        is_time = pa.types.is_temporal(target) or pa.types.is_temporal(values.type)
        if is_time and self._is_of_old_calendar:
            raise Unreadable("its dates and times are of another calendar")
        try:
            return values if values.type == target else pc.cast(values, target)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise Unreadable(f"column {field.name!r}: {error}") from error


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks else pa.nulls(0, column.type)


def _places(kind: pa.DataType) -> range:
    return range(kind.num_fields)


def _only(places: Sequence[int]) -> int | None:
    if len(places) > 1:
        raise Unreadable("the file has the column twice")
    return places[0] if places else None


def _fields_below(fields: Any) -> Iterator[pa.Field]:
    for f in fields:
        yield f
        if pa.types.is_nested(f.type) and not pa.types.is_union(f.type):
            yield from _fields_below([f.type.field(i) for i in range(f.type.num_fields)])
