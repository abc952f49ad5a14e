"""Parts of the planner by themselves: which parts are read together, how tables are joined, and what a limit drops."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_delta.snapshot.delta_snapshot import DeltaSnapshot

import tableformats as tf
from tableformats.planning import planner
from tableformats.planning.planner import _bundles, _common, _concat, _Planner, _sharing_reads, _widen, _with_formats
from tableformats.planning.record_counts import RecordCounts
from tableformats.plugin import DeleteFiles, MetadataPart, ReadRequest
from tableformats.plugin.report import ScanReport
from tableformats.schema import Field, primitive
from tests.support.delta_log import DeltaLog, add, field, stats


def part_of(key: str | None, n_files: int | None, shares: bool = True) -> MetadataPart:
    """A part; those that share reads give parts whose keys say with whom."""

    def read_many(parts: Any) -> list[MetadataPart]:
        return [MetadataPart(f"{part.key} of {len(parts)}", lambda report: []) for part in parts]

    return MetadataPart(key, lambda report: [], n_files, read_many=read_many if shares else None)


@pytest.mark.parametrize(
    ("parts", "keys"),
    [
        ([("a", 2, True), ("b", 3, True)], ["a of 2", "b of 2"]),
        ([("a", 2, True), ("b", 9, True), ("c", 1, True)], ["a", "b of 2", "c of 2"]),
        ([("a", 2, True), ("b", 3, False)], ["a", "b"]),
        ([("a", 2, False), ("b", 3, True)], ["a", "b"]),
        ([("a", 2, True), ("b", None, True), ("c", 1, True)], ["a", "b", "c"]),  # of unknown size
        ([("a", 2, True)], ["a"]),
        ([("a", 10, True), ("b", 1, True), ("c", 9, True)], ["a", "b of 2", "c of 2"]),
        ([], []),
    ],
)
def test_parts_that_share_reads(parts: list[Any], keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "TARGET_FILES", 10)
    numbered = list(enumerate(part_of(*one) for one in parts))
    assert [part.key for part in _sharing_reads(numbered)] == keys


def test_parts_of_unknown_size_and_those_that_are_not_cached_are_jobs_of_their_own() -> None:
    parts = [part_of("a", 2), part_of("b", 3), part_of(None, 1), part_of("c", None), part_of("d", 1), part_of("e", 1)]
    found = [[part.key for _, part in bundle] for bundle in _bundles(list(enumerate(parts)))]
    assert found == [["a", "b"], [None], ["c"], ["d", "e"]]


def test_the_format_of_each_file() -> None:
    files = pa.table({"path": ["p", "q"]})
    assert _with_formats(files)["file_format"].to_pylist() == ["parquet"] * 2
    some = files.append_column("file_format", pa.array(["orc", None])).append_column("size", pa.array([1, 2]))
    found = _with_formats(some)
    assert found["file_format"].to_pylist() == ["orc", "parquet"]
    assert found.column_names == ["path", "file_format", "size"]


@pytest.mark.parametrize(
    ("prefixes", "common"), [([], None), (["p"], "p"), (["p", "p"], "p"), (["p", "q"], None), (["p", None], None)]
)
def test_the_prefix_that_all_have(prefixes: list[Any], common: Any) -> None:
    assert _common(iter(prefixes)) == common


def test_tables_that_lack_columns() -> None:
    first, second = pa.table({"a": [1]}), pa.table({"a": [2], "b": ["x"]})
    assert _concat([first, second]).to_pylist() == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]
    assert _concat([first, first]).to_pylist() == [{"a": 1}, {"a": 1}]
    assert _concat([first]).equals(first)


def test_partition_values_of_all_specs() -> None:
    values = pa.StructArray.from_arrays([pa.array([1, None], pa.int32())], ["1001"])
    wanted = [Field(1000, "p", primitive("string")), Field(1001, "q", primitive("int"))]
    found = _widen(values, wanted)
    assert found.to_pylist() == [{"1000": None, "1001": 1}, {"1000": None, "1001": None}]
    assert found.type == pa.struct([("1000", pa.string()), ("1001", pa.int32())])
    assert _widen(values, []).to_pylist() == [{}, {}]


def deletes_of(counts: list[int]) -> DeleteFiles:
    offsets = np.cumsum([0, *counts]).astype(np.int64)
    return DeleteFiles(pa.table({"path": ["d"]}), offsets, np.zeros(int(offsets[-1]), np.int32))


@pytest.mark.parametrize(
    ("limit", "matched", "deletes", "rows", "left"),
    [
        (None, [1, 1, 1], [0, 0, 0], [5, 5, 5], 3),
        (5, [1, 1, 1], [0, 0, 0], [5, 5, 5], 1),
        (6, [1, 1, 1], [0, 0, 0], [5, 5, 5], 2),
        (0, [1, 1, 1], [0, 0, 0], [5, 5, 5], 0),
        (99, [1, 1, 1], [0, 0, 0], [5, 5, 5], 3),
        (5, [0, 1, 1], [0, 0, 0], [5, 5, 5], 2),  # of the first file some rows may not match
        (5, [1, 1, 1], [1, 0, 0], [5, 5, 5], 2),  # or be deleted
        (5, [0, 0, 0], [0, 0, 0], [5, 5, 5], 3),
        (5, [1, 1, 1], [0, 0, 0], [None, 5, 5], 2),
        (11, [1, 1, 1], [0, 0, 0], [5, 5, 5], 3),
    ],
)
def test_files_behind_a_limit(
    limit: int | None, matched: list[int], deletes: list[int], rows: list[int | None], left: int
) -> None:
    survivors = pa.table({"path": ["p", "q", "r"], "fully_matched": [bool(one) for one in matched]})
    attached: list[int] = []

    def attach(some: pa.Table) -> DeleteFiles:
        attached.append(some.num_rows)
        return deletes_of(deletes[: some.num_rows])

    run: Any = SimpleNamespace(scan=SimpleNamespace(limit=limit), report=ScanReport(), _attach_deletes=attach)
    given = survivors, deletes_of(deletes), RecordCounts([pa.array(rows, pa.int64())])
    found = _Planner._apply_limit(run, *given)
    assert found[0]["path"].to_pylist() == ["p", "q", "r"][:left]
    assert found[2].array.to_pylist() == rows[:left]
    assert len(found[1].offsets) == left + 1 and attached == ([left] if left < 3 else [])
    notes = [f"limit {limit} is filled by the first {left} of 3 files"] if left < 3 else []
    assert run.report.notes == notes
    empty = survivors.slice(0, 0), deletes_of([]), RecordCounts([])
    assert _Planner._apply_limit(run, *empty)[0].num_rows == 0


@pytest.fixture
def table(tmp_path: Path) -> tf.Table:
    """Four files with three values each of ``a``, from 0 on."""
    log = DeltaLog(tmp_path / "t").start(field("a", "integer"))
    told = [stats(3, minValues={"a": 3 * i}, maxValues={"a": 3 * i + 2}, nullCount={"a": 0}) for i in range(4)]
    log.commit(1, *(add(f"f{i}", size=10**i, stats=text) for i, text in enumerate(told)))
    return tf.open_table(log.root)


@pytest.mark.parametrize(
    ("filter", "files", "matched", "size"),
    [(None, "0123", 4, 1111), ("a > 4", "123", 2, 1110), ("a > 99", "", 0, 0), ("a = 3", "1", 0, 10)],
)
def test_files_that_a_scan_needs(table: tf.Table, filter: str | None, files: str, matched: int, size: int) -> None:
    plan = table.scan(filter).plan()
    assert "".join(path[-1] for path in plan.file_uris()) == files
    assert (plan.report.files_planned, plan.report.bytes_planned) == (len(files), size)
    assert (plan.report.files_fully_matched, plan.report.rows_planned) == (matched, 3 * len(files))
    assert sorted(planner.surviving_paths(plan.scan).to_pylist()) == [f"f{number}" for number in files]
    made = planner.plan_scan(plan.scan)
    assert (made.evidence is not None) is (filter is not None)
    reader: Any = SimpleNamespace(name="elsewhere", read=lambda *parts: [])
    assert planner.plan_scan(plan.scan, reader).evidence is None


def test_who_counts_the_rows_of_a_table(table: tf.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of few files that are cached, in this process."""
    scan = table.scan("a > 4").plan().scan
    assert planner.plan_scan(scan).report.count_total() == 12
    reader: Any = SimpleNamespace(name="elsewhere", read=lambda *parts: [])
    assert planner.plan_scan(scan, reader).report.count_total() is None
    uncached = tf.open_table(table.location, cache=False).scan("a > 4").plan()
    assert uncached.report.count_total() is None
    for most, rows in ((3, None), (4, 12)):
        monkeypatch.setattr(planner, "_MOST_COUNTED", most)
        assert planner.plan_scan(scan).report.count_total() == rows


