"""Sections of the report of a table: what each says, with which bars and tables, and which are left out."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.inspect.clustering import ColumnClustering
from tableformats.inspect.health import Finding, Findings
from tableformats.inspect.pictures import report
from tableformats.inspect.pictures.figures import PartitionSize
from tableformats.inspect.pictures.report import _duration, _head, _large, _name
from tests.support.delta_log import DeltaLog, add, field, stats


class Drawn:
    """The bars and tables of sections, as they are asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bars: list[Any] = []
        self.grids: list[Any] = []
        self.steps: list[Any] = []
        monkeypatch.setattr(report, "bars", lambda rows, whole: self.bars.append((list(rows), whole)) or "")
        monkeypatch.setattr(report, "grid", lambda names, rows: self.grids.append((names, list(rows))) or "x")
        monkeypatch.setattr(report, "steps", lambda series, *ends: self.steps.append((series, *ends)) or "")


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    return Drawn(monkeypatch)


def words(html: str | Iterable[str]) -> list[str]:
    text = html if isinstance(html, str) else "".join(html)
    return [part.strip() for part in re.split(r"<[^>]*>", text) if part.strip(" x")]


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 ms"),
        (1999, "1,999 ms"),
        (2000, "2 seconds"),
        (90_500, "90.5 seconds"),
        (119_900, "119.9 seconds"),
        (120_000, "2 minutes"),
        (7_199_999, "120 minutes"),
        (7_200_000, "2 hours"),
        (12_600_000, "3.5 hours"),
        (172_799_999, "48 hours"),
        (172_800_000, "2 days"),
        (86_400_000_000, "1,000 days"),
    ],
)
def test_how_long_a_step_is(milliseconds: int, text: str) -> None:
    assert _duration(milliseconds) == text


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (None, "unknown"),
        (0, "0"),
        (999_999_999, "999,999,999"),
        (10**9, "1.00 billion"),
        (9_054_000_000, "9.05 billion"),
    ],
)
def test_large_numbers(n: int | None, text: str) -> None:
    assert _large(n) == text


@pytest.mark.parametrize(
    ("location", "name"),
    [
        ("/a/t", "t"),
        ("/a/t/", "t"),
        ("s3://key:secret@b/t", "t"),
        ("/a/t/metadata/v1.metadata.json", "t"),
        ("/a/t/v1.metadata.json", "t"),
        ("v1.metadata.json", "table"),
        ("/", "table"),
        ("/a/t\n", "t\\n"),
    ],
)
def test_the_name_of_a_table(location: str, name: str) -> None:
    assert _name(location) == name


def detail(**known: Any) -> Any:
    usual = {
        **{"format": "x", "location": "/a/t", "version": 7, "timestamp": dt.datetime(2024, 1, 31, 12)},
        **{"files": 4, "size_bytes": 10_000, "rows": 50, "deleted_rows": 0, "partition_columns": (), "partitions": 1},
        **{"metadata_bytes": 5, "metadata_files": 1, "files_with_deletes": 2, "delete_files": 1},
    }
    return SimpleNamespace(**{**usual, **known})


HEAD = ["t", "x table, version 7, 2024-01-31 12:00:00 UTC", "/a/t"]
FILES, DATA = ["4", "data files", "2.5 kB a file"], ["10.0 kB", "of data"]
ROWS, PARTITIONS, METADATA = ["50", "rows stored"], ["none", "partitions"], ["5 B", "of metadata", "1 file"]


@pytest.mark.parametrize(
    ("known", "shown"),
    [
        ({}, [*HEAD, *FILES, *DATA, *ROWS, *PARTITIONS, *METADATA]),
        (
            {"deleted_rows": 3, "partition_columns": ("a", "b"), "partitions": 1200},
            [
                *(*HEAD, *FILES, *DATA, *ROWS, "3 of them deleted"),
                *("1,200", "partitions", "by a, b", *METADATA),
            ],
        ),
        (
            {"deleted_rows": None, "rows": None},
            [
                *(*HEAD, *FILES, *DATA, "unknown", "rows stored", "an unknown number of them deleted"),
                *(*PARTITIONS, *METADATA),
            ],
        ),
        (
            {"version": -1, "files": 0, "size_bytes": 0},
            [
                "t",
                "x table, no snapshot yet",
                "/a/t",
                "0",
                "data files",
                "0 B",
                "of data",
                *ROWS,
                *PARTITIONS,
                *METADATA,
            ],
        ),
    ],
)
def test_the_head(known: dict[str, Any], shown: list[str]) -> None:
    assert words(_head("t", detail(**known))) == shown


