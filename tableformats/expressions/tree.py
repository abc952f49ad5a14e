"""The nodes of a predicate, in SQL's three-valued logic and Spark's order.

The parsers (``parse/``) and :func:`tableformats.col` build a tree over names. Binding
(:func:`tableformats.expressions.binding.bind`) replaces every :class:`Reference` by a :class:`BoundColumn` of a schema,
and every literal by a value of that column's type. Pruning, Arrow and Spark then walk the same bound tree.

Spark's order: NaN equals NaN and is greater than every other number, -0.0 equals 0.0, strings compare by their
UTF-8 bytes, false < true. A comparison with NULL is NULL; ``<=>`` is never NULL.

The leaves test a column: these are what pruning decides from bounds. A condition on a value that is computed from
columns, such as ``a + 1 > b`` or ``upper(s) = 'X'``, is a :class:`Holds` over a :class:`Function`. Binding turns it
into leaves over columns where these have the same value on every row.

The ``place`` of a node is the SQL text in which it stands, and its first character there. It is for messages alone: two
nodes that differ in it are equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from ..dataclass import dataclass
from ..display import shortened
from ..errors import InvalidPredicateError
from ..schema import Field, Type
from .sql_text import quoted_name, sql_call, sql_literal

__all__ = [
    "And",
    "BoundColumn",
    "Comparison",
    "Constant",
    "Expression",
    "Function",
    "Holds",
    "In",
    "IsNaN",
    "IsNull",
    "IsTrue",
    "Like",
    "Literal",
    "Not",
    "Or",
    "Reference",
    "StartsWith",
    "Value",
    "columns_of",
    "conjunction",
    "depth",
    "like_parts",
    "walk",
    "with_backslashes",
]

_SUFFIXES = {"bigint": "L", "smallint": "S", "tinyint": "Y"}
COMPARISONS = ("=", "<=>", "!=", "<", "<=", ">", ">=")


class Expression:
    """Base of the tree's nodes. Nodes are immutable, comparable and hashable. ``str`` gives Spark SQL.

    >>> ~((tf.col("a") > 1) & (tf.col("b") == "x"))
    <Not: NOT (a > 1 AND b = 'x')>
    """

    def __init_subclass__(cls) -> None:
        # Set before ``dataclass`` sees the class, which then keeps it: its own repr of a tree fills the screen.
        cls.__repr__ = Expression.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {shortened(str(self), 200)}>"

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

    After binding (see ``binding.py``) a literal has the column's type and is a value of it: integers and dates in
    range, decimals of the column's scale, fixed of the column's length, never -0.0, one NaN object. It is never None:
    binding turns NULL literals into Constant(None) or IsNull.
    """

    value: Any
    type: Type | None = None

    def __str__(self) -> str:
        return sql_literal(self.value, self.type)


@dataclass(frozen=True)
class Reference:
    """A column by name, not yet looked up. ``parts`` are the names from the top-level column down."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(quoted_name(part) for part in self.parts)


@dataclass(frozen=True)
class BoundColumn:
    """A column of a schema: the fields from the top-level column down to the leaf."""

    path: tuple[Field, ...]

    @property
    def field(self) -> Field:
        """The leaf."""
        return self.path[-1]

    @property
    def id(self) -> int:
        """The leaf's field id."""
        return self.path[-1].id

    @property
    def type(self) -> Type:
        """The leaf's type."""
        return self.path[-1].type

    @property
    def padded_length(self) -> int | None:
        """``n`` of a top-level CHAR(n) column: what it is compared with is padded to as many characters."""
        return self.path[0].char_length if len(self.path) == 1 else None

    def __str__(self) -> str:
        return ".".join(quoted_name(f.name) for f in self.path)


AnyColumn = Reference | BoundColumn


@dataclass(frozen=True)
class Function:
    """A value that is computed from others for each row.

    Attributes
    ----------
    name : str
        The name in Spark SQL, in lower case. Operators have their sign: ``+ - * / div %`` for numbers, and
        ``= <=> != < <= > >=`` for conditions. Casts are ``cast`` and ``try_cast``.
    arguments : tuple of Value
    type : Type, optional
        The type of the result, which binding sets. Of a cast always the target.
    ansi : bool
        Whether a value that cannot be computed is an error, as with ``spark.sql.ansi.enabled``. False: NULL, or what
        Spark makes of it without that mode.
    """

    name: str
    arguments: tuple[Value, ...]
    type: Type | None = None
    ansi: bool = True
    place: tuple[str, int] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return sql_call(self.name, tuple(map(_argument_text, self.arguments)), self.type)


