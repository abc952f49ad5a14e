"""The values of a column, and which of them a comparison selects, in plain Python.

Filters of the kit are judged by this and not by the library's own pruning or Arrow's filters. Values are canonical:
days, micro- or nanoseconds since the epoch as int, everything else as Arrow gives it to Python. The order is Spark's:
NaN equals NaN and is greater than every other number, -0.0 equals 0.0, strings compare by their UTF-8 bytes.
"""

from __future__ import annotations

import decimal
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..expressions import Literal
from ..schema import DecimalType, Field, FixedType, Type

__all__ = [
    "COMPARISONS",
    "canonical",
    "dotted",
    "is_nan",
    "leaf_values",
    "neighbours",
    "order",
    "readable",
    "row_texts",
]

COMPARISONS: dict[Callable[[Any, Any], Any], Callable[[int], bool]] = {
    operator.eq: lambda order: order == 0,
    operator.ne: lambda order: order != 0,
    operator.lt: lambda order: order < 0,
    operator.le: lambda order: order <= 0,
    operator.gt: lambda order: order > 0,
    operator.ge: lambda order: order >= 0,
}
"""What makes each comparison of a column and a literal, and whether it is TRUE for a value by the :func:`order` of the
value and the literal, neither of which is NULL."""
_INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "date": 32, "bigint": 64}
_DAY_MICROS = 86_400_000_000


def dotted(path: Sequence[Field]) -> str:
    """The name of a column, as filters spell it: ``a.b`` for a member of a struct."""
    return ".".join(field.name for field in path)


def canonical(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column as Python values; see the module."""
    kind = array.type
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        array = array.cast(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_time64(kind) or pa.types.is_date64(kind):
        array = array.cast(pa.int64())
    return list(array.to_pylist())


def readable(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column, for rows that are compared and shown: dates and times as text."""
    kind = array.type
    if pa.types.is_timestamp(kind):
        array = array.cast(pa.timestamp(kind.unit))  # Arrow needs no database of zones to show these
    return list((array.cast(pa.string()) if pa.types.is_temporal(kind) else array).to_pylist())


def leaf_values(rows: pa.Table, path: Sequence[Field]) -> list[Any]:
    """The canonical values of a column of ``rows``; NULL also where a struct around it is."""
    column = rows[path[0].name].combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # no chunk at all
        column = pa.nulls(0, column.type)
    for field in path[1:]:
        column = pc.struct_field(column, [column.type.get_field_index(field.name)])
    return canonical(column)


def shown(values: Sequence[Any], kind: Type) -> str:
    """The first three of these canonical values, spelt as in filters."""
    texts = list(dict.fromkeys(str(Literal(value, kind)) for value in values))
    return ", ".join(texts[:3]) + (", ..." if len(texts) > 3 else "")


def row_texts(columns: Sequence[Sequence[Any]]) -> list[str]:
    """One text a row of these columns: values may neither be hashable nor equal themselves (NaN)."""
    return [repr(row) for row in zip(*columns, strict=True)]


def is_nan(value: Any) -> bool:
    """Whether it is a float, and not a number."""
    return isinstance(value, float) and math.isnan(value)


def order(a: Any, b: Any) -> int:
    """-1, 0 or 1: how two values of one column compare."""
    if is_nan(a) or is_nan(b):
        return int(is_nan(a)) - int(is_nan(b))
    if isinstance(a, str):
        a, b = a.encode(), b.encode()
    return int(a > b) - int(a < b)


def neighbours(value: Any, kind: Type) -> list[Any]:
    """Values of type ``kind`` just below and above ``value``, where there are any."""
    name = str(kind)
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return _integers_beside(value, name)
    if isinstance(value, float):
        number = np.float32(value) if name == "float" else np.float64(value)
        beside = [float(np.nextafter(number, number.dtype.type(end))) for end in (-math.inf, math.inf)]
        return [v for v in beside if math.isfinite(v)]
    if isinstance(value, decimal.Decimal) and isinstance(kind, DecimalType):
        unscaled = kind.unscaled(value)
        limit = kind.unscaled(kind.greatest)
        units = [n for n in (unscaled - 1, unscaled + 1) if -limit <= n <= limit]
        return [decimal.Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -kind.scale)) for n in units]
    if isinstance(value, str):
        return [value[:-1], value + "!"] if value else [value + "!"]
    if isinstance(value, bytes):
        if isinstance(kind, FixedType) or name == "uuid":
            return [value[:-1] + bytes([end]) for end in {max(value[-1] - 1, 0), min(value[-1] + 1, 255)}]
        return [value[:-1], value + b"\0"] if value else [b"\0"]
    return []


def _integers_beside(value: int, name: str) -> list[int]:
    if name == "time":
        return [v for v in (value - 1, value + 1) if 0 <= v < _DAY_MICROS]
    limit = 1 << (_INTEGERS.get(name, 64) - 1)
    return [v for v in (value - 1, value + 1) if -limit <= v < limit]
