"""Translate bound functions of predicates to Spark columns.

A function is written so that neither the session's time zone nor its ANSI setting changes it: fields of timestamps are
computed from microseconds in UTC, and where ANSI mode asks for an error, it is raised by ``raise_error``. What Spark
computes without ANSI mode (``ansi=False``) is in ``legacy_columns.py``. Intervals are numbers of their unit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import UnsupportedFeatureError
from ...expressions import COMPARISONS, Function, Literal, Value
from ...expressions.functions.coercion import type_of
from ...expressions.functions.intervals import IntervalType
from ...lazy_pattern import lazy_pattern
from ...schema import DecimalType, ListType, MapType, Type, is_floating, is_integer
from ...schema.datetimes import DAY_US, days_from_civil
from .legacy_columns import LegacyColumns, try_cast

__all__ = ["FunctionTranslator"]

_HAS_ZONE = r"[ T]\d{1,2}(:\d{1,2}(:\d{1,2}(\.\d*)?)?)?\s*[^\s\d:.]"
_TRIED = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide"}
_CLOCK = {"hour": (3_600_000_000, 24), "minute": (60_000_000, 60), "second": (1_000_000, 60)}
_TRUNCATED = {
    **dict.fromkeys(("DAY", "DD"), DAY_US),
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}
_PATTERN_TOKEN = lazy_pattern(r"'(?:[^']|'')*'|([A-Za-z])\1*|.", re.DOTALL)
_DATE_LETTERS, _TIME_LETTERS = "GyMLdDQqE", "aHhKkmsS"
_DEFAULT_PATTERN = Literal("yyyy-MM-dd HH:mm:ss")
_QUIET_DAY = days_from_civil(2001, 2, 14)
"""Days since the epoch of a day on which no zone changed its clocks, nor on the days around it."""
_UNIT_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_UNIT_MICROS = {**_TRUNCATED, "WEEK": 7 * DAY_US}


class FunctionTranslator:
    """Translates functions, and their arguments with ``value``.

    Parameters
    ----------
    value : callable
        Translates a bound value.
    operate : callable
        Compares two columns.
    """

    def __init__(self, value: Callable[[Value], Any], operate: Callable[[str, Any, Any], Any]) -> None:
        from pyspark.sql import functions

        self._functions: Any = functions
        self._value = value
        self._operate = operate
        self._legacy = LegacyColumns()
        self._special: dict[str, Callable[[Function, list[Any]], Any]] = {
            **dict.fromkeys(("cast", "try_cast"), self._cast),
            **dict.fromkeys(("+", "-"), self._sum),
            **dict.fromkeys(("*", "/"), self._strict),
            **dict.fromkeys(("%", "div", "pmod"), self._by_zero),
            **dict.fromkeys(_CLOCK, self._clock),
            **dict.fromkeys(("to_date", "to_timestamp", "to_timestamp_ntz", "unix_timestamp"), self._parsed),
            **dict.fromkeys(("date_format", "from_unixtime"), self._formatted),
            **dict.fromkeys(("[]", "element_at", "try_element_at"), self._element),
            **dict.fromkeys(("try_to_timestamp", "try_to_date"), self._parsed),
            **dict.fromkeys(("negative", "abs"), self._negated),
            **dict.fromkeys(("round", "bround"), self._rounded),
            **dict.fromkeys(("floor", "ceil"), self._whole),
            **dict.fromkeys(("make_date", "next_day"), self._checked),
            "yearofweek": lambda node, a: self._call("date_part", self._functions.lit("YEAROFWEEK"), a[0]),
            **dict.fromkeys(("trim", "ltrim", "rtrim"), self._trim),
            "case": self._case,
            "if": self._case,
            "in": lambda node, a: a[0].isin(a[1:]),
            "isnull": lambda node, a: a[0].isNull(),
            "isnotnull": lambda node, a: a[0].isNotNull(),
            ".": lambda node, a: a[0].getField(str(node.arguments[1].value)),  # type: ignore[union-attr]
            "&": lambda node, a: a[0].bitwiseAND(a[1]),
            "|": lambda node, a: a[0].bitwiseOR(a[1]),
            "^": lambda node, a: a[0].bitwiseXOR(a[1]),
            "bit_not": lambda node, a: self._functions.bitwise_not(a[0]),
            "extract": self._extract,
            "date_trunc": self._date_trunc,
            "months_between": self._months_between,
            "make_timestamp": self._make_timestamp,
            "timestampadd": self._timestamp_add,
            "timestampdiff": self._timestamp_diff,
            "size": self._size,
            "try_mod": lambda node, a: self._functions.when(a[1] != self._lit(0), a[0] % a[1]),
        }

    def translate(self, node: Function) -> Any:
        """The value of a bound function as a Spark column."""
        arguments = [self._value(argument) for argument in node.arguments]
        if node.name in COMPARISONS:
            return self._operate(node.name, *arguments)
        if node.name in self._special:
            return self._special[node.name](node, arguments)
        return self._functions.call_function(node.name, *arguments)

    def _lit(self, value: Any, kind: str = "bigint") -> Any:
        return self._functions.lit(value).cast(kind)

    def _call(self, name: str, *arguments: Any) -> Any:
        return self._functions.call_function(name, *arguments)

    def _required(self, result: Any, arguments: Sequence[Any], node: Function) -> Any:
        """``result``, but an error where it is NULL although no argument is."""
        functions = self._functions
        given = arguments[0].isNotNull()
        for argument in arguments[1:]:
            given = given & argument.isNotNull()
        problem = functions.raise_error(functions.lit(f"{node} cannot be computed")).cast(_name(type_of(node)))
        return functions.when(given & result.isNull(), problem).otherwise(result)

    # Arithmetic.

    def _strict(self, node: Function, arguments: list[Any]) -> Any:
        kind = type_of(node.arguments[0])
        if node.name == "/":
            tried = self._call("try_divide", *arguments)
            return self._required(tried, arguments, node) if node.ansi else tried
        if is_floating(kind) or not node.ansi:
            return self._legacy.operate(node.name, arguments[0], arguments[1], kind)
        return self._required(self._call(_TRIED[node.name], *arguments), arguments, node)

    def _checked(self, node: Function, arguments: list[Any]) -> Any:
        if not node.ansi:
            made = self._legacy.make_date if node.name == "make_date" else self._legacy.next_day
            return made(*arguments)
        return self._required(self._call(node.name, *arguments), arguments, node)

    def _negated(self, node: Function, arguments: list[Any]) -> Any:
        column, kind = arguments[0], type_of(node)
        if not is_integer(kind):
            return -column if node.name == "negative" else self._functions.abs(column)
        zero = self._functions.lit(0).cast(_name(kind))
        if node.ansi:
            negative = self._required(self._call("try_subtract", zero, column), arguments, node)
        else:
            negative = self._legacy.negative(column, kind)
        return negative if node.name == "negative" else self._functions.when(column < zero, negative).otherwise(column)

    def _rounded(self, node: Function, arguments: list[Any]) -> Any:
        kind = type_of(node)
        if not (is_integer(kind) and len(arguments) == 2):
            return self._call(node.name, *arguments)
        exact = self._call(node.name, arguments[0].cast("decimal(20,0)"), arguments[1])
        if not node.ansi:
            return self._legacy.rounded(exact, kind)
        return self._required(try_cast(exact, _name(kind)), arguments, node)

    def _whole(self, node: Function, arguments: list[Any]) -> Any:
        functions, column = self._functions, arguments[0]
        result = self._call(node.name, *arguments)
        if not (is_floating(type_of(node.arguments[0])) and str(node.type) == "bigint"):
            return result
        too_far = ~functions.isnan(column) & (functions.abs(column) >= functions.lit(2.0**63))
        if node.ansi:
            beyond = functions.raise_error(functions.lit(f"{node}: the result is out of range")).cast("bigint")
        else:
            beyond = self._legacy.saturated(column)
        return functions.when(too_far, beyond).otherwise(result)

    def _by_zero(self, node: Function, arguments: list[Any]) -> Any:
        left, right = arguments
        zero = self._functions.lit(0).cast(_name(type_of(node.arguments[1])))
        safe = self._functions.when(right != zero, right)
        kind = type_of(node.arguments[1])
        if node.name == "div" and is_integer(kind) and not node.ansi:
            return self._legacy.whole_quotient(left, safe, kind)
        result = left % safe if node.name == "%" else self._call(node.name, left, safe)
        return self._required(result, arguments, node) if node.ansi else result

    def _sum(self, node: Function, arguments: list[Any]) -> Any:
        left, right = arguments
        kinds = [type_of(argument) for argument in node.arguments]
        if not any(_is_temporal(kind) for kind in kinds):
            return self._strict(node, arguments)
        functions = self._functions
        sign = 1 if node.name == "+" else -1
        if isinstance(kinds[0], IntervalType):
            return left + right if sign > 0 else left - right
        names = [str(kind) for kind in kinds]
        if not isinstance(kinds[1], IntervalType):
            if names == ["date", "date"]:
                return functions.datediff(left, right).cast("bigint")
            return self._micros(left, names[0]) - self._micros(right, names[1])
        count = right if sign > 0 else -right
        if kinds[1].unit == "month":
            if names[0] == "date":
                return functions.add_months(left, count.cast("int"))
            return self._plus_months(left, names[0], count)
        if names[0] == "date":
            return functions.date_add(left, count.cast("int"))
        unit = DAY_US if kinds[1].unit == "day" else 1
        return self._instant(self._micros(left, names[0]) + count * self._lit(unit), names[0])

    # Dates and timestamps, in UTC.

    def _micros(self, column: Any, kind: str) -> Any:
        """Microseconds since the epoch of a date or timestamp in UTC."""
        functions = self._functions
        if kind == "date":
            return functions.unix_date(column).cast("bigint") * self._lit(DAY_US)
        if kind == "timestamp_ntz":
            text = column.cast("string")
            column = functions.concat(text, functions.lit("Z")).cast("timestamp")
        return functions.unix_micros(column)

    def _days(self, micros: Any) -> Any:
        day = self._lit(DAY_US)
        borrow = self._functions.when(micros % day < self._lit(0), self._lit(1)).otherwise(self._lit(0))
        return (self._call("div", micros, day) - borrow).cast("int")

    def _instant(self, micros: Any, kind: str) -> Any:
        """The timestamp (or date) of microseconds since the epoch. Inverse of :meth:`_micros`."""
        functions = self._functions
        if kind == "timestamp":
            return functions.timestamp_micros(micros)
        days = self._days(micros)
        if kind == "date":
            return functions.date_from_unix_date(days)
        day = functions.date_from_unix_date(days).cast("timestamp_ntz")
        rest = self._call("pmod", micros, self._lit(DAY_US)).cast("decimal(12,0)")
        seconds = (rest / self._lit(1_000_000, "decimal(7,0)")).cast("decimal(18,6)")
        none = self._lit(0, "int")
        return day + self._call("make_dt_interval", none, none, none, seconds)

    def _plus_months(self, column: Any, kind: str, months: Any) -> Any:
        micros = self._micros(column, kind)
        day = self._functions.add_months(self._instant(micros, "date"), months.cast("int"))
        rest = self._call("pmod", micros, self._lit(DAY_US))
        return self._instant(self._micros(day, "date") + rest, kind)

    def _clock(self, node: Function, arguments: list[Any]) -> Any:
        unit, size = _CLOCK[node.name]
        return self._part(self._micros(arguments[0], "timestamp"), unit, size)

    def _part(self, micros: Any, unit: int, size: int) -> Any:
        inside = self._call("pmod", micros, self._lit(unit * size))
        whole = inside - self._call("pmod", inside, self._lit(unit))
        return self._functions.round(whole / self._lit(unit)).cast("int")

    def _extract(self, node: Function, arguments: list[Any]) -> Any:
        if str(node.type) == "int":
            return self._functions.weekday(arguments[1]) + self._functions.lit(1)
        rest = self._call("pmod", self._micros(arguments[1], "timestamp"), self._lit(60_000_000))
        return (rest.cast("decimal(14,0)") / self._lit(1_000_000, "decimal(7,0)")).cast("decimal(8,6)")

    def _date_trunc(self, node: Function, arguments: list[Any]) -> Any:
        unit = _constant(node, 0).upper()
        micros = self._micros(arguments[1], "timestamp")
        if unit in _TRUNCATED:
            return self._instant(micros - self._call("pmod", micros, self._lit(_TRUNCATED[unit])), "timestamp")
        day = self._functions.trunc(self._instant(micros, "date"), unit)
        return self._instant(self._micros(day, "date"), "timestamp")

    def _months_between(self, node: Function, arguments: list[Any]) -> Any:
        """Spark's own function reads both in the session's zone, which lacks some local times."""
        functions = self._functions
        micros = [self._micros(argument, "timestamp") for argument in arguments[:2]]
        days = [self._instant(m, "date") for m in micros]
        months = [functions.year(day) * functions.lit(12) + functions.month(day) for day in days]
        of_month = [functions.dayofmonth(day) for day in days]
        is_last = [day == functions.last_day(day) for day in days]
        seconds = [self._part(m, 1_000_000, 86_400) for m in micros]
        whole = (months[0] - months[1]).cast("double")
        apart = (of_month[0] - of_month[1]) * functions.lit(86_400) + seconds[0] - seconds[1]
        exact = whole + apart.cast("double") / functions.lit(31 * 86_400.0)
        is_whole = (of_month[0] == of_month[1]) | (is_last[0] & is_last[1])
        rounds = arguments[2] if len(arguments) > 2 else functions.lit(True)
        eighths = functions.floor(exact * functions.lit(1e8) + functions.lit(0.5)).cast("double")
        found = functions.when(rounds, eighths / functions.lit(1e8)).otherwise(exact)
        return functions.when(is_whole, whole).when(exact.isNotNull() & rounds.isNotNull(), found)

    def _make_timestamp(self, node: Function, arguments: list[Any]) -> Any:
        made = self._call("make_timestamp_ntz" if node.ansi else "try_make_timestamp_ntz", *arguments)
        made = self._instant(self._micros(made, "timestamp_ntz"), "timestamp")
        return self._required(made, arguments, node) if node.ansi else made

    def _timestamp_add(self, node: Function, arguments: list[Any]) -> Any:
        unit, kind = _constant(node, 0), str(node.type)
        if unit in _UNIT_MONTHS:
            return self._plus_months(arguments[2], kind, arguments[1] * self._lit(_UNIT_MONTHS[unit]))
        moved = arguments[1] * self._lit(_UNIT_MICROS[unit])
        return self._instant(self._micros(arguments[2], kind) + moved, kind)

    def _timestamp_diff(self, node: Function, arguments: list[Any]) -> Any:
        unit = _constant(node, 0)
        if unit in _UNIT_MONTHS:
            raise UnsupportedFeatureError(
                f"{node}: whole months between timestamps in Spark, in UTC",
                field=str(node),
                hint="Use months_between(), or read with to_arrow.",
            )
        apart = self._micros(arguments[2], "timestamp") - self._micros(arguments[1], "timestamp")
        return self._call("div", apart, self._lit(_UNIT_MICROS[unit]))

    def _parsed(self, node: Function, arguments: list[Any]) -> Any:
        functions = self._functions
        if str(type_of(node.arguments[0])) == "timestamp":
            return self._call(node.name, arguments[0])
        pattern = arguments[1] if len(arguments) > 1 else self._functions.lit("yyyy-MM-dd HH:mm:ss")
        tries = node.name.startswith("try_") or not node.ansi
        if tries:  # Spark has it in the session's zone only, unless the text names one
            ends = ("", "") if _names_zone(node) else (" Z", " X")
            in_utc = [functions.concat(a, functions.lit(e)) for a, e in zip((arguments[0], pattern), ends, strict=True)]
            found = self._instant(functions.unix_micros(self._call("try_to_timestamp", *in_utc)), "timestamp_ntz")
        else:
            found = self._call("to_timestamp_ntz", arguments[0], pattern)
        kind = str(node.type)
        if kind != "timestamp_ntz":
            micros = self._micros(found, "timestamp_ntz")
            seconds = self._call("unix_seconds", self._instant(micros, "timestamp"))
            found = seconds if kind == "bigint" else self._instant(micros, kind)
        return found if tries else self._required(found, arguments, node)

    def _formatted(self, node: Function, arguments: list[Any]) -> Any:
        """Spark prints in the session's zone, so it is given local times.

        The zone may lack the time, where its clocks go forward. So dates are printed at noon, and times of the day on a
        day on which no zone changed its clocks.
        """
        functions, instant = self._functions, arguments[0]
        if node.name == "from_unixtime":
            instant = functions.timestamp_seconds(instant)
        micros = self._micros(instant, "timestamp")
        pattern = arguments[1] if len(arguments) > 1 else functions.lit("yyyy-MM-dd HH:mm:ss")
        parts = _pattern_parts(_DEFAULT_PATTERN if len(node.arguments) < 2 else node.arguments[1])
        if not parts:
            return self._call("date_format", self._instant(micros, "timestamp_ntz"), pattern)
        of_day = self._call("pmod", micros, self._lit(DAY_US))
        noon = self._instant(micros - of_day + self._lit(DAY_US // 2), "timestamp_ntz")
        quiet = self._instant(of_day + self._lit(_QUIET_DAY * DAY_US), "timestamp_ntz")
        texts = [self._call("date_format", quiet if is_time else noon, functions.lit(text)) for text, is_time in parts]
        return functions.concat(*texts)

    # Casts.

    def _cast(self, node: Function, arguments: list[Any]) -> Any:
        column = arguments[0]
        source, target = type_of(node.arguments[0]), type_of(node)
        if isinstance(source, IntervalType):
            return column * self._lit(DAY_US)
        names = (str(source), str(target))
        found = self._in_utc(column, *names)
        if found is not None:
            fails = names[0] == "string" and node.ansi and node.name == "cast"
            return self._required(found, arguments, node) if fails else found
        if node.name == "try_cast":
            return try_cast(column, _name(target))
        if not node.ansi:
            return self._legacy.cast(column, source, target)
        if isinstance(source, DecimalType) and names[1] == "string" and source.scale > 6:
            plain = self._functions.format_number(column, source.scale)  # a cast prints 0E-18 without ANSI
            return self._call("replace", plain, self._functions.lit(","))
        if _always_fits(source, target):
            return column.cast(_name(target))
        if is_floating(source) and isinstance(target, DecimalType):  # NaN and infinite numbers become NULL
            finite = ~self._functions.isnan(column) & (self._functions.abs(column) != self._functions.lit(math.inf))
            arguments = [self._functions.when(finite, column)]
        return self._required(try_cast(column, _name(target)), arguments, node)

    def _in_utc(self, column: Any, source: str, target: str) -> Any:
        """A cast between dates, timestamps and texts for which Spark would ask the session's zone. None for others."""
        functions = self._functions
        if source in ("date", "timestamp", "timestamp_ntz") and target in ("date", "timestamp", "timestamp_ntz"):
            if "timestamp" not in (source, target):
                return column.cast(target)
            return self._instant(self._micros(column, source), target)
        if source == "timestamp" and target == "string":
            return self._instant(self._micros(column, source), "timestamp_ntz").cast("string")
        if source == "string" and target == "timestamp":
            local = try_cast(column, "timestamp_ntz")
            local = self._instant(self._micros(local, "timestamp_ntz"), "timestamp")
            return functions.when(column.rlike(_HAS_ZONE), try_cast(column, target)).otherwise(local)
        return None

    # Conditions and elements.

    def _case(self, node: Function, arguments: list[Any]) -> Any:
        *pairs, last = arguments
        found: Any = None
        for when, then in zip(pairs[::2], pairs[1::2], strict=True):
            found = self._functions.when(when, then) if found is None else found.when(when, then)
        return found.otherwise(last)

    def _element(self, node: Function, arguments: list[Any]) -> Any:
        nested, key = arguments
        kind, functions = type_of(node.arguments[0]), self._functions
        if isinstance(kind, MapType):
            return self._call("try_element_at", nested, key)
        assert isinstance(kind, ListType)
        index = key.cast("int")
        if node.name == "try_element_at":
            return self._call("try_element_at", nested, index)
        plain = self._call("get", nested, index) if node.name == "[]" else self._call("try_element_at", nested, index)
        size = functions.size(nested)
        zero = functions.lit(0)
        outside = (key < zero) | (key >= size) if node.name == "[]" else (functions.abs(key) > size) | (key == zero)
        if not node.ansi:
            return plain if node.name == "[]" else functions.when(~outside, plain)
        problem = functions.raise_error(functions.lit(f"{node}: the position is outside of the list"))
        bad = nested.isNotNull() & key.isNotNull() & outside
        return functions.when(bad, problem.cast(_name(kind.element.type))).otherwise(plain)

    def _size(self, node: Function, arguments: list[Any]) -> Any:
        column, functions = arguments[0], self._functions
        size = functions.when(column.isNotNull(), functions.size(column))
        return size if node.ansi else functions.coalesce(size, functions.lit(-1))

    def _trim(self, node: Function, arguments: list[Any]) -> Any:
        """Spark's functions of two arguments take the letters first."""
        if len(arguments) == 1:
            return self._call(node.name, arguments[0])
        if node.name == "trim":
            return self._call("btrim", *arguments)
        return self._call(node.name, arguments[1], arguments[0])


