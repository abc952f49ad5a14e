"""``table.inspect`` of Iceberg tables, column by column against PyIceberg's tables of the same names."""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.errors import UnsupportedFeatureError
from tests.support.conformance import IcebergCase, iceberg_cases, needs_tables
from tests.support.iceberg_history import History

GOLDEN = Path(__file__).parents[1] / "golden" / "tables" / "iceberg-evolved" / "table"
TABLES = (
    "snapshots",
    "history",
    "refs",
    "manifests",
    "entries",
    "files",
    "data_files",
    "delete_files",
    "partitions",
    "metadata_log_entries",
)


def write_partitioned(folder: Path) -> str:
    """A table by PyIceberg that is partitioned by every kind of transform, with a snapshot that removes files."""
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.transforms import (
        BucketTransform,
        HourTransform,
        IdentityTransform,
        MonthTransform,
        TruncateTransform,
        YearTransform,
    )

    catalog = SqlCatalog("c", uri=f"sqlite:///{folder / 'c.db'}", warehouse=folder.as_uri())
    catalog.create_namespace("db")
    start = dt.datetime(1969, 12, 30, 22)
    rows = pa.table(
        {
            "id": pa.array(range(12), pa.int64()),
            "name": pa.array([None, *(f"name {i}" for i in range(11))]),
            "at": pa.array([start + dt.timedelta(hours=31 * i) for i in range(12)], pa.timestamp("us")),
            "on": pa.array([dt.date(1969 + i % 3, 12, 31) for i in range(12)]),
            # PyIceberg shows partition values that are doubles as floats.
            "score": pa.array([float("nan"), *(i / 4 for i in range(11))]),
            "amount": pa.array(range(12), pa.decimal128(9, 0)).cast(pa.decimal128(9, 2)),
        }
    )
    table = catalog.create_table("db.t", rows.schema)
    table.append(rows.slice(0, 4))
    table.delete("id = 2")
    with table.update_spec() as update:
        update.add_field("id", BucketTransform(2), "bucket")
        update.add_field("name", TruncateTransform(5), "prefix")
        update.add_field("at", MonthTransform(), "month")
    table.append(rows.slice(4, 4))
    with table.update_spec() as update:
        update.remove_field("month").remove_field("bucket")
        update.add_field("at", HourTransform(), "hour")
        update.add_field("on", YearTransform(), "year")
        update.add_field("score", IdentityTransform(), "score_itself")
        update.add_field("amount", IdentityTransform(), "amount_itself")
    table.append(rows.slice(8))
    return str(table.metadata_location)


def open_golden() -> Any:
    """The golden table by PyIceberg, which finds files where the metadata says they are: here it is told otherwise."""
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(str(max((GOLDEN / "metadata").glob("*.metadata.json"))))
    old = table.metadata.location

    class Moved(PyArrowFileIO):
        def new_input(self, location: str) -> Any:
            return super().new_input(location.replace(old, str(GOLDEN)))

    table.io = Moved()
    return table


