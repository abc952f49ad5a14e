"""Bind a predicate to a schema: names become columns, literals become values of their column's type.

:func:`bind` keeps SQL's three-valued logic: on every row the bound tree has the value (TRUE, FALSE or NULL) of the tree
as it was written. The values of literals are decided in :mod:`tableformats.expressions.fitting`.

Further rules (source: Spark SQL reference, "NULL Semantics", unless another is named):

- Names resolve as in :meth:`Schema.resolve`: dots enter structs, and case matters only if ``case_sensitive``.
- ``c = NULL`` and the other comparisons with NULL are NULL; ``c <=> NULL`` is ``c IS NULL``.
- A literal that lies between two values of the type: for an integer column ``c < 1.5`` is ``c <= 1``, ``c = 1.5`` is
  ``c <= 1 AND c > 1`` (FALSE, but NULL for NULL), and ``c <=> 1.5`` is FALSE.
- ``c IN (1, NULL)`` is ``c IN (1) OR NULL``; IN with one value is ``=``; ``c IN ()`` is FALSE even where c is NULL
  (Spark 4; SQL migration guide on ``spark.sql.legacy.nullInEmptyListBehavior``).
- LIKE without wildcards is ``=``; with one trailing ``%`` it is startswith.
- ``isnan`` of an integer or a decimal is FALSE.
- A column of type void is always NULL.
- A column with a collation supports IS NULL only: a comparison by bytes would match other rows.
- A string that is compared with a CHAR(n) column counts as if the shorter of the two was padded with spaces:
  ``c = 'a'`` and ``c = 'a     '`` find ``'a  '``. LIKE and startswith see the padded values, and members of structs
  compare as they are (source: Spark, ``ApplyCharTypePadding``).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InvalidPredicateError, UnsupportedFeatureError
from ..schema import FixedType, ListType, MapType, PrimitiveType, Schema, StructType, Type, is_floating, is_numeric
from ..schema.datetimes import current_us
from . import legacy_text
from .fitting import Fit, fit
from .literals import normalized
from .rewrites import rewritten
from .simplify import simplify
from .tree import (
    FALSE,
    And,
    AnyColumn,
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
    Reference,
    StartsWith,
    Value,
    depth,
    like_parts,
)
from .value_binding import ValueBinder, compares_plainly

__all__ = ["MAX_DEPTH", "bind", "bound_value"]

MAX_DEPTH = 200
"""Levels that a predicate may nest. AND and OR chains are flat and do not count."""

NULL = Constant(None)


def bind(
    expression: Expression,
    schema: Schema,
    case_sensitive: bool = False,
    ansi: bool = True,
    now: int | None = None,
) -> Expression:
    """The same predicate over the columns of ``schema``, simplified. Binding a bound tree again changes nothing.

    Parameters
    ----------
    ansi : bool
        Whether a text that is compared with a column of another type means what it means to Spark with
        ``spark.sql.ansi.enabled``, as is the default of Spark 4. False: without it, as is that of Spark 3; see
        :mod:`tableformats.expressions.legacy_text`.
    now : int, optional
        The instant of ``now()`` and ``current_date()``, in microseconds since the epoch. None: the present.

    Raises
    ------
    InvalidPredicateError
        A column does not exist (similar names are listed) or is ambiguous, or types do not compare. ``field`` is the
        column. A function does not take these arguments, or a constant cannot be computed.
    UnsupportedFeatureError
        A comparison is not supported, such as that of a column with a collation.
    """
    if depth(expression) > MAX_DEPTH:
        raise InvalidPredicateError(
            f"the predicate nests deeper than {MAX_DEPTH} levels", hint="Write it with flat AND, OR and IN."
        )
    return _Binder(schema, case_sensitive, ansi, now).simple(expression)


def bound_value(value: Value, schema: Schema, case_sensitive: bool = False, ansi: bool = True) -> Value:
    """A value over the columns of ``schema``: typed, with constants folded. Errors are those of :func:`bind`."""
    return _Binder(schema, case_sensitive, ansi, None).value(value)


class _Binder:
    def __init__(self, schema: Schema, case_sensitive: bool, ansi: bool, now: int | None) -> None:
        self._schema = schema
        self._case_sensitive = case_sensitive
        self._ansi = ansi
        instant = current_us() if now is None else now
        self._values = ValueBinder(self._element, self.simple, ansi, instant)

    def value(self, node: Value) -> Value:
        """``node`` bound."""
        return self._values.value(node)

    def simple(self, node: Expression) -> Expression:
        """``node`` bound and simplified."""
        return simplify(self.bind(node))

    def bind(self, node: Expression) -> Expression:
        if isinstance(node, (And, Or)):
            first = [self.bind(child) for child in node.children[:1]]
            with self._values.guarded():  # the first child decides whether anybody asks for the others
                return type(node)((*first, *(self.bind(child) for child in node.children[1:])))
        if isinstance(node, (Not, IsTrue)):
            return type(node)(self.bind(node.child))
        if isinstance(node, Constant):
            return node
        if isinstance(node, Holds):
            return self._holds(node.value)
        computed = self._over_element(node)
        if computed is not None:
            return self._holds(computed)
        if isinstance(node, Comparison):
            return self._comparison(node)
        if isinstance(node, In):
            return self._in(self._value_column(node.column), node.literals)
        if isinstance(node, IsNull):
            return IsNull(self._column(node.column))
        if isinstance(node, IsNaN):
            return _bind_is_nan(self._value_column(node.column))
        if isinstance(node, StartsWith):
            return _bind_prefix(self._value_column(node.column), node.prefix)
        if isinstance(node, Like):
            return _bind_like(self._value_column(node.column), node.pattern)
        raise InvalidPredicateError(f"{type(node).__name__} is no predicate of this library")

    def _holds(self, function: Function) -> Expression:
        found = self._values.holds(function)
        if isinstance(found, Function):
            return rewritten(Holds(found))
        with self._values.guarded():
            return self.bind(found)

    def _over_element(self, node: Expression) -> Function | None:
        """A leaf over an element of a map, or over a text that is compared as something else, as a function."""
        if not isinstance(node, (Comparison, In, IsNull, IsNaN, StartsWith, Like)):
            return None
        column = self._element(node.column)
        others: tuple[Value, ...] = ()
        if isinstance(node, Comparison):
            others = (node.right if isinstance(node.right, Literal) else self._element(node.right),)
        elif isinstance(node, In):
            others = node.literals
        elif isinstance(node, (StartsWith, Like)):
            others = (Literal(node.prefix if isinstance(node, StartsWith) else node.pattern),)
        if isinstance(column, BoundColumn) and not any(isinstance(other, Function) for other in others):
            if _is_plain(node, column, others):
                return None
        names = {In: "in", IsNull: "isnull", IsNaN: "isnan", StartsWith: "startswith", Like: "like"}
        name = node.op if isinstance(node, Comparison) else names[type(node)]
        place = None if isinstance(node, IsNull) else node.place
        return Function(name, (column, *others), None, self._ansi, place)

    def _element(self, column: AnyColumn) -> Value:
        """The column, or an element of a map that is written like a member of a struct: ``properties.plan``."""
        parts = column.parts if isinstance(column, Reference) else tuple(f.name for f in column.path)
        for length in range(len(parts) - 1, 0, -1):
            path = self._schema.resolve(parts[:length], self._case_sensitive)
            if path is not None and isinstance(path[-1].type, MapType):
                found: Value = BoundColumn(path)
                for part in parts[length:]:
                    found = Function("[]", (found, Literal(part)))
                return self._values.value(found)
        return self._column(column)

    def _comparison(self, node: Comparison) -> Expression:
        left = self._value_column(node.column)
        if not isinstance(node.right, Literal):
            return _bind_columns(node.op, left, self._value_column(node.right))
        literal = normalized(node.right)
        if not self._ansi:
            literal = legacy_text.cast(literal, left.type)
            truth = legacy_text.fit_truth(node.op, literal, left.type)
            if truth is not None:
                return _compare(node.op, left, truth)
        if literal.value is None:
            return IsNull(left) if node.op == "<=>" else NULL
        if _is_void(left.type):
            return FALSE if node.op == "<=>" else NULL
        return _compare(node.op, left, _fit(literal, left))

    def _in(self, column: BoundColumn, literals: tuple[Literal, ...]) -> Expression:
        if not literals:
            return FALSE
        values = [normalized(literal) for literal in literals]
        has_null = any(value.value is None for value in values)
        if _is_void(column.type):
            return NULL
        proper = [value for value in values if value.value is not None]
        if not self._ansi and legacy_text.compares_texts(proper, column.type):
            fits = [legacy_text.fit_text(value, column.type) for value in proper]
        else:
            fits = [_fit(value, column) for value in proper]
        exact = tuple(dict.fromkeys(Literal(f.value, column.type) for f in fits if f.side == 0))
        if len(exact) > 1:
            found: Expression = In(column, exact)
        elif exact:
            found = Comparison("=", column, exact[0])
        else:
            found = _compare("=", column, fits[0]) if fits else FALSE
        return Or((found, NULL)) if has_null else found

    def _value_column(self, column: AnyColumn) -> BoundColumn:
        """The column. Raises an error if its values do not compare."""
        bound = self._column(column)
        if bound.type.is_nested or str(bound.type) == "variant":
            raise InvalidPredicateError(
                f"a column of type {bound.type} does not compare; only IS NULL applies to it",
                field=str(bound),
                hint="Name a struct's member, as in a.b." if isinstance(bound.type, StructType) else None,
            )
        if bound.field.collation is not None:
            raise UnsupportedFeatureError(
                f"column {str(bound)!r} compares by the collation {bound.field.collation!r}, which is not built",
                field=str(bound),
                hint="Filter the rows after reading, in an engine that has the collation",
            )
        return bound

    def _column(self, column: AnyColumn) -> BoundColumn:
        parts = column.parts if isinstance(column, Reference) else tuple(f.name for f in column.path)
        path = self._schema.resolve(parts, self._case_sensitive)
        if path is None:
            raise self._unknown(parts)
        return BoundColumn(path)

    def _unknown(self, parts: tuple[str, ...]) -> InvalidPredicateError:
        name = ".".join(parts)
        for length in range(1, len(parts)):
            parent = self._schema.resolve(parts[:length], self._case_sensitive)
            if parent and isinstance(parent[-1].type, (ListType, MapType)):
                return InvalidPredicateError(
                    f"column {'.'.join(parts[:length])!r} is {parent[-1].type}: a predicate cannot reach into lists "
                    "and maps",
                    field=name,
                    hint="Filter the rows after reading.",
                )
        spellings = self._spellings(parts)
        if spellings and not self._case_sensitive:  # none, or several
            return InvalidPredicateError(
                f"column {name!r} is ambiguous: it could be {' or '.join(spellings)}",
                field=name,
                hint="Spell it exactly.",
            )
        near = self._schema.near_names(name)
        names = ", ".join(near or self._schema.names[:10])
        hint = f"Did you mean {names}?" if near else f"The columns are: {names}." if names else "The table has none."
        return InvalidPredicateError(f"there is no column {name!r}", field=name, hint=hint)

    def _spellings(self, parts: tuple[str, ...]) -> list[str]:
        """The names that differ in case only, at the first part of the name that has not exactly one match."""
        fields = self._schema.fields
        for length in range(1, len(parts) + 1):
            path = self._schema.resolve(parts[:length])
            if path is None:
                return [f.name for f in fields if f.name.lower() == parts[length - 1].lower()]
            kind = path[-1].type
            fields = kind.fields if isinstance(kind, StructType) else ()
        return []


def _is_plain(node: Expression, column: BoundColumn, others: Sequence[Value]) -> bool:
    """Whether a leaf over ``column`` needs no conversion of the column's values."""
    if isinstance(node, (Comparison, In)):
        return all(compares_plainly(column, o) for o in others if isinstance(o, (Literal, BoundColumn)))
    if isinstance(node, IsNull) or _is_void(column.type) or column.field.collation is not None:
        return True
    return is_numeric(column.type) if isinstance(node, IsNaN) else str(column.type) == "string"


