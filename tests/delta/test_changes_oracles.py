"""Changes between versions against what others say: deltalake's change data feed, and the versions' own rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.conformance import OUTCOMES, DeltaCase, delta_cases, has_data, needs_tables
from tests.support.delta_changes import applied, as_changes
from tests.support.examples import EVERY

deltalake = pytest.importorskip("deltalake", reason="needs the extra [test]")

FEED = {"delta.enableChangeDataFeed": "true"}
PARTITIONS = pytest.mark.parametrize("partition", [None, ["part"]], ids=["plain", "partitioned"])


def rows(*ids: int, part: str = "a", **more: list[Any]) -> pa.Table:
    columns = {
        "id": pa.array(ids, pa.int64()),
        "part": pa.array([part if i % 2 else None for i in ids], pa.string()),
        "value": pa.array([i * 1.5 for i in ids]),
        "moment": pa.array([i * 10**9 for i in ids], pa.timestamp("us", "UTC")),
    }
    return pa.table({**columns, **more})


def write_history(root: Path, configuration: dict[str, str], partition: list[str] | None) -> Any:
    """A table by deltalake: appends, update, delete, merge, compaction, an added column, overwrites."""
    table = str(root)
    deltalake.write_deltalake(table, rows(*range(10)), configuration=configuration, partition_by=partition)
    deltalake.write_deltalake(table, rows(*range(10, 20), part="b"), mode="append")
    deltalake.DeltaTable(table).update(predicate="id >= 8 AND id < 12", updates={"value": "value + 100"})
    deltalake.DeltaTable(table).delete("id = 3 OR id = 15")
    (
        deltalake.DeltaTable(table)
        .merge(rows(1, 2, 30), "t.id = s.id", source_alias="s", target_alias="t")
        .when_matched_update({"value": "-s.value"})
        .when_not_matched_insert_all()
        .execute()
    )
    deltalake.write_deltalake(table, rows(40, 41), mode="append")
    deltalake.DeltaTable(table).optimize.compact()
    deltalake.write_deltalake(table, rows(100, 101, extra=["x", None]), mode="append", schema_mode="merge")
    deltalake.DeltaTable(table).delete("id = 100")
    deltalake.DeltaTable(table).create_checkpoint()
    deltalake.write_deltalake(table, rows(7, extra=["y"]), mode="overwrite")
    deltalake.DeltaTable(table).delete()
    return deltalake.DeltaTable(table)


def ranges(last: int) -> list[tuple[int, int]]:
    """Ranges of versions: those of one version, those from the first one on, and one in three of the others; all of
    them at night."""
    found = [(starting, ending) for starting in range(last + 1) for ending in range(starting, last + 1)]
    return [pair for pair in found if EVERY or 0 in (pair[0], pair[1] - pair[0]) or (pair[0] + pair[1]) % 3 == 1]


def counted(table: pa.Table, names: list[str]) -> Counter[tuple[Any, ...]]:
    """The rows as a multiset; instants as numbers."""
    columns = [
        table[name].cast(pa.int64()) if pa.types.is_timestamp(table[name].type) else table[name] for name in names
    ]
    return Counter(zip(*(column.to_pylist() for column in columns), strict=True))


@PARTITIONS
def test_the_change_data_feed_of_deltalake(tmp_path: Path, partition: list[str] | None) -> None:
    reference = write_history(tmp_path / "t", FEED, partition)
    table = tf.open_table(tmp_path / "t")
    last = reference.version()
    operations = {entry["version"]: entry["operation"] for entry in reference.history()}
    assert "OPTIMIZE" in operations.values() and last == 10
    for starting, ending in ranges(last):
        changes, wanted = table.changes(starting, ending), pa.table(reference.load_cdf(starting, ending))
        found = changes.to_arrow()
        # deltalake gives a column only where a file of the range has it, and the commit's own word for its time.
        names = [n for n in found.column_names if n in wanted.column_names and n != "_commit_timestamp"]
        assert {*found.column_names} - {*wanted.column_names} <= {"extra"}
        assert counted(found, names) == counted(wanted, names), (starting, ending)
        assert changes.count() == found.num_rows


@PARTITIONS
def test_without_a_change_data_feed(tmp_path: Path, partition: list[str] | None) -> None:
    """deltalake reads such versions too, but for those that say that the feed is off."""
    reference = write_history(tmp_path / "t", {}, partition)
    table = tf.open_table(tmp_path / "t")
    compared = 0
    for version in range(1, reference.version() + 1):
        if any("metaData" in line for line in _commit(tmp_path / "t", version).splitlines()):
            continue
        found, wanted = table.changes(version, version).to_arrow(), pa.table(reference.load_cdf(version, version))
        names = [n for n in found.column_names if n in wanted.column_names and n != "_commit_timestamp"]
        assert counted(found, names) == counted(wanted, names), version
        compared += 1
    assert compared >= 8


def _commit(root: Path, version: int) -> str:
    return (root / "_delta_log" / f"{version:020d}.json").read_text()


@PARTITIONS
@pytest.mark.parametrize("configuration", [FEED, {}], ids=["feed", "no feed"])
def test_changes_lead_from_version_to_version(
    tmp_path: Path, partition: list[str] | None, configuration: dict[str, str]
) -> None:
    last = write_history(tmp_path / "t", configuration, partition).version()
    table = tf.open_table(tmp_path / "t")
    versions = [_rows(table, v, table.snapshot(v).schema.names) for v in range(last + 1)]
    for starting, ending in ranges(last):
        names = table.snapshot(ending).schema.names
        before = _rows(table, starting - 1, names) if starting else Counter()
        assert applied(before, as_changes(table.changes(starting, ending).to_arrow())) == versions[ending]
    found = table.changes(0).to_arrow()
    assert _pairs(found, "_commit_version", "_commit_timestamp") <= _pairs(table.history(), "version", "timestamp")


def _pairs(table: pa.Table, version: str, timestamp: str) -> set[tuple[int, int]]:
    microseconds = table[timestamp].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return set(zip(table[version].to_pylist(), microseconds.to_pylist(), strict=True))


def _rows(table: tf.Table, version: int, names: list[str]) -> Counter[tuple[Any, ...]]:
    """The rows of a version as those of a schema that has more columns."""
    found = table.scan(version=version).to_arrow()
    columns = [found[n].to_pylist() if n in found.column_names else [None] * found.num_rows for n in names]
    return Counter(zip(*columns, strict=True))


# The schema was replaced by another one while rows of the old one were deleted.
REPLACED = {
    "dat-2022/reader_tests/generated/with_schema_change/delta": "letter",
    "kernel-rs-golden/time-travel-partition-changes-b/delta": "part5",
}
MOST_ROWS = 200_000


@needs_tables
@pytest.mark.conformance
@pytest.mark.parametrize("case", [c for c in delta_cases() if c.must_fail is None], ids=str)
def test_conformance_tables(case: DeltaCase) -> None:
    """The rows of a version and the changes of the next one make its rows, wherever the data files are there."""
    table = tf.open_table(case.path, format="delta")
    checked = 0
    for version in _versions(table):
        if not _is_readable(table, version) or (version and not _is_readable(table, version - 1)):
            continue
        try:
            changes = table.changes(version, version)
        except tf.UnsupportedFeatureError as error:
            assert error.field == REPLACED[case.name]
            continue
        if not has_data(changes.plan()):
            continue
        names = table.snapshot(version).schema.names
        before = _texts(table.scan(version=version - 1).to_arrow(), names) if version else Counter()
        found = changes.to_arrow()
        after = Counter(before)
        for kind, sign in [("insert", 1), ("update_postimage", 1), ("delete", -1), ("update_preimage", -1)]:
            part = found.filter(pa.compute.equal(found["_change_type"], kind))
            for row, n in _texts(part, names).items():
                after[row] += sign * n
        assert {row: n for row, n in after.items() if n} == _texts(table.scan(version=version).to_arrow(), names)
        assert changes.count() == found.num_rows
        checked += 1
    OUTCOMES[f"delta changes: {case}"] = f"delta changes: {'read' if checked else 'no data files'}"


def _versions(table: tf.Table) -> list[int]:
    commits = table.history()["version"].to_pylist()
    return sorted(v for v in commits if v == 0 or v - 1 in commits)


def _is_readable(table: tf.Table, version: int) -> bool:
    try:
        plan = table.scan(version=version).plan()
    except (tf.SnapshotNotFoundError, tf.CorruptMetadataError):
        return False
    return has_data(plan) and (plan.report.rows_total or 0) <= MOST_ROWS


def _texts(table: pa.Table, names: list[str]) -> Counter[str]:
    """Rows as texts: values need be neither hashable nor equal to themselves (NaN)."""
    columns = [_plain(table[n]).to_pylist() if n in table.column_names else [None] * table.num_rows for n in names]
    return Counter(repr(row) for row in zip(*columns, strict=True)) if columns else Counter({"": table.num_rows})


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Python's calendar ends before Arrow's."""
    temporal = pa.types.is_timestamp(column.type)
    return column.cast(pa.int64()) if temporal else column


@needs_tables
@pytest.mark.conformance
def test_deletion_vectors_of_fifteen_versions() -> None:
    """The whole history at once gives the last version, and a filter the part of it that it names."""
    case = next(case for case in delta_cases() if "dv-partitioned-with-checkpoint" in case.name)
    table = tf.open_table(case.path)
    changes = table.changes(0)
    found = as_changes(changes.to_arrow())
    assert applied(Counter(), found) == _rows(table, 15, table.snapshot().schema.names)
    assert sum(kind == "delete" for kind, _, _ in found) == sum(kind == "insert" for kind, _, _ in found) - 35 > 0
    assert "selected_rows" in {d["kind"] for deletes in changes.files["deletes"].to_pylist() for d in deletes}
    for version in range(16):
        part = changes.where(f"_commit_version = {version}")
        assert as_changes(part.to_arrow()) == [change for change in found if change[1] == version]
        assert part.to_arrow().num_rows == 0 or len(part.plan()) < len(changes.plan())
