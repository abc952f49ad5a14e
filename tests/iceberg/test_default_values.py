"""Default values of Iceberg columns: what each type's JSON stands for, and what is no value of it."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
import pytest
from tableformats_iceberg.files.strict_json import Node
from tableformats_iceberg.metadata.schema import parse_schema

from tableformats.errors import CorruptMetadataError
from tableformats.schema import arrow_type


def list_of(kind: Any) -> dict[str, Any]:
    return {"type": "list", "element-id": 2, "element": kind, "element-required": False}


def map_of(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "key-id": 2, "key": key, "value-id": 3, "value": value, "value-required": False}


def struct_of(**members: tuple[str, Any]) -> dict[str, Any]:
    """Members {name: (type, default)}, with the ids 2, 3, ..."""
    fields = [
        {"id": i, "name": name, "required": False, "type": kind, "initial-default": default}
        for i, (name, (kind, default)) in enumerate(members.items(), 2)
    ]
    return {"type": "struct", "fields": fields}


UTC = dt.timezone.utc
DEFAULTS: list[tuple[Any, Any, Any]] = [
    ("boolean", True, True),
    ("int", -1, -1),
    ("int", 2**31 - 1, 2**31 - 1),
    ("int", -(2**31), -(2**31)),
    ("long", 2**63 - 1, 2**63 - 1),
    ("long", -(2**63), -(2**63)),
    ("float", 1.5, 1.5),
    ("double", 2, 2.0),
    ("decimal(9, 2)", "14.2", decimal.Decimal("14.20")),
    ("decimal(4, 2)", "-99.99", decimal.Decimal("-99.99")),
    ("date", "2017-11-16", dt.date(2017, 11, 16)),
    ("time", "22:31:08.123456", dt.time(22, 31, 8, 123456)),
    ("timestamp", "2017-11-16T22:31:08.123456", dt.datetime(2017, 11, 16, 22, 31, 8, 123456)),
    ("timestamp", "2017-11-16T22:31:08.5", dt.datetime(2017, 11, 16, 22, 31, 8, 500000)),
    ("timestamptz", "2017-11-16T22:31:08+00:00", dt.datetime(2017, 11, 16, 22, 31, 8, tzinfo=UTC)),
    ("timestamptz", "2017-11-16T22:31:08Z", dt.datetime(2017, 11, 16, 22, 31, 8, tzinfo=UTC)),
    ("timestamp_ns", "2017-11-16T22:31:08.123456789", 1_510_871_468_123_456_789),
    ("timestamptz_ns", "1969-12-31T23:59:59.999999999+00:00", -1),
    ("string", "iceberg", "iceberg"),
    ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7", bytes.fromhex("f79c3e09677c4bbda4793f349cb785e7")),
    ("fixed[4]", "000102ff", b"\0\1\2\xff"),
    ("binary", "000102ff", b"\0\1\2\xff"),
    (list_of("date"), ["2020-01-02", None], [dt.date(2020, 1, 2), None]),
    (map_of("int", "string"), {"keys": [1, 2], "values": ["a", None]}, [(1, "a"), (2, None)]),
    (struct_of(x=("int", 7), y=("date", None)), {"3": "1970-01-03"}, {"x": 7, "y": dt.date(1970, 1, 3)}),
    (struct_of(x=("int", 7), y=("date", None)), {}, {"x": 7, "y": None}),
]


@pytest.mark.parametrize(("kind", "stored", "value"), DEFAULTS, ids=str)
def test_types_and_defaults(kind: Any, stored: Any, value: Any) -> None:
    field = {"id": 1, "name": "a", "required": False, "type": kind, "initial-default": stored}
    (found,) = parse_schema(Node({"fields": [field]}, "s")).fields
    assert (found.initial_default, type(found.initial_default)) == (value, type(value))
    assert pa.scalar(found.initial_default, arrow_type(found.type)).is_valid


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 2**31),
        ("int", -(2**31) - 1),
        ("long", 2**63),
        ("long", -(2**63) - 1),
        ("float", True),
        (list_of("int"), [1, "a"]),
        (list_of("int"), {"0": 1}),
        (map_of("int", "string"), {"keys": [1, 2], "values": ["a"]}),
        (map_of("int", "string"), {"keys": [1], "values": [1]}),
        (struct_of(x=("int", 7)), [7]),
        ("timestamp", "2017-11-16T22:31:08+00:00"),
        ("fixed[2]", 1),
        ("int", "1"),
        ("int", True),
        ("date", "yesterday"),
        ("timestamptz", "2017-11-16T22:31:08"),
        ("uuid", "x"),
        ("binary", "zz"),
        ("decimal(4,2)", "x"),
        ("decimal(4,2)", "100"),
        ("decimal(3,1)", "1.23"),
        ("decimal(3,1)", "NaN"),
        ("fixed[2]", "00"),
        ("fixed[2]", "000000"),
        ("boolean", 1),
        ("string", 5),
        ("time", "25:00:00"),
    ],
)
def test_defaults_of_another_type(kind: Any, value: Any) -> None:
    field = {"id": 1, "name": "a", "required": False, "type": kind, "initial-default": value}
    with pytest.raises(CorruptMetadataError) as caught:
        parse_schema(Node({"fields": [field]}, "s"))
    assert (caught.value.path, caught.value.field) == ("s", "fields[0].initial-default")