@pytest.fixture(scope="module", params=["golden", "partitioned"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Our table and PyIceberg's."""
    from pyiceberg.table import StaticTable

    if request.param == "golden":
        return tf.open_table(GOLDEN, relocate=True), open_golden()
    location = write_partitioned(tmp_path_factory.mktemp("partitioned"))
    return tf.open_table(location.removeprefix("file://")), StaticTable.from_metadata(location)


def plain(value: Any) -> Any:
    """A value without what the two libraries write differently: zones, order of maps, empty maps, NaN."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, list):
        members = [plain(member) for member in value]
        return sorted(members) if members and all(isinstance(m, tuple) for m in members) else members
    return "nan" if value != value else value


def keyed(table: pa.Table, key: str) -> dict[Any, dict[str, Any]]:
    rows = [plain(row) for row in table.to_pylist()]
    found = {repr(row[key] if key != "data_file" else row[key]["file_path"]): row for row in rows}
    assert len(found) == len(rows)
    return found


KEYS = {
    "snapshots": "snapshot_id",
    "history": "snapshot_id",
    "refs": "name",
    "manifests": "path",
    "entries": "data_file",
    "files": "file_path",
    "data_files": "file_path",
}


@pytest.mark.parametrize("name", list(KEYS))
def test_columns_agree_with_pyiceberg(pair: Any, name: str) -> None:
    table, reference = pair
    ours, theirs = getattr(table.inspect, name)(), getattr(reference.inspect, name)()
    assert set(theirs.column_names) <= set(ours.column_names)
    found, expected = keyed(ours, KEYS[name]), keyed(theirs, KEYS[name])
    assert found.keys() == expected.keys()
    for key, row in expected.items():
        for column, value in row.items():
            assert_same(found[key][column], value, f"{column} of {key}")


def assert_same(ours: Any, theirs: Any, what: str) -> None:
    if isinstance(theirs, dict):
        for name, member in theirs.items():
            # PyIceberg has metrics of nested columns, all unknown, and no members of them.
            if isinstance(ours, dict) and name in ours:
                assert_same(ours[name], member, f"{what}.{name}")
            else:
                assert not any((member or {}).values()), f"{what}.{name}"
    elif theirs != [] or ours is not None:
        assert ours == theirs, what


def test_partitions_agree_with_pyiceberg(pair: Any) -> None:
    table, reference = pair
    ours, theirs = table.inspect.partitions(), reference.inspect.partitions()
    assert set(theirs.column_names) == set(ours.column_names)
    names = [n for n in theirs.column_names if n != "partition"]

    def rows(found: pa.Table) -> Counter[str]:
        return Counter(
            repr([{k: v for k, v in plain(row["partition"]).items() if v is not None}, *(plain(row[n]) for n in names)])
            for row in found.to_pylist()
        )

    assert rows(ours) == rows(theirs)


def test_older_versions(pair: Any) -> None:
    table, reference = pair
    for snapshot in reference.metadata.snapshots:
        version = snapshot.snapshot_id
        expected = sorted(f["file_path"] for f in reference.inspect.files(version).to_pylist())
        assert sorted(table.inspect.files(version)["file_path"].to_pylist()) == expected
        assert table.inspect.manifests(version).num_rows == len(snapshot.manifests(reference.io))
        assert table.inspect.entries(version).num_rows == reference.inspect.entries(version).num_rows


def test_metadata_log_names_what_was_current(pair: Any) -> None:
    table, reference = pair
    log = table.inspect.metadata_log_entries().to_pylist()
    files = [e.metadata_file for e in reference.metadata.metadata_log]
    assert [os.path.basename(row["file"]) for row in log] == [
        os.path.basename(f) for f in [*files, reference.metadata_location]
    ]
    assert log[0]["latest_snapshot_id"] is None
    for row in log:
        if row["latest_snapshot_id"] is not None:
            snapshot = reference.metadata.snapshot_by_id(row["latest_snapshot_id"])
            assert row["latest_schema_id"] == snapshot.schema_id
            assert row["latest_sequence_number"] == snapshot.sequence_number
    assert log[-1]["latest_snapshot_id"] == reference.metadata.current_snapshot_id


# ---- deletes --------------------------------------------------------------------------------------------------------


def test_delete_files(tmp_path: Path) -> None:
    history = History(tmp_path / "t")
    history.commit("append", add=[[1, 2, 3], [4, 5]])
    history.commit("delete", positions=[("f1-0.parquet", 1)], vectors=[("f1-1.parquet", 0)])
    history.commit("overwrite", keys=[3, 9], remove=["f1-1.parquet"])
    inspect = tf.open_table(history.root).inspect
    deletes = {os.path.basename(row["file_path"]): row for row in inspect.delete_files().to_pylist()}
    assert {name: row["content"] for name, row in deletes.items()} == {"p2.parquet": 1, "e3.parquet": 2}
    assert deletes["e3.parquet"]["equality_ids"] == [1]
    before = {os.path.basename(row["file_path"]): row for row in inspect.delete_files(102).to_pylist()}
    vector = before["v2-f1-1.parquet.puffin"]
    assert vector["file_format"] == "PUFFIN"
    assert vector["referenced_data_file"].endswith("/f1-1.parquet")
    assert (vector["content_offset"], vector["record_count"]) == (0, 1)
    assert inspect.files().num_rows == inspect.data_files().num_rows + 2
    assert Counter(inspect.entries()["status"].to_pylist()) == {0: 2, 1: 1, 2: 2}
    removed = [row["data_file"]["file_path"] for row in inspect.entries().to_pylist() if row["status"] == 2]
    assert sorted(map(os.path.basename, removed)) == ["f1-1.parquet", "v2-f1-1.parquet.puffin"]
    (row,) = inspect.partitions().to_pylist()
    assert "partition" not in row
    assert "spec_id" not in row
    assert (row["record_count"], row["file_count"]) == (3, 1)
    assert (row["position_delete_record_count"], row["position_delete_file_count"]) == (1, 1)
    assert (row["equality_delete_record_count"], row["equality_delete_file_count"]) == (2, 1)
    assert row["last_updated_snapshot_id"] == 103
    assert row["last_updated_at"].timestamp() == 103


# ---- what is and what is not there ----------------------------------------------------------------------------------


def test_a_table_without_snapshots_has_empty_tables(tmp_path: Path) -> None:
    History(tmp_path / "t").write_metadata()
    inspect = tf.open_table(tmp_path / "t").inspect
    full = History(tmp_path / "u")
    full.commit("append", add=[[1]])
    for name in TABLES:
        found = getattr(inspect, name)()
        assert found.num_rows == (name == "metadata_log_entries")
        assert found.schema == getattr(tf.open_table(full.root).inspect, name)().schema


def test_other_formats_keep_the_neutral_tables(tmp_path: Path) -> None:
    from deltalake import write_deltalake

    write_deltalake(str(tmp_path), pa.table({"id": [1, 2], "p": ["a", "b"]}), partition_by=["p"])
    table = tf.open_table(tmp_path)
    assert table.inspect.files().schema == table.scan().plan().files.schema
    assert table.inspect.snapshots() == table.inspect.history() == table.history()
    assert table.inspect.partitions()["file_count"].to_pylist() == [1, 1]
    for name in ("data_files", "delete_files", "entries", "manifests", "metadata_log_entries", "refs"):
        with pytest.raises(UnsupportedFeatureError, match=name):
            getattr(table.inspect, name)()


@pytest.mark.conformance
@needs_tables
@pytest.mark.parametrize("case", iceberg_cases(), ids=str)
def test_every_table_of_real_tables(case: IcebergCase) -> None:
    """All tables are made, valid, and count what the recorded answers count."""
    inspect = tf.open_table(case.metadata, format="iceberg", relocate=True).inspect
    for expected in case.snapshots:
        version = expected["snapshot_id"]
        files, deletes = inspect.data_files(version), inspect.delete_files(version)
        for found in (files, deletes, inspect.entries(version), inspect.partitions(version)):
            found.validate(full=True)
        assert (files.num_rows, deletes.num_rows) == (expected["data_files"], expected["delete_files"])
        assert sum(files["record_count"].to_pylist()) == expected["data_records"]
        partitions = inspect.partitions(version)
        assert sum(partitions["record_count"].to_pylist()) == expected["data_records"]
        assert sum(partitions["file_count"].to_pylist()) == expected["data_files"]
