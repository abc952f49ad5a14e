"""What the kit judges by: its order of values, its transforms, its look into Parquet files."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats.io.storage import Storage
from tableformats.plugin import NameMapping, PartitionField
from tableformats.schema import DecimalType, Field, FixedType, Type, primitive
from tableformats.schema.transforms import parse_transform
from tableformats.testing.findings import Findings, expect, expect_error, sample
from tableformats.testing.parquet import ParquetData, Unreadable
from tableformats.testing.partitions import _transformed
from tableformats.testing.values import COMPARISONS, canonical, leaf_values, neighbours, order, readable, shown

INT, LONG, STRING, DATE, STAMP = (primitive(name) for name in ("int", "long", "string", "date", "timestamp"))
NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    "ascending",
    [
        [-INF, -1.5, 0.0, 2.0, INF, NAN],
        ["", "a", "a!", "ab", "\uffff", "\U00010000"],
        [b"", b"\0", b"a", b"\xff"],
        [False, True],
        [Decimal("-0.01"), Decimal("0.00"), Decimal("0.01")],
    ],
)
def test_order(ascending: list[Any]) -> None:
    for i, a in enumerate(ascending):
        for j, b in enumerate(ascending):
            assert order(a, b) == (i > j) - (i < j)
    assert order(0.0, -0.0) == 0 == order(NAN, NAN)


def test_comparisons_are_those_of_the_order() -> None:
    for compare, holds in COMPARISONS.items():
        assert [holds(order(value, 2)) for value in (1, 2, 3)] == [compare(value, 2) for value in (1, 2, 3)]


@pytest.mark.parametrize(
    ("value", "kind", "beside"),
    [
        (5, LONG, [4, 6]),
        (2**31 - 1, INT, [2**31 - 2]),
        (-(2**31), DATE, [-(2**31) + 1]),
        (0, primitive("time"), [1]),
        (0, STAMP, [-1, 1]),
        (True, primitive("boolean"), [False]),
        (1.0, primitive("float"), [1 - 2**-24, 1 + 2**-23]),
        (1.0, primitive("double"), [1 - 2**-53, 1 + 2**-52]),
        (Decimal("9.99"), DecimalType(3, 2), [Decimal("9.98")]),
        (Decimal("0.00"), DecimalType(3, 2), [Decimal("-0.01"), Decimal("0.01")]),
        ("ab", STRING, ["a", "ab!"]),
        ("", STRING, ["!"]),
        (b"ab", primitive("binary"), [b"a", b"ab\0"]),
        (b"ab", FixedType(2), [b"aa", b"ac"]),
    ],
)
def test_neighbours(value: Any, kind: Type, beside: list[Any]) -> None:
    assert sorted(neighbours(value, kind)) == sorted(beside)


def test_values_are_read_out() -> None:
    instants = pa.array([0, None, -1], pa.timestamp("ns", "UTC"))
    assert canonical(instants) == [0, None, -1]
    assert readable(instants) == ["1970-01-01 00:00:00.000000000", None, "1969-12-31 23:59:59.999999999"]
    assert canonical(pa.array([1], pa.date32())) == [1]
    assert shown([0, 0, None], DATE) == "DATE '1970-01-01', NULL"
    member = Field(2, "b", LONG)
    rows = pa.table({"a": [{"b": 1}, None, {"b": None}]})
    assert leaf_values(rows, (Field(1, "a", LONG), member)) == [1, None, None]
    assert leaf_values(rows.slice(0, 0), (Field(1, "a", LONG), member)) == []


@pytest.mark.parametrize(
    ("text", "source", "value", "made"),
    [
        ("identity", STRING, "a", "a"),
        ("void", STRING, "a", None),
        ("year", DATE, -1, -1),
        ("month", DATE, 31, 1),
        ("month", STAMP, -1, -1),
        ("day", STAMP, 86_400_000_000, 1),
        ("day", primitive("timestamp_ns"), -1, -1),
        ("hour", STAMP, 3_600_000_000 - 1, 0),
        ("truncate[10]", INT, -1, -10),
        ("truncate[3]", STRING, "iceberg", "ice"),
        ("truncate[50]", DecimalType(9, 2), Decimal("10.65"), Decimal("10.50")),
        ("truncate[50]", DecimalType(9, 2), Decimal("-0.01"), Decimal("-0.50")),
        ("bucket[16]", STRING, "iceberg", 1_210_000_089 % 16),
        ("bucket[16]", LONG, None, None),
    ],
)
def test_transforms_are_those_of_the_specification(text: str, source: Type, value: Any, made: Any) -> None:
    transform = parse_transform(text)
    field = PartitionField(1000, "p", 1, transform, transform.result_type(source))
    assert _transformed(value, field, source) == made


class TestParquet:
    FIELDS = (Field(7, "renamed", LONG, physical_name="a"), Field(8, "new", LONG))

    @pytest.fixture
    def storage(self, tmp_path: Path) -> Storage:
        plain = pa.table({"a": pa.array([1, 2], pa.int32())})
        with_id = pa.field("other", pa.int32(), metadata={"PARQUET:field_id": "7"})
        with_ids = pa.table([plain["a"]], schema=pa.schema([with_id]))
        pq.write_table(plain, tmp_path / "plain.parquet")
        pq.write_table(with_ids, tmp_path / "ids.parquet")
        (tmp_path / "text.parquet").write_text("no Parquet")
        return Storage(tmp_path)

    def test_columns_by_name(self, storage: Storage) -> None:
        data = ParquetData(storage, storage.join("plain.parquet"), NameMapping(by="name"))
        found = data.column(self.FIELDS[:1])
        assert found is not None and found.type == pa.int64() and found.to_pylist() == [1, 2]
        assert data.column(self.FIELDS[1:]) is None
        assert data.num_rows == 2 and data.row_group_starts == [4]

    def test_columns_by_id(self, storage: Storage) -> None:
        data = ParquetData(storage, storage.join("ids.parquet"), NameMapping(by="id"))
        found = data.column(self.FIELDS[:1])
        assert found is not None and found.to_pylist() == [1, 2]
        assert data.column(self.FIELDS[1:]) is None

    def test_what_cannot_be_known(self, storage: Storage) -> None:
        with pytest.raises(Unreadable, match="no field ids"):
            ParquetData(storage, storage.join("plain.parquet"), NameMapping(by="id")).column(self.FIELDS[:1])
        with pytest.raises(Unreadable, match="int32"):
            data = ParquetData(storage, storage.join("plain.parquet"), NameMapping(by="name"))
            data.column([Field(1, "a", primitive("uuid"))])
        with pytest.raises(Unreadable):
            ParquetData(storage, storage.join("text.parquet"), NameMapping(by="name"))


def test_findings_say_what_was_found_and_wanted() -> None:
    findings = Findings("all is well")
    findings.check()
    findings.equal("a", 1, 1)
    findings.same_items("b", [1, 2], [2, 1])
    assert not findings
    findings.equal("c", 1, 2)
    findings.equal("c", 1, 2)
    findings.same_items("d", [1, 1], [1, 2])
    with pytest.raises(AssertionError) as caught:
        findings.check()
    assert str(caught.value).splitlines() == [
        "all is well, but:",
        "  c: found 1, wanted 2",
        "  d: found 2, wanted 2 (missing: 2; not wanted: 1)",
    ]
    for number in range(20):
        findings.equal("e", number, None)
    with pytest.raises(AssertionError, match=r"and 12 more$"):
        findings.check()


def test_expectations() -> None:
    expect("a", 1, 1)
    with pytest.raises(AssertionError, match=r"^a: found 1, wanted 2$"):
        expect("a", 1, 2)
    assert isinstance(expect_error("a", lambda: int("x"), ValueError), ValueError)
    with pytest.raises(AssertionError, match=r"^a: found 1, wanted ValueError$"):
        expect_error("a", lambda: 1, ValueError)
    with pytest.raises(AssertionError, match=r"^a: found ZeroDivisionError: .*, wanted ValueError or KeyError$"):
        expect_error("a", lambda: 1 // 0, ValueError, KeyError)


def test_samples_are_spread() -> None:
    assert sample([1, 2, 3], 3) == [1, 2, 3]
    assert sample(range(101), 5) == [0, 25, 50, 75, 100]
