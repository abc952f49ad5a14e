"""The predicate tree: what a filter says, in SQL's three-valued logic and Spark's order. No evaluation here.

Front ends (``predicates/``) build the tree from names; :func:`tableformats.expressions.binding.bind` replaces every
:class:`Reference` by a :class:`BoundColumn` of a schema and every literal's value by one that can be compared with
that column. Pruning, Arrow and Spark then walk the same bound tree.

Spark's order: NaN equals NaN and is greater than every other number, -0.0 equals 0.0, strings compare by their
UTF-8 bytes, false < true. A comparison with NULL is NULL; ``<=>`` never is.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidPredicateError
from ..schema import Field, Type
from ..schema.datetimes import format_date, format_time, format_timestamp

__all__ = [
    "And",
    "BoundColumn",
    "Column",
    "Comparison",
    "Constant",
    "Expression",
    "In",
    "IsNaN",
    "IsNull",
    "Like",
    "Literal",
    "Not",
    "Or",
    "Reference",
    "StartsWith",
    "col",
    "columns_of",
    "conjunction",
    "depth",
    "like_parts",
    "split_name",
    "walk",
]

COMPARISONS = ("=", "<=>", "!=", "<", "<=", ">", ">=")


class Expression:
    """Base of the tree's nodes. Nodes are immutable, comparable and hashable; ``str`` is Spark SQL."""

    def __and__(self, other: Expression) -> Expression:
        return And((*_terms(And, self), *_terms(And, other)))

    def __or__(self, other: Expression) -> Expression:
        return Or((*_terms(Or, self), *_terms(Or, other)))

    def __invert__(self) -> Expression:
        return self.child if isinstance(self, Not) else Not(self)

    def __bool__(self) -> bool:
        raise TypeError("a predicate has no truth value: combine predicates with &, | and ~, not and, or, not")


@dataclass(frozen=True)
class Literal:
    """A constant: a plain Python value (``type`` None), or a canonical value of ``type``.

    Canonical: bool; int for integers, for dates (days), times (microseconds) and timestamps (microseconds,
    nanoseconds for the _ns types) since the epoch; float (a double for float columns too); Decimal; str; bytes for
    binary, fixed and uuid.

    Bound (see :mod:`binding`) a literal has the column's type and is a value of it: integers and dates
    in range, decimals of the column's scale, fixed of the column's length, never -0.0, one NaN object. Never None:
    NULL literals become Constant(None) or IsNull when bound.
    """

    value: Any
    type: Type | None = None

    def __str__(self) -> str:
        return _sql_literal(self.value, self.type)


@dataclass(frozen=True)
class Reference:
    """A column by name, not looked up yet; ``parts`` are the names from the top-level column down."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(_quoted(part) for part in self.parts)


@dataclass(frozen=True)
class BoundColumn:
    """A column of a schema: the path of fields from the top-level column down to the leaf."""

    path: tuple[Field, ...]

    @property
    def field(self) -> Field:
        return self.path[-1]

    @property
    def id(self) -> int:
        return self.path[-1].id

    @property
    def type(self) -> Type:
        return self.path[-1].type

    def __str__(self) -> str:
        return ".".join(_quoted(f.name) for f in self.path)


AnyColumn = Reference | BoundColumn


@dataclass(frozen=True)
class Constant(Expression):
    """TRUE, FALSE or NULL (``value`` None)."""

    value: bool | None

    def __str__(self) -> str:
        return "NULL" if self.value is None else str(self.value).upper()


@dataclass(frozen=True)
class Comparison(Expression):
    """``column op right``; ``op`` is one of :data:`COMPARISONS`; ``right`` a literal or another column."""

    op: str
    column: AnyColumn
    right: Literal | AnyColumn

    def __str__(self) -> str:
        return f"{self.column} {self.op} {self.right}"


@dataclass(frozen=True)
class In(Expression):
    """``column IN (literals)``. Once bound no literal is NULL: ``x IN (1, NULL)`` is ``x IN (1) OR NULL``."""

    column: AnyColumn
    literals: tuple[Literal, ...]

    def __str__(self) -> str:
        return f"{self.column} IN ({', '.join(map(str, self.literals))})"


@dataclass(frozen=True)
class IsNull(Expression):
    """TRUE or FALSE, never NULL. The column may be of any type, nested ones included."""

    column: AnyColumn

    def __str__(self) -> str:
        return f"{self.column} IS NULL"


@dataclass(frozen=True)
class IsNaN(Expression):
    """Spark's ``isnan``: TRUE or FALSE, FALSE for NULL."""

    column: AnyColumn

    def __str__(self) -> str:
        return f"isnan({self.column})"


@dataclass(frozen=True)
class StartsWith(Expression):
    column: AnyColumn
    prefix: str

    def __str__(self) -> str:
        return f"startswith({self.column}, {_sql_literal(self.prefix, None)})"


