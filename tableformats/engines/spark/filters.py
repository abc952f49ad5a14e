"""Translate a bound predicate to a Spark column, to filter the rows that pruning leaves undecided.

Literals are typed values, never SQL text, and timestamps are microseconds. So the session's time zone, its ANSI setting
and its parser have no influence. Only ``pyspark.sql.functions`` is used, which classic sessions and Spark Connect have.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import UnsupportedFeatureError
from ...expressions import (
    And,
    BoundColumn,
    Comparison,
    Constant,
    Expression,
    Function,
    Holds,
    In,
    IsNaN,
    IsNull,
    IsTrue,
    Like,
    Literal,
    Not,
    Or,
    StartsWith,
    Value,
)
from ...expressions.functions.intervals import IntervalType
from ...schema import DecimalType, FixedType, is_integer
from ...schema.datetimes import DAY_US, FIRST_GREGORIAN_DAY, format_timestamp
from .function_columns import FunctionTranslator

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["literal_column", "pad_column", "to_spark_column", "value_column"]


_MISSING_DAYS = {
    "date": range(FIRST_GREGORIAN_DAY - 10, FIRST_GREGORIAN_DAY),
    "timestamp": range((FIRST_GREGORIAN_DAY - 11) * DAY_US, (FIRST_GREGORIAN_DAY + 1) * DAY_US),
}
"""Days that ``java.sql.Date`` and ``Timestamp`` lack, 1582-10-05 to 1582-10-14, as values of literals.