def _compare(op: str, column: BoundColumn, fitted: Fit) -> Expression:
    """``column op literal``, by where the literal lies among the values of the column's type."""
    literal = Literal(fitted.value, column.type)
    if fitted.side == 0:
        return Comparison(op, column, literal)
    # The literal is no value of the type: every value is below or above it.
    below = Comparison("<=" if fitted.side > 0 else "<", column, literal)
    above = Comparison(">" if fitted.side > 0 else ">=", column, literal)
    split = {"<": below, "<=": below, ">": above, ">=": above, "<=>": FALSE}
    return split[op] if op in split else And((below, above)) if op == "=" else Or((below, above))


def _fit(literal: Literal, column: BoundColumn) -> Fit:
    try:
        fitted = fit(literal, column.type)
    except InvalidPredicateError as error:
        error.field = str(column)
        raise
    length = column.padded_length
    return fitted if length is None else _fit_padded(fitted.value, length)


def _fit_padded(text: str, length: int) -> Fit:
    """Where ``text`` lies among the values of CHAR(length); the shorter of the two is padded to the longer one."""
    head, rest = text[:length].ljust(length), text[length:]
    spaces = " " * len(rest)
    # Characters of str compare like their UTF-8 bytes.
    return Fit(head, (rest > spaces) - (rest < spaces))


