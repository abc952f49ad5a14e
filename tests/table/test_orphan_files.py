"""``table.orphan_files``: what nothing names is listed, and nothing else, by an independent reading of the metadata."""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.s3_stub import S3Stub

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
NOW = 4_000_000_000_000
"""After all files."""
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
UUID = "0d2d9a1c-0000-4000-8000-000000000001"


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": ids, "p": ["a b", "é%:/"] * (len(ids) // 2) or ["a b"]}, SCHEMA)


def made(location: Any, format: str, **options: Any) -> tf.Table:
    """A table with partitions whose names are encoded, with deletes, and with versions that are not current."""
    table = tf.create_table(location, SCHEMA, format=format, partition_by="p", **options)
    table.append(rows(1, 2))
    table.append(rows(3, 4))
    table.delete("id = 3")
    table.overwrite(rows(5, 6))
    return table


def names(found: pa.Table) -> list[str]:
    return [path.rpartition("/")[2] for path in found["path"].to_pylist()]


def age(path: Path, days: float) -> None:
    then = path.stat().st_mtime - days * 86_400
    os.utime(path, (then, then))


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_what_nothing_names_is_listed(format: str, tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = made(root, format)
    if format == "iceberg":
        table.create_tag("old", table.history()["version"].to_pylist()[-1])
        table.create_branch("b")
        with table.transaction(branch="b") as transaction:
            transaction.append(rows(7, 8))
    else:
        table.checkpoint()
    assert table.orphan_files(NOW).num_rows == 0
    log = root / ("_delta_log" if format == "delta" else "metadata")
    left = [root / "part-0.parquet", root / "p=x" / "part-1.parquet", log / f".v9.json.{UUID}.tmp"]
    others = [root / "_made_up" / "x", root / ".hidden", root / "p=x" / ".part-1.parquet.crc", root / "inner" / "f"]
    for path in (*left, *others):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"123")
    made(root / "inner", "iceberg")  # a table of its own
    found = table.orphan_files(NOW)
    assert sorted(found["path"].to_pylist()) == sorted(map(str, left))
    assert found["size_bytes"].to_pylist() == [3, 3, 3] and found.schema.field("modified").type.unit == "ms"
    assert table.orphan_files().num_rows == 0  # all are young
    age(left[0], 4)
    age(left[1], 8)
    assert names(table.orphan_files()) == ["part-1.parquet", "part-0.parquet"][: 1 + (format == "iceberg")]
    assert names(table.orphan_files(dt.timedelta(days=7.5))) == ["part-1.parquet"]
    assert names(table.orphan_files((dt.datetime.now(dt.timezone.utc) - dt.timedelta(days=9)).isoformat())) == []


def test_tombstones_name_their_files_and_what_no_log_has_is_left_over(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "delta", properties={"delta.checkpointInterval": "100"})
    table.checkpoint()
    before = {path for path in (tmp_path / "t").rglob("*.parquet") if "_delta_log" not in path.parts}
    for path in (tmp_path / "t" / "_delta_log").glob("*.json"):  # as a cleaned log: the checkpoint alone is left
        path.unlink()
    assert tf.open_table(tmp_path / "t").orphan_files(NOW).num_rows == 0
    table = tf.open_table(tmp_path / "t")
    table.alter.set_properties({"delta.deletedFileRetentionDuration": "interval 0 seconds"})
    table.checkpoint()  # tombstones have expired for it
    for path in (tmp_path / "t" / "_delta_log").glob("*4.checkpoint.parquet"):
        path.unlink()
    live = {Path(path) for path in table.scan().plan().files["path"].to_pylist()}
    assert set(map(Path, table.orphan_files()["path"].to_pylist())) <= before - live
    assert set(map(Path, table.orphan_files(NOW)["path"].to_pylist())) == before - live


@pytest.mark.parametrize("name", ["delta-change-feed", "delta-deletion-vectors", "delta-v2-checkpoint", "iceberg-refs"])
def test_other_writers_tables_have_no_orphans(name: str) -> None:
    """Change data, deletion vectors, sidecars, Puffin files, branches and tags are named."""
    metadata = "_delta_log" if name.startswith("delta") else "metadata"
    (root,) = {path.parent for path in (GOLDEN / "tables_jvm" / name).rglob(metadata)}
    assert tf.open_table(root, relocate=True).orphan_files(NOW).num_rows == 0


def test_statistics_and_older_metadata_are_named(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "iceberg", properties={"write.metadata.previous-versions-max": "1"})
    last = max((tmp_path / "t" / "metadata").glob("v*.metadata.json"), key=lambda path: int(path.name[1:-14]))
    metadata = json.loads(last.read_text())
    assert len(metadata["metadata-log"]) == 1
    (tmp_path / "t" / "metadata" / "s.stats").touch()
    file = {"snapshot-id": metadata["current-snapshot-id"], "statistics-path": f"{tmp_path}/t/metadata/s.stats"}
    metadata["statistics"] = [{**file, "file-size-in-bytes": 0, "file-footer-size-in-bytes": 0, "blob-metadata": []}]
    last.write_text(json.dumps(metadata))
    table = tf.open_table(tmp_path / "t")
    assert table.orphan_files(NOW).num_rows == 0  # each metadata file names the one before it
    metadata["statistics"] = []
    last.write_text(json.dumps(metadata))
    assert names(tf.open_table(tmp_path / "t").orphan_files(NOW)) == ["s.stats"]


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_table_behind_a_link_names_its_files(format: str, tmp_path: Path) -> None:
    made(tmp_path / "t", format)
    (tmp_path / "link").symlink_to(tmp_path / "t")
    (tmp_path / "t" / "x.parquet").touch()
    assert names(tf.open_table(tmp_path / "link").orphan_files(NOW)) == ["x.parquet"]


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_a_store_is_listed(format: str) -> None:
    with S3Stub(max_keys=7) as stub:
        table = made("s3://bucket/t", format, storage_options=stub.options)
        stub.put("t/p=é%25/x.parquet", b"1")
        stub.put("tt/y.parquet", b"1")
        found = table.orphan_files(dt.datetime.now(dt.timezone.utc) + dt.timedelta(hours=1))
        assert found["path"].to_pylist() == ["s3://bucket/t/p=é%25/x.parquet"]
        assert table.orphan_files().num_rows == 0


def test_what_is_not_known_is_refused(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "iceberg")
    metadata = sorted((tmp_path / "t" / "metadata").glob("v*.metadata.json"))[-1]
    with pytest.raises(tf.UnsupportedFeatureError, match="a catalog decides"):
        tf.open_table(metadata).orphan_files()
    manifest = next(path for path in (tmp_path / "t" / "metadata").glob("*.avro") if "snap-" not in path.name)
    manifest.rename(tmp_path / "away")
    with pytest.raises(tf.CorruptMetadataError, match="is missing"):
        table.orphan_files()
    (tmp_path / "away").rename(manifest)
    table.alter.set_properties({"gc.enabled": "false"})
    with pytest.raises(tf.UnsupportedFeatureError, match="other tables may use its files"):
        table.orphan_files()
    made(tmp_path / "both", "delta")
    made(tmp_path / "other", "iceberg")
    (tmp_path / "other" / "metadata").rename(tmp_path / "both" / "metadata")
    with pytest.raises(tf.UnsupportedFeatureError, match="also holds a table of the format iceberg"):
        tf.open_table(tmp_path / "both", format="delta").orphan_files()