@pytest.mark.parametrize(
    ("advices", "text"),
    [
        ([None, None], "No check gives advice."),
        ([None, "do a"], "1 check gives advice."),
        (["do a", None, "do b"], "2 checks give advice."),
    ],
)
def test_health(drawn: Drawn, advices: list[str | None], text: str) -> None:
    """What has advice comes first."""
    found = Findings(Finding(f"s{n}", "1", advice, f"c{n}") for n, advice in enumerate(advices))
    assert words(report._health(found)) == ["Health", text]
    expected = [(f"s{n}", "1", advice or "") for n, advice in enumerate(advices)]
    assert drawn.grids[0][1] == sorted(expected, key=lambda row: row[2] == "")


def sized(*sizes: int) -> Any:
    table = pa.table({"size_bytes": pa.array(sizes, pa.int64())})
    return type("Plan", (list,), {"survivors": table})(sizes)


def test_sizes_of_files(drawn: Drawn) -> None:
    assert words(report._sizes(sized())) == ["Sizes of the files", "The table has no data files."]
    assert words(report._sizes(sized(32_000_000)))[1:] == ["No file has less than 32.0 MB."]
    text = "2 of 3 files have less than 32.0 MB (grey): compaction merges them."
    assert words(report._sizes(sized(20_000_000, 20_000_000, 70_000_000)))[1:] == [text]
    assert drawn.bars[0] == ([("32 MB to 64 MB", 1, "1 file, 32.0 MB", True)], 1)
    rows = [
        ("16 MB to 32 MB", 2, "2 files, 40.0 MB", False),
        ("32 MB to 64 MB", 0, "", True),
        ("64 MB to 128 MB", 1, "1 file, 70.0 MB", True),
    ]
    assert drawn.bars[1] == (rows, 2)


