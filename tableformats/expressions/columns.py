"""``col("a") > 1``, ``col("a") + 1 > col("b")``: build predicates with Python's operators."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidPredicateError
from .tree import (
    And,
    Comparison,
    Constant,
    Expression,
    Function,
    Holds,
    In,
    IsNaN,
    IsNull,
    Like,
    Literal,
    Not,
    Reference,
    StartsWith,
    Value,
)

__all__ = ["Column", "col", "split_name"]


class Column:
    """A column by name, from :func:`col`, or a number computed from columns. Comparing it builds a predicate.

    >>> tf.open_table("events").count((tf.col("id") + 1 > 3) & (tf.col("day") == 2))
    3
    """

    def __init__(self, *parts: str) -> None:
        self._value: Reference | Function = Reference(parts)

    @staticmethod
    def _computed(op: str, *operands: object) -> Column:
        found = Column()
        found._value = Function(op, tuple(map(_value_of, operands)))
        return found

    def _compare(self, op: str, other: object) -> Expression:
        if other is None and op != "<=>":
            test = ".is_not_null()" if op == "!=" else ".is_null()"
            raise InvalidPredicateError(
                f"{self!r} {'==' if op == '=' else op} None is NULL for every row, as a comparison with NULL is in SQL",
                hint=f"Use {test}, or .eq_null_safe(None).",
            )
        left, right = self._value, _value_of(other)
        if isinstance(left, Reference) and isinstance(right, (Reference, Literal)):
            return Comparison(op, left, right)
        return Holds(Function(op, (left, right)))

    def _test(self, name: str, *operands: str) -> Expression:
        """The boolean function ``name`` of this column and constant texts."""
        for operand in operands:
            if not isinstance(operand, str):
                raise InvalidPredicateError(f"{name} of {self!r} needs text, not {operand!r}")
        return Holds(Function(name, (self._value, *map(Literal, operands))))

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

    def __add__(self, other: object) -> Column:
        return self._computed("+", self, other)

    def __radd__(self, other: object) -> Column:
        return self._computed("+", other, self)

    def __sub__(self, other: object) -> Column:
        return self._computed("-", self, other)

    def __rsub__(self, other: object) -> Column:
        return self._computed("-", other, self)

    def __mul__(self, other: object) -> Column:
        return self._computed("*", self, other)

    def __rmul__(self, other: object) -> Column:
        return self._computed("*", other, self)

    def __truediv__(self, other: object) -> Column:
        return self._computed("/", self, other)

    def __rtruediv__(self, other: object) -> Column:
        return self._computed("/", other, self)

    def __mod__(self, other: object) -> Column:
        return self._computed("%", self, other)

    def __rmod__(self, other: object) -> Column:
        return self._computed("%", other, self)

    def __neg__(self) -> Column:
        return self._computed("negative", self)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} has no truth value: compare it, and combine predicates with &, | and ~")

    def __getitem__(self, name: str) -> Column:
        """The struct member ``name`` of this column. Raises TypeError if ``name`` is no string."""
        if not isinstance(name, str):
            raise TypeError(f"{self!r} has members by name, not {name!r}")
        if isinstance(self._value, Function):
            raise TypeError(f"{self!r} is computed, and has no members")
        return Column(*self._value.parts, name)

    def eq_null_safe(self, other: object) -> Expression:
        """``<=>``: NULL equals NULL, and the result is never NULL.

        >>> tf.col("a").eq_null_safe(None)
        <Comparison: a <=> NULL>
        """
        return self._compare("<=>", other)

    def isin(self, *values: Any) -> Expression:
        """``IN``. Takes values, or one list of values.

        >>> tf.col("a").isin(1, 2)
        <In: a IN (1, 2)>
        """
        listed = values[0] if len(values) == 1 and isinstance(values[0], (list, tuple, set, frozenset)) else values
        literals = tuple(v if isinstance(v, Literal) else Literal(v) for v in listed)
        if isinstance(self._value, Reference):
            return In(self._value, literals)
        return Holds(Function("in", (self._value, *literals))) if literals else Constant(False)

    def between(self, lower: object, upper: object) -> Expression:
        """``lower <= column AND column <= upper``.

        >>> tf.col("a").between(1, 2)
        <And: a >= 1 AND a <= 2>
        """
        return And((self >= lower, self <= upper))

    def is_null(self) -> Expression:
        """``IS NULL``.

        >>> tf.col("a").is_null()
        <IsNull: a IS NULL>
        """
        return IsNull(self._value) if isinstance(self._value, Reference) else self._test("isnull")

    def is_not_null(self) -> Expression:
        """``IS NOT NULL``.

        >>> tf.col("a").is_not_null()
        <Not: a IS NOT NULL>
        """
        return Not(self.is_null())

    def is_nan(self) -> Expression:
        """``isnan``: FALSE for NULL.

        >>> tf.col("a").is_nan()
        <IsNaN: isnan(a)>
        """
        return IsNaN(self._value) if isinstance(self._value, Reference) else self._test("isnan")

    def startswith(self, prefix: str) -> Expression:
        """``startswith``: compares bytes, not characters under a collation.

        >>> tf.col("a").startswith("x")
        <StartsWith: startswith(a, 'x')>
        """
        return (
            StartsWith(self._value, prefix) if isinstance(self._value, Reference) else self._test("startswith", prefix)
        )

    def endswith(self, suffix: str) -> Expression:
        """``endswith``: whether the text ends with ``suffix``. Raises InvalidPredicateError if that is no text.

        >>> tf.col("a").endswith("x")
        <Holds: endswith(a, 'x')>
        """
        return self._test("endswith", suffix)

    def contains(self, part: str) -> Expression:
        """``contains``: whether ``part`` stands in the text. Raises InvalidPredicateError if that is no text.

        >>> tf.col("a").contains("x")
        <Holds: contains(a, 'x')>
        """
        return self._test("contains", part)

    def like(self, pattern: str) -> Expression:
        """SQL LIKE: ``%`` matches any text, ``_`` one character, and a backslash escapes.

        >>> tf.col("a").like("x%")
        <Like: a LIKE 'x%'>
        """
        return Like(self._value, pattern) if isinstance(self._value, Reference) else self._test("like", pattern)

    def ilike(self, pattern: str) -> Expression:
        """SQL ILIKE: LIKE without regard to case. Raises InvalidPredicateError if the pattern is no text.

        >>> tf.col("a").ilike("x%")
        <Holds: ilike(a, 'x%')>
        """
        return self._test("ilike", pattern)

    def rlike(self, pattern: str) -> Expression:
        """SQL RLIKE: whether the regular expression, in Java's syntax, matches some of the text.

        Raises InvalidPredicateError if the pattern is no text.

        >>> tf.col("a").rlike("^x")
        <Holds: rlike(a, '^x')>
        """
        return self._test("rlike", pattern)

    def __repr__(self) -> str:
        return f"col({str(self._value)!r})" if isinstance(self._value, Reference) else str(self._value)


def _value_of(operand: object) -> Value:
    if isinstance(operand, Column):
        return operand._value
    return operand if isinstance(operand, (Literal, Expression)) else Literal(operand)


def col(name: str) -> Column:
    """A column to build predicates with: ``tf.col("a") > 1``.

    Parameters
    ----------
    name : str
        Dots separate struct members. Backticks keep a dot in a name: ``tf.col("`a.b`")``.

    Raises
    ------
    TypeError
        The name is no string.
    InvalidPredicateError
        A backtick is not closed.

    Examples
    --------
    >>> import tableformats as tf
    >>> (tf.col("a") > 1) & tf.col("b.c").is_null()
    <And: a > 1 AND b.c IS NULL>
    """
    if not isinstance(name, str):
        raise TypeError(f"a column's name is text, not {name!r}")
    return Column(*split_name(name))


def split_name(name: str) -> tuple[str, ...]:
    """The parts of a dotted name. Inside backticks a dot does not separate, and a doubled backtick is one backtick.

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
