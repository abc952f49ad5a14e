"""Actions of files that a Delta commit adds and removes: every field, and which columns have statistics."""

from __future__ import annotations

import datetime as dt
import json
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.write.file_actions import add_actions, change_actions, remove_actions
from tableformats_delta.write.target import _bytes_of, _changes_target, partition_value_text

from tableformats.plugin import (
    Field,
    ListType,
    PartitionField,
    RowRules,
    Schema,
    StructType,
    TableChange,
    WriteTarget,
    parse_transform,
    primitive,
)

INT, TEXT = primitive("int"), primitive("string")
SCHEMA = Schema(
    (
        Field(1, "a", INT, physical_name="col-a"),
        Field(2, "p", TEXT, physical_name="col-p"),
        Field(3, "s", StructType((Field(4, "d", primitive("date")), Field(5, "t", primitive("timestamp_ntz"))))),
        Field(6, "f", primitive("double")),
        Field(7, "l", ListType(Field(8, "element", INT))),
    )
)
SPEC = (PartitionField(1000, "p", 2, parse_transform("identity"), TEXT),)
DEFINITION: Any = SimpleNamespace(properties={}, clustering=frozenset(), table_metadata=None)


def target(**changes: Any) -> WriteTarget:
    return WriteTarget(SCHEMA, SPEC, 0, partition_value_text, **changes)


DAY, MOMENT = dt.date(2024, 1, 2), dt.datetime(2024, 1, 2, 3, 4, 5, 6789)


def added(**changes: Any) -> pa.Table:
    """One file, of which each column is known; ``changes`` are members of bounds and counts."""
    kinds = {"1": pa.int32(), "4": pa.date32(), "5": pa.timestamp("us"), "6": pa.float64()}
    lower = {"1": 3, "4": DAY, "5": MOMENT, "6": 0.5, **changes.get("lower", {})}
    upper = {"1": 9, "4": DAY, "5": MOMENT, "6": 1.5, **changes.get("upper", {})}
    bounds = pa.struct([(name, kind) for name, kind in kinds.items()])
    counts = pa.struct([(str(n), pa.int64()) for n in (1, 2, 4, 5, 6, 7)])
    return pa.table(
        {
            "path": ["p=x%20/a b:c.parquet"],
            "size_bytes": [70],
            "record_count": [7],
            "partition": pa.array([{"1000": "x "}], pa.struct([("1000", pa.string())])),
            "lower": pa.array([lower], bounds),
            "upper": pa.array([upper], bounds),
            "null_count": pa.array(
                [{"1": 0, "2": 0, "4": 1, "5": 2, "6": 3, "7": None} | changes.get("nulls", {})], counts
            ),
            "nan_count": pa.array([{"6": changes.get("nan", 0)}], pa.struct([("6", pa.int64())])),
        }
    )


def action(change: TableChange) -> dict[str, Any]:
    (found,) = add_actions(change, target(), DEFINITION, 99)
    return found["add"]  # type: ignore[no-any-return]


def statistics(**changes: Any) -> dict[str, Any]:
    return json.loads(action(TableChange("append", added(**changes)))["stats"])  # type: ignore[no-any-return]


def test_an_added_file() -> None:
    """Its path is a URI whose colons and spaces are escaped; partition columns have no statistics."""
    found = action(TableChange("append", added()))
    stats = json.loads(found.pop("stats"))
    assert found == {
        "path": "p=x%2520/a%20b%3Ac.parquet",
        "partitionValues": {"col-p": "x "},
        "size": 70,
        "modificationTime": 99,
        "dataChange": True,
    }
    assert stats == {
        "numRecords": 7,
        "minValues": {"col-a": 3, "s": {"d": "2024-01-02", "t": "2024-01-02T03:04:05.006"}, "f": 0.5},
        "maxValues": {"col-a": 9, "s": {"d": "2024-01-02", "t": "2024-01-02T03:04:05.007"}, "f": 1.5},
        "nullCount": {"col-a": 0, "s": {"d": 1, "t": 2}, "f": 3},
        "tightBounds": True,
    }
    assert action(TableChange("rewrite", added(), data_change=False))["dataChange"] is False
    assert list(add_actions(TableChange("delete"), target(), DEFINITION, 99)) == []


def test_bounds_that_are_left_out() -> None:
    """Of columns with NaN, and where one side is not known; counts that are not known."""
    assert "f" not in statistics(nan=1)["minValues"] and statistics(nan=None)["minValues"]["f"] == 0.5
    found = statistics(upper={"1": None}, nulls={"1": None})
    assert "col-a" not in found["minValues"] and "col-a" not in found["maxValues"] and "col-a" not in found["nullCount"]


FIRST, LAST = -62135596800 * 1_000_000, 253402300800 * 1_000_000 - 1
"""The first and the last microsecond of the years 1 to 9999."""