@dataclass(frozen=True)
class Constant(Expression):
    """TRUE, FALSE or NULL (``value`` None)."""

    value: bool | None

    def __str__(self) -> str:
        return "NULL" if self.value is None else str(self.value).upper()


@dataclass(frozen=True)
class Comparison(Expression):
    """``column op right``. ``op`` is one of :data:`COMPARISONS`, ``right`` a literal or another column."""

    op: str
    column: AnyColumn
    right: Literal | AnyColumn
    place: tuple[str, int] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.column} {self.op} {self.right}"


@dataclass(frozen=True)
class In(Expression):
    """``column IN (literals)``. After binding no literal is NULL: ``x IN (1, NULL)`` is ``x IN (1) OR NULL``."""

    column: AnyColumn
    literals: tuple[Literal, ...]
    place: tuple[str, int] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.column} IN ({', '.join(map(str, self.literals))})"


@dataclass(frozen=True)
class IsNull(Expression):
    """``column IS NULL``: TRUE or FALSE, never NULL. The column may have any type, nested ones included."""

    column: AnyColumn

    def __str__(self) -> str:
        return f"{self.column} IS NULL"


@dataclass(frozen=True)
class IsNaN(Expression):
    """Spark's ``isnan(column)``: TRUE or FALSE, FALSE for NULL."""

    column: AnyColumn
    place: tuple[str, int] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"isnan({self.column})"


@dataclass(frozen=True)
class StartsWith(Expression):
    """``startswith(column, prefix)``: NULL for NULL."""

    column: AnyColumn
    prefix: str
    place: tuple[str, int] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"startswith({self.column}, {sql_literal(self.prefix, None)})"


@dataclass(frozen=True)
class Like(Expression):
    """``column LIKE pattern``. Binding turns ``prefix%`` into StartsWith, and patterns without wildcards into ``=``."""

    column: AnyColumn
    pattern: str
    place: tuple[str, int] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.column} LIKE {sql_literal(self.pattern, None)}"


@dataclass(frozen=True)
class Holds(Expression):
    """A boolean value as a condition: TRUE, FALSE or NULL as the value is."""

    value: Function

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class IsTrue(Expression):
    """``child IS TRUE``: FALSE where the child is NULL. ``child IS FALSE`` is the same of ``NOT child``."""

    child: Expression

    def __str__(self) -> str:
        return f"({self.child}) IS TRUE"


Value = Literal | Reference | BoundColumn | Function | Expression
"""What a function computes with. A condition is a boolean value."""


@dataclass(frozen=True)
class Not(Expression):
    """``NOT child``: NULL where the child is NULL."""

    child: Expression

    def __str__(self) -> str:
        return f"{self.child.column} IS NOT NULL" if isinstance(self.child, IsNull) else f"NOT ({self.child})"


@dataclass(frozen=True)
class And(Expression):
    """TRUE if all children are TRUE, FALSE if any is FALSE, else NULL."""

    children: tuple[Expression, ...]

    def __str__(self) -> str:
        return " AND ".join(f"({c})" if isinstance(c, Or) else str(c) for c in self.children)


@dataclass(frozen=True)
class Or(Expression):
    """TRUE if any child is TRUE, FALSE if all are FALSE, else NULL."""

    children: tuple[Expression, ...]

    def __str__(self) -> str:
        return " OR ".join(f"({c})" if isinstance(c, And) else str(c) for c in self.children)


TRUE = Constant(True)
FALSE = Constant(False)


def conjunction(*expressions: Expression | None) -> Expression:
    """All expressions combined by AND. None and TRUE are left out. Without any, the result is TRUE."""
    parts: list[Expression] = []
    for e in expressions:
        if isinstance(e, And):
            parts.extend(e.children)
        elif e is not None and e != TRUE:
            parts.append(e)
    return TRUE if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))


