"""Sections of ``plan.explain()``: which lines a report has, and what stands in them."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.expressions import TRUE, Constant
from tableformats.inspect.explain import _files, _metadata, _requests, _times
from tableformats.inspect.file_ranges import columns_named
from tableformats.inspect.html import _facts, _read, column_rows, scan_html
from tableformats.plugin.report import ScanReport
from tableformats.schema import Field, Schema, primitive
from tableformats.schema.transforms import parse_transform

Row = tuple[str, str, str]
READ = [("metadata files read", "0", ""), ("metadata bytes read", "0 B", "")]


def report(**counters: Any) -> ScanReport:
    return ScanReport(format="x", version=1, **{"filter": None, **counters})


@pytest.mark.parametrize(
    ("counters", "rows"),
    [
        ({}, []),
        ({"log_files_read": 3}, [("log files read", "3", ""), ("checkpoint files read", "0", "")]),
        ({"checkpoint_files_read": 2}, [("log files read", "0", ""), ("checkpoint files read", "2", "")]),
        (
            {"row_groups_total": 4, "row_groups_skipped": 1},
            [("checkpoint row groups", "4", ""), ("- skipped", "1", "25.0 %")],
        ),
        (
            {"manifests_total": 4, "manifests_skipped": 1},
            [("manifests", "4", ""), ("- skipped", "1", "25.0 %"), ("= read", "3", "75.0 %")],
        ),
        (
            {"delete_manifests_total": 2, "delete_manifests_skipped": 2},
            [("manifests of deletes", "2", ""), ("- skipped", "2", "100.0 %")],
        ),
    ],
)
def test_metadata(counters: dict[str, int], rows: list[Row]) -> None:
    assert _metadata(report(**counters)) == [*rows, *READ]


@pytest.mark.parametrize(
    ("counters", "rows"),
    [
        (
            {},
            [
                ("requests at the opening", "0", ""),
                ("requests to the store", "0", ""),
                ("- all was read at the opening", "", ""),
            ],
        ),
        (
            {"opening_requests": 2, "opening_bytes": 5, "requests": 7, "longest_chain": 3, "request_bytes": 1000},
            [
                ("requests at the opening", "2", ""),
                ("- bytes", "5 B", ""),
                ("requests to the store", "7", ""),
                ("- one after the other", "3", ""),
                ("- bytes", "1.0 kB", ""),
            ],
        ),
    ],
)
def test_requests(counters: dict[str, int], rows: list[Row]) -> None:
    assert _requests(report(**counters), is_local=False) == rows
    assert _requests(report(**counters), is_local=True) == []


@pytest.mark.parametrize(
    ("counters", "rows"),
    [
        (
            {"files_total": 4, "files_planned": 4},
            [
                ("total", "4", "100.0 %"),
                ("- dropped by partition", "0", "0.0 %"),
                ("- dropped by bounds", "0", "0.0 %"),
                ("= planned", "4", "100.0 %"),
            ],
        ),
        (
            {"files_total": 8, "files_dropped_by_partition": 1, "files_dropped_by_bounds": 2, "files_planned": 4},
            [
                ("total", "8", "100.0 %"),
                ("- dropped by partition", "1", "12.5 %"),
                ("- dropped by bounds", "2", "25.0 %"),
                ("- not needed for the limit", "1", "12.5 %"),
                ("= planned", "4", "50.0 %"),
            ],
        ),
        (
            {"files_total": 2, "files_skipped_with_manifests": 1, "row_groups_total": 1, "files_planned": 1},
            [
                ("total", "2", "100.0 %"),
                ("- skipped with their row groups", "1", "50.0 %"),
                ("- dropped by partition", "0", "0.0 %"),
                ("- dropped by bounds", "0", "0.0 %"),
                ("= planned", "1", "50.0 %"),
            ],
        ),
    ],
)
def test_files(counters: dict[str, int], rows: list[Row]) -> None:
    last = [("  with deletes", "0", ""), ("  delete files", "0", "")]
    assert _files(report(**counters)) == [*rows, *last]
    matched, kept = ("  fully matched", "0", ""), ("  kept for a NaN alone", "3", "")
    assert _files(report(filter="a = 1", **counters)) == [*rows, matched, *last]
    assert _files(report(filter="a = 1", files_kept_for_nan=3, **counters)) == [*rows, matched, kept, *last]
    first = _files(report(manifests_uncounted=1, **counters))[0]
    assert first == ("in counted manifests", *rows[0][1:])


@pytest.mark.parametrize(
    ("seconds", "rows"),
    [
        ({}, [("total", "0.0 ms", "")]),
        ({"a": 0.25, "b": 0.5}, [("a", "250.0 ms", ""), ("b", "500.0 ms", ""), ("total", "750.0 ms", "")]),
        ({"total": 0.002, "a": 0.001}, [("a", "1.0 ms", ""), ("total", "2.0 ms", "")]),
    ],
)
def test_times(seconds: dict[str, float], rows: list[Row]) -> None:
    assert _times(report(seconds=seconds)) == rows


def test_columns_that_are_named() -> None:
    fields = [(f"column{n}", pa.int64()) for n in range(7)]
    arrow = pa.schema(
        [*fields, ("list", pa.list_(pa.int64())), ("s", pa.struct([("in.ner", pa.int64()), ("x", pa.date32())]))]
    )
    snapshot: Any = SimpleNamespace(schema=Schema.from_arrow(arrow), location="/t")
    assert [str(c) for c in columns_named(snapshot, "COLUMN3")] == ["column3"]
    assert [c.id for c in columns_named(snapshot, ["s.x", "column0", "S.X"])] == [
        c.id for name in ("s.x", "column0") for c in columns_named(snapshot, name)
    ]
    with pytest.raises(tf.InvalidPredicateError, match="no column 'zzz'") as caught:
        columns_named(snapshot, "zzz")
    assert caught.value.hint == "Near names: column0, column1, column2, column3, column4"
    with pytest.raises(tf.InvalidPredicateError, match="'list' is a array<bigint>, which has no bounds"):
        columns_named(snapshot, ["column1", "list"])


@pytest.mark.parametrize(
    ("counters", "filter", "data"),
    [
        ({"bytes_listed": 5000, "bytes_planned": 1000}, None, "1.0 kB of 5.0 kB"),
        (
            {"bytes_listed": 5, "bytes_planned": 1, "files_skipped_with_manifests": 1},
            "a = 1",
            "1 B of an unknown total",
        ),
        ({"bytes_listed": 5, "bytes_planned": 1, "manifests_uncounted": 1}, "a = 1", "1 B of an unknown total"),
    ],
)
def test_what_a_notebook_shows_of_a_plan(counters: dict[str, int], filter: str | None, data: str) -> None:
    found = report(filter=filter, metadata_files_read=1, metadata_bytes_read=7, seconds={"total": 0.25}, **counters)
    shown = dict(_read(found))
    assert shown == {"filter": filter or "none", "data": data, "metadata": "1 file, 7 B", "time": "250.0 ms"}
    assert dict(_read(report()))["time"] == "0.0 ms"


def test_what_a_notebook_shows_of_a_snapshot() -> None:
    long, date = primitive("long"), primitive("date")
    fields = (Field(1, "id", long, required=True), Field(2, "day", date, doc="of the event"))
    by = [("identity", 2), ("bucket[16]", 1), ("identity", 9)]
    snapshot: Any = SimpleNamespace(
        schema=Schema(fields),
        table_format="x",
        version=7,
        timestamp=None,
        partition_fields=[SimpleNamespace(source_id=source, transform=parse_transform(name)) for name, source in by],
    )
    assert dict(_facts(snapshot)) == {
        "format": "x",
        "version": "7",
        "time": "unknown",
        "partitioned by": "day, bucket[16](id), dropped column 9",
    }
    assert column_rows(snapshot) == [("id", "bigint", "no", ""), ("day", "date", "yes", "of the event")]
    snapshot.version, snapshot.partition_fields = -1, []
    assert list(_facts(snapshot))[1::2] == [("version", "no snapshot yet"), ("partitioned by", "nothing")]


@pytest.mark.parametrize(
    ("filter", "limit", "versions", "shown"),
    [
        (TRUE, None, None, ["Scan", "/t", "version", "7", "filter", "none", "columns", "a, b", "limit", "none"]),
        (
            Constant(False),
            1000,
            (0, 3),
            ["Changes", "/t", "versions", "0 to 3", "filter", "FALSE", "columns", "a, b", "limit", "1,000"],
        ),
    ],
)
def test_what_a_notebook_shows_of_a_scan(filter: Any, limit: int | None, versions: Any, shown: list[str]) -> None:
    snapshot = SimpleNamespace(version=7, location="/t")
    columns = [SimpleNamespace(name="a"), SimpleNamespace(name="b")]
    scan: Any = SimpleNamespace(snapshot=snapshot, filter=filter, limit=limit, schema=columns)
    text = re.sub(r"<style>.*?</style>", "", scan_html(scan, versions), flags=re.DOTALL)
    assert [part.strip() for part in re.split(r"<[^>]*>", text) if part.strip()] == shown