def _bind_is_nan(column: BoundColumn) -> Expression:
    if is_floating(column.type):
        return IsNaN(column)
    if is_numeric(column.type) or _is_void(column.type):
        return FALSE
    raise InvalidPredicateError(f"isnan() of a column of type {column.type}", field=str(column))


def _bind_prefix(column: BoundColumn, prefix: str) -> Expression:
    if _is_void(column.type):
        return NULL
    _require_string(column, "startswith()", prefix)
    return StartsWith(column, prefix)


def _bind_like(column: BoundColumn, pattern: str) -> Expression:
    if _is_void(column.type):
        return NULL
    _require_string(column, "LIKE", pattern)
    parts = like_parts(pattern)
    text = "".join(c for c, is_wildcard in parts if not is_wildcard)
    if len(text) == len(parts):
        length = column.padded_length
        if length is not None and len(text) < length:
            return _compare("=", column, Fit(text.ljust(length), -1))  # no value is as short
        if length is not None and len(text) > length:
            return Like(column, pattern)  # "=" would pad the column
        return Comparison("=", column, Literal(text, column.type))
    head = next(i for i, (_, is_wildcard) in enumerate(parts) if is_wildcard)
    if all(part == ("%", True) for part in parts[head:]):
        return StartsWith(column, text)
    return Like(column, pattern)


