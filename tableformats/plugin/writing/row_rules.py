"""What a table asks of new rows beside types and NOT NULL: conditions, computed columns, identities, lengths of texts.

The expressions are SQL of the table's metadata. They are bound here, with Spark's ANSI semantics and UTC as the zone of
the session. One that cannot be computed exactly as Spark does is refused by name, before anything is written.

The rules are plain values, so that they can be sent to the processes that write. Source: Delta PROTOCOL.md, "Column
Invariants", "CHECK Constraints", "Generated Columns", "Default Columns", "Identity Columns".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ...dataclass import dataclass
from ...errors import ConstraintViolationError, InvalidPredicateError, UnsupportedFeatureError
from ...expressions import BoundColumn, Expression, Function, Holds, Literal, Reference, Value, columns_of
from ...expressions.binding import bind, bound_value
from ...expressions.parse.sql import parse_sql, parse_sql_value
from ...schema import Field, Schema, arrow_type

__all__ = [
    "ComputedColumn",
    "IdentityColumn",
    "RowCheck",
    "RowRules",
    "column_default",
    "constant_default",
    "generated_column",
    "row_check",
]

_HINT = "Nothing was written; write the table with Spark"


@dataclass(frozen=True)
class RowCheck:
    """A condition that has to be TRUE for each new row; NULL is not enough.

    Attributes
    ----------
    name : str
        What it is called in errors, such as ``the constraint 'positive'``.
    field : str
        The ``field`` of errors.
    sql : str
        The text as the table has it.
    condition : Expression
        Bound.
    """

    name: str
    field: str
    sql: str
    condition: Expression


@dataclass(frozen=True)
class ComputedColumn:
    """A top-level column that is computed where the rows do not have it.

    Attributes
    ----------
    column : Field
    sql : str
    value : Value or None
        Bound, of the column's type. None: it cannot be computed, and ``refusal`` says why.
    check : RowCheck or None
        The condition for rows that have the column.
    """

    column: Field
    sql: str
    value: Value | None
    refusal: str = ""
    check: RowCheck | None = None


@dataclass(frozen=True)
class IdentityColumn:
    """A column of numbers that are given out: ``start + k * step``, beyond ``high_water``.

    Attributes
    ----------
    high_water : int or None
        The last number that was given out. None: none was.
    allow_explicit : bool
        Whether rows may bring their own numbers.
    """

    column: Field
    start: int
    step: int
    high_water: int | None
    allow_explicit: bool

    def first_free(self) -> int:
        """The next number to give out.

        A high-water mark that is no ``start + k * step``, as after numbers that rows brought, is rounded away from
        ``start``.
        """
        if self.high_water is None or (self.high_water - self.start) * self.step < 0:
            return self.start
        return self.start + ((self.high_water - self.start) // self.step + 1) * self.step


@dataclass(frozen=True)
class RowRules:
    """All that a table asks of new rows.

    Attributes
    ----------
    defaults, generated : tuple of ComputedColumn
        Defaults are computed first, so generated columns see them.
    longest : mapping of tuple of str to int
        The most characters of string columns, by path. The members of lists and maps are ``element``, ``key`` and
        ``value``.
    """

    checks: tuple[RowCheck, ...] = ()
    defaults: tuple[ComputedColumn, ...] = ()
    generated: tuple[ComputedColumn, ...] = ()
    identities: tuple[IdentityColumn, ...] = ()
    longest: Mapping[tuple[str, ...], int] | None = None

    def __bool__(self) -> bool:
        return any((self.checks, self.defaults, self.generated, self.identities, self.longest))

    @property
    def provided(self) -> frozenset[str]:
        """The names of the columns that rows need not have, although they may be NOT NULL."""
        computed = [rule.column.name for rule in (*self.defaults, *self.generated)]
        return frozenset((*computed, *(rule.column.name for rule in self.identities)))


def row_check(name: str, field: str, sql: str, schema: Schema, path: str) -> RowCheck:
    """A condition of the table, bound.

    Raises
    ------
    UnsupportedFeatureError
        It cannot be evaluated exactly. ``field`` is the one given.
    """
    try:
        condition = bind(parse_sql(sql), schema)
        _try_condition(condition)
    except (InvalidPredicateError, UnsupportedFeatureError) as error:
        raise _refused(name, sql, error, path, field) from None
    return RowCheck(name, field, sql, condition)


def generated_column(column: Field, field: str, sql: str, schema: Schema, path: str) -> ComputedColumn:
    """A column whose values equal an expression. Raises as :func:`row_check`."""
    name = f"the generated column {column.name!r}"
    try:
        value = _computed(column, sql, schema)
        equal = Function("<=>", (Reference((column.name,)), parse_sql_value(sql)))
        condition = bind(Holds(equal), schema)
        _try_condition(condition)
    except (InvalidPredicateError, UnsupportedFeatureError) as error:
        raise _refused(name, sql, error, path, field) from None
    return ComputedColumn(column, sql, value, check=RowCheck(name, column.name, sql, condition))


def column_default(column: Field, sql: str, schema: Schema) -> ComputedColumn:
    """A column that has a default. One that cannot be computed is refused when rows need it."""
    try:
        value = _computed(column, sql, schema)
        named = columns_of(value)
        if named:
            return ComputedColumn(column, sql, None, f"a default cannot name the column {str(named[0])!r}")
        return ComputedColumn(column, sql, value)
    except (InvalidPredicateError, UnsupportedFeatureError) as error:
        return ComputedColumn(column, sql, None, error.message)


def constant_default(column: Field, value: object, schema: Schema) -> ComputedColumn:
    """A column that has a value as its default. One that cannot be computed is refused when rows need it."""
    try:
        computed = bound_value(Function("cast", (Literal(value),), column.type), schema)
        _try_value(computed)
        return ComputedColumn(column, repr(value), computed)
    except (InvalidPredicateError, UnsupportedFeatureError) as error:
        return ComputedColumn(column, repr(value), None, error.message)


def missing_default(rule: ComputedColumn) -> ConstraintViolationError:
    """The error for rows that need a default which cannot be computed."""
    return ConstraintViolationError(
        f"the default of the column, {rule.sql!r}, is not computed: {rule.refusal}",
        field=rule.column.name,
        hint="Give the column's values",
    )


def _computed(column: Field, sql: str, schema: Schema) -> Value:
    found = parse_sql_value(sql)
    if isinstance(found, Literal) and found.value is None:
        return Literal(None, column.type)
    value = bound_value(Function("cast", (found,), column.type), schema)
    _try_value(value)
    return value


def _try_condition(condition: Expression) -> None:
    """Evaluate it over no rows. Raises UnsupportedFeatureError where Arrow has no exact kernel."""
    from ...expressions.evaluation import evaluate

    evaluate(condition, _no_rows, 0)


def _try_value(value: Value) -> None:
    from ...expressions.evaluation import evaluate_value

    evaluate_value(value, _no_rows, 0)


def _no_rows(column: BoundColumn) -> object:
    import pyarrow as pa

    return pa.array([], arrow_type(column.type))


def _refused(
    name: str, sql: str, error: InvalidPredicateError | UnsupportedFeatureError, path: str, field: str
) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{name} ({sql}) is not evaluated: {error.message}", path=path, field=field, hint=_HINT
    )


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """The words of SQL texts, in lower case: each column that a text names is among them."""
    words = (word for text in texts for word in re.findall(r"`((?:[^`]|``)+)`|(\w+)", text))
    return frozenset((quoted.replace("``", "`") or plain).lower() for quoted, plain in words)
