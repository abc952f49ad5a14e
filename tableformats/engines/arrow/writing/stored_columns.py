"""Rows as data files store them: under the stored names, with field ids where the target wants them."""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....plugin.writing.write_target import WriteTarget
from ....schema import Field, ListType, MapType, StructType, arrow_type

__all__ = ["FIELD_ID", "stored_schema", "stored_table"]

FIELD_ID = "PARQUET:field_id"
"""The key of a field's id in its metadata, as Arrow reads it from Parquet."""


def stored_schema(target: WriteTarget) -> pa.Schema:
    """The Arrow schema of the data files of ``target``."""
    found = target.derived.get("stored_schema")
    if not isinstance(found, pa.Schema):
        found = target.derived["stored_schema"] = pa.schema([_stored_field(f, target) for f in target.stored_fields])
    return found


def stored_table(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """``table``, whose columns are those of ``schema`` under other names, as ``schema`` has them."""
    columns = []
    for column, wanted in zip(table.columns, schema, strict=True):
        if not column.type.equals(wanted.type, check_metadata=True):
            column = pa.chunked_array([_retyped(chunk, wanted.type) for chunk in column.chunks], wanted.type)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)


def _stored_field(column: Field, target: WriteTarget, name: str | None = None) -> pa.Field:
    kind = column.type
    stored: pa.DataType
    if isinstance(kind, StructType):
        stored = pa.struct([_stored_field(f, target) for f in kind.fields])
    elif isinstance(kind, ListType):
        stored = pa.list_(_stored_field(kind.element, target, "element"))
    elif isinstance(kind, MapType):
        key = _stored_field(replace(kind.key, required=True), target, "key")
        stored = pa.map_(key, _stored_field(kind.value, target, "value"))
    else:
        stored = arrow_type(kind)
    has_id = target.with_field_ids and column.id not in target.unnumbered
    metadata: Mapping[str, str] | None = {FIELD_ID: str(column.id)} if has_id else None
    return pa.field(name or target.stored_names.get(column.id, column.name), stored, not column.required, metadata)


def _retyped(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values in a type that differs in the names of members and the like alone. Buffers are shared.

    Children of a sliced array begin before the slice, and keep all of their values.
    """
    children = []
    if pa.types.is_struct(kind):
        children = [_member(values, i, kind.field(i)) for i in range(kind.num_fields)]
    elif pa.types.is_list(kind):
        children = [_retyped(values.values, kind.value_type)]
    elif pa.types.is_map(kind):
        entries = pa.struct([kind.key_field, kind.item_field])
        keys, items = _retyped(values.keys, kind.key_type), _retyped(values.items, kind.item_type)
        children = [pa.StructArray.from_arrays([keys, items], fields=list(entries))]
    if not children:
        return values if values.type.equals(kind) else values.cast(kind)
    width = {True: 1, False: 2}[pa.types.is_struct(kind)]
    return pa.Array.from_buffers(kind, len(values), values.buffers()[:width], -1, values.offset, children)


def _member(values: pa.StructArray, number: int, wanted: pa.Field) -> pa.Array:
    """A child of a struct. Where the struct is NULL, a child that is NOT NULL has some value: Arrow asks for one."""
    child = _whole_child(values, number)
    return _retyped(child if wanted.nullable else _without_nulls(child), wanted.type)


def _without_nulls(values: pa.Array) -> pa.Array:
    """The values, with any other value for NULL. The result is no slice."""
    if not values.null_count:
        return values
    kind = values.type
    if pa.types.is_struct(kind):
        members = [_without_nulls(values.field(i)) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(members, fields=list(kind))
    if pa.types.is_nested(kind):
        some = pa.array([[]], kind)
        return pa.concat_arrays([values, some]).take(_or_last(values))
    return pc.fill_null(values, _zero(kind))


def _or_last(values: pa.Array) -> pa.Array:
    """The position of each value, and for NULL the position behind the last one."""
    return pc.if_else(values.is_valid(), pa.array(np.arange(len(values))), pa.scalar(len(values), pa.int64()))


def _zero(kind: pa.DataType) -> pa.Scalar:
    """Some value of a type without members."""
    if pa.types.is_decimal(kind):
        return pa.scalar(decimal.Decimal(0), kind)
    if pa.types.is_temporal(kind):
        return pa.scalar(0, pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
    if pa.types.is_fixed_size_binary(kind):
        return pa.scalar(bytes(kind.byte_width), kind)
    if pa.types.is_boolean(kind):
        return pa.scalar(False)
    return pa.scalar("" if pa.types.is_string(kind) else b"" if pa.types.is_binary(kind) else 0, kind)


def _whole_child(values: pa.StructArray, number: int) -> pa.Array:
    """A child of a struct with the values before the struct's slice too."""
    if not values.offset:
        return values.field(number)
    child = values.field(number)
    # What lies before the slice is never read, but positions count from the beginning of the buffers.
    return pa.concat_arrays([pa.nulls(values.offset, child.type), child])
