"""The path policy, for every kind of path that metadata names: what is not allowed is refused before any request.

The tables lie in a store that writes down what is asked of it; ``s3://bucket/t`` is a directory of the test.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import tableformats as tf
from tableformats.errors import CorruptMetadataError, PathNotAllowedError
from tableformats.io.path_policy import PathPolicy
from tableformats.io.storage import Storage
from tableformats.io.stores.file_system import FileSystemStore
from tests.support.delta_log import UUIDS, WITH_VECTORS, DeltaLog, add, first_actions, metadata
from tests.support.iceberg_history import LIST, History
from tests.support.iceberg_manifests import SYNC

ROOT = "s3://bucket/t"
EVIL = [
    "file:///etc/passwd",
    "file:/etc/passwd",
    "FILE:/etc/passwd",
    "/etc/passwd",
    "//host/share/x",
    "///etc/passwd",
    "http://evil/x",
    "HTTP://evil/x",
    "https://evil/x",
    "hdfs:/evil",
    "gs://bucket/t/x",
    "gs:///x",
    "../t2/x",
    "a/../../x",
    "s3://bucket/t/../t2/x",
    "S3A://bucket/t/../x",
    "..",
    "a\\..\\..\\x",
    "..\\x",
]
ENCODED = [
    "%2e%2e/x",
    "a/%2E%2e/x",
    "%2E./x",
    "file%3A/etc/passwd",
    "http:%2f%2fevil/x",
    "%2Fetc/passwd",
    "a%5c..%5Cx",
    "a%00b",
]


class Store(fs.FileSystemHandler):
    """A directory as a store of objects; ``asked`` are the paths of all requests, ``schemes`` those of its URIs."""

    def __init__(self, directory: Path) -> None:
        self._inner = fs.SubTreeFileSystem(str(directory), fs.LocalFileSystem())
        self.asked: list[str] = []
        self.schemes: set[str] = set()

    def opened(self, path: str) -> fs.FileSystem:
        self.schemes.add(path.partition(":")[0])
        return fs.PyFileSystem(self)

    def get_type_name(self) -> str:
        return "recording"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        self.asked += paths
        return self._inner.get_file_info(paths)

    def get_file_info_selector(self, selector: fs.FileSelector) -> Any:
        self.asked.append(selector.base_dir)
        return self._inner.get_file_info(selector)

    def open_input_file(self, path: str) -> Any:
        self.asked.append(path)
        return self._inner.open_input_file(path)

    def _refuse(self, *arguments: Any, **options: Any) -> Any:
        raise AssertionError(f"readers write and stream nothing: {arguments}")

    open_input_stream = open_output_stream = open_append_stream = create_dir = delete_dir = _refuse
    delete_dir_contents = delete_root_dir_contents = delete_file = move = copy_file = _refuse


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    made = Store(tmp_path)
    monkeypatch.setattr(
        "tableformats.io.stores.opening.open_store",
        lambda uri, options, redactor: FileSystemStore(made.opened(uri), redactor),
    )
    return made


def refused(store: Store, call: Callable[[tf.Table], Any], stored: str, **options: Any) -> None:
    """Reading is refused, and nothing outside of the table was asked for on the way."""
    with pytest.raises((PathNotAllowedError, CorruptMetadataError)) as caught:
        call(tf.open_table(ROOT, **options))
    assert isinstance(caught.value, PathNotAllowedError) or "NUL" in str(caught.value), str(caught.value)
    assert caught.value.path and caught.value.hint
    assert store.asked and {path for path in store.asked if not path.startswith("bucket/t")} == set()
    assert not any(part in path for path in store.asked for part in ("..", "evil", "passwd", "\0", "t2")), stored
    assert store.schemes == {"s3"}


def read(table: tf.Table) -> Any:
    return table.scan().to_arrow()


# ---- Delta ----------------------------------------------------------------------------------------------------------


def write_delta(root: Path, kind: str, path: str) -> Callable[[tf.Table], Any]:
    """A table whose file of ``kind`` has this path; what reads it."""
    log = DeltaLog(root)
    vector = {"storageType": "p", "pathOrInlineDv": path, "offset": 1, "sizeInBytes": 40, "cardinality": 1}
    if kind == "data":
        log.start().commit(1, add(path))
    elif kind == "deletion vector":
        log.start(protocol=WITH_VECTORS).commit(1, add("f", stats='{"numRecords": 3}', deletionVector=vector))
        return lambda t: t.snapshot().format_snapshot.deleted_positions("f", 3, t.scan().plan().delete_files.files)
    elif kind == "checkpoint's data":
        log.start().commit(1, add("x")).checkpoint(
            "00000000000000000001.checkpoint.parquet", *first_actions(), add(path)
        )
    elif kind == "change data":
        changed = metadata(configuration={"delta.enableChangeDataFeed": "true"})
        log.commit(0, {"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}}, {"metaData": changed})
        log.commit(1, add("f"), {"cdc": {"path": path, "partitionValues": {}, "size": 1, "dataChange": False}})
        return lambda t: t.changes(1, 1).to_arrow()
    else:
        log.start().commit(1, add("x"))
        sidecar = {"sidecar": {"path": path, "sizeInBytes": 1, "modificationTime": 1}}
        v2 = {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["v2Checkpoint"],
            "writerFeatures": ["v2Checkpoint"],
        }
        name = f"00000000000000000001.checkpoint.{UUIDS[0]}.parquet"
        log.checkpoint(name, *first_actions(protocol=v2), sidecar)
    return read


@pytest.mark.parametrize("path", [*EVIL, *ENCODED])
@pytest.mark.parametrize("kind", ["data", "deletion vector", "checkpoint's data", "change data", "sidecar"])
def test_delta(tmp_path: Path, store: Store, kind: str, path: str) -> None:
    call = write_delta(tmp_path / "bucket" / "t", kind, path)
    refused(store, call, path)


def test_delta_paths_that_are_allowed(tmp_path: Path, store: Store) -> None:
    """Another bucket of the store (a clone's), names with dots, and a sidecar that lies where it belongs."""
    log = DeltaLog(tmp_path / "bucket" / "t").start()
    log.commit(1, add("s3a://bucket2/x"), add("a..b/...c"), add("x//y"), add("%252e%252e/x"))
    uris = tf.open_table(ROOT).scan().plan().file_uris()
    assert set(uris) == {"s3://bucket2/x", f"{ROOT}/a..b/...c", f"{ROOT}/x//y", f"{ROOT}/%2e%2e/x"}
    with pytest.raises(PathNotAllowedError):
        tf.open_table(ROOT, allow_paths=["gs://other/data"]).scan().snapshot.storage.resolve_one("gs://other/database")


# ---- Iceberg --------------------------------------------------------------------------------------------------------

KINDS = ["data", "position deletes", "equality deletes", "deletion vector", "manifest", "manifest list", "old manifest"]


class Tampered(History):
    """Writes ``path`` where the metadata names a file whose name begins with ``prefix``."""

    def __init__(self, root: Path, prefix: str, path: str) -> None:
        super().__init__(root)
        self._prefix, self._path = prefix, path

    def _entry(self, path: str, records: int, snapshot_id: int, **more: Any) -> dict[str, Any]:
        made = super()._entry(path, records, snapshot_id, **more)
        if self._prefix and path.startswith(self._prefix):
            made["data_file"]["file_path"] = self._path
        return made


def write_iceberg(root: Path, kind: str, path: str) -> Callable[[tf.Table], Any]:
    prefixes = {"data": "f", "position deletes": "p", "equality deletes": "e", "deletion vector": "v"}
    table = Tampered(root, prefixes.get(kind, ""), path)
    table.commit("append", add=[[1, 2, 3]])
    if kind == "position deletes":
        table.commit("delete", positions=[("f1-0.parquet", 1)])
    elif kind == "equality deletes":
        table.commit("delete", keys=[2])
    elif kind == "deletion vector":
        table.commit("delete", vectors=[("f1-0.parquet", 1)])
    elif kind == "manifest":
        for file in (root / "metadata").glob("snap-*.avro"):
            rows = [{**row, "manifest_path": path} for row in fastavro.reader(io.BytesIO(file.read_bytes()))]
            out = io.BytesIO()
            fastavro.writer(out, fastavro.parse_schema(LIST), rows, sync_marker=SYNC)
            file.write_bytes(out.getvalue())
    elif kind in ("manifest list", "old manifest"):
        change(root, lambda snapshot: rename(snapshot, kind, path))
    return read


def rename(snapshot: dict[str, Any], kind: str, path: str) -> None:
    snapshot["manifest-list"] = path
    if kind == "old manifest":
        del snapshot["manifest-list"]
        snapshot["manifests"] = [path]


def change(root: Path, how: Callable[[dict[str, Any]], None]) -> None:
    file = root / "metadata" / "v1.metadata.json"
    content = json.loads(file.read_text())
    how(content["snapshots"][0])
    if "manifests" in content["snapshots"][0]:  # version 1 alone names manifests in the metadata
        content["format-version"] = 1
        content["schema"], content["partition-spec"] = content["schemas"][0], []
    file.write_text(json.dumps(content))


@pytest.mark.parametrize("path", [*EVIL, "a\0b"])
@pytest.mark.parametrize("kind", KINDS)
def test_iceberg(tmp_path: Path, store: Store, kind: str, path: str) -> None:
    call = write_iceberg(tmp_path / "bucket" / "t", kind, path)
    refused(store, call, path, relocate=True)


@pytest.mark.parametrize("kind", KINDS)
def test_moved_iceberg_tables(tmp_path: Path, store: Store, kind: str) -> None:
    """A path that climbs out of what was moved, and one that only begins like it."""
    root = tmp_path / "bucket" / "t"
    for path in (f"{root}/../t2/x", f"{root}-else/passwd"):
        call = write_iceberg(root, kind, path)
        if path.endswith("x"):
            refused(store, call, path, relocate=True)
        else:
            refused(store, call, path, relocate={str(root): ROOT})
        for file in sorted(root.rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        root.rmdir()


def test_files_that_nobody_reads_are_not_asked_for(tmp_path: Path, store: Store) -> None:
    """Statistics and older metadata files are named by the metadata; readers of rows need none of them."""
    root = tmp_path / "bucket" / "t"
    write_iceberg(root, "none", "")
    file = root / "metadata" / "v1.metadata.json"
    content = json.loads(file.read_text())
    evil = {
        "snapshot-id": 101,
        "statistics-path": "http://evil/x",
        "file-size-in-bytes": 1,
        "file-footer-size-in-bytes": 1,
        "blob-metadata": [],
    }
    content["statistics"], content["partition-statistics"] = [evil], [evil]
    content["metadata-log"] = [{"timestamp-ms": 1, "metadata-file": "http://evil/v0.metadata.json"}]
    file.write_text(json.dumps(content))
    table = tf.open_table(ROOT, relocate=True)
    assert table.scan().to_arrow().num_rows == 3 and table.inspect.metadata_log_entries().num_rows == 2
    assert store.schemes == {"s3"} and all(path.startswith("bucket/t") for path in store.asked)


# ---- the policy itself ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("root", "stored", "allowed"),
    [
        ("http://host/t", "http://host/u/x", True),
        ("http://host/t", "http://HOST/u/x", True),
        ("http://host/t", "http://other/x", False),
        ("http://host/t", "http://host:8080/x", False),
        ("http://host/t", "https://host/x", False),
        ("http://host/t", "http:/x", False),
        ("http://host/t", "http://host@evil/x", False),
        ("sftp://host/t", "sftp://evil/x", False),
        ("s3://bucket/t", "s3n://other/x", True),
        ("abfs://c@a/t", "abfss://d@a/x", True),
        ("/data/t", "/elsewhere/x", True),
        ("/data/t", "file://host/x", False),
        ("/data/t", "s3://b/x", False),
    ],
)
def test_stores(root: str, stored: str, allowed: bool) -> None:
    storage = Storage(root)
    for resolve in (storage.resolve_one, lambda path: storage.resolve(pa.array(["x", path]))[1].as_py()):
        if allowed:
            assert resolve(stored)
        else:
            with pytest.raises(PathNotAllowedError):
                resolve(stored)


@pytest.mark.parametrize(
    ("prefix", "stored", "allowed"),
    [
        ("gs://b/data", "gs://b/data/x", True),
        ("gs://b/data", "gs://b/data", True),
        ("gs://b/data/", "gs://b/data/x", True),
        ("gs://b/data", "gs://b/database/x", False),
        ("gs://b/data", "gs://b/data/../x", False),
        ("gs://b/data", "GS://b/data/x", True),
        ("gs://b/data", "gs://B/data/x", False),
        ("gs://b", "gs://bb/x", False),
        ("gs://b/data", "gs://b//data/x", False),
        ("file:///data", "/data/x", True),
        ("/data", "/database/x", False),
    ],
)
def test_allowed_prefixes_are_whole_segments(prefix: str, stored: str, allowed: bool) -> None:
    for storage in (Storage(ROOT, allow_paths=[prefix]), Storage(ROOT, allow_paths=prefix)):
        if allowed:
            assert storage.resolve_one(stored)
        else:
            with pytest.raises(PathNotAllowedError):
                storage.resolve_one(stored)


def test_a_delta_table_whose_files_were_moved(tmp_path: Path) -> None:
    """Clones name their files by absolute paths."""
    log = DeltaLog(tmp_path / "t").start()
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "f.parquet")
    log.commit(1, add("file:/no/such/place/f.parquet", size=(tmp_path / "f.parquet").stat().st_size))
    with pytest.raises(CorruptMetadataError, match="relocate"):
        tf.open_table(log.root).scan().to_arrow()
    moved = tf.open_table(log.root, relocate={"/no/such/place": str(tmp_path)})
    assert moved.scan().plan().file_uris() == [str(tmp_path / "f.parquet")]
    assert moved.scan().to_arrow().num_rows == 2


