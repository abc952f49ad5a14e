"""Values of tables as Python objects, as values of JSON, and as texts for people.

Values that JSON lacks are written like this: timestamps and dates as ISO 8601 text (UTC with ``Z``), decimals and
non-finite floats as text, binary values as base64 text, maps as lists of [key, value] pairs. Text from a table is
escaped and never interpreted as markup.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..inspect.text import printable
from ..runtime.collector import uncollected
from ..schema.scalar_text import python_value

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["is_number", "json_value", "rows_of", "value_text", "values_of"]

_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def json_value(value: Any) -> Any:
    """``value`` in the types of JSON."""
    if isinstance(value, Mapping):
        return {str(key): json_value(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(member) for member in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    if value is None or isinstance(value, (bool, int, str)):
        # A lone surrogate cannot be encoded as UTF-8, so it is escaped.
        return value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value
    return str(value) if isinstance(value, Decimal) else repr(value)


@uncollected()
def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as dictionaries by column name; see :func:`values_of` for the values."""
    if not table.num_columns:
        return [{}] * table.num_rows
    columns = map(values_of, table.columns)
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def values_of(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """The values as Python objects; ISO 8601 text for dates and times that Python lacks (year 10000, nanoseconds).

    In text, U+FFFD stands for bytes that are not UTF-8.
    """
    try:
        found = _moments(column)
        return list(column.to_pylist()) if found is None else found
    except (OverflowError, ValueError):
        return [python_value(scalar) for scalar in column]


def _moments(column: pa.ChunkedArray | pa.Array) -> list[dt.datetime | None] | None:
    """The values of a column of timestamps; None: it is none. Raises OverflowError for years that Python lacks.

    For these, pyarrow would import pandas, which takes longer than most commands.
    """
    from pyarrow import int64, types

    from ..columnar import compute as pc

    kind = column.type
    if not types.is_timestamp(kind) or kind.tz not in (None, "UTC") or kind.unit == "ns":
        return None
    start = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc if kind.tz else None)
    step = dt.timedelta(microseconds=10 ** (6 - _DIGITS[kind.unit]))
    return [None if n is None else start + n * step for n in pc.cast(column, int64()).to_pylist()]


def is_number(kind: pa.DataType) -> bool:
    """Whether columns of the Arrow type ``kind`` are right-aligned."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def value_text(value: Any) -> str:
    """A value from a table as one line of text; empty for None."""
    if value is None:
        return ""
    if isinstance(value, str):
        return printable(value)
    if type(value) is int:
        return str(value)
    found = json_value(value)
    return printable(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))
