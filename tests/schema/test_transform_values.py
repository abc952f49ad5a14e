"""Partition transforms of columns, compared with PyIceberg value by value."""

from __future__ import annotations

import decimal
import random
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg import types as iceberg
from pyiceberg.transforms import parse_transform as parse_theirs

from tableformats.schema import DecimalType, FixedType, Type, arrow_type, primitive
from tableformats.schema.transform_values import transformed
from tableformats.schema.transforms import parse_transform

_SOURCE = random.Random(7)


def _numbers(low: int, high: int) -> list[Any]:
    return [_SOURCE.randrange(low, high) for _ in range(150)] + [None, 0, -1, low, high - 1]


_LETTERS = ["A", "\xe4", "€", "\U0001f600"]
_TEXTS = ["".join(_SOURCE.choices(_LETTERS, k=_SOURCE.randrange(40))) for _ in range(200)]
_DECIMALS = [decimal.Decimal(_SOURCE.randrange(-(10**19), 10**19)).scaleb(-3) for _ in range(100)]
_DECIMALS += [
    decimal.Decimal(number).scaleb(-3)
    for edge in (1, 128, 256, 32_768, 2**31, 2**63)
    for number in (edge - 1, edge, edge + 1, -edge - 1, -edge, -edge + 1)
]
_BINARY = [_SOURCE.randbytes(_SOURCE.randrange(20)) for _ in range(100)]
_TIMES = ["year", "month", "day", "hour"]

CASES: list[tuple[Type, Any, list[Any], list[str]]] = [
    (primitive("int"), iceberg.IntegerType(), _numbers(-(2**31), 2**31), ["bucket[7]", "identity"]),
    (primitive("int"), iceberg.IntegerType(), _numbers(-(2**30), 2**31), ["truncate[10]"]),
    (primitive("long"), iceberg.LongType(), _numbers(-(2**63), 2**63), ["bucket[7]", "void"]),
    (primitive("long"), iceberg.LongType(), _numbers(-(2**60), 2**63), ["truncate[13]"]),
    (primitive("string"), iceberg.StringType(), [*_TEXTS, None, "", "x" * 1000], ["bucket[16]", "truncate[3]"]),
    (primitive("binary"), iceberg.BinaryType(), [*_BINARY, None], ["bucket[16]", "truncate[3]"]),
    (primitive("date"), iceberg.DateType(), _numbers(-100_000, 100_000), ["bucket[16]", *_TIMES[:3]]),
    (primitive("time"), iceberg.TimeType(), _numbers(0, 86_400_000_000)[:-4], ["bucket[16]"]),
    (primitive("timestamp"), iceberg.TimestamptzType(), _numbers(-(10**16), 10**16), ["bucket[16]", *_TIMES]),
    (primitive("timestamp_ntz"), iceberg.TimestampType(), _numbers(-(10**16), 10**16), ["bucket[16]", *_TIMES]),
    (FixedType(5), iceberg.FixedType(5), [b"abcde", b"\xff" * 5, None], ["bucket[16]"]),
    (DecimalType(20, 3), iceberg.DecimalType(20, 3), [*_DECIMALS, None], ["bucket[16]", "truncate[50]"]),
]


@pytest.mark.parametrize(("kind", "theirs", "values", "transforms"), CASES, ids=lambda v: str(v)[:20])
def test_is_what_pyiceberg_makes(kind: Type, theirs: Any, values: list[Any], transforms: list[str]) -> None:
    for text in transforms:
        transform = parse_transform(text)
        found = transformed(transform, pa.array(values, arrow_type(kind)), kind)
        assert found.type == arrow_type(transform.result_type(kind))
        if text == "day":  # PyIceberg gives the number of the day
            found = found.cast(pa.int32())
        apply = parse_theirs(text).transform(theirs)
        given = pa.array(values, arrow_type(kind)).to_pylist() if text == "identity" else values
        assert found.to_pylist() == [None if v is None or text == "void" else apply(v) for v in given], text


def test_nanoseconds() -> None:
    kind = primitive("timestamp_ns")
    values = pa.array([-1, 0, 1_577_836_800_000_000_123, None], arrow_type(kind))
    assert transformed(parse_transform("year"), values, kind).to_pylist() == [-1, 0, 50, None]
    micros = pa.array([-1, 0, 1_577_836_800_000_000, None], arrow_type(primitive("timestamp")))
    buckets = [
        transformed(parse_transform("bucket[9]"), v, k) for v, k in ((values, kind), (micros, primitive("timestamp")))
    ]
    assert buckets[0] == buckets[1]


def test_a_slice_is_as_the_whole() -> None:
    kind = primitive("string")
    values = pa.array(["a", None, "bcdefgh", "x"] * 3)
    for text in ("bucket[5]", "truncate[2]"):
        whole = transformed(parse_transform(text), values, kind)
        assert transformed(parse_transform(text), values.slice(2, 5), kind).equals(whole.slice(2, 5))


@pytest.mark.parametrize(
    ("kind", "text"), [("boolean", "bucket[4]"), ("double", "truncate[4]"), ("string", "year"), ("date", "hour")]
)
def test_refuses_other_columns(kind: str, text: str) -> None:
    with pytest.raises((ValueError, AssertionError)):
        transformed(parse_transform(text), pa.nulls(1, arrow_type(primitive(kind))), primitive(kind))