The range of timestamps is a day longer at both ends, for every time zone.
"""


def to_spark_column(expression: Expression) -> Column:
    """The condition over a DataFrame that has the predicate's columns under their names in the schema.

    Raises
    ------
    UnsupportedFeatureError
        The predicate uses a type that Spark lacks (nanoseconds).
    """
    return _Translator().predicate(expression)


def literal_column(literal: Literal) -> Column:
    """A bound literal as a Spark column. Raises UnsupportedFeatureError as :func:`to_spark_column` does."""
    found: Column = _Translator().literal(literal)
    return found


def value_column(value: Value) -> Column:
    """A bound value as a Spark column. Raises UnsupportedFeatureError as :func:`to_spark_column` does."""
    found: Column = _Translator().value(value)
    return found


def pad_column(column: Column, length: int) -> Column:
    """``column`` padded with spaces to ``length`` characters; longer values stay as they are."""
    from pyspark.sql import functions as F

    wanted = F.greatest(F.length(column), F.lit(length))
    # rpad() of PySpark 3.5 takes no column for the length.
    return F.call_function("rpad", column, wanted, F.lit(" "))


class _Translator:
    def __init__(self) -> None:
        from pyspark.sql import functions

        self._functions: Any = functions

    def predicate(self, node: Expression) -> Any:
        if isinstance(node, And):
            return _balanced([self.predicate(child) for child in node.children], lambda a, b: a & b)
        if isinstance(node, Or):
            return _balanced([self.predicate(child) for child in node.children], lambda a, b: a | b)
        if isinstance(node, Not):
            return ~self.predicate(node.child)
        if isinstance(node, Constant):
            return self._functions.lit(node.value).cast("boolean")
        if isinstance(node, IsTrue):
            return self._functions.coalesce(self.predicate(node.child), self._functions.lit(False))
        if isinstance(node, Holds):
            return self.value(node.value)
        if isinstance(node, Comparison):
            return self._comparison(node)
        if isinstance(node, In):
            column, literals = self._compared(_bound(node.column), node.literals)
            return column.isin(literals)
        if isinstance(node, IsNull):
            return self._column(_bound(node.column)).isNull()
        if isinstance(node, IsNaN):
            return self._functions.isnan(self._column(_bound(node.column)))
        if isinstance(node, StartsWith):
            return self._column(_bound(node.column)).startswith(node.prefix)
        assert isinstance(node, Like)
        return self._column(_bound(node.column)).like(node.pattern)

    def value(self, node: Value) -> Any:
        """A bound value."""
        if isinstance(node, Literal):
            if node.value is None:
                name = str(node.type)
                return self._functions.lit(None).cast("string" if name in ("uuid", "void") else name)
            return self.literal(node)
        if isinstance(node, Function):
            return FunctionTranslator(self.value, _operate).translate(node)
        return self.predicate(node) if isinstance(node, Expression) else self._column(_bound(node))

    def _column(self, column: BoundColumn) -> Any:
        first, *members = (field.name for field in column.path)
        found = self._functions.col("`" + first.replace("`", "``") + "`")
        for member in members:
            found = found.getField(member)
        return found

    def _comparison(self, node: Comparison) -> Any:
        column = _bound(node.column)
        if isinstance(node.right, Literal):
            left, (right,) = self._compared(column, (node.right,))
            return _operate(node.op, left, right)
        other = _bound(node.right)
        left, right = self._column(column), self._column(other)
        kinds = (str(column.type), str(other.type))
        if column.padded_length and other.padded_length:
            longer = max(column.padded_length, other.padded_length)
            left, right = pad_column(left, longer), pad_column(right, longer)
        if "timestamp" in kinds and kinds[0] != kinds[1]:
            left, right = self._instant(left, kinds[0]), self._instant(right, kinds[1])
        return _operate(node.op, left, right)

    def _compared(self, column: BoundColumn, literals: Sequence[Literal]) -> tuple[Any, list[Any]]:
        """A column and the literals that it is compared with.

        Spark converts dates and timestamps in filters to java.sql.Date and Timestamp before it pushes them down. These
        lack the days from 1582-10-05 to 1582-10-14 and would become 1582-10-15. In that case both sides are converted
        to numbers, which Spark does not push down.
        """
        found = self._column(column)
        kind = str(column.type)
        if not any(literal.value in _MISSING_DAYS.get(kind, ()) for literal in literals):
            return found, [self.literal(literal) for literal in literals]
        to_number = self._functions.unix_date if kind == "date" else self._functions.unix_micros
        number = "int" if kind == "date" else "bigint"
        return to_number(found), [self._functions.lit(literal.value).cast(number) for literal in literals]

    def _instant(self, column: Any, kind: str) -> Any:
        """A date or a timestamp without time zone as UTC. Spark's own cast would use the session's time zone."""
        if kind == "timestamp":
            return column
        text = column.cast("timestamp_ntz").cast("string")
        return self._functions.concat(text, self._functions.lit("Z")).cast("timestamp")

    def literal(self, literal: Literal) -> Any:
        functions, kind, name = self._functions, literal.type, str(literal.type)
        if is_integer(kind) or isinstance(kind, DecimalType):
            return functions.lit(literal.value).cast(name)
        if name == "date":
            return functions.date_from_unix_date(functions.lit(literal.value).cast("int"))
        if name == "timestamp":
            return functions.timestamp_micros(functions.lit(literal.value).cast("bigint"))
        if name == "timestamp_ntz":
            return functions.lit(format_timestamp(literal.value)).cast("timestamp_ntz")
        if name == "time":
            moment = dt.datetime.min + dt.timedelta(microseconds=literal.value)
            return functions.lit(moment.time().isoformat("microseconds")).cast("time(6)")
        if name == "uuid":
            return functions.lit(str(uuid.UUID(bytes=literal.value)))
        if name == "binary" or isinstance(kind, FixedType):
            return functions.lit(bytearray(literal.value))
        if name in ("boolean", "double", "string"):
            return functions.lit(literal.value)
        if name == "float":
            return functions.lit(literal.value).cast("float")
        if isinstance(kind, IntervalType):
            return functions.lit(literal.value).cast("bigint")
        raise UnsupportedFeatureError(
            f"Spark filters no column of type {name} yet: {literal}", field=name, hint="Read with to_arrow()."
        )


def _bound(column: Any) -> BoundColumn:
    assert isinstance(column, BoundColumn), "predicates are bound before they are translated"
    return column


def _operate(op: str, left: Any, right: Any) -> Any:
    operators: dict[str, Callable[[], Any]] = {
        "=": lambda: left == right,
        "!=": lambda: left != right,
        "<": lambda: left < right,
        "<=": lambda: left <= right,
        ">": lambda: left > right,
        ">=": lambda: left >= right,
        "<=>": lambda: left.eqNullSafe(right),
    }
    return operators[op]()


def _balanced(columns: Sequence[Any], join: Callable[[Any, Any], Any]) -> Any:
    """All columns joined in a tree of logarithmic depth, because Catalyst's recursion overflows on a long chain."""
    while len(columns) > 1:
        pairs = [join(a, b) for a, b in zip(columns[::2], columns[1::2], strict=False)]
        columns = pairs + list(columns[len(pairs) * 2 :])
    return columns[0]
