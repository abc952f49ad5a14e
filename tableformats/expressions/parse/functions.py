"""Read calls of functions: each by the name that Spark has for it, with the arguments in one order.

A call of a function that does not exist, that a filter cannot have, or with a wrong number of arguments, is an error.
Source: Spark SQL reference, "Built-in Functions".
"""

from __future__ import annotations

from ...errors import InvalidPredicateError, TableFormatsError, UnsupportedFeatureError
from ..functions.signatures import ALIASES, SIGNATURES, Signature
from ..tree import Function, Literal, Not, Reference, Value
from . import predicates, spark_functions
from .constants import cast_value, negative, type_named
from .predicates import Operand, value_of

__all__ = ["TIMESTAMP_UNITS", "call", "extract", "refusal_of"]

TIMESTAMP_UNITS = (
    *("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR"),
    *("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"),
)
"""The first argument of timestampadd and timestampdiff."""
_ADD = ("timestampadd", "dateadd", "date_add")
_DIFFERENCE = ("timestampdiff", "datediff", "date_diff", "timediff")
_CASTS = (
    *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
    *("string", "binary", "date", "timestamp", "time"),
)
_FIELDS = {
    name: field
    for field, names in {
        "year": "year y years yr yrs",
        "yearofweek": "yearofweek",
        "quarter": "quarter qtr",
        "month": "month mon mons months",
        "weekofyear": "week w weeks",
        "day": "day d days",
        "dayofweek": "dayofweek dow",
        "dayofweek_iso": "dayofweek_iso dow_iso",
        "dayofyear": "doy",
        "hour": "hour h hours hr hrs",
        "minute": "minute m min mins minutes",
        "second": "second s sec seconds secs",
    }.items()
    for name in names.split()
}
_ONE, _TWO, _THREE = Signature(1, 1), Signature(2, 2), Signature(3, 3)
_OWN = {
    **dict.fromkeys(("isnull", "isnotnull", "isnan", "positive", "zeroifnull", "nullifzero"), _ONE),
    **dict.fromkeys(("startswith", "contains", "endswith", "rlike", "regexp", "regexp_like", "equal_null"), _TWO),
    **dict.fromkeys(("date_part", "datepart", "extract"), _TWO),
    **dict.fromkeys(("like", "ilike"), Signature(2, 3)),
    **dict.fromkeys(("if", "nvl2", "between"), _THREE),
    "when": Signature(2, None),
    "struct": Signature(1, None),
    **dict.fromkeys(("trim", "ltrim", "rtrim", "btrim"), Signature(1, 2)),
    **dict.fromkeys(_CASTS, _ONE),
}
"""Functions that become conditions or other functions here."""
_UNCALLABLE = ("case", "cast", "try_cast", "in", "[]", ".")


def refusal_of(name: str) -> str | None:
    """Why no filter calls the function, in the words that follow its name. None where one may."""
    if name in spark_functions.AGGREGATES:
        return "is an aggregate function, which a filter of rows cannot have"
    if name in spark_functions.WINDOWS:
        return "is a window function, which a filter of rows cannot have"
    if name in spark_functions.GENERATORS:
        return "makes rows, which a filter cannot"
    if name in spark_functions.HIGHER_ORDER:
        return "takes a lambda function, which filters do not evaluate"
    if name in spark_functions.NONDETERMINISTIC:
        return "is not deterministic: a filter tests the values of a row"
    return None


def call(name: str, arguments: tuple[Operand, ...], ansi: bool) -> Operand:
    """The value, or condition, of ``name(arguments)``.

    Raises
    ------
    InvalidPredicateError
        No function has the name (near names are listed), or it takes another number of arguments.
    UnsupportedFeatureError
        Spark has the function, and filters do not evaluate it.
    """
    name = name.lower()
    unit = _unit(name, arguments)
    if unit is not None:
        function = "timestampadd" if name in _ADD else "timestampdiff"
        return Function(function, (unit, *map(value_of, arguments[1:])), ansi=ansi)
    signature = _signature(name)
    if not signature.accepts(len(arguments)):
        raise InvalidPredicateError(f"{name} takes {signature}, not {len(arguments)}", field=name)
    if name == "struct":
        return predicates.Row(arguments)
    if name in _OWN:
        return _own(name, arguments, ansi)
    values = tuple(map(value_of, arguments))
    return Function(ALIASES.get(name, name), values, ansi=ansi)


def extract(field: str, source: Value, ansi: bool) -> Function:
    """``EXTRACT(field FROM source)``. Raises InvalidPredicateError where there is no such field."""
    name = _FIELDS.get(field.lower())
    if name is None:
        raise InvalidPredicateError(
            f"there is no field {field!r} to extract", field=field, hint=f"The fields are {', '.join(_FIELDS)}."
        )
    # The difference of two timestamps is an interval, which has fields, too; and SECOND has a fraction.
    is_difference = isinstance(source, Function) and source.name in ("-", "interval")
    if is_difference or name in ("second", "dayofweek_iso"):
        return Function("extract", (Literal(name), source), ansi=ansi)
    return Function(name, (source,), ansi=ansi)