def walk(expression: Expression) -> Iterator[Expression]:
    """The node and all its descendants, depth first, children in order."""
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(_children(node)))


def depth(expression: Expression) -> int:
    """The number of nodes on the longest path down. It does not recurse, so it can guard functions that do."""
    deepest = 0
    level: list[Value] = [expression]
    while level:
        deepest += 1
        level = [child for node in level for child in (*_children(node), *_arguments(node))]
    return deepest


def like_parts(pattern: str) -> list[tuple[str, bool]]:
    """The characters of a LIKE pattern with escapes resolved, each with whether it is a wildcard (``%`` or ``_``).

    Raises InvalidPredicateError where a backslash precedes a character other than a wildcard or a backslash. Source:
    Spark SQL reference, "LIKE".
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


def with_backslashes(pattern: str, escape: str) -> str:
    """A LIKE pattern with a backslash in place of another escape character.

    Raises InvalidPredicateError where that precedes a character other than a wildcard or itself.
    """
    if escape == "\\":
        return pattern
    rewritten, characters = [], iter(pattern)
    for c in characters:
        if c == escape:
            following = next(characters, "")
            if following not in ("%", "_", escape):
                raise InvalidPredicateError(
                    f"in the LIKE pattern {pattern!r} the escape {escape!r} precedes {following or 'nothing'!r}",
                    hint="It may precede %, _ and itself.",
                )
            rewritten.append("\\" + following if following in "%_" else following)
        else:
            rewritten.append("\\\\" if c == "\\" else c)
    return "".join(rewritten)


def columns_of(expression: Value) -> list[AnyColumn]:
    """The distinct columns of a condition or a value, in order of appearance."""
    found: dict[Any, AnyColumn] = {}
    pending: list[Value] = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, Reference):
            found.setdefault(node.parts, node)
        elif isinstance(node, BoundColumn):
            found.setdefault(node.id, node)
        else:
            tested = (getattr(node, name, None) for name in ("column", "right"))
            below = [*(c for c in tested if isinstance(c, (Reference, BoundColumn)))]
            pending.extend(reversed([*below, *_children(node), *_arguments(node)]))
    return list(found.values())


def top_columns(expression: Value) -> set[int]:
    """The ids of the columns at the top of the table that a bound condition or value names, or names a part of."""
    return {column.path[0].id for column in columns_of(expression) if isinstance(column, BoundColumn)}


def _children(node: Value) -> tuple[Expression, ...]:
    if isinstance(node, (And, Or)):
        return node.children
    return (node.child,) if isinstance(node, (Not, IsTrue)) else ()


def _arguments(node: Value) -> tuple[Value, ...]:
    """The values that a condition or a function is computed from."""
    if isinstance(node, Holds):
        return (node.value,)
    return node.arguments if isinstance(node, Function) else ()


def _argument_text(value: Value) -> str:
    """An argument of a function: conditions in parentheses, numbers with the suffix of their type, NULL as a cast."""
    if isinstance(value, Holds):
        return f"({value})" if value.value.name in ("in", "isnull", "isnotnull") else str(value)
    if isinstance(value, Expression) and not isinstance(value, (Constant, IsNaN, StartsWith)):
        return f"({value})"
    if isinstance(value, Literal) and value.value is None and value.type is not None and str(value.type) != "void":
        return sql_call("cast", ("NULL",), value.type)
    if not isinstance(value, Literal) or isinstance(value.value, bool) or not isinstance(value.value, (int, float)):
        return str(value)
    if isinstance(value.value, float):
        is_float = str(value.type) == "float"
        return str(value) if not math.isfinite(value.value) else f"{value}{'F' if is_float else 'D'}"
    return f"{value}{_SUFFIXES.get(str(value.type), '')}"


def _terms(kind: type[And] | type[Or], operand: object) -> tuple[Expression, ...]:
    """The operands that ``operand`` contributes to a chain of ``kind``, so that chains stay flat."""
    if not isinstance(operand, Expression):
        raise InvalidPredicateError(
            f"{operand!r} is no predicate",
            hint="Compare the column first, as in (tf.col('a') == True) & ...; "
            "comparisons need parentheses beside & and |.",
        )
    return operand.children if isinstance(operand, kind) else (operand,)