@pytest.mark.parametrize(
    ("micros", "is_held"), [(FIRST, True), (FIRST - 1, False), (LAST - 999, True), (LAST + 1, False), (0, True)]
)
def test_times_that_the_log_cannot_spell(micros: int, is_held: bool) -> None:
    moments = pa.array([micros], pa.timestamp("us"))
    table = added()
    for side in ("lower", "upper"):
        column = table.column(side).combine_chunks()
        members = [
            moments if f.name == "5" else values for f, values in zip(column.type, column.flatten(), strict=True)
        ]
        found = pa.StructArray.from_arrays(members, fields=list(column.type))
        table = table.set_column(table.column_names.index(side), side, found)
    stats = json.loads(action(TableChange("append", table))["stats"])
    assert ("t" in stats["minValues"]["s"]) is is_held and stats["minValues"]["s"]["d"] == "2024-01-02"


@pytest.mark.parametrize(("days", "is_held"), [(-719162, True), (-719163, False), (2932896, True), (2932897, False)])
def test_dates_that_the_log_cannot_spell(days: int, is_held: bool) -> None:
    """0001-01-01 and 9999-12-31 are the first and the last one."""
    table = added()
    column = table.column("lower").combine_chunks()
    dates = pa.array([days], pa.int32()).cast(pa.date32())
    members = [dates if f.name == "4" else values for f, values in zip(column.type, column.flatten(), strict=True)]
    found = pa.StructArray.from_arrays(members, fields=list(column.type))
    table = table.set_column(table.column_names.index("lower"), "lower", found)
    stats = json.loads(action(TableChange("append", table))["stats"])
    assert ("d" in stats["minValues"]["s"]) is is_held


VECTOR = {"storageType": "u", "pathOrInlineDv": "x", "offset": None, "sizeInBytes": 1, "cardinality": 2}


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, {}),
        ({"deletion_vector": [VECTOR]}, {"deletionVector": {k: v for k, v in VECTOR.items() if v is not None}}),
        ({"base_row_id": 5, "row_commit_version": None}, {"baseRowId": 5}),
        ({"base_row_id": 0, "row_commit_version": 0}, {"baseRowId": 0, "defaultRowCommitVersion": 0}),
    ],
)
def test_a_removed_file(members: dict[str, Any], expected: dict[str, Any]) -> None:
    """Its path is spelled as it is stored."""
    row = {"path": "p=x%20/a", "size_bytes": 70, "partition": {"1000": None}, "deletion_vector": [], **members}
    change = TableChange("delete", removed=pa.Table.from_pylist([row]))
    assert list(remove_actions(change, target(), 99)) == [
        {
            "remove": {
                "path": "p=x%20/a",
                "deletionTimestamp": 99,
                "dataChange": True,
                "extendedFileMetadata": True,
                "partitionValues": {"col-p": None},
                "size": 70,
                **expected,
            }
        }
    ]
    for nothing in (TableChange("append"), TableChange("delete", removed=pa.table({}))):
        assert list(remove_actions(nothing, target(), 99)) == []


def test_a_file_of_changed_rows() -> None:
    change = TableChange("delete", changed_rows=added().select(["path", "size_bytes", "partition"]))
    assert list(change_actions(change, target())) == [
        {
            "cdc": {
                "path": "p=x%2520/a%20b%3Ac.parquet",
                "partitionValues": {"col-p": "x "},
                "size": 70,
                "dataChange": False,
            }
        }
    ]
    assert list(change_actions(TableChange("delete"), target())) == []


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("134217728", 134217728),
        ("128mb", 128 << 20),
        (" 1 GB ", 1 << 30),
        ("2k", 2048),
        ("2kb", 2048),
        ("3m", 3 << 20),
        ("4g", 4 << 30),
        ("5b", 5),
        ("", 7),
        ("mb", 7),
        ("0", 7),
        ("0mb", 7),
        ("1.5gb", 7),
        ("1tb", 7),
        ("-1", 7),
        pytest.param("9" * 5000, 7, id="5000 digits"),
    ],
)
def test_sizes_of_files(text: str, size: int) -> None:
    assert _bytes_of(text, 7) == size


def test_files_of_changes() -> None:
    """They have the kind of the change behind the columns, under an id that no column has, and no rules."""
    given = target(bounded=frozenset({1}), unnumbered=frozenset({8}), carried=(Field(90, "x", INT),))
    found = _changes_target(given)
    assert [(f.id, f.name) for f in found.schema.fields][-1] == (9, "_change_type")
    assert found.unnumbered == {8, 9} and found.directory == "_change_data" and found.bounded == frozenset()
    assert found.rules == RowRules() and found.carried == () and found.partitioning == SPEC
