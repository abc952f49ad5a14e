"""Physical values of Parquet statistics as values of the table's columns, or none where that is not certain."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from tableformats.engines.arrow.files.row_group_statistics import column_bounds
from tableformats.schema import DecimalType, Field, Type, primitive

UTC = dt.timezone.utc


def column(physical: str, logical: dict[str, Any]) -> Any:
    return SimpleNamespace(physical_type=physical, logical_type=SimpleNamespace(to_json=lambda: json.dumps(logical)))


def unit(kind: str, name: str) -> dict[str, Any]:
    return {"Type": kind, "isAdjustedToUTC": True, "timeUnit": name}


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"Type": "Decimal", "precision": precision, "scale": scale}


NONE = {"Type": "None"}


@pytest.mark.parametrize(
    ("physical", "logical", "raw", "kind", "value"),
    [
        ("BOOLEAN", NONE, True, "boolean", True),
        ("FLOAT", NONE, 1.5, "float", 1.5),
        ("FLOAT", NONE, 1.5, "double", 1.5),
        ("DOUBLE", NONE, -0.25, "double", -0.25),
        ("INT32", NONE, -7, "int", -7),
        ("INT32", {}, -7, "long", -7),
        ("INT64", NONE, 2**40, "long", 2**40),
        ("INT64", NONE, 2**40, "int", None),  # it does not fit
        ("INT32", {"Type": "Int", "bitWidth": 8, "isSigned": True}, -7, "byte", -7),
        ("INT64", {"Type": "Int", "bitWidth": 64, "isSigned": True}, 7, "long", 7),
        ("INT32", {"Type": "Int", "bitWidth": 32, "isSigned": False}, 7, "int", None),
        ("INT32", {"Type": "Int", "bitWidth": 32}, 7, "int", None),
        ("INT32", {"Type": "Date"}, 3, "date", dt.date(1970, 1, 4)),
        ("INT64", unit("Timestamp", "milliseconds"), 1001, "timestamp", dt.datetime(1970, 1, 1, 0, 0, 1, 1000, UTC)),
        ("INT64", unit("Timestamp", "microseconds"), 1001, "timestamp", dt.datetime(1970, 1, 1, 0, 0, 0, 1001, UTC)),
        ("INT64", unit("Timestamp", "nanoseconds"), 5000, "timestamp_ntz", dt.datetime(1970, 1, 1, 0, 0, 0, 5)),
        ("INT64", unit("Timestamp", "unknown"), 5000, "timestamp", None),
        ("INT64", {"Type": "Timestamp"}, 5000, "timestamp", None),
        ("INT32", unit("Time", "milliseconds"), 1001, "time", dt.time(0, 0, 1, 1000)),
        ("INT64", unit("Time", "microseconds"), 1001, "time", dt.time(0, 0, 0, 1001)),
        ("INT64", {"Type": "Time"}, 1001, "time", None),
        ("INT64", {"Type": "Unheard"}, 1001, "long", None),
        ("INT64", unit("Unheard", "microseconds"), 1001, "long", None),
        ("INT32", decimal(9, 2), 125, DecimalType(9, 2), Decimal("1.25")),
        ("INT64", decimal(18, 0), -(10**17), DecimalType(18, 0), Decimal(-(10**17))),
        ("FIXED_LEN_BYTE_ARRAY", decimal(9, 2), b"\xff\x83", DecimalType(9, 2), Decimal("-1.25")),
        ("BYTE_ARRAY", decimal(9, 2), b"\x7d", DecimalType(9, 2), Decimal("1.25")),
        ("BYTE_ARRAY", decimal(38, 2), b"\x7d", DecimalType(38, 2), Decimal("1.25")),
        ("BYTE_ARRAY", decimal(39, 2), b"\x7d", DecimalType(38, 2), Decimal("1.25")),
        ("BYTE_ARRAY", decimal(76, 2), b"\x7d", DecimalType(38, 2), Decimal("1.25")),
        ("BYTE_ARRAY", {"Type": "String"}, b"ab", "string", "ab"),
        ("BYTE_ARRAY", NONE, b"\xff", "binary", b"\xff"),
        ("BYTE_ARRAY", {"Type": "JSON"}, b"{}", "string", "{}"),
        ("BYTE_ARRAY", {"Type": "Enum"}, b"a", "string", "a"),
        ("FIXED_LEN_BYTE_ARRAY", {"Type": "UUID"}, b"0123456789abcdef", "uuid", b"0123456789abcdef"),
        ("FIXED_LEN_BYTE_ARRAY", {"Type": "Float16"}, b"\0\0", "float", None),
        ("FIXED_LEN_BYTE_ARRAY", {"Type": "Interval"}, bytes(12), "binary", None),
        ("INT96", NONE, bytes(12), "timestamp", None),
    ],
)
def test_values_of_statistics(physical: str, logical: dict[str, Any], raw: Any, kind: str | Type, value: Any) -> None:
    field = Field(1, "x", primitive(kind) if isinstance(kind, str) else kind)
    found = column_bounds([raw, None], [None, raw], column(physical, logical), field)
    if value is None:
        assert found is None
    else:
        assert found is not None and [side.to_pylist() for side in found] == [[value, None], [None, value]]
