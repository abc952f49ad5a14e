"""Spark columns of what Spark computes without its ANSI mode, written so that no session's setting changes them.

Integers that overflow lose their high bits, floating-point numbers saturate when they become integers, decimals that
do not fit are NULL, and so is what cannot be cast or made. In a session with ``spark.sql.ansi.enabled`` Spark's plain
functions would raise errors for these. Source: Spark SQL reference, "ANSI Compliance"; Java's narrowing conversions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...errors import UnsupportedFeatureError
from ...schema import INTEGER_RANGES, DecimalType, Type, is_floating, is_integer, primitive

__all__ = ["LegacyColumns", "try_cast"]

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_LONGS = INTEGER_RANGES["long"]
_INTS = INTEGER_RANGES["int"]
_FRACTION = r"^[\x00-\x20\x7f]*([+-]?)([0-9]*)\.[0-9]*[\x00-\x20\x7f]*$"
_TRIED = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
_DAYS_OF_WEEK = (
    *("SU", "SUN", "SUNDAY", "MO", "MON", "MONDAY", "TU", "TUE", "TUESDAY", "WE", "WED", "WEDNESDAY"),
    *("TH", "THU", "THURSDAY", "FR", "FRI", "FRIDAY", "SA", "SAT", "SATURDAY"),
)
_PLAIN_EXPONENT = 6
"""Java prints a decimal with an exponent below 1E-6."""


def try_cast(column: Any, name: str) -> Any:
    """``TRY_CAST``. In PySpark before 4.0 a plain cast, which is the same without ANSI mode, the default there.

    Raises UnsupportedFeatureError where neither is to be had.
    """
    if hasattr(column, "try_cast"):
        return column.try_cast(name)
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is not None and str(session.conf.get("spark.sql.ansi.enabled")).lower() == "false":
        return column.cast(name)
    raise UnsupportedFeatureError(
        f"TRY_CAST AS {name.upper()} in this version of PySpark with ANSI mode",
        field=name,
        hint="Use PySpark 4.0 or newer, or set spark.sql.ansi.enabled to false.",
    )


class LegacyColumns:
    """Arithmetic, casts and calendar functions without ANSI mode."""

    def __init__(self) -> None:
        from pyspark.sql import functions

        self._functions: Any = functions

    # Arithmetic.

    def operate(self, op: str, left: Any, right: Any, kind: Type) -> Any:
        """``+``, ``-`` or ``*`` of two columns of type ``kind``."""
        if is_floating(kind):
            return _OPERATORS[op](left, right)
        if not is_integer(kind) or str(kind) == "bigint":
            tried = self._call(_TRIED[op], left, right)
            if not is_integer(kind):
                return tried
            exact = (column.cast("decimal(20,0)") for column in (left, right))
            return self._functions.coalesce(tried, self._low_bits(_OPERATORS[op](*exact)))
        return self._narrowed(_OPERATORS[op](left.cast("bigint"), right.cast("bigint")), str(kind))

    def negative(self, column: Any, kind: Type) -> Any:
        """``-column``; of the least integer itself."""
        if not is_integer(kind):
            return -column
        zero = self._functions.lit(0).cast(str(kind))
        return self._functions.coalesce(self._call("try_subtract", zero, column), column)

    def whole_quotient(self, left: Any, right: Any, kind: Type) -> Any:
        """``left div right``, where ``right`` is not 0; of two integers."""
        quotient = self._call("div", left, self._functions.when(right != self._lit(-1, str(kind)), right))
        opposite = self.negative(left.cast("bigint"), primitive("long"))
        return self._functions.when(right == self._lit(-1, str(kind)), opposite).otherwise(quotient)

    def saturated(self, column: Any, target: str = "bigint") -> Any:
        """A floating-point number as an integer: truncated, of NaN 0, beyond INT or BIGINT the nearest of these."""
        functions = self._functions
        least, greatest = _LONGS if target == "bigint" else _INTS
        name = "bigint" if target == "bigint" else "int"
        found = functions.when(functions.isnan(column), self._lit(0, name))
        found = found.when(column >= functions.lit(float(greatest)), self._lit(greatest, name))
        found = found.when(column <= functions.lit(float(least)), self._lit(least, name))
        found = found.when(column.isNotNull(), column.cast(name))
        return found if target == name else self._narrowed(found, target)

    def rounded(self, exact: Any, kind: Type) -> Any:
        """A decimal without fraction, as an integer that keeps its low bits."""
        return self._narrowed(self._low_bits(exact.cast("decimal(38,0)")), str(kind))

    # Casts.

    def cast(self, column: Any, source: Type, target: Type) -> Any:
        """``column`` of type ``source`` cast to ``target``."""
        name = str(target)
        if is_integer(target):
            return self._to_integer(column, source, name)
        if isinstance(source, DecimalType) and name == "string":
            return self._printed(column, source)
        if is_floating(source) and isinstance(target, DecimalType):
            functions = self._functions
            is_finite = ~functions.isnan(column) & (functions.abs(column) != functions.lit(math.inf))
            column = functions.when(is_finite, column)
        if str(source) != "string" and name in ("string", "binary", "double", "float", "boolean"):
            return column.cast(name)
        return try_cast(column, name)

    def _to_integer(self, column: Any, source: Type, target: str) -> Any:
        functions = self._functions
        if is_integer(source):
            return self._narrowed(column, target)
        if is_floating(source):
            return self.saturated(column, target)
        if isinstance(source, DecimalType):
            whole = functions.when(column < self._lit(0, str(source)), functions.ceil(column))
            found = self._low_bits(whole.otherwise(functions.floor(column)).cast("decimal(38,0)"))
            return self._narrowed(found, target)
        if str(source) == "string":
            sign, digits = (functions.regexp_extract(column, _FRACTION, group) for group in (1, 2))
            whole = functions.concat(sign, functions.lit("0"), digits)
            return try_cast(functions.when(column.rlike(_FRACTION), whole).otherwise(column), target)
        if str(source) == "timestamp":
            return self._narrowed(column.cast("bigint"), target)
        return column.cast(target)

    def _narrowed(self, column: Any, target: str) -> Any:
        """The low bits of an integer as an integer of type ``target``."""
        lost = _BITS["bigint"] - _BITS[target]
        wide = column.cast("bigint")
        if not lost:
            return wide
        functions = self._functions
        return functions.shiftright(functions.shiftleft(wide, lost), lost).cast(target)

    def _low_bits(self, exact: Any) -> Any:
        """The low 64 bits of a decimal without fraction, as BIGINT."""
        functions = self._functions
        modulus, half = (functions.lit(str(2**bits)).cast("decimal(20,0)") for bits in (64, 63))
        rest = (exact % modulus).cast("decimal(20,0)")
        inside = functions.when(rest >= half, rest - modulus).when(rest < -half, rest + modulus).otherwise(rest)
        return inside.cast("bigint")

    def _printed(self, column: Any, kind: DecimalType) -> Any:
        """A decimal as Java prints it: with an exponent where it is below 1E-6."""
        functions, zero = self._functions, self._lit(0, str(kind))
        if kind.scale <= _PLAIN_EXPONENT:
            return column.cast("string")
        plain = self._call("replace", functions.format_number(column, kind.scale), functions.lit(","))
        digits = functions.regexp_replace(plain, r"^[-0.]+|\.", "")
        count, sign = functions.length(digits), functions.when(column < zero, "-").otherwise("")
        more = functions.when(count > functions.lit(1), functions.concat(functions.lit("."), digits.substr(2, 38)))
        exponent = functions.concat(functions.lit("E-"), (functions.lit(kind.scale + 1) - count).cast("string"))
        small = functions.concat(sign, digits.substr(1, 1), functions.coalesce(more, functions.lit("")), exponent)
        # abs() of Spark rounds to 34 digits.
        is_small = (column < self._lit("0.000001", str(kind))) & (column > self._lit("-0.000001", str(kind)))
        nothing = functions.lit(f"0E-{kind.scale}")
        return functions.when(column == zero, nothing).when(is_small, small).otherwise(plain)

    # Dates.

    def make_date(self, year: Any, month: Any, day: Any) -> Any:
        """A date of its parts; NULL where there is none."""
        functions = self._functions
        text = functions.concat(
            functions.when(year < functions.lit(0), "-").otherwise(""),
            functions.format_string("%04d-%d-%d", functions.abs(year.cast("bigint")), month, day),
        )
        is_date = (month > functions.lit(0)) & (day > functions.lit(0))
        return functions.when(is_date, try_cast(text, "date"))

    def next_day(self, day: Any, name: Any) -> Any:
        """The next day of this name; NULL for a name that no day has."""
        upper = self._functions.upper(name)
        return self._call("next_day", day, self._functions.when(upper.isin(list(_DAYS_OF_WEEK)), name))

    def _lit(self, value: Any, kind: str) -> Any:
        return self._functions.lit(value).cast(kind)

    def _call(self, name: str, *arguments: Any) -> Any:
        return self._functions.call_function(name, *arguments)
