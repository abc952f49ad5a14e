"""What plugins give to the core and get from it: reports, batches of files, deletes and partitions, by themselves."""

from __future__ import annotations

import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.errors import CorruptMetadataError, PluginContractError
from tableformats.plugin import (
    Bounds,
    DeleteFiles,
    Field,
    FileBatch,
    PartitionField,
    PartitionSpec,
    Statistics,
    parse_transform,
    partition_members,
    primitive,
)
from tableformats.plugin.files import RowErrors
from tableformats.plugin.report import ScanReport
from tableformats.plugin.verification import file_sizes

# ---- reports --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "stages"),
    [
        ({}, {"all files": 0, "dropped by partition": 0, "dropped by bounds": 0, "planned": 0}),
        (
            {"files_total": 9, "files_dropped_by_partition": 2, "files_dropped_by_bounds": 3, "files_planned": 4},
            {"all files": 9, "dropped by partition": 2, "dropped by bounds": 3, "planned": 4},
        ),
        (
            {"files_total": 9, "manifests_total": 1, "files_skipped_with_manifests": 5, "files_planned": 1},
            {
                "all files": 9,
                "skipped with their manifests": 5,
                "dropped by partition": 0,
                "dropped by bounds": 0,
                "not needed for the limit": 3,
                "planned": 1,
            },
        ),
        (
            {"files_total": 2, "row_groups_total": 1, "files_planned": 2},
            {
                "all files": 2,
                "skipped with their row groups": 0,
                "dropped by partition": 0,
                "dropped by bounds": 0,
                "planned": 2,
            },
        ),
    ],
)
def test_stages_of_a_plan(counts: dict[str, int], stages: dict[str, int]) -> None:
    found = ScanReport(**counts)  # type: ignore[arg-type]
    assert found.funnel == stages and list(found.funnel) == list(stages)
    shares = [f"({100 * n / max(stages['all files'], 1):.1f} %)" for n in stages.values()]
    html = found.funnel_html()
    assert [share for share in shares if share not in html] == []
    assert found._repr_html_().count("no filter") == 1
    colours = re.findall(r"background:(rgba\([^)]*\))", html)
    blue = "rgba(66,133,244,.75)"
    assert [colour == blue for colour in colours] == [False] * (len(stages) - 1) + [True]


@pytest.mark.parametrize(
    ("counts", "is_all", "total"),
    [
        ({"bytes_listed": 7}, True, 7),
        ({"bytes_listed": 7, "files_skipped_with_manifests": 1}, False, None),
        ({"bytes_listed": 7, "manifests_uncounted": 1}, False, None),
    ],
)
def test_bytes_of_all_files(counts: dict[str, int], is_all: bool, total: int | None) -> None:
    found = ScanReport(**counts)  # type: ignore[arg-type]
    assert (found.is_all_listed, found.bytes_total) == (is_all, total)


def test_rows_of_all_files() -> None:
    assert ScanReport(rows_listed=5).rows_total == 5
    counted: list[str] = []

    def count(name: str, rows: int | None) -> Any:
        return lambda: counted.append(name) or rows

    def rows(**more: Any) -> tuple[int | None, list[str]]:
        counted.clear()
        given = {"count_planned": count("planned", 3), "count_total": count("total", 8), "rows_listed": None, **more}
        return ScanReport(**given).rows_total, [*counted]

    assert rows() == (3, ["planned"]), "all files are planned"
    assert rows(files_total=2, files_planned=2) == (3, ["planned"])
    assert rows(files_total=2, files_planned=1) == (8, ["total"])
    assert rows(files_skipped_with_manifests=1) == (8, ["total"])
    assert rows(rows_listed=0) == (0, [])
    report = ScanReport(rows_listed=None, files_total=2, count_total=count("total", 8))
    assert (report.counts_total, report.rows_total, report.rows_total) == (True, 8, 8)
    assert not ScanReport().counts_total and counted.count("total") == 1, "once"


def test_what_is_counted() -> None:
    report = ScanReport()
    report.count_metadata(5)
    report.count_metadata(7)
    report.note("a")
    report.note("b")
    report.note("a")
    report.count_rows(3)
    report.count_rows(4)
    assert (report.metadata_files_read, report.metadata_bytes_read, report.rows_listed) == (2, 12, 7)
    assert report.notes == ["a", "b"]
    report.count_rows(None)
    report.count_rows(4)
    assert report.rows_listed is None


def test_reports_of_parts() -> None:
    report, part = ScanReport(rows_listed=1), ScanReport(rows_listed=2)
    report.count_metadata(5)
    part.count_metadata(6)
    report.note("a")
    part.note("a")
    part.note("b")
    report.seconds, part.seconds = {"x": 1.0}, {"x": 2.0, "y": 0.5}
    part.files_total, part.delete_files = 3, 4
    report.add(part)
    report.add(ScanReport())
    assert (report.metadata_files_read, report.metadata_bytes_read, report.rows_listed) == (2, 11, 3)
    assert (report.files_total, report.delete_files) == (3, 4)
    assert (report.notes, report.seconds) == (["a", "b"], {"x": 3.0, "y": 0.5})


def test_time_of_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 12.0, 20.0, 21.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    report = ScanReport()
    with report.stage("a"):
        pass
    with pytest.raises(ValueError, match="inside"), report.stage("a"):
        raise ValueError("inside")
    assert report.seconds == {"a": 3.0}


def test_a_report_as_plain_values() -> None:
    report = ScanReport(files_total=2, rows_listed=None, count_planned=lambda: 3, count_total=lambda: 8)
    found = report.as_dict()
    assert (found["files_total"], found["rows_total"], found["rows_planned"], found["bytes_total"]) == (2, 8, 3, 0)
    assert not {"rows_listed", "count_planned", "count_total"} & set(found)


