"""Finding a table's metadata, malformed metadata, snapshots by id, reference and time; tables made by hand."""

from __future__ import annotations

import contextlib
import gc
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_iceberg.files.strict_json import Node, parse_json
from tableformats_iceberg.format import IcebergFormat
from tableformats_iceberg.metadata.locate import is_metadata_name, locate
from tableformats_iceberg.metadata.schema import parse_name_mapping
from tableformats_iceberg.metadata.table_metadata import metadata_of, parse_metadata

import tableformats as tf
from tableformats.errors import (
    CorruptMetadataError,
    PathNotAllowedError,
    SnapshotNotFoundError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from tableformats.io.storage import Storage
from tableformats.plugin import OpenOptions, ReadRequest, SnapshotSelector
from tableformats.plugin.report import ScanReport
from tests.support.iceberg_manifests import SYNC, entry, manifest_bytes
from tests.support.iceberg_tables import (
    FIELDS,
    SECOND,
    metadata_json,
    open_table,
    parse,
    snapshot_json,
    table_with,
    write_table,
)

# ---- locating -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "hint", "found"),
    [
        (["v1", "v2", "v10"], None, "v10"),
        (["v1", "v2", "v10"], "", "v10"),
        (["v1", "v2", "v3"], "2", "v3"),
        (["v1", "v2", "v4"], "2", "v2"),
        (["v1", "v2"], "9", "v2"),
        (["v1", "v2"], "no number\0", "v2"),
        (["00001-x", "00002-y", "00010-z"], None, "00010-z"),
        (["00001-x", "00002-y"], "00001-x", "00001-x"),
        (["00001-x", "00001-y"], "00001-y", "00001-y"),
        (["00001-x", "00001-y"], "00001-y.metadata.json", "00001-y"),
        (["00009-x", "v1"], None, "00009-x"),
    ],
)
def test_newest_metadata(tmp_path: Path, names: list[str], hint: str | None, found: str) -> None:
    folder = tmp_path / "metadata"
    folder.mkdir()
    for name in names:
        (folder / f"{name}.metadata.json").write_text("{}")
    if hint is not None:
        (folder / "version-hint.text").write_text(hint)
    assert Path(locate(Storage(tmp_path)).metadata_path).name == f"{found}.metadata.json"


def test_two_metadata_files_of_one_version_are_ambiguous(tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    for name in ("00003-x", "00003-y", "00001-z"):
        (tmp_path / "metadata" / f"{name}.metadata.json").write_text("{}")
    with pytest.raises(CorruptMetadataError, match="ambiguous") as caught:
        locate(Storage(tmp_path))
    assert "00003-x.metadata.json" in str(caught.value)


@pytest.mark.parametrize("name", ["v3.gz.metadata.json", "v3.metadata.json.gz"])
def test_gzip_in_both_spellings(tmp_path: Path, name: str) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / name).write_bytes(gzip.compress(json.dumps(metadata_json()).encode()))
    assert is_metadata_name(name)
    assert IcebergFormat().detect(Storage(tmp_path), OpenOptions())
    assert open_table(tmp_path).snapshot(SnapshotSelector()).version == -1
    assert IcebergFormat().detect(Storage(tmp_path / "metadata" / name), OpenOptions())


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError):
        open_table(tmp_path / "no")
    with pytest.raises(TableNotFoundError):
        open_table(tmp_path)
    assert not IcebergFormat().detect(Storage(tmp_path), OpenOptions())
    assert not IcebergFormat().detect(Storage(tmp_path / "x.metadata.json"), OpenOptions())


