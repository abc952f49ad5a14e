"""``col("a") > 1``: build predicates with Python's operators."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidPredicateError
from .tree import And, Comparison, Expression, In, IsNaN, IsNull, Like, Literal, Not, Reference, StartsWith

__all__ = ["Column", "col", "split_name"]


class Column:
    """A column by name, from :func:`col`. Comparing it builds a predicate."""

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
        """The struct member ``name`` of this column. Raises TypeError if ``name`` is no string."""
        if not isinstance(name, str):
            raise TypeError(f"{self!r} has members by name, not {name!r}")
        return Column(*self._reference.parts, name)

    def eq_null_safe(self, other: object) -> Expression:
        """``<=>``: NULL equals NULL, and the result is never NULL."""
        return self._compare("<=>", other)

    def isin(self, *values: Any) -> Expression:
        """``IN``. Takes values, or one list of values."""
        listed = values[0] if len(values) == 1 and isinstance(values[0], (list, tuple, set, frozenset)) else values
        return In(self._reference, tuple(v if isinstance(v, Literal) else Literal(v) for v in listed))

    def between(self, lower: object, upper: object) -> Expression:
        """``lower <= column AND column <= upper``."""
        return And((self >= lower, self <= upper))

    def is_null(self) -> Expression:
        """``IS NULL``."""
        return IsNull(self._reference)

    def is_not_null(self) -> Expression:
        """``IS NOT NULL``."""
        return Not(IsNull(self._reference))

    def is_nan(self) -> Expression:
        """``isnan``: FALSE for NULL."""
        return IsNaN(self._reference)

    def startswith(self, prefix: str) -> Expression:
        """``startswith``: compares bytes, not characters under a collation."""
        return StartsWith(self._reference, prefix)

    def like(self, pattern: str) -> Expression:
        """SQL LIKE: ``%`` matches any text, ``_`` one character, and a backslash escapes."""
        return Like(self._reference, pattern)

    def __repr__(self) -> str:
        return f"col({str(self._reference)!r})"


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