def _require_string(column: BoundColumn, what: str, operand: str) -> None:
    if str(column.type) != "string":
        raise InvalidPredicateError(f"{what} needs a string column, not one of type {column.type}", field=str(column))
    _fit(Literal(operand), column)


def _bind_columns(op: str, left: BoundColumn, right: BoundColumn) -> Expression:
    if _is_void(left.type) or _is_void(right.type):
        if op != "<=>":
            return NULL
        return IsNull(right if _is_void(left.type) else left)
    if _family(left.type) != _family(right.type):
        raise InvalidPredicateError(
            f"columns of type {left.type} and {right.type} cannot be compared", field=f"{left}, {right}"
        )
    if str(left.type).endswith("_ns") != str(right.type).endswith("_ns") and _family(left.type) == "instant":
        raise UnsupportedFeatureError(
            f"comparing columns of type {left.type} and {right.type}",
            field=f"{left}, {right}",
            hint="Compare columns of one unit.",
        )
    return Comparison(op, left, right)


def _family(kind: Type) -> str:
    """The group of types that compare with each other."""
    if is_numeric(kind):
        return "number"
    if isinstance(kind, FixedType):
        return "binary"
    assert isinstance(kind, PrimitiveType)
    return "instant" if kind.name == "date" or kind.name.startswith("timestamp") else kind.name


def _is_void(kind: Type) -> bool:
    return isinstance(kind, PrimitiveType) and kind.name == "unknown"