def test_the_snapshot_is_told_who_reads_its_parts(table: tf.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = table.scan("a > 4").plan().scan
    asked: list[bool] = []
    parts = DeltaSnapshot.parts

    def told(self: DeltaSnapshot, request: ReadRequest) -> list[MetadataPart]:
        asked.append(request.read_elsewhere)
        return parts(self, request)

    monkeypatch.setattr(DeltaSnapshot, "parts", told)
    reader: Any = SimpleNamespace(name="elsewhere", read=lambda *parts: [])
    planner.plan_scan(scan)
    planner.plan_scan(scan, reader)
    assert asked == [False, True]


@pytest.mark.parametrize(("filter", "every", "asked"), [(None, False, 0), ("a > 4", False, 1), ("a > 4", True, 0)])
def test_deletes_of_rows_that_the_filter_drops(
    table: tf.Table, filter: str | None, every: bool, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are left out, unless all of them are asked for."""
    calls: list[Any] = []

    def relevant(predicate: Any, found: DeleteFiles) -> DeleteFiles:
        calls.append(predicate)
        return found

    scan = table.scan(filter).plan().scan
    monkeypatch.setattr(planner, "relevant_deletes", relevant)
    planner.plan_scan(scan, every_delete=every)
    assert len(calls) == asked
    _Planner(scan).plan(None)
    assert len(calls) == asked + (filter is not None)