def _is_temporal(kind: Type) -> bool:
    return isinstance(kind, IntervalType) or str(kind) in ("date", "timestamp", "timestamp_ntz")


def _always_fits(source: Type, target: Type) -> bool:
    """Whether every value of ``source`` has a cast to ``target``."""
    name = str(target)
    if name in ("string", "binary", "double", "float", "boolean"):
        return str(source) != "string" or name in ("string", "binary")
    if is_integer(source) and is_integer(target):
        return ("tinyint", "smallint", "int", "bigint").index(str(source)) <= (
            "tinyint",
            "smallint",
            "int",
            "bigint",
        ).index(name)
    if isinstance(source, DecimalType) and isinstance(target, DecimalType):
        return target.precision - target.scale >= source.precision - source.scale
    return False


def _name(kind: Type) -> str:
    """The type's name in Spark; intervals are numbers, and a UUID is a text."""
    if isinstance(kind, IntervalType):
        return "bigint"
    return {"uuid": "string"}.get(str(kind), "binary" if str(kind).startswith("fixed") else str(kind))


def _pattern_parts(pattern: Any) -> list[tuple[str, bool]]:
    """A pattern cut into those of dates and of times of the day (True); empty where that cannot be done."""
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        return []
    parts: list[tuple[str, bool]] = []
    before = ""
    for match in _PATTERN_TOKEN.finditer(pattern.value):
        token = match[0]
        if not token[0].isalpha():
            if token[0] in "[]{}#" or token == "'":
                return []
            if parts:
                parts[-1] = (parts[-1][0] + token, parts[-1][1])
            else:
                before += token
            continue
        if token[0] not in _DATE_LETTERS + _TIME_LETTERS:
            return []
        is_time = token[0] in _TIME_LETTERS
        if parts and parts[-1][1] == is_time:
            parts[-1] = (parts[-1][0] + token, is_time)
        else:
            parts.append((before + token, is_time))
            before = ""
    return parts


def _names_zone(node: Function) -> bool:
    """Whether the pattern of a function that parses reads a zone, too."""
    pattern = node.arguments[1] if len(node.arguments) > 1 else None
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        return False
    return any(match[0][0] in "VzOXxZ" for match in _PATTERN_TOKEN.finditer(pattern.value))


def _constant(node: Function, position: int) -> str:
    value = getattr(node.arguments[position], "value", None)
    if not isinstance(value, str):
        raise UnsupportedFeatureError(f"{node} with a unit that differs by row", field=str(node))
    return value