# ---- metadata -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"format-version": None}, "format-version"),
        ({"format-version": "2"}, "format-version"),
        ({"format-version": True}, "format-version"),
        ({"format-version": 0}, "format-version"),
        ({"location": None}, "location"),
        ({"location": 5}, "location"),
        ({"schemas": 7}, "schemas"),
        ({"schemas": []}, "schema"),
        ({"current-schema-id": 9}, "current-schema-id"),
        ({"schemas": [{"type": "struct", "schema-id": 0}]}, "schemas[0].fields"),
        ({"schemas": [{"schema-id": 0, "fields": [{"id": 1, "name": "a"}]}]}, "schemas[0].fields[0].type"),
        (
            {"schemas": [{"schema-id": 0, "fields": [{"id": 2**40, "name": "a", "type": "int"}]}]},
            "schemas[0].fields[0].id",
        ),
        (
            {"partition-specs": [{"spec-id": 0, "fields": [{"name": "p", "transform": "void"}]}]},
            "partition-specs[0].fields[0]",
        ),
        ({"schemas": [{"schema-id": 0, "fields": [*FIELDS, FIELDS[0]]}]}, "schemas[0].fields"),
        ({"default-spec-id": 4}, "default-spec-id"),
        ({"current-snapshot-id": 4}, "current-snapshot-id"),
        (
            {"snapshots": [{"snapshot-id": 9876543210123456789, "timestamp-ms": 1, "manifest-list": "x"}]},
            "snapshots[0].snapshot-id",
        ),
        ({"snapshots": [{"snapshot-id": 1, "timestamp-ms": 1}]}, "snapshots[0].manifest-list"),
        # Times that no datetime holds.
        ({"last-updated-ms": 253402300800000}, "last-updated-ms"),
        ({"last-updated-ms": -(2**63)}, "last-updated-ms"),
        (
            {"snapshots": [{"snapshot-id": 1, "timestamp-ms": 10**18, "manifest-list": "x"}]},
            "snapshots[0].timestamp-ms",
        ),
        ({"snapshot-log": [{"snapshot-id": 1, "timestamp-ms": 2**62}]}, "snapshot-log[0].timestamp-ms"),
        ({"metadata-log": [{"metadata-file": "x", "timestamp-ms": -62135596800001}]}, "metadata-log[0].timestamp-ms"),
        ({"refs": {"x": {"snapshot-id": 1, "type": "branch"}}}, "refs"),
        ({"properties": []}, "properties"),
        ({"refs": {"x": {"snapshot-id": 1, "type": "twig"}}}, "refs.x.type"),
        ({"table-uuid": None}, "table-uuid"),
    ],
)
def test_malformed_fields_are_named(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(CorruptMetadataError) as caught:
        parse(**changes)
    assert caught.value.field == field
    assert caught.value.path == "m"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"5",
        b'"x"',
        b"\xff\xfe",
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": 1e400}',
        b'{"a": "\\ud800"}',
        b'{"a": "\\u0000"}',
        b"[" * 100_000,
        b'{"format-version": ' + b"9" * 5000 + b"}",
        b'{"format-version": 2} x',
        b"\x1f\x8b",
        b"\x1f\x8b\x08" + bytes(20),
        b"\x28\xb5\x2f\xfd",
        gzip.compress(b"{}", mtime=0)[:-3],
        gzip.compress(b"{}", mtime=0),
        b'{"a": Infinity}',
        json.dumps({"format-version": 2}).encode("utf-16"),
    ],
)
def test_malformed_json(data: bytes) -> None:
    with pytest.raises(CorruptMetadataError) as caught:
        parse_metadata(data, "m")
    assert caught.value.path == "m"


@pytest.mark.parametrize("escape", [r"\ud800", r"\udc00\ud800", r"\udfff", r"\u0000"])
@pytest.mark.parametrize("text", ['"%s"', '["%s"]', '{"a": [[{"b": "x%s"}]]}', '{"x%s": 1}', '{"é": "%s"}'])
def test_json_strings_that_are_no_text(text: str, escape: str) -> None:
    with pytest.raises(CorruptMetadataError, match="a string holds NUL"):
        parse_json((text % escape).encode(), "m")
    for sound in (r"\ud83d\ude00", r"\ud7ff", r"\ue000"):
        assert parse_json((text % sound).encode(), "m")


def test_newer_versions_and_unknown_types_are_refused() -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        parse(**{"format-version": 4})
    assert caught.value.field == "format-version"
    schema = {
        "type": "struct",
        "schema-id": 0,
        "fields": [{"id": 1, "name": "a", "required": False, "type": "quaternion"}],
    }
    with pytest.raises(UnsupportedFeatureError, match="quaternion"):
        parse(schemas=[schema])


