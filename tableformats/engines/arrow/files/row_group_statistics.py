"""Bounds and counts of the row groups of a Parquet file, from the statistics in its footer; and bounds of its pages.

The physical values of the statistics are read, and become values of the table's columns as the rows do. A column is
left out where that is not certain: unsigned and 96 bit integers, halves, values that cannot be cast. Whether a writer's
statistics can be trusted at all (deprecated ones, of types whose order it got wrong) is decided by parquet-cpp.
Sources: parquet.thrift, Statistics and ColumnOrder; Parquet LogicalTypes.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ....plugin.statistics import Bounds
from ....schema import Field
from ..values.casts import cast_values

__all__ = ["column_bounds", "row_group_bounds"]

_UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
_EXACT = Context(prec=76)
"""Decimals of Parquet have at most 76 digits that Arrow reads."""
_PLAIN = {"BOOLEAN": pa.bool_(), "FLOAT": pa.float32(), "DOUBLE": pa.float64()}
_TEXTS = ("None", "String", "JSON", "Enum", "BSON", "UUID")


def row_group_bounds(
    metadata: pq.FileMetaData, schema: pq.ParquetSchema, leaves: Mapping[int, tuple[Field, int]]
) -> tuple[Bounds, pa.Array]:
    """Bounds and counts of some columns, one row a row group.

    Parameters
    ----------
    metadata : pyarrow.parquet.FileMetaData
        Of a footer whose column chunks are sound.
    leaves : mapping of field id to (Field, int)
        The column of the table, and the number of its leaf column, which is not repeated.

    Returns
    -------
    Bounds, int64[n]
        The second are the rows of the row groups.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    counts = pa.array([group.num_rows for group in groups], pa.int64())
    bounds = Bounds()
    for field_id, (field, leaf) in leaves.items():
        chunks = [group.column(leaf) for group in groups]
        found = [chunk.statistics if chunk.is_stats_set else None for chunk in chunks]
        nulls = [s.null_count if s is not None and s.has_null_count else None for s in found]
        bounds.null_count[field_id] = pa.array(nulls, pa.int64())
        bounds.value_count[field_id] = counts
        has_both = [s if s is not None and s.has_min_max else None for s in found]
        lower, upper = ([getattr(s, side, None) for s in has_both] for side in ("min_raw", "max_raw"))
        sides = column_bounds(lower, upper, schema.column(leaf), field)
        if sides is not None:
            bounds.lower[field_id], bounds.upper[field_id] = sides
    return bounds, counts


def column_bounds(lower: list[Any], upper: list[Any], column: Any, field: Field) -> tuple[pa.Array, pa.Array] | None:
    """Bounds of parts of a leaf column as values of the table's column.

    Parameters
    ----------
    lower, upper : list
        Physical values; None: not known.
    column : pyarrow.parquet.ColumnSchema
        The leaf column.
    field : Field
        The column of the table.

    Returns
    -------
    (array[n], array[n]) or None
        None: their order or their meaning is not certain.
    """
    to_array = _reader_of(column)
    if to_array is None:
        return None
    try:
        return cast_values(to_array(lower), field.type), cast_values(to_array(upper), field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, ArithmeticError):
        return None


def _reader_of(column: Any) -> Callable[[list[Any]], pa.Array] | None:
    """What makes an Arrow array of the physical values of a column; None: their order or meaning is not certain."""
    physical, logical = column.physical_type, json.loads(column.logical_type.to_json())
    kind = logical.get("Type", "None")
    if physical in _PLAIN:
        return lambda values: pa.array(values, _PLAIN[physical])
    if physical == "INT96":
        return None
    if kind == "Decimal":
        return _decimal_reader(int(logical["precision"]), int(logical["scale"]))
    if physical in ("INT32", "INT64"):
        return _integer_reader(pa.int32() if physical == "INT32" else pa.int64(), logical)
    return (lambda values: pa.array(values, pa.binary())) if kind in _TEXTS else None


def _integer_reader(stored: pa.DataType, logical: Mapping[str, Any]) -> Callable[[list[Any]], pa.Array] | None:
    kind = logical.get("Type", "None")
    if kind == "None" or (kind == "Int" and logical.get("isSigned") is True):
        return lambda values: pa.array(values, stored)
    if kind == "Date":
        return lambda values: pa.array(values, stored).view(pa.date32())
    unit = _UNITS.get(str(logical.get("timeUnit")))
    if kind == "Timestamp" and unit is not None:
        return lambda values: pa.array(values, stored).view(pa.timestamp(unit))
    if kind == "Time" and unit is not None:
        return lambda values: pa.array(values, stored).view(pa.time32(unit) if unit == "ms" else pa.time64(unit))
    return None


def _decimal_reader(precision: int, scale: int) -> Callable[[list[Any]], pa.Array]:
    stored = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)

    def number(value: int | bytes | None) -> Decimal | None:
        if value is None:
            return None
        digits = value if isinstance(value, int) else int.from_bytes(value, "big", signed=True)
        return Decimal(digits).scaleb(-scale, _EXACT)

    return lambda values: pa.array([number(value) for value in values], stored)
