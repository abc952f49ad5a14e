"""Convert record batches to those that Spark accepts from Python workers.

Every column is nullable and uuids are text. Spark maps each of its types to one Arrow type and checks batches against
it, including the names and the nullability of elements. Source: PySpark, ``pyspark.sql.pandas.types.to_arrow_type``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....errors import UnsupportedFeatureError
from ....schema import Field, ListType, MapType, Schema, StructType, Type, arrow_type
from ..columns.checks import check_collation
from ..columns.spark_types import char_metadata, logical_type

__all__ = ["SparkBatches", "spark_schema_json"]

_NO_SPARK_TYPE = ("timestamp_ns", "timestamp_ntz_ns")
_SPARK = (4, 0)
"""The first version with Python data sources."""
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_DASHES = (8, 13, 18, 23)
_DIGITS = np.array([i for i in range(36) if i not in _DASHES])


def spark_schema_json(schema: Schema) -> dict[str, Any]:
    """Spark's JSON of the columns, all nullable.

    Raises
    ------
    UnsupportedFeatureError
        A column has a type that Spark lacks; ``field`` names it.
    """
    if not schema.fields:
        raise UnsupportedFeatureError("Spark's Python data sources need a column", field="columns", hint="Select one")
    for f in schema:
        _check(f, f.name)
    found: dict[str, Any] = logical_type(StructType(schema.fields))
    for f, column in zip(schema.fields, found["fields"], strict=True):
        column["metadata"].update(char_metadata(f))
    return found


def _check(f: Field, name: str) -> None:
    if str(f.type) in _NO_SPARK_TYPE or (str(f.type) == "time" and not _has_time_type()):
        raise UnsupportedFeatureError(
            f"Spark's Python data sources have no columns of type {f.type}",
            field=name,
            hint="Leave the column out with the option columns, or read with to_arrow()",
        )
    check_collation(f, name, _SPARK)
    for member in f.type.members:
        _check(member, f"{name}.{member.name}")


def _has_time_type() -> bool:
    """Whether this PySpark has the type TIME. Whether the session takes it is for the session to say."""
    from pyspark.sql import types

    return hasattr(types, "TimeType")


class SparkBatches:
    """Converts batches of ``schema`` (see :meth:`Schema.to_arrow`) to Spark's Arrow types."""

    def __init__(self, schema: Schema) -> None:
        self._types = [f.type for f in schema]
        self._schema = pa.schema([pa.field(f.name, _spark_arrow_type(f.type)) for f in schema])

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same rows in Spark's Arrow types."""
        columns = [_convert(column, kind) for column, kind in zip(batch.columns, self._types, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _spark_arrow_type(kind: Type) -> pa.DataType:
    if isinstance(kind, StructType):
        return pa.struct([pa.field(f.name, _spark_arrow_type(f.type)) for f in kind.fields])
    if isinstance(kind, ListType):
        return pa.list_(pa.field("element", _spark_arrow_type(kind.element.type)))
    if isinstance(kind, MapType):
        key = pa.field("key", _spark_arrow_type(kind.key.type), nullable=False)
        return pa.map_(key, pa.field("value", _spark_arrow_type(kind.value.type)))
    if str(kind) == "variant":
        metadata = pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"})
        return pa.struct([pa.field("value", pa.binary(), nullable=False), metadata])
    if str(kind) == "uuid":
        return pa.string()
    if str(kind) == "time":
        return pa.time64("ns")
    found = arrow_type(kind)
    return pa.binary() if pa.types.is_fixed_size_binary(found) else found


def _convert(values: pa.Array, kind: Type) -> pa.Array:
    """``values`` of ``kind`` in Spark's Arrow type; validity and offsets are shared."""
    target = _spark_arrow_type(kind)
    if values.type == target:
        return values
    if isinstance(kind, StructType):
        members = [_convert(values.field(i), f.type) for i, f in enumerate(kind.fields)]
        return pa.StructArray.from_arrays(members, fields=list(target), mask=values.is_null())
    if isinstance(kind, ListType):
        return _with_children(values, target, _convert(values.values, kind.element.type))
    if isinstance(kind, MapType):
        entries = [_convert(values.keys, kind.key.type), _convert(values.items, kind.value.type)]
        members = pa.StructArray.from_arrays(entries, fields=[target.key_field, target.item_field])
        return _with_children(values, target, members)
    if str(kind) == "variant":
        members = [values.field("value"), values.field("metadata")]
        return pa.StructArray.from_arrays(members, fields=list(target), mask=values.is_null())
    return _uuid_text(values) if str(kind) == "uuid" else values.cast(target)


def _with_children(values: pa.Array, target: pa.DataType, children: pa.Array) -> pa.Array:
    """The list or map array ``values`` with other ``children``, which replace its whole child array."""
    return pa.Array.from_buffers(target, len(values), values.buffers()[:2], offset=values.offset, children=[children])


def _uuid_text(values: pa.Array) -> pa.Array:
    """string[n]: 16 bytes as 8-4-4-4-12 hexadecimal digits. Source: RFC 9562, section 4."""
    count = len(values)
    if values.null_count == count:
        return pa.nulls(count, pa.string())
    stored = np.frombuffer(values.buffers()[1], np.uint8)[16 * values.offset : 16 * (values.offset + count)]
    stored = stored.reshape(count, 16)
    text = np.full((count, 36), ord("-"), np.uint8)
    text[:, _DIGITS[0::2]] = _HEX[stored >> 4]
    text[:, _DIGITS[1::2]] = _HEX[stored & 15]
    offsets = np.arange(0, 36 * (count + 1), 36, dtype=np.int32)
    strings = pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(text.reshape(-1)))
    return pc.if_else(values.is_valid(), strings, pa.scalar(None, pa.string()))