def test_version_1_without_lists() -> None:
    old = {
        "format-version": 1,
        "location": "/t/",
        "last-updated-ms": 1,
        "last-column-id": 2,
        "schema": {"type": "struct", "fields": FIELDS},
        "current-snapshot-id": -1,
        "snapshots": [],
        "partition-spec": [
            {"name": "x", "transform": "identity", "source-id": 1},
            {"name": "y", "transform": "bucket[4]", "source-id": 2},
        ],
    }
    found = parse_metadata(json.dumps(old).encode(), "m")
    assert found.current_snapshot_id is None
    assert found.location == "/t"
    assert [(f.id, str(f.type)) for f in found.specs[found.default_spec_id].fields] == [(1000, "int"), (1001, "int")]


def test_name_mapping() -> None:
    mapping = [
        {"field-id": 1, "names": ["id", "record_id"]},
        {"field-id": 2, "names": ["data"], "fields": [{"field-id": 3, "names": ["x", "y"]}, {"names": ["z"]}]},
    ]
    found = parse_name_mapping({"schema.name-mapping.default": json.dumps(mapping)}, "m")
    assert found.by == "id"
    assert found.names == {"id": 1, "record_id": 1, "data": 2, "data.x": 3, "data.y": 3}
    for bad in ("{", '[{"names": 5}]', '[{"names": [5]}]', "[5]", '[{"names": ["a"], "field-id": "x"}]'):
        with pytest.raises(CorruptMetadataError):
            parse_name_mapping({"schema.name-mapping.default": bad}, "m")


# ---- snapshots ------------------------------------------------------------------------------------------------------

HISTORY = {
    "schemas": [
        {"type": "struct", "schema-id": 0, "fields": FIELDS},
        {"type": "struct", "schema-id": 1, "fields": SECOND},
    ],
    "current-schema-id": 1,
    "current-snapshot-id": 30,
    "snapshots": [
        snapshot_json(10, 1000, **{"schema-id": 0}),
        snapshot_json(30, 3000, **{"schema-id": 1, "parent-snapshot-id": 10}),
        snapshot_json(40, 2500, **{"schema-id": 0, "parent-snapshot-id": 10}),
    ],
    "snapshot-log": [
        {"timestamp-ms": 1000, "snapshot-id": 10},
        {"timestamp-ms": 2000, "snapshot-id": 20},
        {"timestamp-ms": 3000, "snapshot-id": 30},
    ],
    "refs": {
        "main": {"snapshot-id": 30, "type": "branch"},
        "audit": {"snapshot-id": 40, "type": "branch"},
        "first": {"snapshot-id": 10, "type": "tag"},
    },
}


@pytest.mark.parametrize(
    ("selector", "version", "columns"),
    [
        (SnapshotSelector(), 30, 3),
        (SnapshotSelector(version=10), 10, 2),
        (SnapshotSelector(version="10"), 10, 2),
        (SnapshotSelector(version="audit"), 40, 3),
        (SnapshotSelector(branch="audit"), 40, 3),
        (SnapshotSelector(tag="first"), 10, 2),
        (SnapshotSelector(version="first"), 10, 2),
        (SnapshotSelector(timestamp_ms=1000), 10, 2),
        (SnapshotSelector(timestamp_ms=1999), 10, 2),
        (SnapshotSelector(timestamp_ms=9999), 30, 3),
    ],
)
def test_snapshot_and_its_schema(tmp_path: Path, selector: SnapshotSelector, version: int, columns: int) -> None:
    write_table(tmp_path, **HISTORY)
    found = open_table(tmp_path).snapshot(selector)
    assert found.version == version
    assert len(found.schema) == columns


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        (SnapshotSelector(version=20), "10"),
        (SnapshotSelector(version="nightly"), "audit, first, main"),
        (SnapshotSelector(branch="first"), "audit, main"),
        (SnapshotSelector(tag="main"), "first"),
        (SnapshotSelector(timestamp_ms=999), "1970-01-01T00:00:01"),
        (SnapshotSelector(timestamp_ms=2500), "expired"),
        (SnapshotSelector(version=-1), "30"),
    ],
)
def test_missing_snapshot_says_what_there_is(tmp_path: Path, selector: SnapshotSelector, message: str) -> None:
    write_table(tmp_path, **HISTORY)
    with pytest.raises(SnapshotNotFoundError, match=message):
        open_table(tmp_path).snapshot(selector)


