"""Evaluate a bound predicate over the rows of an Arrow batch.

The result is a boolean array with nulls for NULL; the rows of a scan are those where it is true. What the predicate
means is in :mod:`tableformats.expressions.evaluation`.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ...expressions import BoundColumn, Constant, Expression, evaluation

__all__ = ["evaluate", "keep_matching"]


def keep_matching(expression: Expression, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of ``batch`` for which the predicate is TRUE."""
    if expression == Constant(True):
        return batch
    return batch.filter(evaluate(expression, batch))


def evaluate(
    expression: Expression, batch: pa.RecordBatch, known: Mapping[Expression, pa.BooleanArray] = {}
) -> pa.BooleanArray:
    """Evaluate a predicate for every row.

    Parameters
    ----------
    expression : Expression
        A bound predicate.
    batch : pa.RecordBatch
        The predicate's top-level columns under their names in the schema; members stay inside their structs.
    known : mapping of Expression to pa.BooleanArray
        Conditions within the predicate whose truth values are known. The batch may lack columns that only these name.

    Returns
    -------
    pa.BooleanArray
        TRUE, FALSE or NULL.

    Raises
    ------
    InvalidPredicateError
        A LIKE pattern is too long for the regular-expression engine, or a value cannot be computed in ANSI mode.
    UnsupportedFeatureError
        Arrow does not compute a function exactly as Spark does.
    """
    return evaluation.evaluate(expression, lambda column: _values(column, batch), batch.num_rows, known)


def _values(column: BoundColumn, batch: pa.RecordBatch) -> pa.Array:
    """The column's values; a member of a NULL struct is NULL."""
    values = batch.column(column.path[0].name)
    for field in column.path[1:]:
        values = pc.struct_field(values, [values.type.get_field_index(field.name)])
    return values