# ---- batches of files -----------------------------------------------------------------------------------------------


class Known(Statistics):
    def bounds(self, columns: Any, rows: Any) -> Bounds:
        return Bounds(value_count={1: pa.array([10, 11, 12, 13]).take(pa.array(rows))})


def batch(**more: Any) -> FileBatch:
    return FileBatch(pa.RecordBatch.from_pydict({"path": ["a", "b", "c", "d"]}), 7, Known(), **more)


def test_slices_of_a_batch() -> None:
    whole = batch()
    first, second, third = whole.slice(0, 1), whole.slice(1, 3), whole.slice(3, 4)
    assert [one.files["path"].to_pylist() for one in (first, second, third)] == [["a"], ["b", "c"], ["d"]]
    assert (second.spec_id, second.offset, second.in_parent, whole.in_parent) == (7, 1, (whole, 1), (whole, 0))
    assert second.statistics is not None
    found = second.statistics.bounds((Field(1, "x", primitive("int")),), np.arange(2))
    assert found.value_count[1].to_pylist() == [11, 12]
    whole_slice = second.statistics.bounds((Field(1, "x", primitive("int")),), None)
    assert whole_slice.value_count[1].to_pylist() == [11, 12]
    pairs = [(first, second), (second, third), (second, first), (first, third), (first, first), (whole, first)]
    assert [b.follows(a) for a, b in pairs] == [True, True, False, False, False, False]
    assert not batch().follows(whole) and not batch().slice(1, 2).follows(first), "slices of another batch"
    without = FileBatch(whole.files).slice(1, 2)
    assert without.statistics is None


@pytest.mark.parametrize(
    "more",
    [{"keys": pa.array([b"x"] * 4)}, {"live": np.ones(4, bool)}, {"row_errors": object()}],
    ids=["keys", "live", "errors"],
)
def test_batches_without_slices(more: dict[str, Any]) -> None:
    with pytest.raises(PluginContractError, match="only a batch without keys") as caught:
        batch(**more).slice(0, 1)
    assert caught.value.field == "keys"


@pytest.mark.parametrize(
    ("live", "named"), [(None, 2), ([0, 1], None), ([5], 5), ([2, 5], 2), ([], None), ([1, 5, 9], 5)]
)
def test_damaged_rows_that_are_live(live: list[int] | None, named: int | None) -> None:
    class Errors(RowErrors):
        rows = np.array([2, 2, 5], np.int64)

        def error_of(self, row: int) -> CorruptMetadataError:
            return CorruptMetadataError(f"row {row}")

    rows = None if live is None else np.array(live, np.int64)
    if named is None:
        Errors().raise_if_live(rows)
        return
    with pytest.raises(CorruptMetadataError, match=f"row {named}"):
        Errors().raise_if_live(rows)


# ---- deletes --------------------------------------------------------------------------------------------------------


def test_no_deletes() -> None:
    found = DeleteFiles.none(3)
    assert (found.files.num_rows, found.offsets.tolist(), found.indices.tolist()) == (0, [0, 0, 0, 0], [])
    assert found.files.column_names == ["kind", "path", "offset", "cardinality", "record_count"]
    assert repr(found) == "DeleteFiles(0 for 3 files)"


@pytest.mark.parametrize(
    ("rows", "deletes"),
    [
        ([0, 1, 2, 3], [["x", "z"], [], ["y"], ["z", "x"]]),
        ([3, 2], [["z", "x"], ["y"]]),
        ([1], [[]]),
        ([0, 0], [["x", "z"], ["x", "z"]]),
        ([], []),
    ],
)
def test_deletes_of_some_files(rows: list[int], deletes: list[list[str]]) -> None:
    """Deletes of other files are left out."""
    offsets, indices = np.array([0, 2, 2, 3, 5]), np.array([0, 2, 1, 2, 0], np.int32)
    whole = DeleteFiles(pa.table({"path": ["x", "y", "z", "unused"]}), offsets, indices)
    found = whole.take(np.array(rows, np.int64))
    paths = found.files["path"].to_pylist()
    spans = zip(found.offsets, found.offsets[1:], strict=False)
    assert [[paths[i] for i in found.indices[start:stop]] for start, stop in spans] == deletes
    assert sorted(paths) == sorted({path for of_file in deletes for path in of_file})


# ---- partitions -----------------------------------------------------------------------------------------------------


def test_members_of_partitions() -> None:
    """In the order of their ids; of two of one name the second is called by its id, too."""
    identity = parse_transform("identity")

    def spec(number: int, *fields: tuple[int, str, str]) -> PartitionSpec:
        return PartitionSpec(
            number, tuple(PartitionField(i, name, 1, identity, primitive(kind)) for i, name, kind in fields)
        )

    specs = {0: spec(0, (1001, "b", "int"), (1000, "a", "int")), 1: spec(1, (1002, "a", "date"), (1001, "c", "int"))}
    assert partition_members(specs) == (
        Field(1000, "a", primitive("int")),
        Field(1001, "c", primitive("int")),
        Field(1002, "a_1002", primitive("date")),
    )
    assert partition_members({}) == ()


def test_sizes_of_files(tmp_path: Path) -> None:
    """In the order that is asked for; of what is no file, none."""
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / "d").mkdir()
    local: Any = SimpleNamespace(is_local=True)
    paths = [str(tmp_path / name) for name in ("d", "a", "none", "a", "a\0b")]
    assert list(file_sizes(local, paths)) == [None, 5, None, 5, None]
    sizes = {f"s3://b/{n}": n for n in range(9)}
    remote: Any = SimpleNamespace(is_local=False, size_of=sizes.get)
    assert list(file_sizes(remote, ["s3://b/7", "s3://b/x", "s3://b/3"])) == [7, None, 3]