def test_history_is_the_snapshot_log(tmp_path: Path) -> None:
    write_table(tmp_path, **HISTORY)
    history = open_table(tmp_path).history()
    assert history["version"].to_pylist() == [30, 20, 10]
    assert history["operation"].to_pylist() == ["append", None, "append"]
    assert history["is_current_ancestor"].to_pylist() == [True, False, True]
    assert open_table(tmp_path).history(1).num_rows == 1
    refs = open_table(tmp_path).snapshot(SnapshotSelector()).inspect("refs")
    assert refs["name"].to_pylist() == ["audit", "first", "main"]
    with pytest.raises(UnsupportedFeatureError, match="manifests"):
        open_table(tmp_path).snapshot(SnapshotSelector()).inspect("nothing")


@pytest.mark.parametrize(("bits", "most"), [(32, 2**31), (64, 2**63)])
def test_integers_at_their_limits(bits: int, most: int) -> None:
    for number in (-most, most - 1):
        assert Node({"n": number}, "m").integer("n", bits) == number
    for number in (-most - 1, most):
        with pytest.raises(CorruptMetadataError, match=f"{number} does not fit into {bits} bits") as caught:
            Node({"n": number}, "m").integer("n", bits)
        assert caught.value.field == "n"


def log_entry(at: int, snapshot_id: int) -> dict[str, int]:
    return {"timestamp-ms": at, "snapshot-id": snapshot_id}


def test_logs_are_in_the_order_of_their_times() -> None:
    files = [{"timestamp-ms": at, "metadata-file": name} for at, name in [(3, "a"), (1, "c"), (2, "b")]]
    found = parse(**{"snapshot-log": [log_entry(3, 7), log_entry(1, 9), log_entry(2, 8)], "metadata-log": files})
    assert found.snapshot_log == ((1, 9), (2, 8), (3, 7)) and found.metadata_log == ((1, "c"), (2, "b"), (3, "a"))


@pytest.mark.parametrize("kept", [2, 1])
def test_what_a_later_metadata_file_says_anew(kept: int) -> None:
    """Its lists begin with those of the file before it, or with a part of them: what that one lists may be gone."""
    snapshots = [snapshot_json(number, number) for number in (1, 2, 3)]
    log = [log_entry(number, number) for number in (1, 2, 3)]
    before = metadata_json(snapshots=snapshots[:2], **{"snapshot-log": log[:2]})
    after = metadata_json(snapshots=snapshots[2 - kept :], **{"snapshot-log": log[2 - kept :]})
    found = metadata_of(after, "m", earlier=(before, metadata_of(before, "m")))
    assert found == metadata_of(after, "m") and len(found.snapshots) == len(found.snapshot_log) == kept + 1


@pytest.mark.parametrize(("ids", "last", "nothing"), [([1, 2], 2, True), ([1, 2], 3, False), ([1, 3], 2, False)])
def test_whether_columns_were_dropped(ids: list[int], last: int, nothing: bool) -> None:
    fields = [{"id": number, "name": f"c{number}", "required": False, "type": "long"} for number in ids]
    schemas = [{"type": "struct", "schema-id": 0, "fields": fields}]
    found = parse(schemas=schemas, **{"last-column-id": last})
    assert found.dropped_nothing_from(found.schema) is nothing


# ---- manifests of tables made by hand -------------------------------------------------------------------------------


def read_files(folder: Path, report: ScanReport | None = None) -> list[dict[str, Any]]:
    snapshot = open_table(folder, relocate=True).snapshot(SnapshotSelector())
    request = ReadRequest((), report or ScanReport())
    return [row for batch in snapshot.read(request) for row in batch.files.to_pylist()]


