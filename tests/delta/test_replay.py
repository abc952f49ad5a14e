"""Replay: JSON as writers spell it, checkpoints as writers lay them out, and which files are one file."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta.schema.features import READER_FEATURES, WRITER_FEATURES

from tableformats import open_table
from tableformats.errors import (
    CorruptMetadataError,
    InvalidPredicateError,
    LimitExceededError,
    UnsupportedFeatureError,
)
from tests.support.delta_log import (
    ADD_FIELDS,
    PROTOCOL,
    UUIDS,
    WITH_VECTORS,
    DeltaLog,
    add,
    field,
    first_actions,
    live_files,
    metadata,
    remove,
    request,
    stats,
    vector,
)

FIRST = f"{1:020d}.json"
CHECKPOINT = f"{1:020d}.checkpoint.parquet"
META = first_actions()
MAPPED = {"minReaderVersion": 2, "minWriterVersion": 5}


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    return DeltaLog(tmp_path / "t").start(protocol=WITH_VECTORS)


class TestJson:
    LINES = [json.dumps(add("a")), json.dumps(add("b"))]

    @pytest.mark.parametrize(
        "data",
        [
            "\n".join(LINES),
            "\n".join(LINES) + "\n",
            "\n\n" + "\n \n\t\n".join(LINES) + "\n\n",
            "\r\n".join(LINES) + "\r\n",
            "\ufeff" + "\n".join(LINES),
            "".join(LINES),
            "\n".join(json.dumps(json.loads(line), indent=2) for line in LINES),
            "\n".join([*LINES, '{"unknown":{"a":1}}', '{"add":null,"txn":null}', "{}", '{"add":[]}', '{"remove":3}']),
            json.dumps({**add("a"), "remove": None, "commitInfo": {}}) + "\n" + LINES[1],
            json.dumps(add("a", unknown={"x": [1]}, size=10)) + LINES[1],
            LINES[0].replace('"size": 10', '"size": 3, "size": 10') + LINES[1],
        ],
        ids=[
            "no newline",
            "lines",
            "blank lines",
            "CRLF",
            "BOM",
            "concatenated",
            "pretty",
            "unknown",
            "null actions",
            "unknown field",
            "duplicate key",
        ],
    )
    def test_accepted(self, log: DeltaLog, data: str) -> None:
        log.write(FIRST, data.encode())
        assert log.paths() == ["a", "b"]

    @pytest.mark.parametrize(
        ("data", "offset"),
        [
            (b"", 0),
            (b"\n \r\n", 4),
            (LINES[0].encode() + b'\n{"add":{"pa', len(LINES[0]) + 9),
            (LINES[0].encode() + b"\n{", len(LINES[0]) + 2),
            (LINES[0].encode() + b"\njunk", len(LINES[0]) + 1),
            ('{"a":"é"}\n'.encode() + b"junk", 11),
            (LINES[0].encode() + b"\n3", len(LINES[0]) + 1),
            (LINES[0].encode() + b"\n\x00", len(LINES[0]) + 1),
            (b'{"add":' + b"[" * 100_000, None),
            (b'{"add":' + b'{"a":' * 100_000, None),
            (b'{"add":{"path":"a","size":' + b"1" * 5000 + b"}}", 0),
            (b'{"add":{"path":"\xff"}}', 16),
            (b"\xef\xbb\xbf\xff", 3),
            (b"\xef\xbb\xbf" + '{"a":"é"}\n'.encode() * 3 + b"junk", 3 + 33),
        ],
    )
    def test_refused_with_offset(self, log: DeltaLog, data: bytes, offset: int | None) -> None:
        log.write(FIRST, data)
        with pytest.raises(CorruptMetadataError) as caught:
            log.snapshot()
        assert caught.value.path == str(log.directory / FIRST)
        assert caught.value.offset is not None
        if offset is not None:
            assert caught.value.offset == offset

    @pytest.mark.parametrize(
        ("action", "name"),
        [
            (add("a", size=None), "add.size"),
            (add("a", size="10"), "add.size"),
            (add("a", size=1.5), "add.size"),
            (add("a", size=True), "add.size"),
            (add("a", size=2**63), "add.size"),
            (add(None), "add.path"),  # type: ignore[arg-type]
            (add(7), "add.path"),  # type: ignore[arg-type]
            (remove(None), "remove.path"),  # type: ignore[arg-type]
            (add("a", partitionValues=[]), "add.partitionValues"),
            (add("a", partitionValues={"p": 1}), "add.partitionValues"),
            (add("a", modificationTime="x"), "add.modificationTime"),
            (add("a", deletionVector="x"), "add.deletionVector"),
            (add("a", deletionVector={}), "add.storageType"),
            (add("a", deletionVector={**vector(), "offset": "1"}), "add.offset"),
            (add("a", deletionVector={**vector(), "cardinality": None}), "add.cardinality"),
            (add("\ud800"), "add"),
        ],
    )
    def test_fields_of_the_wrong_type(self, log: DeltaLog, action: dict[str, Any], name: str) -> None:
        log.commit(1, action)
        with pytest.raises(CorruptMetadataError) as caught:
            log.snapshot()
        assert caught.value.field == name

    def test_surrogate_pairs(self, log: DeltaLog) -> None:
        log.write(FIRST, b'{"add":{"path":"\\ud83d\\ude00","size":1,"partitionValues":{}}}')
        assert log.paths() == ["\U0001f600"]

    def test_large_integers_are_exact(self, log: DeltaLog) -> None:
        log.commit(1, add("a", size=2**53 + 1))
        assert live_files(log.snapshot())[0]["size_bytes"] == 2**53 + 1

    @pytest.mark.parametrize(
        "text", [None, "", "{", "null", "[]", 7, {"numRecords": 3}, '"\ud800"', '{"numRecords":-1}', "{}{}", "1" * 5000]
    )
    def test_malformed_statistics_are_none(self, log: DeltaLog, text: Any) -> None:
        log.commit(1, add("a", stats=text), add("b", stats=stats(3)))
        assert {row["path"]: row["record_count"] for row in live_files(log.snapshot())} == {"a": None, "b": 3}


class TestCheckpoints:
    @pytest.mark.parametrize("kept", [("path", "size"), ("path", "size", "partitionValues"), ("path", "size", "stats")])
    def test_absent_columns(self, log: DeltaLog, kept: tuple[str, ...]) -> None:
        narrow = pa.struct([(name, kind) for name, kind in ADD_FIELDS if name in kept])
        log.checkpoint(CHECKPOINT, *META, add("a", stats=stats(5)), add_type=narrow)
        (row,) = live_files(log.snapshot())
        assert (row["path"], row["size_bytes"]) == ("a", 10)
        assert row["record_count"] == (5 if "stats" in kept else None)
        assert row["vector"] is None

    def test_add_of_nulls_is_no_add(self, log: DeltaLog) -> None:
        nothing = {"add": dict.fromkeys(("path", "partitionValues", "size", "modificationTime", "dataChange", "stats"))}
        log.checkpoint(CHECKPOINT, *META, nothing, add("a"), {"add": None})
        assert log.paths() == ["a"]

    def test_add_without_path_is_damage(self, log: DeltaLog) -> None:
        log.checkpoint(CHECKPOINT, *META, {"add": {"size": 3}})
        with pytest.raises(CorruptMetadataError) as caught:
            log.paths()
        assert caught.value.field == "add.path"

    @pytest.mark.parametrize(
        ("name", "kind", "value"),
        [("size", pa.string(), "x"), ("path", pa.int64(), 3), ("stats", pa.list_(pa.int8()), [1])],
    )
    def test_columns_of_the_wrong_type(self, log: DeltaLog, name: str, kind: pa.DataType, value: Any) -> None:
        members = pa.struct(list({"path": pa.string(), "size": pa.int64(), name: kind}.items()))
        log.checkpoint(CHECKPOINT, *META, {"add": {"path": "a", "size": 3, name: value}}, add_type=members)
        with pytest.raises(CorruptMetadataError) as caught:
            log.paths()
        assert caught.value.field == f"add.{name}"

    def test_removes_there_never_cancel(self, log: DeltaLog) -> None:
        both = pa.struct(ADD_FIELDS)
        rows = [*META, add("a"), remove("a")]
        kinds = {"add": both, "remove": pa.struct([("path", pa.string())])}
        table = pa.Table.from_pylist([{k: r.get(k) for k in kinds} for r in rows], pa.schema(list(kinds.items())))
        table = table.append_column("protocol", pa.array([r.get("protocol") for r in rows]))
        table = table.append_column("metaData", pa.array([_without_maps(r.get("metaData")) for r in rows]))
        pq.write_table(table, log.directory / CHECKPOINT)
        assert log.paths() == ["a"]

    def test_commits_cancel_adds_of_the_checkpoint(self, log: DeltaLog) -> None:
        log.checkpoint(CHECKPOINT, *META, add("a"), add("b"), add("c"))
        log.commit(2, remove("a"), add("b", size=77))
        files = {row["path"]: row["size_bytes"] for row in live_files(log.snapshot())}
        assert files == {"b": 77, "c": 10}

    @pytest.mark.parametrize(
        "form", ["3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet", "parquet", "3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"]
    )
    def test_v2_checkpoint(self, log: DeltaLog, form: str) -> None:
        """Sidecars by name, by absolute path and percent-encoded; adds in the manifest itself, also a classic one."""
        log.checkpoint("_sidecars/one.parquet", add("a"))
        log.checkpoint("_sidecars/t wo.parquet", add("b"), add("c"))
        sidecars = [
            {"sidecar": {"path": path, "sizeInBytes": 1, "modificationTime": 1}}
            for path in ("one.parquet", quote(str(log.directory / "_sidecars" / "t wo.parquet")))
        ]
        name = f"{1:020d}.checkpoint.{form}"
        actions = [*META, {"checkpointMetadata": {"version": 1}}, *sidecars, add("d")]
        if form.endswith("json"):
            log.write(name, "\n".join(map(json.dumps, actions)).encode())
        else:
            log.checkpoint(name, *[a for a in actions if "checkpointMetadata" not in a])
        log.commit(2, remove("b"))
        assert log.paths() == ["a", "c", "d"]

    def test_v1_checkpoint_of_a_v2_table(self, tmp_path: Path) -> None:
        log = DeltaLog(tmp_path / "v").start()
        names = ["v2Checkpoint"]
        protocol = {**WITH_VECTORS, "readerFeatures": names, "writerFeatures": names}
        log.checkpoint(CHECKPOINT, {"protocol": protocol}, META[1], add("a"))
        assert log.paths() == ["a"]

    def test_a_missing_sidecar(self, log: DeltaLog) -> None:
        log.checkpoint(CHECKPOINT, *META, {"sidecar": {"path": "gone.parquet", "sizeInBytes": 1}})
        with pytest.raises(CorruptMetadataError) as caught:
            log.paths()
        assert caught.value.path == str(log.directory / "_sidecars" / "gone.parquet")


@pytest.mark.parametrize("key", ["readerFeatures", "writerFeatures"])
@pytest.mark.parametrize("value", [True, 7, "deletionVectors", {"a": 1}, [1]], ids=repr)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_features_that_are_no_list_of_names(tmp_path: Path, version: int, key: str, value: object) -> None:
    protocol = {**WITH_VECTORS, "minReaderVersion": version, key: value}
    log = DeltaLog(tmp_path / "t").start(protocol=protocol)
    with pytest.raises(CorruptMetadataError, match="features of a protocol are no list") as caught:
        log.snapshot()
    assert caught.value.field == f"protocol.{key}" and caught.value.path


def _without_maps(meta: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if meta is None else {k: v for k, v in meta.items() if k != "configuration"}


class TestIdentity:
    @pytest.mark.parametrize(
        ("added", "removed"),
        [
            ("file:/x/a", "/x/a"),
            ("file:///x/a", "/x/a"),
            ("file:/x/a", "file:///x/a"),
            ("FILE:/x/a", "/x/a"),
            ("/x/a%20b", "file:///x/a b"),
            ("x=A%252FA/f", "x=A%252FA/f"),
            ("a%20b", "a b"),
            ("s3a://bucket/a", "s3://bucket/a"),
        ],
    )
    def test_one_file(self, log: DeltaLog, added: str, removed: str) -> None:
        log.commit(1, add(added)).commit(2, remove(removed))
        assert log.paths() == []

    @pytest.mark.parametrize(
        ("added", "removed"),
        [
            ("x=A%252FA/f", "x=A%2FA/f"),
            ("a%2520b", "a%20b"),
            ("a+b", "a b"),
            ("s3://bucket/a", "/bucket/a"),
            ("s3://one/a", "s3://two/a"),
            ("a", "A"),
        ],
    )
    def test_two_files(self, log: DeltaLog, added: str, removed: str) -> None:
        log.commit(1, add(added)).commit(2, remove(removed))
        assert log.paths() == [added]

    @pytest.mark.parametrize(
        ("stored", "path"),
        [
            ("a:b/c", "{root}/a:b/c"),
            ("t=12:30:00/f", "{root}/t=12:30:00/f"),
            ("x=A%252FA/f", "{root}/x=A%2FA/f"),
            ("/elsewhere/f%20g", "/elsewhere/f g"),
            ("file:///elsewhere/f", "/elsewhere/f"),
        ],
    )
    def test_resolved_path(self, log: DeltaLog, stored: str, path: str) -> None:
        assert log.snapshot().resolve_paths(pa.array([stored])).to_pylist() == [path.format(root=log.root)]

    def test_a_nul_is_refused(self, log: DeltaLog) -> None:
        log.commit(1, add("a%00b"))
        with pytest.raises(CorruptMetadataError, match="NUL"):
            log.paths()

    def test_remove_without_vector_leaves_add_with_vector(self, log: DeltaLog) -> None:
        log.commit(1, add("a", deletionVector=vector(0))).commit(2, remove("a"))
        assert log.paths() == ["a"]
        log.commit(3, remove("a", deletionVector=vector(0)))
        assert log.paths() == []

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    def test_vector_replaced_in_one_commit(self, log: DeltaLog, order: tuple[int, int]) -> None:
        log.commit(1, add("a"))
        actions = [add("a", deletionVector=vector(1)), remove("a")]
        log.commit(2, *(actions[i] for i in order))
        (row,) = live_files(log.snapshot())
        assert row["vector"]["pathOrInlineDv"] == vector(1)["pathOrInlineDv"]
        actions = [add("a", deletionVector=vector(2)), remove("a", deletionVector=vector(1))]
        log.commit(3, *(actions[i] for i in order))
        (row,) = live_files(log.snapshot())
        assert row["vector"]["pathOrInlineDv"] == vector(2)["pathOrInlineDv"]

    @pytest.mark.parametrize("order", [(0, 1), (1, 0)])
    def test_add_wins_in_its_commit(self, log: DeltaLog, order: tuple[int, int]) -> None:
        actions = [add("a", size=5), remove("a")]
        log.commit(1, add("a")).commit(2, *(actions[i] for i in order))
        assert [row["size_bytes"] for row in live_files(log.snapshot())] == [5]

    def test_offsets_tell_vectors_of_one_file_apart(self, log: DeltaLog) -> None:
        log.commit(1, add("a", deletionVector=vector(0, offset=1)))
        for offset in (45, None):
            log.commit(2, remove("a", deletionVector=vector(0, offset=offset)))
            assert log.paths() == ["a"]

    def test_re_add_after_remove(self, log: DeltaLog) -> None:
        log.commit(1, add("a")).commit(2, remove("a")).commit(3, add("a", modificationTime=9))
        assert [row["modification_time"] for row in live_files(log.snapshot())] == [9]

    def test_newest_statistics_win(self, log: DeltaLog) -> None:
        log.commit(1, add("a", stats=stats(1))).commit(2, add("a", stats=stats(2)))
        assert [row["record_count"] for row in live_files(log.snapshot())] == [2]

    @pytest.mark.parametrize("prefix", ["", "ab"])
    def test_one_vector_by_uuid_and_by_path(self, log: DeltaLog, prefix: str) -> None:
        name = f"deletion_vector_{UUIDS[3]}.bin"
        folder = f"{log.root}/{prefix}/" if prefix else f"{log.root}/"
        for scheme in ("", "file:", "file://"):
            absolute = {**vector(3), "storageType": "p", "pathOrInlineDv": f"{scheme}{folder}{name}"}
            by_uuid = vector(3, prefix=prefix)
            for one, other in ((absolute, by_uuid), (by_uuid, absolute)):
                log.commit(1, add("a", deletionVector=one)).commit(2, remove("a", deletionVector=other))
                assert log.paths() == []

    def test_a_vector_elsewhere_is_another(self, log: DeltaLog) -> None:
        path = f"{log.root}2/deletion_vector_{UUIDS[3]}.bin"
        log.commit(1, add("a", deletionVector=vector(3)))
        log.commit(2, remove("a", deletionVector={**vector(3), "storageType": "p", "pathOrInlineDv": path}))
        assert log.paths() == ["a"]

    def test_across_a_checkpoint(self, log: DeltaLog) -> None:
        log.checkpoint(CHECKPOINT, {"protocol": WITH_VECTORS}, META[1], add("a", deletionVector=vector(0)), add("b"))
        log.commit(2, remove("a", deletionVector=vector(0)), remove("b")).commit(3, add("a", deletionVector=vector(1)))
        (row,) = live_files(log.snapshot())
        assert row["vector"]["pathOrInlineDv"] == vector(1)["pathOrInlineDv"]


class TestProtocolAndMetadata:
    def test_newest_wins(self, log: DeltaLog) -> None:
        log.commit(1, {"metaData": metadata(field("id", "long"), field("new", "string"))})
        assert log.snapshot().schema.names == ["id", "new"]
        assert log.snapshot(0).schema.names == ["id"]

    def test_protocol_of_the_version_read(self, log: DeltaLog) -> None:
        refused = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["geospatial"], "writerFeatures": []}
        log.commit(1, {"protocol": refused})
        assert log.snapshot(0).version == 0
        with pytest.raises(UnsupportedFeatureError) as caught:
            log.snapshot()
        assert caught.value.field == "geospatial"

    @pytest.mark.parametrize(
        "name", [n for n, f in READER_FEATURES.items() if not f.read or f.needs_catalog] + ["somethingNew"]
    )
    def test_refused_features(self, tmp_path: Path, name: str) -> None:
        protocol = {**WITH_VECTORS, "readerFeatures": ["deletionVectors", name]}
        with pytest.raises(UnsupportedFeatureError, match=name) as caught:
            DeltaLog(tmp_path / "t").start(protocol=protocol).snapshot()
        assert caught.value.field == name

    @pytest.mark.parametrize("name", ["catalogManaged", "catalogOwned", "catalogOwned-preview"])
    def test_tables_of_a_catalog_say_where_to_go(self, tmp_path: Path, name: str) -> None:
        protocol = {**WITH_VECTORS, "readerFeatures": [name], "writerFeatures": [name]}
        with pytest.raises(UnsupportedFeatureError, match="Read the table through its catalog"):
            DeltaLog(tmp_path / "t").start(protocol=protocol).snapshot()

    @pytest.mark.parametrize("name", [n for n, f in READER_FEATURES.items() if f.read and not f.needs_catalog])
    def test_read_features(self, tmp_path: Path, name: str) -> None:
        protocol = {**WITH_VECTORS, "readerFeatures": [name], "writerFeatures": [name, "unknownWriterFeature"]}
        assert DeltaLog(tmp_path / "t").start(protocol=protocol).snapshot().version == 0

    @pytest.mark.parametrize("name", WRITER_FEATURES)
    def test_writer_features(self, tmp_path: Path, name: str) -> None:
        assert name not in READER_FEATURES
        for protocol in (
            {**WITH_VECTORS, "writerFeatures": ["deletionVectors", name]},
            {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [name]},
        ):
            root = tmp_path / str(protocol["minReaderVersion"])
            assert DeltaLog(root).start(protocol=protocol).snapshot().version == 0

    @pytest.mark.parametrize("version", [4, 99])
    def test_newer_reader_versions(self, tmp_path: Path, version: int) -> None:
        with pytest.raises(UnsupportedFeatureError) as caught:
            DeltaLog(tmp_path / "t").start(protocol={**PROTOCOL, "minReaderVersion": version}).snapshot()
        assert caught.value.field == "minReaderVersion"

    @pytest.mark.parametrize(
        "protocol",
        [
            {"minWriterVersion": 2},
            {"minReaderVersion": "1"},
            {"minReaderVersion": 0},
            {"minReaderVersion": 3},
            {"minReaderVersion": 3, "readerFeatures": "deletionVectors"},
            {"minReaderVersion": 3, "readerFeatures": [1]},
        ],
    )
    def test_damaged_protocols(self, tmp_path: Path, protocol: dict[str, Any]) -> None:
        with pytest.raises(CorruptMetadataError):
            DeltaLog(tmp_path / "t").start(protocol=protocol).snapshot()

    @pytest.mark.parametrize("missing", ["protocol", "metaData"])
    def test_missing_actions(self, tmp_path: Path, missing: str) -> None:
        actions = [action for action in META if missing not in action]
        with pytest.raises(CorruptMetadataError, match=missing):
            DeltaLog(tmp_path / "t").commit(0, *actions).snapshot()

    @pytest.mark.parametrize(
        "change",
        [
            {"schemaString": 3},
            {"schemaString": "{"},
            {"schemaString": '{"type":"struct"}'},
            {"schemaString": '{"type":"struct","fields":[{"type":"long"}]}'},
            {"schemaString": '{"type":"struct","fields":[{"name":"a"}]}'},
            {"schemaString": "1" * 5000},
            {"schemaString": '{"type":"struct","fields":[{"name":"a","type":"decimal(39,2)"}]}'},
            {"partitionColumns": ["nope"]},
            {"partitionColumns": "id"},
            {"configuration": []},
            {"configuration": {"delta.columnMapping.mode": "name"}},
        ],
    )
    def test_damaged_metadata(self, tmp_path: Path, change: dict[str, Any]) -> None:
        log = DeltaLog(tmp_path / "t").commit(0, {"protocol": MAPPED}, {"metaData": {**metadata(), **change}})
        with pytest.raises(CorruptMetadataError) as caught:
            log.snapshot()
        assert caught.value.path == str(log.directory / f"{0:020d}.json")

    @pytest.mark.parametrize("is_null", [True, False])
    @pytest.mark.parametrize("with_checksum", [True, False])
    def test_metadata_without_a_schema_has_no_columns(self, tmp_path: Path, is_null: bool, with_checksum: bool) -> None:
        """As Databricks writes version 0 of a table whose columns come later."""
        action = {name: value for name, value in metadata().items() if name != "schemaString"}
        action = {**action, "schemaString": None} if is_null else action
        log = DeltaLog(tmp_path / "t").commit(0, {"protocol": PROTOCOL}, {"metaData": action})
        log.commit(1, add("a", stats=stats(3)))
        columnar = {**first_actions()[1]["metaData"], "schemaString": None}
        log.checkpoint(CHECKPOINT, {"protocol": PROTOCOL}, {"metaData": columnar}, add("a", stats=stats(3)))
        log.commit(2, {"metaData": metadata(field("id", "long"))})
        if with_checksum:
            log.write(f"{1:020d}.crc", json.dumps({"numFiles": 1, "metadata": action}).encode())
        table = open_table(log.root)
        assert [table.snapshot(version).schema.names for version in range(3)] == [[], [], ["id"]]
        scan = table.scan(version=0)
        assert (scan.count(), scan.to_arrow().num_rows, scan.to_arrow().num_columns) == (0, 0, 0)
        assert table.scan(version=1).plan().report.notes == []
        with pytest.raises(InvalidPredicateError, match="no column"):
            table.scan("id = 1", version=0)

    def test_a_schema_deeper_than_python_reads(self, tmp_path: Path) -> None:
        deep = {**metadata(), "schemaString": "[" * 100_000}
        log = DeltaLog(tmp_path / "t").commit(0, {"protocol": MAPPED}, {"metaData": deep})
        with pytest.raises(LimitExceededError) as caught:
            log.snapshot()
        assert (caught.value.limit, caught.value.field) == ("nesting", "metaData.schemaString")

    @pytest.mark.parametrize(
        ("change", "name"),
        [
            ({"schemaString": '{"type":"struct","fields":[{"name":"a","type":"geometry"}]}'}, "a"),
            ({"configuration": {"delta.columnMapping.mode": "magic"}}, "delta.columnMapping.mode"),
            ({"format": {"provider": "orc"}}, "metaData.format.provider"),
        ],
    )
    def test_refused_metadata(self, tmp_path: Path, change: dict[str, Any], name: str) -> None:
        log = DeltaLog(tmp_path / "t").commit(0, {"protocol": MAPPED}, {"metaData": {**metadata(), **change}})
        with pytest.raises(UnsupportedFeatureError) as caught:
            log.snapshot()
        assert caught.value.field == name


def test_many_commits_are_few_batches(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start()
    for version in range(1, 200):
        log.commit(version, add(f"f{version}"), *([remove(f"f{version - 2}")] if version > 2 else []))
    snapshot, asked = log.snapshot(), request()
    assert len(list(snapshot.read(asked))) == 1
    assert log.paths() == ["f198", "f199"]
    assert asked.report.log_files_read == asked.report.metadata_files_read == 200
    assert asked.report.metadata_bytes_read == sum(p.stat().st_size for p in log.directory.iterdir())


def test_every_order_of_batches_agrees_with_every_version(tmp_path: Path) -> None:
    """A checkpoint at any version changes nothing: the state is that of a plain replay."""
    log = DeltaLog(tmp_path / "t").start(protocol=WITH_VECTORS)
    steps = [
        [add("a"), add("b")],
        [remove("a"), add("a", deletionVector=vector(0))],
        [remove("b")],
        [add("a", deletionVector=vector(1)), remove("a", deletionVector=vector(0))],
        [add("b"), add("c")],
    ]
    state: dict[tuple[str, str | None], dict[str, Any]] = {}
    for version, actions in enumerate(steps, 1):
        log.commit(version, *actions)
        for kind, action in itertools.chain.from_iterable(a.items() for a in sorted(actions, key=lambda a: "add" in a)):
            key = action["path"], (action.get("deletionVector") or {}).get("pathOrInlineDv")
            state.pop(key, None)
            if kind == "add":
                state[key] = action
        expected = sorted(state, key=str)
        found = [(row["path"], row["vector"] and row["vector"]["pathOrInlineDv"]) for row in live_files(log.snapshot())]
        assert sorted(found, key=str) == expected
        adds = [{"add": action} for action in state.values()]
        log.checkpoint(f"{version:020d}.checkpoint.parquet", {"protocol": WITH_VECTORS}, META[1], *adds)
        found = [(row["path"], row["vector"] and row["vector"]["pathOrInlineDv"]) for row in live_files(log.snapshot())]
        assert sorted(found, key=str) == expected
        if version % 2:
            (log.directory / f"{version:020d}.checkpoint.parquet").unlink()
