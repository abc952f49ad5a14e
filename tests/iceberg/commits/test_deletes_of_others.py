"""Copy-on-write upon tables with delete files: deletes that still apply stay, and those that apply to no file go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.iceberg_manifests import entry, fastavro_records, manifest_bytes
from tests.support.iceberg_rows import schema_json, with_ids, write
from tests.support.iceberg_tables import table_with
from tests.support.iceberg_writing import newest

OLD = "/old/t/data"


def position_deletes(*pairs: tuple[str, int]) -> pa.Table:
    table = pa.table({"file_path": [f"{OLD}/{name}" for name, _ in pairs], "pos": [pos for _, pos in pairs]})
    return with_ids(table, 2147483546, 2147483545)


@pytest.fixture
def table(tmp_path: Path) -> tf.Table:
    """Two files of three rows. A delete file takes a row of each, and another one a row of the first."""
    for name, ids in (("one", [1, 2, 3]), ("two", [4, 5, 6])):
        write(tmp_path, name, with_ids(pa.table({"a": pa.array(ids, pa.int32())}), 1))
    write(tmp_path, "both.parquet", position_deletes(("one", 0), ("two", 1)))
    write(tmp_path, "first.parquet", position_deletes(("one", 1)))
    data = manifest_bytes([entry(f"{OLD}/{name}", records=3) for name in ("one", "two")])
    place = {"content": 1, "file_size_in_bytes": 700}
    deletes = manifest_bytes(
        [
            entry(f"{OLD}/both.parquet", records=2, **place),
            entry(f"{OLD}/first.parquet", records=1, referenced_data_file=f"{OLD}/one", **place),
        ]
    )
    counts = {"added_files_count": 2, "existing_files_count": 0, "added_rows_count": 6, "existing_rows_count": 0}
    more: dict[str, Any] = {"schemas": schema_json((1, "a", "int")), "last-column-id": 1, "last-sequence-number": 5}
    table_with(tmp_path, (data, counts), (deletes, {"content": 1, **counts, "added_rows_count": 3}), **more)
    found = tf.open_table(tmp_path, relocate=True)
    assert ids_of(found) == [3, 4, 6]
    return found


def ids_of(table: tf.Table) -> list[int]:
    found: list[int] = table.scan().to_arrow()["a"].to_pylist()
    return sorted(found)


def summary_of(folder: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(newest(folder).read_text())["snapshots"][-1]["summary"]
    return found


@pytest.mark.parametrize("verb", ["delete", "overwrite"])
def test_rows_that_stay_do_not_have_deleted_ones_among_them(tmp_path: Path, verb: str) -> None:
    """The condition is TRUE for none of the rows that the delete file deletes, and its statistics say so."""
    write(tmp_path, "one", with_ids(pa.table({"a": pa.array([1, 2, 3], pa.int32())}), 1))
    write(tmp_path, "gone.parquet", with_ids(pa.table({"a": pa.array([3], pa.int32())}), 1))
    three = [{"key": 1, "value": (3).to_bytes(4, "little")}]
    counted = {"value_counts": [{"key": 1, "value": 1}], "null_value_counts": [{"key": 1, "value": 0}]}
    gone = {"content": 2, "equality_ids": [1], "file_size_in_bytes": 700, "lower_bounds": three, "upper_bounds": three}
    deletes = manifest_bytes([entry(f"{OLD}/gone.parquet", records=1, **gone, **counted)])
    counts = {"added_files_count": 1, "existing_files_count": 0, "existing_rows_count": 0}
    more: dict[str, Any] = {"schemas": schema_json((1, "a", "int")), "last-column-id": 1, "last-sequence-number": 5}
    table_with(
        tmp_path,
        (manifest_bytes([entry(f"{OLD}/one", records=3)]), {**counts, "added_rows_count": 3, "sequence_number": 1}),
        (deletes, {"content": 1, **counts, "added_rows_count": 1}),
        **more,
    )
    table = tf.open_table(tmp_path, relocate=True)
    assert ids_of(table) == [1, 2] and table.plan("a = 1").report.delete_files == 0
    if verb == "delete":
        table.delete("a = 1")
    else:
        table.overwrite(pa.table({"a": pa.array([1], pa.int32())}), where="a = 1")
    assert ids_of(tf.open_table(tmp_path, relocate=True)) == ([2] if verb == "delete" else [1, 2])


def test_deletes_that_still_apply_stay(table: tf.Table, tmp_path: Path) -> None:
    table.delete("a = 6")
    assert ids_of(table) == [3, 4] == ids_of(tf.open_table(tmp_path, relocate=True))
    assert "removed-delete-files" not in summary_of(tmp_path)


def test_deletes_of_a_removed_file_go(table: tf.Table, tmp_path: Path) -> None:
    table.delete("a = 3")
    assert ids_of(table) == [4, 6]
    summary = summary_of(tmp_path)
    assert (summary["removed-position-delete-files"], summary["removed-position-deletes"]) == ("1", "1")
    kept = table.inspect.delete_files()["file_path"].to_pylist()
    assert [path.rpartition("/")[2] for path in kept] == ["both.parquet"]


def test_deletes_older_than_every_file_go(table: tf.Table, tmp_path: Path) -> None:
    table.delete("a = 6")
    table.delete("a = 3")
    assert ids_of(table) == [4]
    assert table.inspect.delete_files().num_rows == 0
    assert summary_of(tmp_path)["removed-delete-files"] == "2"
    lists = sorted((tmp_path / "metadata").glob("snap-*-1-*.avro"), key=lambda path: path.stat().st_mtime_ns)
    rows = fastavro_records(lists[-1].read_bytes())[1]
    statuses = [r["status"] for row in rows if row["content"] == 1 for r in records_of(tmp_path, row)]
    assert statuses == [2, 2], "they are listed as deleted in this snapshot"


def records_of(folder: Path, row: dict[str, Any]) -> list[Any]:
    return fastavro_records((folder / "metadata" / row["manifest_path"].rpartition("/")[2]).read_bytes())[1]


def test_an_append_leaves_deletes_alone(table: tf.Table, tmp_path: Path) -> None:
    table.append(pa.table({"a": pa.array([7], pa.int32())}))
    assert ids_of(table) == [3, 4, 6, 7]
    table.overwrite(pa.table({"a": pa.array([8], pa.int32())}))
    assert ids_of(table) == [8] and table.inspect.delete_files().num_rows == 0


def test_deletes_of_a_winner_are_a_conflict(table: tf.Table, tmp_path: Path) -> None:
    """iceberg#2308: a file is rewritten while another writer deletes one of its rows, which came back."""
    folder = tmp_path / "metadata"
    schema, (data, deletes) = fastavro_records((folder / "snap-7.avro").read_bytes())

    def put(name: str, *rows: dict[str, Any]) -> None:
        with (folder / name).open("wb") as out:
            fastavro.writer(out, fastavro.parse_schema(schema), rows)

    put("snap-7.avro", data)
    late = tf.open_table(tmp_path, relocate=True)
    begun = [late.transaction() for _ in range(2)]
    for transaction, where in zip(begun, ("a = 2", "a = 5"), strict=True):
        transaction.__enter__()
        transaction.delete(where)
    metadata = json.loads(newest(tmp_path).read_text())
    old = metadata["snapshots"][0]
    new = {**old, "snapshot-id": 8, "parent-snapshot-id": 7, "sequence-number": 6, "timestamp-ms": 10**13}
    put("snap-8.avro", data, {**deletes, "sequence_number": 6, "min_sequence_number": 6, "added_snapshot_id": 8})
    new["manifest-list"] = old["manifest-list"].replace("snap-7", "snap-8")
    metadata |= {"snapshots": [old, new], "current-snapshot-id": 8, "last-sequence-number": 6}
    metadata["refs"] = {"main": {"snapshot-id": 8, "type": "branch"}}
    number = int(newest(tmp_path).name[1:].partition(".")[0])
    (folder / f"v{number + 1}.metadata.json").write_text(json.dumps(metadata))
    for transaction in begun:
        with pytest.raises(tf.CommitConflictError, match="deletes"):
            transaction.__exit__(None, None, None)
    assert ids_of(tf.open_table(tmp_path, relocate=True)) == [3, 4, 6]