@pytest.mark.parametrize("location", ["/old/t", "file:/old/t", "hdfs://name:8020/old/t"])
def test_a_moved_table_whose_files_have_no_scheme(tmp_path: Path, location: str) -> None:
    folder = table_with(tmp_path, (manifest_bytes([entry("/old/t/data/a")]), {}), location=location)
    assert tf.open_table(folder, relocate=True).scan().plan().file_uris() == [f"{folder}/data/a"]


def test_a_transform_of_several_columns_is_unknown() -> None:
    spec = [
        {"name": n, "field-id": i, "transform": "bucket[4]", "source-ids": s}
        for n, i, s in (("one", 1000, [1]), ("two", 1001, [1, 2]))
    ]
    found = parse(**{"partition-specs": [{"spec-id": 0, "fields": spec}]})
    assert [(f.transform.name, str(f.transform)) for f in found.specs[0].fields] == [
        ("bucket", "bucket[4]"),
        ("unknown", "bucket[4]"),
    ]


def test_fields_that_were_dropped_are_found() -> None:
    """Equality deletes by them still apply."""
    schemas = [{"type": "struct", "schema-id": i, "fields": FIELDS[:n]} for i, n in enumerate((2, 1))]
    found = parse(schemas=schemas, **{"current-schema-id": 1})
    names = [field.name if (field := found.find_field(i)) else None for i in (1, 2, 3)]
    assert names == ["a", "b", None]


def test_inheritance(tmp_path: Path) -> None:
    data = manifest_bytes(
        [
            entry("a", status=1, records=10),
            entry("b", status=0, sequence_number=2, records=20),
            entry("c", status=2, sequence_number=2, records=40),
            entry("d", status=1, sequence_number=3, records=1, first_row_id=7),
            entry("e", status=1, records=5),
        ]
    )
    folder = table_with(tmp_path, (data, {"first_row_id": 100}))
    found = read_files(folder)
    assert [r["path"] for r in found] == ["a", "b", "d", "e"]
    assert [r["data_sequence_number"] for r in found] == [5, 2, 3, 5]
    assert [r["first_row_id"] for r in found] == [100, 110, 7, 130]
    assert tf.open_table(folder, relocate=True).inspect.entries()["snapshot_id"].to_pylist() == [7] * 5
    without = read_files(table_with(tmp_path, (data, {})))
    assert [r["first_row_id"] for r in without] == [None] * 4


def test_files_of_version_1_manifests_have_sequence_number_0(tmp_path: Path) -> None:
    data = manifest_bytes([entry("a"), entry("b", status=0)], version=1)
    found = read_files(table_with(tmp_path, (data, {})))
    assert [r["data_sequence_number"] for r in found] == [0, 0]


def test_an_existing_file_without_sequence_number(tmp_path: Path) -> None:
    data = manifest_bytes([entry("a", status=0)])
    with pytest.raises(CorruptMetadataError) as caught:
        read_files(table_with(tmp_path, (data, {})))
    assert caught.value.field == "sequence_number"
    assert read_files(table_with(tmp_path, (data, {"sequence_number": 0})))[0]["data_sequence_number"] == 0


def test_a_manifest_cut_at_a_block_boundary(tmp_path: Path) -> None:
    data = manifest_bytes([entry(f"f{i}") for i in range(6)], sync_interval=1)
    cut = data[: data.rfind(SYNC, 0, len(data) - 16) + 16]
    table_with(tmp_path, (data, {}))
    (tmp_path / "metadata" / "m0.avro").write_bytes(cut)
    with pytest.raises(CorruptMetadataError) as caught:
        read_files(tmp_path)
    assert caught.value.field == "manifest_length"
    assert caught.value.offset == len(cut)


