"""Casts of columns, which Arrow does at once where it may, are those of each value alone."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tableformats.errors import InvalidPredicateError
from tableformats.expressions import Literal
from tableformats.expressions.casts import cast
from tableformats.expressions.functions.coercion import has_cast
from tableformats.schema import DecimalType, Type, primitive
from tests.support.expressions import answers

ENDS = {bits: [-(1 << bits - 1), -1, 0, 1, (1 << bits - 1) - 1] for bits in (8, 16, 32, 64)}
FLOATS = [0.0, -0.0, 1.5, -1.5, 0.1, 127.9, 128.0, 1e10, -1e10, 1e19, 1e300, math.inf, -math.inf, math.nan]
DAY = 86_400_000_000
INSTANTS = [0, 1, -1, 999_999, -999_999, DAY, -DAY - 1, 1_709_214_479_123_456, 2**62, -(2**62)]
TEXTS = [
    "1",
    " -7 ",
    "128",
    "1.5",
    "-1.9",
    "x",
    "",
    "true",
    "NO",
    "1e3",
    "NaN",
    "2024-02-29",
    "2024-02-29 13:00:00.5",
    "2024-02-29 13:00:00.1234567",
    "9" * 25,
]
SOURCES: dict[str, tuple[pa.DataType, Type, list[Any]]] = {
    "tinyint": (pa.int8(), primitive("byte"), ENDS[8]),
    "smallint": (pa.int16(), primitive("short"), [*ENDS[16], 127, 128, -128, -129]),
    "int": (pa.int32(), primitive("int"), [*ENDS[32], 127, 128, -128, 32768, -32768]),
    "bigint": (pa.int64(), primitive("long"), [*ENDS[64], 127, 300, 2**31, -(2**31), -(2**31) - 1, 2**53 + 1]),
    "boolean": (pa.bool_(), primitive("boolean"), [True, False]),
    "float": (pa.float32(), primitive("float"), [0.0, 1.5, -1.5, 0.10000000149011612, 128.0, math.inf, math.nan]),
    "double": (pa.float64(), primitive("double"), FLOATS),
    "decimal(5,2)": (
        pa.decimal128(5, 2),
        DecimalType(5, 2),
        list(map(Decimal, ("0.00", "1.25", "-1.25", "999.99", "127.99"))),
    ),
    "decimal(38,0)": (pa.decimal128(38, 0), DecimalType(38, 0), [Decimal(0), Decimal(2**63), Decimal("9" * 38)]),
    "string": (pa.string(), primitive("string"), TEXTS),
    "binary": (pa.binary(), primitive("binary"), [b"", b"abc", b"\xc3\xa9"]),
    "date": (pa.int32(), primitive("date"), [0, 1, -1, 19_782, 2**31 - 1]),
    "timestamp": (pa.int64(), primitive("timestamp"), INSTANTS),
    "timestamp_ntz": (pa.int64(), primitive("timestamp_ntz"), INSTANTS),
}
STORED = {"date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us")}
TARGETS = {name: kind for name, (_, kind, _) in SOURCES.items()} | {
    f"decimal({p},{s})": DecimalType(p, s) for p, s in ((22, 3), (12, 8), (3, 3))
}


def alone(value: Any, source: Type, target: Type, ansi: bool) -> Any:
    try:
        found = cast(Literal(value, source), target, ansi)
    except InvalidPredicateError as error:
        assert "cannot be cast" in str(error)
        return "an error"
    is_nanoseconds = str(found.type).endswith("_ns") and found.value is not None
    return found.value // 1000 if is_nanoseconds else found.value


@pytest.mark.parametrize("name", SOURCES)
def test_a_column_is_cast_as_each_of_its_values(name: str) -> None:
    stored, source, values = SOURCES[name]
    column = pa.array([*values, None], stored)
    rows = {"a": column.view(STORED[name]) if name in STORED else column}
    for target_name, target in TARGETS.items():
        for ansi in (True, False):
            if target == source or not has_cast(source, target) or {name, target_name} == {"binary", "string"}:
                continue
            expected = [alone(value, source, target, ansi) for value in values]
            gives, found = answers(f"CAST(a AS {target_name})", rows, ansi)
            shown = ["an error" if isinstance(one, str) and one[:2] == "! " else one for one in found]
            assert gives == target_name and repr(shown) == repr([*expected, None]), (target_name, ansi)
        if target != source and has_cast(source, target) and {name, target_name} != {"binary", "string"}:
            expected = [alone(value, source, target, True) for value in values]
            found = answers(f"TRY_CAST(a AS {target_name})", rows)[1]
            assert repr(found) == repr([*(None if one == "an error" else one for one in expected), None]), target_name


def test_casts_of_bytes_and_identifiers() -> None:
    rows = {"a": pa.array([b"\xc3\xa9", b"", None]), "s": pa.array(["\u00e9", "", None])}
    assert answers("CAST(a AS STRING)", rows) == ("string", ["\u00e9", "", None])
    assert answers("CAST(s AS BINARY)", rows) == ("binary", [b"\xc3\xa9", b"", None])
    assert answers("CAST(s AS STRING)", rows) == ("string", ["\u00e9", "", None])
    assert answers("CAST(upper(s) AS BINARY)", rows)[1] == ["\u00c9".encode(), b"", None]
    assert answers("CAST(NULL AS INT) + length(s)", rows)[1] == [None] * 3
    nothing = {"u": pa.nulls(2), "c": pa.array([1, None], pa.time64("us"))}
    assert answers("CAST(u AS INT)", nothing) == ("int", [None, None])
    assert answers("CAST(u AS STRING)", nothing) == ("string", [None, None])
    assert answers("CAST(c AS TIME)", nothing) == ("time", [1, None])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("CAST(d AS INT)", "a date has no cast to int"),
        ("CAST(i AS DATE)", "a int has no cast to date"),
        ("CAST(b AS INT)", "a binary has no cast to int"),
        ("CAST(i AS BINARY)", "a int has no cast to binary"),
        ("CAST(l AS STRING)", "a array<int> has no cast to string"),
        ("CAST(t AS BINARY)", "a timestamp has no cast to binary"),
        ("CAST(o AS DATE)", "a boolean has no cast to date"),
        ("CAST(o AS TIMESTAMP)", "a boolean has no cast to timestamp"),
    ],
)
def test_casts_that_spark_has_not(call: str, said: str) -> None:
    rows = {
        "d": pa.array([0], pa.date32()),
        "i": pa.array([0], pa.int32()),
        "b": pa.array([b""]),
        "l": pa.array([[0]], pa.list_(pa.int32())),
        "t": pa.array([0], pa.timestamp("us", "UTC")),
        "o": pa.array([True]),
    }
    with pytest.raises(InvalidPredicateError, match=said) as caught:
        answers(call, rows)
    assert ("unix_date" in str(caught.value.hint)) == (call[5] in "dt" or "DATE" in call or "TIMESTAMP" in call)
