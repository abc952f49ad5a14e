"""What a footer says of the row groups of a checkpoint, and which bounds of a group that gives."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta.checkpoints.row_group_filter import (
    GroupFilter,
    _Footer,
    _group_pair,
    _leaf_type,
    _statistics,
    _where,
    nulls_of,
)
from tableformats_delta.statistics.stats_json import Leaf

from tableformats.plugin import DecimalType, Field, PartitionField, PartitionSpec, Schema, Transform, Type, primitive

LONG, TEXT = pa.int64(), pa.string()
STATS = pa.struct([("numRecords", LONG), ("minValues", pa.struct([("c", LONG)]))])
ADD = pa.struct([("path", TEXT), ("stats_parsed", STATS), ("a.b", LONG), ("n", pa.list_(LONG))])


def footer_of(path: Path, *groups: list[Any], kind: pa.StructType = ADD) -> _Footer:
    """Of a file with these adds, group by group."""
    schema = pa.schema([("add", kind)])
    with pq.ParquetWriter(path / "x.parquet", schema) as writer:
        for rows in groups:
            writer.write_table(pa.table({"add": pa.array(rows, kind)}, schema))
    return _Footer(pq.read_metadata(path / "x.parquet"), kind)


def one(name: str, records: int | None = 1, low: int | None = 1) -> dict[str, Any]:
    return {"path": name, "stats_parsed": {"numRecords": records, "minValues": {"c": low}}, "a.b": 1}


def test_columns_of_a_footer(tmp_path: Path) -> None:
    footer = footer_of(tmp_path, [one("a", 5, 3), one("b", 7, None), None], [one("c", None, 9)])
    assert footer.rows.tolist() == [3, 1]
    paths = footer.column(("path",))
    assert paths is not None
    assert (paths.least.to_pylist(), paths.greatest.to_pylist(), paths.nulls.tolist()) == (
        ["a", "c"],
        ["b", "c"],
        [1, 0],
    )
    counts = footer.column(("stats_parsed", "numRecords"))
    assert counts is not None
    assert (counts.least.to_pylist(), counts.greatest.to_pylist()) == ([5, None], [7, None])
    assert counts.nulls.tolist() == [1, 1]
    low = footer.column(("stats_parsed", "minValues", "c"))
    assert low is not None and (low.least.to_pylist(), low.nulls.tolist()) == ([3, 9], [2, 0])


@pytest.mark.parametrize(
    "path",
    [("unknown",), ("stats_parsed",), ("stats_parsed", "maxValues"), ("a", "b"), ("a.b",), ("n",), ("path", "x")],
)
def test_columns_that_a_footer_lacks(tmp_path: Path, path: tuple[str, ...]) -> None:
    """A name with a dot may be two names; structs and lists have no bounds."""
    assert footer_of(tmp_path, [one("a")]).column(path) is None


def test_names_that_are_ambiguous(tmp_path: Path) -> None:
    kind = pa.struct([("path", TEXT), ("x", pa.struct([("y", LONG)])), ("x.y", LONG)])
    footer = footer_of(tmp_path, [{"path": "a", "x": {"y": 1}, "x.y": 2}], kind=kind)
    assert footer.column(("x", "y")) is None and footer.column(("path",)) is not None


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (("path",), TEXT),
        (("stats_parsed", "minValues", "c"), LONG),
        (("stats_parsed",), None),
        (("n",), None),
        (("path", "x"), None),
        (("x",), None),
    ],
)
def test_types_of_leaves(path: tuple[str, ...], wanted: pa.DataType | None) -> None:
    assert _leaf_type(ADD, path) == wanted


def chunk(nulls: int | None, low: Any = None, high: Any = None) -> Any:
    statistics = SimpleNamespace(
        has_null_count=nulls is not None, null_count=nulls, has_min_max=low is not None, min=low, max=high
    )
    return SimpleNamespace(statistics=statistics)


class Overflowing:
    has_null_count, null_count, has_min_max = True, 0, True

    @property
    def min(self) -> Any:
        raise OverflowError


def test_statistics_of_chunks() -> None:
    assert nulls_of(chunk(2)) == 2 and nulls_of(chunk(0)) == 0
    assert nulls_of(chunk(None)) == nulls_of(SimpleNamespace(statistics=None)) == -1
    assert _statistics(chunk(2, 1, 5)) == (1, 5, 2)
    assert _statistics(chunk(0, 1, 5)) == (1, 5, 0)
    assert _statistics(chunk(2)) == (None, None, 2)
    assert _statistics(chunk(None, 1, 5)) == _statistics(SimpleNamespace(statistics=None)) == (None, None, -1)
    assert _statistics(SimpleNamespace(statistics=Overflowing())) == (None, None, -1)


def test_values_that_are_known() -> None:
    assert _where(np.array([True, False]), pa.array([1, 2])).to_pylist() == [1, None]


DAY = 86_400_000_000
SURE = -2_208_988_800_000_000 + 4 * DAY


def pair(kind: Type, low: Any, high: Any, raw: pa.DataType) -> list[Any]:
    leaf = Leaf(1, ("c",), kind, False)
    return [side.to_pylist()[0] for side in _group_pair(leaf, pa.array([low], raw), pa.array([high], raw))]


def test_bounds_over_texts() -> None:
    """Those of a file may be widened where the greatest one is not: after so many characters anything may follow."""
    assert pair(primitive("string"), "a", "b", TEXT) == ["a", "b"]
    assert pair(primitive("string"), "a", "x" * 14, TEXT) == ["a", "x" * 14]
    low, high = pair(primitive("string"), "a" * 40, "x" * 20, TEXT)
    assert low == "a" * 40 and high > "x" * 20 and high.startswith("x" * 14)


def test_bounds_over_instants() -> None:
    """A bound before 1900 moves further than a greater one."""
    for name, kind in (("timestamp", pa.timestamp("us", "UTC")), ("timestamp_ntz", pa.timestamp("us"))):
        leaf = Leaf(1, ("c",), primitive(name), False)
        micros = pa.array([SURE - 5 * DAY, SURE - 2000, SURE - 999, SURE, SURE + 1], LONG)
        _, high = _group_pair(leaf, micros.cast(kind), micros.cast(kind))
        assert high.cast(LONG).to_pylist() == [SURE, SURE, SURE, SURE + 999, SURE + 1000] and high.type == kind


@pytest.mark.parametrize(
    ("kind", "low", "high", "wanted"),
    [
        (DecimalType(19, 0), -(2**63), 2**63 - 1, [None, None]),
        (DecimalType(19, 0), 0, 5, ["0", "5"]),
        (DecimalType(20, 0), -(2**63) - 100_000, 2**63 + 100_000, [None, None]),
        (DecimalType(10, 0), -5, 5, ["-5", "5"]),
    ],
)
def test_bounds_over_decimals(kind: DecimalType, low: int, high: int, wanted: list[str | None]) -> None:
    """One at an end of the integers of 64 bits may mean "or beyond"."""
    raw = pa.decimal128(38, 0)
    found = pair(kind, Decimal(low), Decimal(high), raw)
    assert found == [None if text is None else Decimal(text) for text in wanted]


def test_other_bounds_stay() -> None:
    assert pair(primitive("long"), 1, 5, LONG) == [1, 5]
    day = dt.date(2020, 1, 1)
    assert pair(primitive("date"), day, day, pa.date32()) == [day, day]


# ---- which columns are looked at -------------------------------------------------------------------------------------


def judge(*asked: Field, partition: tuple[Field, ...] = (), predicate: Any = True) -> GroupFilter:
    fields = tuple(PartitionField(1000 + f.id, f.name, f.id, Transform("identity"), f.type) for f in partition)
    request: Any = SimpleNamespace(manifest_filter=predicate, columns=asked)
    return GroupFilter(Schema((*asked, *(f for f in partition if f not in asked))), PartitionSpec(0, fields), request)


def column(kind: str, number: int = 1) -> Field:
    return Field(number, f"c{number}", primitive(kind))


@pytest.mark.parametrize(
    ("kind", "of_partitions", "of_others"),
    [
        ("long", True, True),
        ("string", True, True),
        ("float", False, False),
        ("double", False, False),
        ("timestamp", False, True),
        ("timestamp_ntz", True, True),
    ],
)
def test_columns_with_bounds(kind: str, of_partitions: bool, of_others: bool) -> None:
    """Footers ignore NaN, and instants of partitions may lack their zone."""
    f = column(kind)
    parsed = pa.struct([("partitionValues_parsed", STATS), ("path", TEXT)]), pa.struct([("stats_parsed", STATS)])
    for found, has_any, with_bounds, without in (
        (judge(f, partition=(f,)), of_partitions, parsed[0], parsed[1]),
        (judge(f), of_others, parsed[1], parsed[0]),
    ):
        assert found.can_skip == has_any and found.has_bounds_in(with_bounds) == has_any
        assert not found.has_bounds_in(without) and not found.has_bounds_in(LONG)
    assert not judge(f, predicate=None).can_skip and not judge().can_skip


def test_groups_of_a_file_without_paths(tmp_path: Path) -> None:
    kind = pa.struct([("size", LONG)])
    schema = pa.schema([("add", kind)])
    pq.write_table(pa.table({"add": pa.array([{"size": 1}], kind)}, schema), tmp_path / "x.parquet")
    assert judge(column("long")).skipped(pq.read_metadata(tmp_path / "x.parquet"), kind) == []
    with pq.ParquetWriter(tmp_path / "empty.parquet", schema):
        pass
    assert judge(column("long")).skipped(pq.read_metadata(tmp_path / "empty.parquet"), kind) == []


class Decision:
    """Keeps what it is told to, and notes what it is asked."""

    def __init__(self, *keep: bool) -> None:
        self.keep = np.array(keep)
        self.asked: dict[str, Any] = {}

    def decide(self, spec: int, lower: Any, upper: Any, has_null: Any, nan: Any, bounds: Any) -> Any:
        self.asked = {"lower": lower, "upper": upper, "has_null": has_null, "nan": nan, "bounds": bounds}
        return SimpleNamespace(keep=self.keep)


PARTS = pa.struct([("path", TEXT), ("partitionValues_parsed", pa.struct([("c1", LONG)]))])


def part(name: str, value: int | None) -> dict[str, Any]:
    return {"path": name, "partitionValues_parsed": {"c1": value}}


def test_groups_by_partitions(tmp_path: Path) -> None:
    """A group of which no value is known is kept, unless all are NULL; one without an add is none that is skipped."""
    f = column("long")
    footer_of(
        tmp_path,
        [part("a", 1), part("b", 3)],
        [part("c", None), None],
        [part("d", 5), part("e", None)],
        [None],
        kind=PARTS,
    )
    metadata = pq.read_metadata(tmp_path / "x.parquet")
    decision = Decision(False, False, False, False)
    found = judge(f, partition=(f,), predicate=decision).skipped(metadata, PARTS)
    assert [(group.number, group.adds) for group in found] == [(0, 2), (1, 1), (2, 2)]
    assert decision.asked["lower"][1001].to_pylist() == [1, None, 5, None]
    assert decision.asked["upper"][1001].to_pylist() == [3, None, 5, None]
    assert decision.asked["has_null"][1001].to_pylist() == [False, True, True, False]
    assert decision.asked["nan"][1001].to_pylist() == [None] * 4
    decision.keep = np.array([True, False, True, False])
    found = judge(f, partition=(f,), predicate=decision).skipped(metadata, PARTS)
    assert [group.number for group in found] == [1]
    other = Field(1, "c1", primitive("int"))
    assert judge(other, partition=(other,), predicate=decision).skipped(metadata, PARTS) == [], "it is of another type"


def test_texts_of_partitions(tmp_path: Path) -> None:
    """An empty text means NULL."""
    kind = pa.struct([("path", TEXT), ("partitionValues_parsed", pa.struct([("c1", TEXT)]))])
    f = column("string")
    footer_of(tmp_path, [part("a", "")], [part("b", "x")], kind=kind)  # type: ignore[arg-type]
    decision = Decision(True, False)
    found = judge(f, partition=(f,), predicate=decision).skipped(pq.read_metadata(tmp_path / "x.parquet"), kind)
    assert [group.number for group in found] == [1]
    assert decision.asked["has_null"][1001].to_pylist() == [True, False]


BOUNDED = pa.struct(
    [
        ("path", TEXT),
        (
            "stats_parsed",
            pa.struct(
                [
                    ("numRecords", LONG),
                    *((side, pa.struct([("c1", LONG)])) for side in ("minValues", "maxValues", "nullCount")),
                ]
            ),
        ),
    ]
)


def bounded(name: str, records: Any = 5, low: Any = 1, high: Any = 2, nulls: Any = 0) -> dict[str, Any]:
    sides = {"minValues": low, "maxValues": high, "nullCount": nulls}
    return {"path": name, "stats_parsed": {"numRecords": records, **{side: {"c1": n} for side, n in sides.items()}}}


def test_groups_by_statistics(tmp_path: Path) -> None:
    """Only what every file of a group has says something of the group."""
    groups = [
        [bounded("a"), bounded("b", low=-7, high=9), None],
        [bounded("a"), bounded("b", records=None)],
        [bounded("a"), bounded("b", low=None)],
        [bounded("a"), bounded("b", high=None)],
        [bounded("a"), bounded("b", nulls=None)],
        [bounded("a"), bounded("b", nulls=1)],
    ]
    footer_of(tmp_path, *groups, kind=BOUNDED)
    decision = Decision(*[False] * 6)
    f = column("long")
    found = judge(f, predicate=decision).skipped(pq.read_metadata(tmp_path / "x.parquet"), BOUNDED)
    assert [(group.number, group.adds) for group in found] == [(n, 2) for n in range(6)]
    bounds = decision.asked["bounds"]
    assert bounds.lower[1].to_pylist() == [-7, None, None, 1, 1, 1]
    assert bounds.upper[1].to_pylist() == [9, None, 2, None, 2, 2]
    assert bounds.null_count[1].to_pylist() == [0, None, 0, 0, None, None]


@pytest.mark.parametrize("side", ["minValues", "maxValues", "nullCount", "numRecords"])
def test_statistics_that_a_checkpoint_lacks(tmp_path: Path, side: str) -> None:
    members = [member for member in BOUNDED.field("stats_parsed").type if member.name != side]
    kind = pa.struct([("path", TEXT), ("stats_parsed", pa.struct(members))])
    row = bounded("a")
    del row["stats_parsed"][side]
    footer_of(tmp_path, [row], kind=kind)
    decision = Decision(False)
    found = judge(column("long"), predicate=decision).skipped(pq.read_metadata(tmp_path / "x.parquet"), kind)
    assert [group.number for group in found] == ([0] if side == "nullCount" else [])
    if side == "nullCount":
        assert decision.asked["bounds"].null_count == {}