def test_partitions(drawn: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    files: Any = SimpleNamespace(report=SimpleNamespace(bytes_planned=1000))
    found = [PartitionSize("a=1", 2, 600), PartitionSize("a=" + "2" * 50, 1, 100)]
    for count, text in (
        (2, "2 partitions, the largest first."),
        (7, "The 2 largest of 7 partitions, with 70.0 % of the bytes."),
    ):
        monkeypatch.setattr(report, "partition_sizes", lambda plan, most, count=count: (found, count))
        assert words(report._partitions(files)) == ["Partitions", text]
    (first, second), whole = drawn.bars[0]
    assert first == ("a=1", 600, "600 B, 2 files", True) and whole == 600
    assert len(second[0]) == 40 and second[1:] == (100, "100 B, 1 file", True)
    monkeypatch.setattr(report, "partition_sizes", lambda plan, most: ([], 0))
    assert words(report._partitions(files)) == []


def one(column: str = "a", files: int = 5) -> ColumnClustering:
    return ColumnClustering(column, files, 0, 0, 1, 1.0, np.ones(files, np.int64))


@pytest.mark.parametrize(
    ("columns", "known", "more"),
    [
        (3, 3, []),
        (9, 8, ["1 column more: tableformats clustering shows all."]),
        (12, 12, ["4 columns more: tableformats clustering shows all."]),
    ],
)
def test_clustering(drawn: Drawn, monkeypatch: pytest.MonkeyPatch, columns: int, known: int, more: list[str]) -> None:
    monkeypatch.setattr(report, "_columns_by_interest", lambda scan: list(range(columns)))
    found = words(report._clustering(None, [one(f"c{n}") for n in range(known)]))  # type: ignore[arg-type]
    assert found[0] == "Clustering" and found[2:] == more
    (rows, whole), shown = drawn.bars[0], min(known, 8)
    assert [row[0] for row in rows] == [f"c{n}" for n in range(shown)] and whole == 5
    assert words(report._clustering(None, [one(files=0)])) == []  # type: ignore[arg-type]


def test_names_of_clustered_columns_are_short() -> None:
    assert len(report._clustering_row(one("a" * 90))[0]) == 40
    assert len(report._clustering_row(one("a" * 90, 0))[0]) == 40


@pytest.mark.parametrize(
    ("deleted", "about"), [(None, "an unknown number of rows"), (1, "1 row"), (1200, "1,200 rows")]
)
def test_deletes(drawn: Drawn, monkeypatch: pytest.MonkeyPatch, deleted: int | None, about: str) -> None:
    monkeypatch.setattr(report, "deleted_shares", lambda files: [("no deletes", 9), ("up to 1 %", 1), ("more", 0)])
    found = words(report._deletes(None, detail(deleted_rows=deleted)))  # type: ignore[arg-type]
    assert found[:2] == [
        "Deleted rows",
        f"2 files of 4 have deletes, of {about}, in 1 delete file. Every reader merges them.",
    ]
    rows = [("no deletes", 9, "9 files", False), ("up to 1 %", 1, "1 file", True), ("more", 0, "", True)]
    assert drawn.bars == [(rows, 9)]
    monkeypatch.setattr(report, "deleted_shares", lambda files: [])
    assert words(report._deletes(None, detail())) == []  # type: ignore[arg-type]


def history(*milliseconds: int) -> pa.Table:
    moments = pa.array(milliseconds, pa.timestamp("ms", "UTC"))
    versions = list(range(len(milliseconds)))
    return pa.table({"version": versions, "timestamp": moments, "operation": ["WRITE"] * len(versions)})


def test_commits(drawn: Drawn) -> None:
    assert words(report._commits(history())) == ["Commits", "The table has no commits yet."]
    assert words(report._commits(history(0))) == ["Commits", "The newest ones"] and drawn.steps == []
    text = "3 commits over time, at most 2 in one step of 2 seconds."
    assert words(report._commits(history(95_999, 0, 1000))) == ["Commits", text, "The newest ones"]
    ((series, first, last),) = drawn.steps
    assert [(name, sum(counts), counts[0], len(counts)) for name, counts in series] == [("WRITE", 3, 2, 48)]
    assert (first, last) == ("1970-01-01 00:00:00 UTC", "1970-01-01 00:01:36 UTC")
    names, rows = drawn.grids[-1]
    assert names == ["version", "time", "operation"] and [row[0] for row in rows] == ["0", "1", "2"]


@pytest.mark.parametrize(("count", "begin"), [(499, "499 commits"), (500, "The newest 500 commits")])
def test_many_commits(drawn: Drawn, count: int, begin: str) -> None:
    assert words(report._commits(history(*range(count))))[1].startswith(f"{begin} over time")
    assert len(drawn.grids[-1][1]) == 10


@pytest.mark.parametrize(
    ("where", "read"),
    [
        ("i = 1", "It reads 1 of 2 files (50.0 %), 500 B of 1.0 kB. The others cannot hold such a row:"),
        ("i > 0", "It reads 2 of 2 files (100.0 %), 1.0 kB of 1.0 kB."),
        ("i > 9", "It reads 0 of 2 files (0.0 %), 0 B of 1.0 kB. The others cannot hold such a row:"),
    ],
)
def test_what_a_query_reads(drawn: Drawn, tmp_path: Path, where: str, read: str) -> None:
    log = DeltaLog(tmp_path / "t").start(field("i", "integer"))
    for number in (1, 2):
        bounds = {"minValues": {"i": number}, "maxValues": {"i": number}, "nullCount": {"i": 0}}
        log.commit(number, add(f"f{number}", size=500, stats=stats(3, **bounds)))
    found = words(report._query(tf.open_table(log.root).scan(where), []))
    assert found[0] == "The query" and read in found
    assert "What each part of the filter did" in found and "What would help this query" in found
    assert found[found.index("left to check on rows") + 1] == "nothing: all rows of these files match"