def _unit(name: str, arguments: tuple[Operand, ...]) -> Literal | None:
    """The unit of ``dateadd(DAY, 1, ts)`` and such. None for the functions of the same name without one."""
    if name not in (*_ADD, *_DIFFERENCE) or len(arguments) != 3:
        return None
    first = arguments[0]
    if isinstance(first, Reference) and len(first.parts) == 1 and first.parts[0].upper() in TIMESTAMP_UNITS:
        return Literal(first.parts[0].upper())
    raise InvalidPredicateError(
        f"{first} is no unit of {name}", field=name, hint=f"The units are {', '.join(TIMESTAMP_UNITS)}."
    )


def _signature(name: str) -> Signature:
    if name in _OWN:
        return _OWN[name]
    found = SIGNATURES.get(ALIASES.get(name, name))
    if found is None or name in _UNCALLABLE:
        raise _unknown(name)
    return found


def _unknown(name: str) -> TableFormatsError:
    if name in spark_functions.NOT_BUILT:
        return UnsupportedFeatureError(
            f"filters do not evaluate the function {name}",
            field=name,
            hint="Filter the rows after reading, in an engine that has it.",
        )
    known = [n for n in (*_OWN, *SIGNATURES, *ALIASES) if n not in _UNCALLABLE and n.replace("_", "a").isalnum()]
    import difflib

    near = difflib.get_close_matches(name, sorted({*known}), 3)
    hint = f"Did you mean {', '.join(near)}?" if near else "Filters call Spark's own functions of single values."
    return InvalidPredicateError(f"there is no function {name}", field=name, hint=hint)


def _own(name: str, arguments: tuple[Operand, ...], ansi: bool) -> Operand:
    first = arguments[0]
    if name == "isnull":
        return predicates.is_null(first)
    if name == "isnotnull":
        return Not(predicates.is_null(first))
    if name == "isnan":
        return predicates.is_nan(first)
    if name == "startswith":
        return predicates.starts_with(first, arguments[1], ansi)
    if name in ("like", "ilike"):
        return predicates.like(first, arguments[1], _escape(arguments[2:]), name == "ilike", ansi)
    if name == "equal_null":
        return predicates.comparison("<=>", first, arguments[1], ansi)
    if name == "between":
        return predicates.between(first, arguments[1], arguments[2], ansi)
    if name in ("if", "nvl2", "when"):
        return _choice(name, arguments, ansi)
    values = tuple(map(value_of, arguments))
    if name in ("contains", "endswith", "rlike", "regexp", "regexp_like"):
        return Function(ALIASES.get(name, name), values, ansi=ansi)
    if name in _CASTS:
        return cast_value(values[0], type_named(name), False, ansi)
    if name in ("date_part", "datepart", "extract"):
        return extract(_text(values[0], f"the field of {name}"), values[1], ansi)
    if name == "positive":
        return negative(negative(values[0], ansi), ansi)
    if name in ("zeroifnull", "nullifzero"):
        return Function("coalesce" if name == "zeroifnull" else "nullif", (values[0], Literal(0)), ansi=ansi)
    return _trim(name, values, ansi)


def _choice(name: str, arguments: tuple[Operand, ...], ansi: bool) -> Function:
    if name == "nvl2":
        return predicates.choice([(Not(predicates.is_null(arguments[0])), arguments[1])], arguments[2], ansi)
    pairs = list(zip(arguments[::2], arguments[1::2], strict=False))
    otherwise = arguments[-1] if len(arguments) % 2 else Literal(None)
    return predicates.choice(pairs, otherwise, ansi)


def _trim(name: str, values: tuple[Value, ...], ansi: bool) -> Function:
    """The trimmed value comes first here; Spark's ``trim('x', s)`` has it last, and ``btrim(s, 'x')`` first."""
    ordered = values if name == "btrim" else values[::-1]
    return Function("trim" if name == "btrim" else name, ordered, ansi=ansi)


def _escape(arguments: tuple[Operand, ...]) -> str:
    return escape_character(_text(value_of(arguments[0]), "ESCAPE")) if arguments else "\\"


def escape_character(text: str) -> str:
    """The character behind ESCAPE. Raises InvalidPredicateError where it is none, or several."""
    if len(text) != 1:
        raise InvalidPredicateError("ESCAPE needs one character")
    return text


def _text(value: Value, what: str) -> str:
    if isinstance(value, Literal) and isinstance(value.value, str):
        return value.value
    raise InvalidPredicateError(f"{what} must be a constant string")