@dataclass(frozen=True)
class Like(Expression):
    """``column LIKE pattern``; binding turns a pure prefix into StartsWith and a constant into ``=``."""

    column: AnyColumn
    pattern: str

    def __str__(self) -> str:
        return f"{self.column} LIKE {_sql_literal(self.pattern, None)}"


@dataclass(frozen=True)
class Not(Expression):
    child: Expression

    def __str__(self) -> str:
        return f"{self.child.column} IS NOT NULL" if isinstance(self.child, IsNull) else f"NOT ({self.child})"


@dataclass(frozen=True)
class And(Expression):
    children: tuple[Expression, ...]

    def __str__(self) -> str:
        return " AND ".join(f"({c})" if isinstance(c, Or) else str(c) for c in self.children)


@dataclass(frozen=True)
class Or(Expression):
    children: tuple[Expression, ...]

    def __str__(self) -> str:
        return " OR ".join(f"({c})" if isinstance(c, And) else str(c) for c in self.children)


TRUE = Constant(True)
FALSE = Constant(False)


class Column:
    """What :func:`col` returns: comparing it builds a predicate."""

    def __init__(self, *parts: str) -> None:
        self._reference = Reference(parts)

    def _compare(self, op: str, other: object) -> Expression:
        if isinstance(other, Column):
            return Comparison(op, self._reference, other._reference)
        return Comparison(op, self._reference, other if isinstance(other, Literal) else Literal(other))

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._compare("!=", other)

    def __lt__(self, other: object) -> Expression:
        return self._compare("<", other)

    def __le__(self, other: object) -> Expression:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> Expression:
        return self._compare(">", other)

    def __ge__(self, other: object) -> Expression:
        return self._compare(">=", other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} has no truth value: compare it, and combine predicates with &, | and ~")

    def __getitem__(self, name: str) -> Column:
        """The struct member ``name`` of this column. Raises TypeError where that is no text."""
        if not isinstance(name, str):
            raise TypeError(f"{self!r} has members by name, not {name!r}")
        return Column(*self._reference.parts, name)

    def eq_null_safe(self, other: object) -> Expression:
        """``<=>``: NULL equals NULL, and the answer is never NULL."""
        return self._compare("<=>", other)

    def isin(self, *values: Any) -> Expression:
        """``IN``; takes values or one list."""
        listed = values[0] if len(values) == 1 and isinstance(values[0], (list, tuple, set, frozenset)) else values
        return In(self._reference, tuple(v if isinstance(v, Literal) else Literal(v) for v in listed))

    def between(self, lower: object, upper: object) -> Expression:
        """``lower <= column AND column <= upper``."""
        return And((self >= lower, self <= upper))

    def is_null(self) -> Expression:
        return IsNull(self._reference)

    def is_not_null(self) -> Expression:
        return Not(IsNull(self._reference))

    def is_nan(self) -> Expression:
        return IsNaN(self._reference)

    def startswith(self, prefix: str) -> Expression:
        return StartsWith(self._reference, prefix)

    def like(self, pattern: str) -> Expression:
        """SQL LIKE: ``%`` any text, ``_`` one character, backslash escapes."""
        return Like(self._reference, pattern)

    def __repr__(self) -> str:
        return f"col({str(self._reference)!r})"


def col(name: str) -> Column:
    """A column to build predicates with: ``tf.col("a") > 1``.

    Dots separate struct members; backticks keep a dot in a name (``tf.col("`a.b`")``). Raises TypeError where the name
    is no text, InvalidPredicateError where a backtick is not closed.
    """
    if not isinstance(name, str):
        raise TypeError(f"a column's name is text, not {name!r}")
    return Column(*split_name(name))


def split_name(name: str) -> tuple[str, ...]:
    """The parts of a dotted name; inside backticks a dot is a letter and a doubled backtick one backtick.

    Raises InvalidPredicateError where a backtick is not closed.
    """
    parts: list[str] = []
    current: list[str] = []
    quoted = False
    i = 0
    while i < len(name):
        c = name[i]
        if c == "`":
            if quoted and name[i + 1 : i + 2] == "`":
                current.append("`")
                i += 1
            else:
                quoted = not quoted
        elif c == "." and not quoted:
            parts.append("".join(current))
            current = []
        else:
            current.append(c)
        i += 1
    if quoted:
        raise InvalidPredicateError(
            f"a backtick of the name {name!r} is not closed", hint="Double a backtick that is part of a name"
        )
    parts.append("".join(current))
    return tuple(parts)


def conjunction(*expressions: Expression | None) -> Expression:
    """All of them with AND; None and TRUE are left out, and nothing at all is TRUE."""
    parts: list[Expression] = []
    for e in expressions:
        if isinstance(e, And):
            parts.extend(e.children)
        elif e is not None and e != TRUE:
            parts.append(e)
    return TRUE if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))


