"""Batches of Spark's Python workers as rows of a table: its types where Spark has no such type.

Spark has no uuid, no fixed-length binary and no microsecond time, gives timestamps the zone of its session, and orders
the members of a variant otherwise. Only what is sure to be the same value is changed; what else does not fit is left as
it is, for :mod:`tableformats.engines.arrow.writing.rows` to judge.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from inspect import signature

import pyarrow as pa
from pyarrow import types

from ....errors import ConstraintViolationError
from ....schema import FixedType, ListType, MapType, Schema, StructType, Type, arrow_type

__all__ = ["arrow_schema", "table_rows", "table_schema"]


def table_rows(batches: Iterable[pa.RecordBatch], names: Sequence[str], schema: Schema) -> Iterator[pa.RecordBatch]:
    """The batches with the columns ``names``, in the types of the columns of ``schema`` that have these names.

    Raises
    ------
    ConstraintViolationError
        A text is no uuid, binary has another length, or a time is no whole number of microseconds; ``field`` names the
        column.
    """
    kinds = {f.name.lower(): f.type for f in schema.fields}
    names = list(names)
    changed: list[tuple[int, Type]] | None = None
    for batch in batches:
        if changed is None:  # all batches of a task have the same types
            changed = [
                (at, kind)
                for at, (name, given) in enumerate(zip(names, batch.schema, strict=True))
                if (kind := kinds.get(name.lower())) is not None and _changes(given.type, kind, name)
            ]
        columns = batch.columns
        for at, kind in changed:
            columns[at] = _convert(columns[at], kind, names[at])
        yield pa.RecordBatch.from_arrays(columns, names=names)


def _changes(given: pa.DataType, kind: Type, name: str) -> bool:
    return bool(_convert(pa.nulls(0, given), kind, name).type != given)


def table_schema(given: pa.Schema, schema: Schema) -> pa.Schema:
    """The columns of :func:`table_rows` of batches with the columns ``given``."""
    empty = pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in given], names=given.names)
    [found] = table_rows([empty], given.names, schema)
    return found.schema


def arrow_schema(frame_schema: object) -> pa.Schema:
    """The columns of a DataFrame in Spark's Arrow types.

    Raises
    ------
    ConstraintViolationError
        A column has a type that Spark does not give to Python workers; ``field`` names it.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type

    # Spark 4.3 asks for the zone, before it is UTC.
    zone = {"timezone": "UTC"} if "timezone" in signature(to_arrow_type).parameters else {}
    found = []
    for f in frame_schema:  # type: ignore[attr-defined]
        try:
            found.append(pa.field(f.name, to_arrow_type(f.dataType, **zone)))
        except PySparkException:
            raise ConstraintViolationError(
                f"Spark gives no values of type {f.dataType.simpleString()} to Python workers",
                field=f.name,
                hint="Cast it before, so that you decide what is lost",
            ) from None
    return pa.schema(found)


def _convert(values: pa.Array, kind: Type, name: str) -> pa.Array:
    """``values`` in the Arrow type of ``kind`` where they are Spark's form of it; otherwise as they are."""
    given = values.type
    if isinstance(kind, StructType):
        if not types.is_struct(given) or [f.name for f in given] != [f.name for f in kind.fields]:
            return values
        # Flattened: what lies below a NULL struct is no value.
        members = [
            _convert(member, f.type, f"{name}.{f.name}")
            for member, f in zip(values.flatten(), kind.fields, strict=True)
        ]
        fields = [_retyped(f, member) for f, member in zip(given, members, strict=True)]
        return pa.StructArray.from_arrays(members, fields=fields, mask=values.is_null()) if members else values
    if isinstance(kind, ListType) and types.is_list(given):
        child = _convert(values.values, kind.element.type, f"{name}.element")
        return _with_children(values, pa.list_(_retyped(given.value_field, child)), child)
    if isinstance(kind, MapType) and types.is_map(given):
        keys = _convert(values.keys, kind.key.type, f"{name}.key")
        items = _convert(values.items, kind.value.type, f"{name}.value")
        target = pa.map_(_retyped(given.key_field, keys), _retyped(given.item_field, items))
        entries = pa.StructArray.from_arrays([keys, items], fields=[target.key_field, target.item_field])
        return _with_children(values, target, entries)
    return _leaf(values, kind, name)


def _leaf(values: pa.Array, kind: Type, name: str) -> pa.Array:
    given, target = values.type, arrow_type(kind)
    if str(kind) == "uuid" and (types.is_string(given) or types.is_large_string(given)):
        return pa.array([None if v is None else _uuid_bytes(v, name) for v in values.to_pylist()], target)
    if str(kind) == "variant" and types.is_struct(given) and {f.name for f in given} == {"metadata", "value"}:
        members = [values.field(f.name).cast(f.type) for f in target]
        return pa.StructArray.from_arrays(members, fields=list(target), mask=values.is_null())
    is_binary = types.is_binary(given) or types.is_large_binary(given)
    is_time = types.is_time64(given) and types.is_time64(target)
    is_zoned = types.is_timestamp(given) and types.is_timestamp(target) and (given.tz is None) == (target.tz is None)
    if (isinstance(kind, FixedType) and is_binary) or is_time or is_zoned:
        return _exactly(values, target, kind, name)
    return values


def _exactly(values: pa.Array, target: pa.DataType, kind: Type, name: str) -> pa.Array:
    try:
        return values.cast(target, safe=True)
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0][:200]
        raise ConstraintViolationError(f"a value is not exactly one of the type {kind}: {reason}", field=name) from None


def _uuid_bytes(text: str, name: str) -> bytes:
    try:
        return uuid.UUID(text).bytes
    except ValueError:
        raise ConstraintViolationError(
            "a text is no uuid", field=name, hint="Write 8-4-4-4-12 hexadecimal digits"
        ) from None


def _retyped(f: pa.Field, values: pa.Array) -> pa.Field:
    return f.with_type(values.type)


def _with_children(values: pa.Array, target: pa.DataType, children: pa.Array) -> pa.Array:
    """The list or map array ``values`` with other ``children``, which replace its whole child array."""
    return pa.Array.from_buffers(target, len(values), values.buffers()[:2], offset=values.offset, children=[children])