def test_a_length_that_the_list_has_wrong(tmp_path: Path) -> None:
    """The manifest has all entries that the list counts, so it was not cut. It is read, and noted."""
    data = manifest_bytes([entry("a"), entry("b", status=0, sequence_number=1), entry("c", status=2)])
    counts = {"added_files_count": 1, "existing_files_count": 1}
    for length in (len(data) + 34, len(data) - 34, 1):
        report = ScanReport()
        folder = table_with(tmp_path, (data, {"manifest_length": length, **counts}))
        assert [row["path"] for row in read_files(folder, report)] == ["a", "b"]
        assert report.notes == [
            f"the manifest '{folder}/metadata/m0.avro' has {len(data)} bytes, its list says {length}"
        ]
        plan = tf.open_table(folder, relocate=True).scan().plan()
        assert len(plan) == 2 and plan.report.notes == report.notes
        assert len(tf.open_table(folder, relocate=True).inspect.entries()) == 3
    # A count that is missing is not one that is zero.
    data = manifest_bytes([entry("a")])
    for wrong in ({"added_files_count": 2}, {"existing_files_count": None}, {"added_files_count": None}):
        folder = table_with(tmp_path, (data, {"manifest_length": len(data) + 34, "added_files_count": 1, **wrong}))
        for read in (read_files, lambda folder: tf.open_table(folder, relocate=True).inspect.entries()):
            with pytest.raises(CorruptMetadataError, match="its list says") as caught:
                read(folder)
            assert (caught.value.field, caught.value.offset) == ("manifest_length", len(data))
    # A longer one with other counts is another manifest.
    counts = {"added_files_count": 2, "existing_files_count": 0}
    folder = table_with(tmp_path, (data, {"manifest_length": len(data) - 3, **counts}))
    with pytest.raises(CorruptMetadataError, match=rf"and 1 live files, its list says {len(data) - 3} and 2"):
        read_files(folder)


def test_a_cut_manifest_that_does_not_decode(tmp_path: Path) -> None:
    data = manifest_bytes([entry("a")])
    table_with(tmp_path, (data, {"added_files_count": 1, "existing_files_count": 0}))
    (tmp_path / "metadata" / "m0.avro").write_bytes(data[:-3])
    with pytest.raises(CorruptMetadataError, match=f"has {len(data) - 3} bytes, its list says {len(data)}") as caught:
        read_files(tmp_path)
    assert "truncated" in str(caught.value.__cause__)


def test_wrong_counts_are_noted_and_zero_counts_skip(tmp_path: Path) -> None:
    data = manifest_bytes([entry("a")])
    report = ScanReport()
    assert (
        len(read_files(table_with(tmp_path, (data, {"added_files_count": 3, "existing_files_count": 0})), report)) == 1
    )
    assert "3" in report.notes[0]
    report = ScanReport()
    assert not read_files(table_with(tmp_path, (data, {"added_files_count": 0, "existing_files_count": 0})), report)
    assert (report.manifests_total, report.manifests_skipped) == (1, 1)
    assert len(read_files(table_with(tmp_path, (data, {"added_files_count": 0})))) == 1


@pytest.mark.parametrize(
    ("files", "row", "field"),
    [
        ([entry("a", status=3)], {}, "status"),
        ([entry("a", records=-1)], {}, "record_count"),
        ([entry("a", content=1)], {}, "content"),
        ([entry("a")], {"content": 2}, "content"),
        ([entry("a")], {"partition_spec_id": 3}, "partition_spec_id"),
        ([entry("a")], {"content": 1}, "content"),
    ],
)
def test_entries_that_contradict_the_format(tmp_path: Path, files: Any, row: dict[str, Any], field: str) -> None:
    table = table_with(tmp_path, (manifest_bytes(files), row))
    with pytest.raises(CorruptMetadataError) as caught:
        read_files(table)
        tf.open_table(table, relocate=True).snapshot().format_snapshot.delete_index  # noqa: B018
    assert caught.value.field == field


def test_encrypted_manifests_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        read_files(table_with(tmp_path, (manifest_bytes([]), {"key_metadata": b"k"})))
    assert caught.value.field == "key_metadata"


@pytest.mark.parametrize("name", ["snap-7.avro", "m0.avro"])
def test_encrypted_files_of_metadata_are_refused_by_name(tmp_path: Path, name: str) -> None:
    """Whether or not the table's metadata says that there are keys."""
    table_with(tmp_path, (bytes(104), {}))
    (tmp_path / "metadata" / name).write_bytes(b"AGS1" + bytes(100))
    with pytest.raises(UnsupportedFeatureError, match="manifest") as caught:
        read_files(tmp_path)
    assert caught.value.field == "encryption-keys"
    changed = {"snapshots": [snapshot_json(7, 1, **{"key-id": "k"})], "current-snapshot-id": 7}
    with pytest.raises(UnsupportedFeatureError):
        parse(**changed)


