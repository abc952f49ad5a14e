"""Parse SQL conditions in Spark's dialect, with sqlglot.

Supported are comparisons of a column with a constant or another column (``= == <=> != <> < <= > >=`` in both
directions, ``IS [NOT] DISTINCT FROM``), AND, OR, NOT, IN, BETWEEN, IS [NOT] NULL, IS [NOT] TRUE or FALSE, a boolean
column alone, LIKE with ESCAPE, startswith(), isnan(), isnull(), isnotnull(); constants with signs, suffixes, type names
(DATE '2024-01-31') and exact casts. Everything else raises an error that names it.

sqlglot's nodes are recognized by their class name. A node with an argument that this parser does not know is refused,
so that a new version of sqlglot cannot change what a filter means.
"""

from __future__ import annotations

import decimal
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from ...errors import InvalidPredicateError, TableFormatsError, UnsupportedFeatureError
from ...schema import DecimalType, Type, is_numeric, primitive
from ..casts import cast
from ..literals import normalized
from ..tree import (
    And,
    Comparison,
    Constant,
    Expression,
    In,
    IsNaN,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Reference,
    StartsWith,
)
from .lexing import MAX_DIGITS, Lexed, lex, position

__all__ = ["parse_sql"]

Operand = Reference | Literal

_COMPARISONS = {
    "EQ": "=",
    "NullSafeEQ": "<=>",
    "NEQ": "!=",
    "LT": "<",
    "LTE": "<=",
    "GT": ">",
    "GTE": ">=",
    "NullSafeNEQ": "<=>",
}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_PYTHON = {
    "=": operator.eq,
    "<=>": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CASTS = {
    "TINYINT": "byte",
    "SMALLINT": "short",
    "INT": "int",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "TEXT": "string",
    "BOOLEAN": "boolean",
    "BINARY": "binary",
    "VARBINARY": "binary",
    "DATE": "date",
    "TIME": "time",
    "TIMESTAMP": "timestamp",
    "TIMESTAMPTZ": "timestamp",
    "TIMESTAMPLTZ": "timestamp",
    "TIMESTAMPNTZ": "timestamp_ntz",
    "UUID": "uuid",
}
_SUPPORTED = (
    "A filter compares columns with constants or columns (=, <=>, !=, <, <=, >, >=, IN, BETWEEN, LIKE, IS NULL, "
    "startswith, isnan), combined by AND, OR and NOT; filter the rest after reading."
)
_QUOTING = "Names that are words of SQL need backticks."
_STATEMENTS = (
    "Alter",
    "Command",
    "Create",
    "Delete",
    "Describe",
    "Drop",
    "Insert",
    "Merge",
    "Select",
    "Set",
    "Subquery",
    "Table",
    "Union",
    "Update",
    "Use",
    "Values",
)


def parse_sql(sql: str, ansi: bool = True) -> Expression:
    """The unbound predicate of a condition, as it would follow WHERE.

    Parameters
    ----------
    ansi : bool
        Whether a cast that cannot be done is an error, as in Spark's ANSI mode. False: it is NULL.

    Raises
    ------
    InvalidPredicateError
        The text cannot be parsed (the message has line and column), or is no condition.
    UnsupportedFeatureError
        It uses an operation that is not supported. The message quotes it.
    """
    lexed = lex(sql)
    if not lexed.sql.strip():
        raise InvalidPredicateError("the filter is empty", hint="Leave it out to read everything.")
    try:
        return _Translator(lexed, ansi).predicate(_parse(lexed))
    except RecursionError:
        raise InvalidPredicateError(
            "the filter nests too deeply to parse", hint="Write it with flat AND, OR and IN."
        ) from None


def _parse(lexed: Lexed) -> Any:
    import sqlglot
    from sqlglot.errors import ParseError, SqlglotError

    try:  # in parentheses, so that a column may have a statement's name: comment, range, list
        statements = sqlglot.parse(f"({lexed.sql}\n)", dialect="spark")
    except ParseError as error:
        raise _parse_error(error, lexed) from None
    except (SqlglotError, ValueError, TypeError, AttributeError, KeyError, IndexError) as error:
        raise InvalidPredicateError(f"the filter does not parse: {lexed.restore(_clean(str(error)))}") from None
    if len(statements) != 1 or statements[0] is None:
        raise InvalidPredicateError("a filter is one condition, not several statements")
    return statements[0]


def _parse_error(error: Any, lexed: Lexed) -> InvalidPredicateError:
    details = error.errors[0] if error.errors else {}
    message = _clean(details.get("description") or str(error).splitlines()[0])
    near = details.get("highlight") or ""
    if not details.get("line"):
        return InvalidPredicateError(f"the filter does not parse: {message}", hint=_QUOTING)
    offset = lexed.offset(details["line"], details["col"] - max(len(near), 1) + (details["line"] > 1))
    missing = re.match(r"Required keyword: '\w+' missing for (\w+)", message)
    if missing and missing[1] != "Paren":
        message = f"{missing[1].upper()} lacks an operand"
    elif offset >= len(lexed.original.rstrip()):
        message = f"it ends too early, after {lexed.original[-20:]!r}"
    elif missing or message.startswith(("Expecting", "Invalid expression")):
        message = f"{lexed.restore(near)!r} is not expected here"
    where = position(lexed.original, offset)
    return InvalidPredicateError(f"the filter does not parse at {where}: {message}", hint=_QUOTING)


def _clean(message: str) -> str:
    """A message of sqlglot without terminal codes and Python class names."""
    message = re.sub(r"\x1b\[[0-9;]*m", "", message)
    return re.sub(r"<class '[\w.]*?(\w+)'>", r"\1", message).strip().rstrip(".")


class _Translator:
    """Translates sqlglot's nodes into ours: :meth:`predicate` into nodes, :meth:`operand` into columns and literals."""

    def __init__(self, lexed: Lexed, ansi: bool) -> None:
        self._lexed = lexed
        self._ansi = ansi
        self._readers: dict[str, tuple[Callable[[Any], Expression], tuple[str, ...]]] = {
            "Paren": (lambda node: self.predicate(node.this), ("this",)),
            "Not": (lambda node: Not(self.predicate(node.this)), ("this",)),
            "And": (lambda node: And(self._chain(node)), ("this", "expression")),
            "Or": (lambda node: Or(self._chain(node)), ("this", "expression")),
            "Between": (self._between, ("this", "low", "high")),
            "In": (self._in, ("this", "expressions")),
            "Is": (self._is, ("this", "expression")),
            "Like": (lambda node: self._like(node, "\\"), ("this", "expression")),
            "Escape": (self._escape, ("this", "expression")),
            "StartsWith": (self._startswith, ("this", "expression")),
            "IsNan": (lambda node: IsNaN(self._column(node.this)), ("this",)),
            "Anonymous": (self._function, ("this", "expressions")),
            "Boolean": (lambda node: Constant(bool(node.this)), ("this",)),
            "Null": (lambda node: Constant(None), ()),
        }

    def predicate(self, node: Any) -> Expression:
        name = type(node).__name__
        if name in _COMPARISONS:
            self._check(node, ("this", "expression"))
            found = self._compare(_COMPARISONS[name], self.operand(node.this), self.operand(node.expression), node)
            found = Not(found) if name == "NullSafeNEQ" else found
        elif name in ("Column", "Dot"):
            return Comparison("=", self._column(node), Literal(True))
        elif name in self._readers:
            read, arguments = self._readers[name]
            self._check(node, arguments)
            found = read(node)
        else:
            raise self._refusal(node)
        return Not(found) if node.args.get("negate") else found

    def operand(self, node: Any) -> Operand:
        name = type(node).__name__
        if name in ("Column", "Dot"):
            return self._column(node)
        if name == "Paren":
            return self.operand(node.this)
        if name == "Literal":
            return self._lexed.literal(node.this) if node.args.get("is_string") else self._number(node)
        if name == "Boolean":
            return Literal(bool(node.this))
        if name == "Null":
            return Literal(None)
        if name == "Neg":
            return self._negative(node)
        if name in ("Cast", "TryCast"):
            return self._cast(node)
        raise self._refusal(node)

    def _check(self, node: Any, arguments: tuple[str, ...]) -> None:
        unknown = [key for key, value in node.args.items() if value and key not in (*arguments, "negate")]
        if unknown:
            raise self._unsupported(node, f"with {', '.join(unknown)}")

    def _chain(self, node: Any) -> tuple[Expression, ...]:
        """The terms of a chain of ANDs or ORs. sqlglot nests it to the left; this does not recurse into it."""
        kind, terms = type(node), []
        while type(node) is kind:
            self._check(node, ("this", "expression"))
            terms.append(node.expression)
            node = node.this
        return tuple(self.predicate(term) for term in (node, *reversed(terms)))

    def _compare(self, op: str, left: Operand, right: Operand, node: Any) -> Expression:
        if isinstance(left, Reference):
            return Comparison(op, left, right)
        if isinstance(right, Reference):
            return Comparison(_FLIPPED.get(op, op), right, left)
        return self._constant(op, left, right, node)

    def _constant(self, op: str, left: Literal, right: Literal, node: Any) -> Expression:
        """A comparison of two constants, such as ``1 = 1`` in generated SQL."""
        a, b = normalized(left), normalized(right)
        if a.value is None or b.value is None:
            return Constant(a.value is b.value) if op == "<=>" else Constant(None)
        if a.type != b.type and not (is_numeric(a.type) and is_numeric(b.type)):
            raise InvalidPredicateError(f"{self._text(node)!r} compares constants of two types")
        first, second = (
            (math.isnan(v), 0 if math.isnan(v) else v) if is_numeric(x.type) else v
            for x, v in ((a, a.value), (b, b.value))
        )
        return Constant(bool(_PYTHON[op](first, second)))

    def _between(self, node: Any) -> Expression:
        value, low, high = (self.operand(node.args[key]) for key in ("this", "low", "high"))
        return And((self._compare(">=", value, low, node), self._compare("<=", value, high, node)))

    def _in(self, node: Any) -> Expression:
        value = self.operand(node.this)
        listed = [self.operand(item) for item in node.expressions]
        if not listed:
            raise InvalidPredicateError(f"{self._text(node)!r} has nothing in its list")
        literals = tuple(item for item in listed if isinstance(item, Literal))
        if isinstance(value, Reference) and len(literals) == len(listed):
            return In(value, literals)
        return Or(tuple(self._compare("=", value, item, node) for item in listed))

    def _is(self, node: Any) -> Expression:
        column, right = self._column(node.this), type(node.expression).__name__
        if right == "Null":
            return IsNull(column)
        if right == "Boolean":
            return Comparison("<=>", column, Literal(bool(node.expression.this)))
        raise self._unsupported(node, "after IS")

    def _escape(self, node: Any) -> Expression:
        character = self.operand(node.expression)
        if type(node.this).__name__ != "Like" or not isinstance(character, Literal):
            raise self._unsupported(node, "with ESCAPE")
        if not isinstance(character.value, str) or len(character.value) != 1:
            raise InvalidPredicateError(f"in {self._text(node)!r} ESCAPE needs one character")
        self._check(node.this, ("this", "expression"))
        like = self._like(node.this, character.value)
        return Not(like) if node.this.args.get("negate") else like

    def _like(self, node: Any, escape: str) -> Expression:
        column, pattern = self._column(node.this), self._string(node.expression, node)
        return Constant(None) if pattern is None else Like(column, self._with_backslash(pattern, escape))

    def _with_backslash(self, pattern: str, escape: str) -> str:
        """The pattern with a backslash in place of another escape character."""
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
                rewritten.append(("\\" if following in "%_\\" else "") + following)
            else:
                rewritten.append("\\\\" if c == "\\" else c)
        return "".join(rewritten)

    def _startswith(self, node: Any) -> Expression:
        column, prefix = self._column(node.this), self._string(node.expression, node)
        return Constant(None) if prefix is None else StartsWith(column, prefix)

    def _function(self, node: Any) -> Expression:
        name = str(node.this).lower()
        if name in ("isnull", "isnotnull") and len(node.expressions) == 1:
            null = IsNull(self._column(node.expressions[0]))
            return null if name == "isnull" else Not(null)
        raise self._refusal(node)

    def _string(self, node: Any, parent: Any) -> str | None:
        value = self.operand(node)
        if isinstance(value, Literal) and (value.value is None or isinstance(value.value, str)):
            return value.value
        raise self._unsupported(parent, "with anything but a constant string")

    def _column(self, node: Any) -> Reference:
        original, parts = node, []
        while type(node).__name__ == "Paren":
            node = node.this
        while type(node).__name__ == "Dot":
            parts.append(node.expression)
            node = node.this
        if type(node).__name__ != "Column":
            raise self._refusal(original)
        self._check(node, ("this", "table", "db", "catalog"))
        parts += [node.args[key] for key in ("this", "table", "db", "catalog") if node.args.get(key)]
        if any(type(part).__name__ != "Identifier" for part in parts):
            raise self._refusal(original)
        return Reference(tuple(part.this for part in reversed(parts)))

    def _number(self, node: Any) -> Literal:
        text = str(node.this)
        try:
            number = decimal.Decimal(text)
        except decimal.InvalidOperation:
            raise self._refusal(node) from None
        if "e" in text.lower():
            if math.isinf(float(number)):
                raise InvalidPredicateError(f"the number {text} is out of the range of doubles")
            return Literal(float(number))
        if len(number.as_tuple().digits) > MAX_DIGITS:
            raise InvalidPredicateError(f"the number {text[:60]} has more than {MAX_DIGITS} digits")
        return Literal(number if "." in text else int(number))

    def _negative(self, node: Any) -> Literal:
        value = self.operand(node.this)
        if isinstance(value, Literal) and value.type is None and is_numeric(normalized(value).type):
            number = value.value
            return Literal(number.copy_negate() if isinstance(number, decimal.Decimal) else -number)
        raise self._unsupported(node, "on anything but a number")

    def _cast(self, node: Any) -> Literal:
        self._check(node, ("this", "to", "safe", "_type"))
        value = self.operand(node.this)
        if isinstance(value, Reference):
            raise self._unsupported(node, "of a column")
        target = self._cast_type(node)
        is_try = bool(node.args.get("safe"))  # sqlglot calls Spark's CAST a TryCast, too
        try:
            found = cast(value, target, self._ansi or is_try)
        except InvalidPredicateError as error:
            if is_try:
                return Literal(None, target)
            raise InvalidPredicateError(f"{self._text(node)!r}: {error.message}", hint=error.hint) from None
        keeps_type = not is_numeric(target) and not isinstance(found.value, (str, bool))
        return found if keeps_type or str(target) == "float" else Literal(found.value)

    def _cast_type(self, node: Any) -> Type:
        to = node.args["to"]
        name = getattr(to.this, "name", str(to.this))
        sizes = [int(p.name) for p in to.expressions if p.name.isdigit()]
        if name == "DECIMAL" and len(sizes) == len(to.expressions) <= 2:
            precision, scale = (sizes + [10, 0][len(sizes) :]) if sizes else (10, 0)
            if 1 <= precision <= MAX_DIGITS and scale <= precision:
                return DecimalType(precision, scale)
        if name not in _CASTS or to.expressions:
            raise self._unsupported(node, "to that type")
        return primitive(_CASTS[name])

    def _text(self, node: Any) -> str:
        """The SQL of a node, shortened for a message."""
        try:
            text = self._lexed.restore(node.sql(dialect="spark"))
        except (RecursionError, ValueError):
            text = type(node).__name__
        return text if len(text) <= 80 else text[:77] + "..."

    def _unsupported(self, node: Any, what: str) -> UnsupportedFeatureError:
        name = type(node).__name__.removeprefix("Try").upper()
        return UnsupportedFeatureError(f"{self._text(node)!r}: {name} {what}", field=name, hint=_SUPPORTED)

    def _refusal(self, node: Any) -> TableFormatsError:
        name = type(node).__name__
        if name in _STATEMENTS:
            return InvalidPredicateError(f"{self._text(node)!r} is a statement, not a condition", hint=_SUPPORTED)
        if name in ("Literal", "Alias", "Tuple", "Star", "Placeholder", "Parameter", "HexString"):
            return InvalidPredicateError(f"{self._text(node)!r} cannot stand here in a filter", hint=_SUPPORTED)
        return UnsupportedFeatureError(f"a filter cannot use {self._text(node)!r}", field=name, hint=_SUPPORTED)
