"""Deletes that planning leaves out: which manifests and which delete files cannot touch the planned rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_iceberg.deletes.delete_files import _check_rows
from tableformats_iceberg.deletes.delete_pruning import DeleteStatistics, Range, _apart

import tableformats as tf
from tableformats.schema import Field, primitive
from tests.support.conformance import ROOT, needs_tables
from tests.support.iceberg_history import History
from tests.support.iceberg_manifests import entry, manifest_bytes
from tests.support.iceberg_tables import table_with

# ---- key columns ----------------------------------------------------------------------------------------------------


def known(lower: Any, upper: Any, value: bool = True, null: bool = False, nan: bool = False) -> Range:
    flags = (pa.array([flag]) for flag in (value, null, nan))
    return Range(pa.array([lower], pa.float64()), pa.array([upper], pa.float64()), *flags)


@pytest.mark.parametrize(
    ("left", "right", "apart"),
    [
        (known(1, 3), known(4, 9), True),
        (known(1, 3), known(3, 9), False),
        (known(1, 3), known(-5, 0), True),
        (known(1, None), known(-5, 0), True),
        (known(None, 3), known(-5, 0), False),
        (known(None, None), known(1, 2), False),
        (known(1, 3, null=True), known(4, 9), True),
        (known(1, 3, null=True), known(4, 9, null=True), False),
        (known(1, 3, nan=True), known(4, 9, null=True), True),
        (known(1, 3, nan=True), known(4, 9, nan=True), False),
        (known(None, None, value=False, null=True), known(1, 2), True),
        (known(None, None, value=False, null=True), known(1, 2, null=True), False),
        # Bounds that contradict themselves prove nothing.
        (known(3, 1), known(4, 9), False),
        (known(1, 3), known(9, 4), False),
    ],
)
def test_ranges_of_a_key_column(left: Range, right: Range, apart: bool) -> None:
    assert _apart(left, right).tolist() == _apart(right, left).tolist() == [apart]


def test_no_deletes_have_no_statistics() -> None:
    columns = {"manifest": pa.int64(), "entry": pa.int64(), "kind": pa.string(), "equality_ids": pa.list_(pa.int32())}
    deletes = pa.table({name: pa.chunked_array([], kind) for name, kind in columns.items()})
    found = DeleteStatistics(deletes, None).bounds([Field(1, "id", primitive("long"))], None)  # type: ignore[arg-type]
    assert (found.record_count.to_pylist(), found.lower, found.null_count) == ([], {}, {})


def bounds(lower: int, upper: int, field_id: int = 1) -> dict[str, Any]:
    """Statistics of a column without NULLs."""
    said = {"lower_bounds": lower.to_bytes(8, "little"), "upper_bounds": upper.to_bytes(8, "little")}
    pairs = {name: [{"key": field_id, "value": value}] for name, value in said.items()}
    return {**pairs, "null_value_counts": [{"key": field_id, "value": 0}]}


class Bounded(History):
    """Entries of data files and of equality deletes say what ``said`` has for their name."""

    said: dict[str, dict[str, Any]]

    def _entry(self, path: str, records: int, snapshot_id: int, **more: Any) -> dict[str, Any]:
        return super()._entry(path, records, snapshot_id, **{**more, **self.said.get(path, {})})


def test_a_limit_is_filled_by_live_rows_alone(tmp_path: Path) -> None:
    history = History(tmp_path / "t")
    history.commit("append", add=[[1, 2, 3], [4, 5, 6]])
    history.commit("delete", keys=[1, 2])
    scan = tf.open_table(history.root).scan(limit=2)
    assert scan.to_arrow()["id"].to_pylist() == [3, 4]
    assert scan.count() == 2


def deletes_of(plan: tf.ScanPlan) -> dict[str, list[str]]:
    files = zip(plan.file_uris(), plan.files["deletes"].to_pylist(), strict=True)
    return {Path(path).name: [Path(d["path"]).name for d in found] for path, found in files}


@pytest.fixture
def table(tmp_path: Path) -> tf.Table:
    """Two files of ids 1 to 3 and 7 to 9, and deletes of 2 and 8 (with bounds), and of 3 (without)."""
    history = Bounded(tmp_path / "t")
    history.said = {
        "f1-0.parquet": bounds(1, 3),
        "f1-1.parquet": bounds(7, 9),
        "e2.parquet": bounds(2, 2),
        "e3.parquet": bounds(8, 8),
    }
    history.commit("append", add=[[1, 2, 3], [7, 8, 9]])
    for key in (2, 8, 3):
        history.commit("delete", keys=[key])
    return tf.open_table(history.root)


@pytest.mark.parametrize("cache", [True, False])
def test_equality_deletes_are_attached_where_keys_may_meet(table: tf.Table, cache: bool) -> None:
    table = tf.open_table(table.location, cache=cache)
    plan = table.scan().plan()
    assert deletes_of(plan) == {
        "f1-0.parquet": ["e2.parquet", "e4.parquet"],
        "f1-1.parquet": ["e3.parquet", "e4.parquet"],
    }
    assert plan.to_arrow()["id"].to_pylist() == [1, 7, 9]
    assert plan.report.delete_manifests_total == 3


def test_deletes_of_rows_that_the_filter_leaves_out_are_not_read(table: tf.Table) -> None:
    scan = table.scan("id > 2")
    assert deletes_of(scan.plan()) == {"f1-0.parquet": ["e4.parquet"], "f1-1.parquet": ["e3.parquet", "e4.parquet"]}
    assert scan.to_arrow()["id"].to_pylist() == [7, 9]
    assert table.scan("id <= 3 OR id = 9").to_arrow()["id"].to_pylist() == [1, 9]


@pytest.mark.parametrize(("nulls", "values", "pruned"), [(3, 3, True), (4, 3, False), (3, 2, False), (None, 3, False)])
def test_counts_that_contradict_themselves_prove_nothing(
    tmp_path: Path, nulls: int | None, values: int, pruned: bool
) -> None:
    """A delete of values cannot touch a file that has nothing but NULLs."""
    history = Bounded(tmp_path / "t")
    counts = {"value_counts": values} | ({} if nulls is None else {"null_value_counts": nulls})
    said = {name: [{"key": 1, "value": count}] for name, count in counts.items()}
    history.said = {"f1-0.parquet": said, "e2.parquet": bounds(2, 2)}
    history.commit("append", add=[[1, 2, 3]])
    history.commit("delete", keys=[2])
    plan = tf.open_table(history.root).scan().plan()
    assert deletes_of(plan) == {"f1-0.parquet": [] if pruned else ["e2.parquet"]}


def test_rows_that_were_not_counted_may_have_a_null_key(tmp_path: Path) -> None:
    history = Bounded(tmp_path / "t")
    apart = {name: pairs for name, pairs in bounds(100, 100).items() if name != "null_value_counts"}
    history.said = {"f1-0.parquet": {**bounds(1, 3), "value_counts": [{"key": 1, "value": 2}]}, "e2.parquet": apart}
    history.commit("append", add=[[1, 2, 3]])
    history.commit("delete", keys=[2])
    assert deletes_of(tf.open_table(history.root).scan().plan()) == {"f1-0.parquet": ["e2.parquet"]}


def test_what_an_equality_delete_holds_beside_its_keys_says_nothing(tmp_path: Path) -> None:
    """The deleted rows need not have the other values that the delete file has."""
    history = Bounded(tmp_path / "t")
    history.said = {"e2.parquet": {**bounds(100, 100), "equality_ids": [2147483000]}}
    history.commit("append", add=[[1, 2, 3]])
    history.commit("delete", keys=[2])
    plan = tf.open_table(history.root).scan("id < 50").plan()
    assert deletes_of(plan) == {"f1-0.parquet": ["e2.parquet"]}


def test_manifests_of_other_partitions_are_not_read(tmp_path: Path) -> None:
    spec = {"spec-id": 0, "fields": [{"source-id": 1, "field-id": 1000, "name": "p", "transform": "identity"}]}
    folder = partitioned(tmp_path, spec, [(1, 1), (2, 2), (None, None)])
    table = tf.open_table(folder, relocate=True)
    for filter, skipped in (("a = 1", 2), ("a IS NULL", 2), ("a > 0", 1), ("a = 7", 3), (None, 0)):
        report = table.scan(filter).plan().report
        assert (report.delete_manifests_total, report.delete_manifests_skipped) == (3, skipped), filter


BY_A = {"spec-id": 1, "fields": [{"source-id": 1, "field-id": 1000, "name": "p", "transform": "identity"}]}


def test_global_deletes_are_read_for_files_of_every_spec(tmp_path: Path) -> None:
    data = manifest_bytes([entry("f", partition={"p": 1})], [("p", 1000, "int")])
    deletes = manifest_bytes([entry("e", content=2, equality_ids=[1], sequence_number=9)])
    specs = {"partition-specs": [{"spec-id": 0, "fields": []}, BY_A], "default-spec-id": 1}
    folder = table_with(tmp_path, (data, {"partition_spec_id": 1}), (deletes, {"content": 1}), **specs)
    plan = tf.open_table(folder, relocate=True).scan().plan()
    assert [d["kind"] for d in plan.files["deletes"].to_pylist()[0]] == ["equality"]


def test_manifests_whose_summary_cannot_be_read_are(tmp_path: Path) -> None:
    parts = [{"partition": {"p": 1}}, {"partition": {"p": 1}, "content": 1}]
    summary = {"contains_null": False, "contains_nan": False, "lower_bound": b"abc", "upper_bound": bytes(4)}
    row = {"partition_spec_id": 1, "partitions": [summary]}
    made = [manifest_bytes([entry(f"f{i}", **part)], [("p", 1000, "int")]) for i, part in enumerate(parts)]
    manifests = [(data, {**row, "content": i}) for i, data in enumerate(made)]
    folder = table_with(tmp_path, *manifests, **{"partition-specs": [BY_A], "default-spec-id": 1})
    plan = tf.open_table(folder, relocate=True).scan("a = 1").plan()
    assert (plan.report.manifests_skipped, plan.report.delete_manifests_skipped) == (0, 0)
    assert len(plan.files["deletes"].to_pylist()[0]) == 1


def partitioned(folder: Path, spec: dict[str, Any], parts: list[tuple[Any, Any]]) -> Path:
    """A table with a data file in every partition, and a delete manifest for each of ``parts`` (lower, upper)."""
    manifests = []
    kinds = [("p", 1000, "int")]
    for content in (0, 1):
        for low, high in parts:
            made = [entry(f"{content}-{low}", partition={"p": low}, **({"content": 1} if content else {}))]
            summary = [
                {
                    "contains_null": low is None,
                    "contains_nan": False,
                    "lower_bound": None if low is None else low.to_bytes(4, "little"),
                    "upper_bound": None if high is None else high.to_bytes(4, "little"),
                }
            ]
            manifests.append((manifest_bytes(made, kinds), {"content": content, "partitions": summary}))
    return table_with(folder, *manifests, **{"partition-specs": [spec], "default-spec-id": 0})


@needs_tables
def test_a_real_table_of_many_partitions() -> None:
    path = ROOT / "iceberg/impala/hadoop_catalog/ice/iceberg_v2_delete_equality_partitioned"
    table = tf.open_table(path, format="iceberg", relocate=True)
    report = table.scan("d = DATE '2023-12-25'").plan().report
    assert 0 < report.delete_manifests_skipped < report.delete_manifests_total == 4
    assert table.scan().count() == 6


def test_rows_that_a_delete_file_may_become() -> None:
    limits = tf.Limits(expansion=48, entries=2**20 + 1)
    _check_rows(2**20, 0, "p", limits)
    with pytest.raises(tf.LimitExceededError, match="1048577 rows of a delete file from 0 bytes") as caught:
        _check_rows(2**20 + 1, 0, "p", limits)
    assert caught.value.path == "p" and "expansion" in str(caught.value)
    _check_rows(2**20 + 1, 2**21, "p", limits)
    with pytest.raises(tf.LimitExceededError, match="entries"):
        _check_rows(2**20 + 2, 2**21, "p", limits)
