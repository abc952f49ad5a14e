"""``schema="merge"``: the columns of a table with those that rows have beside them, and with the wider of two types."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from pyarrow import types

from ....schema import DecimalType, Field, Schema, Type, primitive
from .plain_types import plain_schema

__all__ = ["merged_schema"]

_WHOLE = ("byte", "short", "int", "long")
_FLOATS = ("float", "double")


def merged_schema(schema: Schema, given: pa.Schema) -> Schema | None:
    """The schema of a table that takes rows of ``given``; None: ``schema`` does.

    Names are compared without case. New columns come last, are nullable, and have the id 0. A column becomes a wider
    integer, a double or a decimal of more digits where the rows have that; nested columns stay as they are.

    Raises
    ------
    UnsupportedFeatureError
        No table type fits a new column.
    """
    known = {f.name.lower(): f for f in schema}
    widened: dict[int, Field] = {}
    added: list[Field] = []
    for f, plain in zip(given, Schema.from_arrow(plain_schema(given)), strict=True):
        column = known.get(f.name.lower())
        if types.is_null(f.type):
            continue
        if column is None:
            added.append(_new(replace(plain, required=False)))
        elif (wider := _wider(column.type, plain.type)) is not None:
            widened[column.id] = replace(column, type=wider)
    if not (added or widened):
        return None
    return Schema((*(widened.get(f.id, f) for f in schema), *added), schema.id)


def _new(f: Field) -> Field:
    """A field without ids, at every depth."""
    kind = f.type
    if kind.is_nested:
        members = tuple(map(_new, kind.members))
        kind = type(kind)(members) if str(kind).startswith("struct") else type(kind)(*members)  # type: ignore[call-arg]
    return replace(f, id=0, type=kind)


def _wider(column: Type, rows: Type) -> Type | None:
    """The type that holds the values of both, if it is another one than that of the column."""
    names = [getattr(kind, "name", "") for kind in (column, rows)]
    for ladder in (_WHOLE, _FLOATS):
        if all(name in ladder for name in names) and ladder.index(names[1]) > ladder.index(names[0]):
            return primitive(names[1])
    if isinstance(column, DecimalType) and isinstance(rows, DecimalType):
        scale = max(column.scale, rows.scale)
        whole = max(kind.precision - kind.scale for kind in (column, rows))
        if (whole + scale, scale) != (column.precision, column.scale) and whole + scale <= 38:
            return DecimalType(whole + scale, scale)
    return None