def test_missing_manifest_and_moved_table(tmp_path: Path) -> None:
    table_with(tmp_path, (manifest_bytes([entry("/old/t/data/a")]), {}))
    with pytest.raises(CorruptMetadataError, match="relocate=True"):
        list(open_table(tmp_path).snapshot(SnapshotSelector()).read(ReadRequest((), ScanReport())))
    for options in ({"relocate": True}, {"relocate": {"/old/t": str(tmp_path)}}):
        snapshot = open_table(tmp_path, **options).snapshot(SnapshotSelector())
        batch = next(iter(snapshot.read(ReadRequest((), ScanReport()))))
        assert snapshot.resolve_paths(batch.files["path"]).to_pylist() == [f"{tmp_path}/data/a"]
    (tmp_path / "metadata" / "m0.avro").unlink()
    with pytest.raises(CorruptMetadataError, match="missing"):
        read_files(tmp_path)


def test_paths_of_other_stores_are_refused(tmp_path: Path) -> None:
    paths = pa.array(["http://example.com/x.parquet"])
    write_table(tmp_path)
    with pytest.raises(PathNotAllowedError):
        open_table(tmp_path, relocate=True).snapshot(SnapshotSelector()).resolve_paths(paths)
    with pytest.raises(PathNotAllowedError):
        open_table(tmp_path).snapshot(SnapshotSelector()).resolve_paths(pa.array(["/old/../../etc/passwd"]))
    relative = open_table(tmp_path).snapshot(SnapshotSelector()).resolve_paths(pa.array(["data/a b%20.parquet", "/x"]))
    assert relative.to_pylist() == [f"{tmp_path}/data/a b%20.parquet", "/x"]


def test_manifests_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound = [{"key": 1, "value": b"\1\0\0\0"}]
    table_with(tmp_path, (manifest_bytes([entry("a", lower_bounds=bound)]), {}))
    read: list[str] = []
    read_bytes = Storage.read_bytes
    monkeypatch.setattr(Storage, "read_bytes", lambda self, path: read.append(path) or read_bytes(self, path))

    def manifests_read(snapshot: tf.Snapshot, filter: str | None) -> int:
        read.clear()
        plan = snapshot.scan(filter).plan()
        assert plan.survivors["path"].to_pylist() == ["a"] and plan.report.metadata_files_read == 3
        return sum("m0.avro" in path for path in read)

    first, second = (f.name for f in parse().schema.fields[:2])
    cached, uncached = (tf.open_table(tmp_path, relocate=True, cache=c).snapshot() for c in (True, False))
    assert [manifests_read(cached, f) for f in (None, f"{first} >= 1", f"{first} >= 0", None)] == [1, 1, 0, 0]
    assert manifests_read(cached, f"{second} IS NOT NULL OR {first} = 2") == 1
    assert [manifests_read(uncached, None) for _ in range(2)] == [1, 1]


@pytest.mark.parametrize("version", [1, 2])
def test_version_1_manifests_in_the_metadata(tmp_path: Path, version: int) -> None:
    """Also where the table was upgraded since the snapshot was made."""
    data = manifest_bytes([entry("a"), entry("b", status=0)], metadata={"partition-spec-id": "0"})
    table_with(tmp_path, (data, {}))
    snapshot = {"snapshot-id": 7, "timestamp-ms": 1, "manifests": ["/old/t/metadata/m0.avro"]}
    write_table(tmp_path, **{"format-version": version, "snapshots": [snapshot], "current-snapshot-id": 7})
    assert [r["path"] for r in read_files(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("data", [b"[0]", b"[0]]"])
def test_the_collector_of_cycles_is_left_as_it_was(is_on: bool, data: bytes) -> None:
    was_on = gc.isenabled()
    (gc.enable if is_on else gc.disable)()
    try:
        with contextlib.suppress(CorruptMetadataError):
            parse_json(data, "m.json")
        assert gc.isenabled() is is_on
    finally:
        (gc.enable if was_on else gc.disable)()