def walk(expression: Expression) -> Iterator[Expression]:
    """The node and all below it, depth first, children in order."""
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(_children(node)))


def depth(expression: Expression) -> int:
    """The number of nodes on the longest way down; does not recurse, so it can guard what does."""
    deepest, level = 0, [expression]
    while level:
        deepest += 1
        level = [child for node in level for child in _children(node)]
    return deepest


def like_parts(pattern: str) -> list[tuple[str, bool]]:
    """The characters of a LIKE pattern, escapes resolved, each with whether it is a wildcard (``%`` or ``_``).

    Raises InvalidPredicateError where a backslash precedes anything but a wildcard or itself. Source: Spark SQL
    reference, "LIKE".
    """
    parts: list[tuple[str, bool]] = []
    characters = iter(pattern)
    for c in characters:
        if c == "\\":
            escaped = next(characters, "")
            if escaped not in ("%", "_", "\\"):
                raise InvalidPredicateError(
                    f"in the LIKE pattern {pattern!r} the escape precedes {escaped or 'nothing'!r}",
                    hint="It may precede %, _ and itself; double it to match it.",
                )
            parts.append((escaped, False))
        else:
            parts.append((c, c in "%_"))
    return parts


def columns_of(expression: Expression) -> list[AnyColumn]:
    """The columns that the expression names, each once, in order of appearance."""
    found: dict[Any, AnyColumn] = {}
    for node in walk(expression):
        for name in ("column", "right"):
            c = getattr(node, name, None)
            if isinstance(c, Reference):
                found.setdefault(c.parts, c)
            elif isinstance(c, BoundColumn):
                found.setdefault(c.id, c)
    return list(found.values())


def _children(node: Expression) -> tuple[Expression, ...]:
    if isinstance(node, (And, Or)):
        return node.children
    return (node.child,) if isinstance(node, Not) else ()


def _terms(kind: type[And] | type[Or], operand: object) -> tuple[Expression, ...]:
    """The operands that ``operand`` adds to a chain of ``kind``, so that chains stay flat."""
    if not isinstance(operand, Expression):
        raise InvalidPredicateError(
            f"{operand!r} is no predicate",
            hint="Compare the column first, as in (tf.col('a') == True) & ...; "
            "comparisons need parentheses beside & and |.",
        )
    return operand.children if isinstance(operand, kind) else (operand,)


# Words that Spark, or sqlglot in some version, does not read as a column's name everywhere.
_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
    ALL ALTER ALWAYS AND ANY ARRAY AS BETWEEN CASE CONNECT_BY_ROOT CREATE CROSS CURRENT_DATE
    CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DESCRIBE DISTINCT DIV DROP ELSE END EXCEPT EXISTS FALSE
    FETCH FOR FROM FULL GLOB GRANT GROUP HAVING IF ILIKE IN INNER INSERT INTERSECT INTO IS ISNULL JOIN
    LATERAL LEFT LIKE LIMIT LIST LOCK MAP MINUS NATURAL NOT NOTNULL NULL NULLABLE OBJECT ON OR ORDER
    OUTER OVER PARTITIONED_BY QUALIFY RANGE REGEXP RETURNING REVOKE RIGHT RLIKE ROLLBACK SELECT
    SERDEPROPERTIES SESSION_USER STRUCT TABLESAMPLE THEN TRUE UNCACHE UNION UNKNOWN USER USING VALUES
    WHEN WHERE WINDOW WITH XOR
""",
    )
)
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _quoted(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in _KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def _sql_literal(value: Any, kind: Type | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, (bytes, bytearray)):
        return "X'" + value.hex().upper() + "'"
    if isinstance(value, uuid.UUID):
        return f"'{value}'"
    if isinstance(value, int):
        return _sql_temporal(value, str(kind)) or str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f"CAST('{'NaN' if value != value else 'Infinity' if value > 0 else '-Infinity'}' AS DOUBLE)"
    if isinstance(value, decimal.Decimal) and value.is_finite() and abs(value.adjusted()) < 100:
        return format(value, "f")
    if isinstance(value, dt.datetime):
        return f"{'TIMESTAMP' if value.tzinfo else 'TIMESTAMP_NTZ'} '{value}'"
    if isinstance(value, (dt.date, dt.time)):
        return f"{type(value).__name__.upper()} '{value}'"
    return str(value)


def _sql_temporal(value: int, type_name: str) -> str | None:
    """The typed literal of a date, time or timestamp; None for integers."""
    if type_name == "date":
        return f"DATE '{format_date(value)}'"
    if type_name == "time":
        return f"TIME '{format_time(value)}'"
    if not type_name.startswith("timestamp"):
        return None
    text = format_timestamp(value, 9 if type_name.endswith("_ns") else 6)
    return f"TIMESTAMP_NTZ '{text}'" if "_ntz" in type_name else f"TIMESTAMP '{text}Z'"
