"""Rows as data files store them: under the stored names, with field ids where the target wants them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from ....plugin.writing.write_target import WriteTarget
from ....schema import Field, ListType, MapType, StructType, arrow_type

__all__ = ["stored_schema", "stored_table"]

_FIELD_ID = "PARQUET:field_id"


def stored_schema(target: WriteTarget) -> pa.Schema:
    """The Arrow schema of the data files of ``target``."""
    return pa.schema([_stored_field(f, target) for f in target.stored_fields])


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
    metadata: Mapping[str, str] | None = {_FIELD_ID: str(column.id)} if has_id else None
    return pa.field(name or target.stored_names.get(column.id, column.name), stored, not column.required, metadata)


def _retyped(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values in a type that differs in the names of members and the like alone. Buffers are shared.

    Children of a sliced array begin before the slice, and keep all of their values.
    """
    children = []
    if pa.types.is_struct(kind):
        children = [_retyped(_whole_child(values, i), kind.field(i).type) for i in range(kind.num_fields)]
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


def _whole_child(values: pa.StructArray, number: int) -> pa.Array:
    """A child of a struct with the values before the struct's slice too."""
    if not values.offset:
        return values.field(number)
    child = values.field(number)
    # What lies before the slice is never read, but positions count from the beginning of the buffers.
    return pa.concat_arrays([pa.nulls(values.offset, child.type), child])
