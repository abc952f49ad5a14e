"""Rows as plain values that compare exactly: instants and days as numbers, NaN as a word, in no order."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


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


_MANY = 50_000


def rows(table: pa.Table) -> list[str]:
    """Each row as text, sorted: multisets that can be compared."""
    if not table.num_columns:
        return ["()"] * table.num_rows
    plain = [_plain(column) for column in table.columns]
    if table.num_rows > _MANY and all(map(_is_simple, table.schema.types)):
        texts = [_text(column) for column in plain]
        return sorted(pc.binary_join_element_wise(*texts, ", ").to_pylist())
    columns = [column.to_pylist() for column in plain]
    return sorted(repr(tuple(map(_canonical, row))) for row in zip(*columns, strict=True))


def _is_simple(kind: pa.DataType) -> bool:
    tests = (pa.types.is_integer, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_string, pa.types.is_date32)
    return any(test(kind) for test in tests)


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values of a simple type as text that tells them apart, made without a Python object for each."""
    text = column.cast(pa.string())
    if pa.types.is_string(column.type):
        for mark, replaced in (("\\", "\\\\"), ("'", "\\'")):
            text = pc.replace_substring(text, mark, replaced)
        text = pc.binary_join_element_wise("'", text, "'", "")
    return pc.fill_null(text, "None")


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
