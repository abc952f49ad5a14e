"""Print names and literals as Spark SQL, so that a printed predicate can be parsed again."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import uuid
from typing import Any

from ..lazy_pattern import lazy_pattern
from ..schema import Type
from ..schema.datetimes import format_date, format_time, format_timestamp

__all__ = ["quoted_name", "sql_call", "sql_literal"]

# Words that some version of Spark does not accept as a column's name everywhere.
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
_UNQUOTED_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")


def quoted_name(name: str) -> str:
    """A name in Spark SQL, in backticks where it needs them."""
    if _UNQUOTED_NAME.fullmatch(name) and name.upper() not in _KEYWORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def sql_literal(value: Any, kind: Type | None) -> str:
    """A literal in Spark SQL: a canonical value of type ``kind``, or a Python value (``kind`` None)."""
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


def sql_call(name: str, arguments: tuple[str, ...], kind: Type | None) -> str:
    """A function of printed arguments in Spark SQL: an operator between them, a cast or CASE in its own syntax."""
    if name in ("cast", "try_cast"):
        return f"{name.upper()}({arguments[0]} AS {str(kind).upper()})"
    if name == "[]":
        return f"{arguments[0]}[{arguments[1]}]"
    if name == ".":
        return f"{arguments[0]}.{quoted_name(arguments[1][1:-1])}"
    if name == "interval":
        return _interval_text(*arguments)
    if name in ("timestampadd", "timestampdiff"):
        return f"{name}({', '.join((arguments[0][1:-1], *arguments[1:]))})"
    if name == "in":
        return f"{arguments[0]} IN ({', '.join(arguments[1:])})"
    if name in ("isnull", "isnotnull"):
        return f"{arguments[0]} IS {'NOT ' if name == 'isnotnull' else ''}NULL"
    if name == "negative":
        return f"(-{arguments[0]})"
    if name == "bit_not":
        return f"(~{arguments[0]})"
    if name == "extract":
        return f"EXTRACT({arguments[0][1:-1].upper()} FROM {arguments[1]})"
    if name == "case":
        *pairs, last = arguments
        whens = " ".join(f"WHEN {when} THEN {then}" for when, then in zip(pairs[::2], pairs[1::2], strict=True))
        return f"CASE {whens} ELSE {last} END"
    if len(arguments) == 2 and (name == "div" or not name[0].isalpha()):
        return f"({arguments[0]} {name.upper()} {arguments[1]})"
    return f"{name}({', '.join(arguments)})"


def _interval_text(amount: str, unit: str) -> str:
    """The literal of an amount of months, days or microseconds; ``unit`` is in quotes."""
    kinds = {"month": "interval year to month", "day": "interval day"}
    return _sql_interval(int(amount), kinds.get(unit[1:-1], ""))


def _sql_temporal(value: int, type_name: str) -> str | None:
    """The typed literal of a date, time or timestamp. None for integers."""
    if type_name == "date":
        return f"DATE '{format_date(value)}'"
    if type_name == "time":
        return f"TIME '{format_time(value)}'"
    if type_name.startswith("interval"):
        return _sql_interval(value, type_name)
    if not type_name.startswith("timestamp"):
        return None
    text = format_timestamp(value, 9 if type_name.endswith("_ns") else 6)
    return f"TIMESTAMP_NTZ '{text}'" if "_ntz" in type_name else f"TIMESTAMP '{text}Z'"


def _sql_interval(value: int, type_name: str) -> str:
    if type_name == "interval year to month":
        return f"INTERVAL '{value}' MONTH"
    if type_name == "interval day":
        return f"INTERVAL '{value}' DAY"
    seconds, micros = divmod(abs(value), 1_000_000)
    fraction = f".{micros:06}" if micros else ""
    return f"INTERVAL '{'-' if value < 0 else ''}{seconds}{fraction}' SECOND"
