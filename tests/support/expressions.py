"""What an expression gives on rows, and the errors of rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tableformats.expressions import BoundColumn, Function, Holds, Value
from tableformats.expressions.binding import bound_value
from tableformats.expressions.evaluation import computed
from tableformats.expressions.functions.coercion import type_of
from tableformats.expressions.functions.vectors import python_values, stored_type
from tableformats.expressions.parse import parse_filter
from tableformats.schema import Schema


def bound(text: str, schema: pa.Schema, ansi: bool = True) -> Value:
    """An expression bound to columns of Arrow's types."""
    parsed = parse_filter(f"coalesce({text}, NULL) IS NULL", ansi)
    assert isinstance(parsed, Holds)
    (given,) = parsed.value.arguments
    assert isinstance(given, Function)
    return bound_value(given.arguments[0], Schema.from_arrow(schema), ansi=ansi)


def answers(text: str, columns: Mapping[str, pa.Array], ansi: bool = True) -> tuple[str, list[Any]]:
    """(the type; the value for each row, or what is wrong with it)."""
    given = pa.table(dict(columns))
    value = bound(text, given.schema, ansi)
    (batch,) = given.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], given.schema)]

    def column_of(column: BoundColumn) -> pa.Array:
        first, *members = column.path
        return reduce(lambda found, member: pc.struct_field(found, member.name), members, batch.column(first.name))

    found = computed(value, column_of, batch.num_rows)
    kind = type_of(value)
    assert kind.is_nested or found.values.type == stored_type(kind)
    values = python_values(found.values, kind)
    assert len(values) == batch.num_rows
    for failure in found.failures:
        for row in failure.rows.nonzero()[0]:
            values[row] = f"! {failure.reason}"
    return str(kind), values
