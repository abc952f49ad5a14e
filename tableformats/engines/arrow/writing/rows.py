"""Rows as the table has them: columns matched by name, exact casts only, missing nullable columns filled with NULL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import types

from ....errors import ConstraintViolationError
from ....plugin.writing.write_target import WriteTarget
from ....schema import Field, ListType, MapType, StructType, arrow_type
from ....schema.arrow_types import nullable_type
from .row_rules import RuleRunner

__all__ = ["reader_of", "rows_of_table"]

_SOURCES = {
    "integer": ("integer",),
    "float": ("float", "integer"),
    "decimal": ("decimal", "integer"),
}
"""The kinds whose values another kind holds exactly; any other kind holds its own alone."""


def reader_of(data: Any) -> pa.RecordBatchReader:
    """The batches of what users append. Raises TypeError for what has no Arrow stream."""
    if isinstance(data, pa.RecordBatchReader):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(data.schema, [data])
    if type(data).__module__.split(".")[0] == "pandas" and hasattr(data, "columns"):
        data = pa.Table.from_pandas(data, preserve_index=False)
    if isinstance(data, pa.Table):
        return data.to_reader()
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    raise TypeError(
        f"data is an Arrow table or reader, or has an Arrow stream (pandas, polars, DuckDB), not {type(data).__name__}"
    )


def rows_of_table(
    reader: pa.RecordBatchReader, target: WriteTarget, lane: int = 0, lanes: int = 1
) -> Iterator[pa.RecordBatch]:
    """The batches with the columns of the table, in its order and types, that fulfil its rules.

    Names are compared without case.

    Parameters
    ----------
    reader : pyarrow.RecordBatchReader
    target : WriteTarget
    lane, lanes : int
        This is writer number ``lane`` of ``lanes`` for one commit; see :class:`RuleRunner`.

    Raises
    ------
    ConstraintViolationError
        A column is not in the table, or twice; a value is not exactly one of the column's type; NULL, or no value, for
        a column that is not nullable; a row breaks a rule of the table.
    """
    schema = target.schema
    wanted = {f.name.lower(): f for f in schema.fields}
    found: dict[str, int] = {}
    for position, name in enumerate(reader.schema.names):
        if name.lower() not in wanted:
            raise ConstraintViolationError(
                "the table has no such column", field=name, hint=f"It has {', '.join(schema.names)}"
            )
        if name.lower() in found:
            raise ConstraintViolationError("the data has a column twice", field=name)
        found[name.lower()] = position
        _check_kind(wanted[name.lower()], reader.schema.field(position).type)
    stored = _schema_of_rows(target)
    runner = RuleRunner(schema, target.rules, [wanted[name].name for name in found], lane, lanes)
    for batch in reader:
        columns = []
        for (key, column), kind in zip(wanted.items(), stored.types, strict=True):
            given = batch.column(found[key]) if key in found else pa.nulls(batch.num_rows)
            columns.append(_cast(given, column, kind))
        yield runner.apply(pa.RecordBatch.from_arrays(columns, schema=stored))


def _schema_of_rows(target: WriteTarget) -> pa.Schema:
    found = target.derived.get("schema_of_rows")
    if not isinstance(found, pa.Schema):
        found = pa.schema([pa.field(f.name, nullable_type(f.type)) for f in target.schema.fields])
        target.derived["schema_of_rows"] = found
    return found


def _cast(values: pa.Array, column: Field, kind: pa.DataType) -> pa.Array:
    if values.type.equals(kind) and not types.is_nested(kind):
        return values
    try:
        if types.is_dictionary(values.type):
            values = _decoded(values)
        values = values.cast(kind, safe=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0][:200]
        raise ConstraintViolationError(
            f"a value is not exactly one of the type {column.type}: {reason}", field=column.name
        ) from None
    return values


def _decoded(values: pa.DictionaryArray) -> pa.Array:
    """The values of a dictionary array. Arrow does not look up views, as which polars gives its categories."""
    words = values.dictionary
    if types.is_string_view(words.type):
        words = words.cast(pa.string())
    elif types.is_binary_view(words.type):
        words = words.cast(pa.binary())
    return words.take(values.indices)


def _check_kind(column: Field, given: pa.DataType) -> None:
    """Refuse a column whose values are not always, or not visibly, values of the table's column."""
    target = arrow_type(column.type)
    is_fine = _same_shape(column, given) if column.type.is_nested else _fits(_unwrapped(given), target)
    if not is_fine and not types.is_null(given):
        raise ConstraintViolationError(
            f"{given} is not written to a column of the type {column.type}",
            field=column.name,
            hint="Cast it before, so that you decide what is lost",
        )


def _fits(given: pa.DataType, target: pa.DataType) -> bool:
    if types.is_float32(target) and not types.is_floating(given):
        return given.equals(pa.int8()) or given.equals(pa.int16())
    if types.is_floating(target) and types.is_floating(given):
        return bool(given.bit_width <= target.bit_width)
    kind = _kind(target)
    return _kind(given) in _SOURCES.get(kind, (kind,))


def _kind(kind: pa.DataType) -> str:
    if types.is_integer(kind):
        return "integer"
    if types.is_floating(kind):
        return "float"
    if types.is_decimal(kind):
        return "decimal"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "string"
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return "binary"
    if types.is_date(kind):
        return "date"
    if types.is_timestamp(kind):
        return "timestamp" if kind.tz is not None else "timestamp_ntz"
    return str(kind)


def _unwrapped(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if types.is_dictionary(kind) else kind


def _same_shape(column: Field, given: pa.DataType) -> bool:
    """Whether a nested type has the same members. Names of list elements and map members do not count, nor in which of
    its layouts Arrow has texts and bytes."""
    kind = column.type
    if isinstance(kind, StructType):
        if not types.is_struct(given) or [f.name for f in kind.fields] != [f.name for f in given]:
            return False
        return all(_same_shape(f, given.field(i).type) for i, f in enumerate(kind.fields))
    if isinstance(kind, ListType):
        return (types.is_list(given) or types.is_large_list(given)) and _same_shape(kind.element, given.value_type)
    if isinstance(kind, MapType):
        return (
            types.is_map(given) and _same_shape(kind.key, given.key_type) and _same_shape(kind.value, given.item_type)
        )
    target = arrow_type(kind)
    return bool(_unwrapped(given).equals(target)) or _kind(given) == _kind(target) in ("string", "binary")
