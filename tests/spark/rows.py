"""Rows as plain values that compare exactly: instants and days as numbers, NaN as a word, in no order."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa


def spark_rows(frame: Any, like: pa.Schema | None = None) -> list[str]:
    """The rows of a Spark DataFrame; ``like`` says which columns are uuids (16 bytes, in Spark text)."""
    table = collect(frame)
    for i, f in enumerate(like or ()):
        if f.type == pa.binary(16) and pa.types.is_string(table.schema.field(i).type):
            table = table.set_column(i, f.name, _uuid_bytes(table.column(i)))
    return rows(table)


def collect(frame: Any) -> pa.Table:
    if hasattr(frame, "toArrow") and "variant" not in frame.schema.simpleString():
        return frame.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema

    # Before Spark 4.0 there is no toArrow, and 4.3's fails on NULL variants.
    batches = frame._collect_as_arrow()
    return pa.Table.from_batches(batches) if batches else to_arrow_schema(frame.schema).empty_table()


def rows(table: pa.Table) -> list[str]:
    """Each row as text, sorted: multisets that can be compared."""
    columns = [_plain(column).to_pylist() for column in table.columns]
    if not columns:
        return ["()"] * table.num_rows
    return sorted(repr(tuple(map(_canonical, row))) for row in zip(*columns, strict=True))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Instants as microseconds, days as days: Python's calendar ends long before Arrow's."""
    kind = _plain_type(column.type)
    # Rebuilt types differ in names of elements alone where there is nothing to make plain.
    return column if _leaves(kind) == _leaves(column.type) else column.cast(kind)


def _leaves(kind: pa.DataType) -> list[pa.DataType]:
    children = [kind.field(i).type for i in range(kind.num_fields)]
    return [leaf for child in children for leaf in _leaves(child)] if children else [kind]


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return pa.int64()
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([(f.name, _plain_type(f.type)) for f in (kind.field(i) for i in range(kind.num_fields))])
    if pa.types.is_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_type(kind.item_type))
    return kind


def _uuid_bytes(column: pa.ChunkedArray) -> pa.Array:
    return pa.array([v and bytes.fromhex(v.replace("-", "")) for v in column.to_pylist()], pa.binary())


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dict):
        # Spark gives the two members of a variant in the other order.
        keys = sorted(value) if set(value) == {"metadata", "value"} else value
        return {key: _canonical(value[key]) for key in keys}
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]
    return value