@pytest.mark.parametrize(
    ("root", "aliases", "others"),
    [
        ("s3://b/t", ["s3a", "s3n", "S3A"], ["gcs", "gs", "abfs", "abfss", "wasb"]),
        ("gs://b/t", ["gcs"], ["s3", "s3a", "s3n", "wasb"]),
        ("abfss://c@a.h/t", ["abfs"], ["wasb", "wasbs", "s3a", "gcs"]),
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_schemes_that_name_the_same_store(root: str, aliases: list[str], others: list[str], count: int) -> None:
    policy, place = PathPolicy(root, ()), root.partition("://")[2]
    for scheme in [root.partition("://")[0], *aliases]:
        assert policy.resolve(pa.array([f"{scheme}://{place}/x"] * count)).to_pylist() == [f"{root}/x"] * count
    for scheme in others:
        with pytest.raises(PathNotAllowedError):
            policy.resolve(pa.array([f"{root}/x"] * (count - 1) + [f"{scheme}://{place}/x"]))


@pytest.mark.parametrize("turned", [False, True])
def test_the_longest_move_wins(turned: bool) -> None:
    policy = PathPolicy("/t", ())
    moves = [("/old", "/t/a/much/longer/place"), ("/old/b", "/t/b"), ("/old/b/c/", "/t/c/long/")]
    for old, new in reversed(moves) if turned else moves:
        policy.relocate(old, new)
    found = [policy.resolve_one(path) for path in ("/old/x", "/old/b/x", "/old/b/c/x", "/old/bc/x", "/t/y")]
    assert found == ["/t/a/much/longer/place/x", "/t/b/x", "/t/c/long/x", "/t/a/much/longer/place/bc/x", "/t/y"]
