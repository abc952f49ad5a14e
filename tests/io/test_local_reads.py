"""What is no regular file is refused at once, wherever a table names it: no pipe hangs a reader, no device feeds it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tableformats.io.local_reads import local_stats, open_local
from tableformats.io.storage import Storage
from tests.fuzz.targets import iceberg as seeds
from tests.support.delta_log import UUIDS, WITH_VECTORS, DeltaLog, add, field, vector
from tests.support.iceberg_manifests import read_deletes

SECONDS = 20
"""Longer than any refusal takes on a busy machine: a reader that waits for a pipe never returns."""


def put(path: Path, kind: str) -> None:
    """Make what is no regular file."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "circle":
        path.symlink_to(path.name)
    else:
        here = os.getcwd()
        os.chdir(path.parent)  # the path of a socket may have no more than 107 bytes
        try:
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(path.name)
        finally:
            os.chdir(here)


KINDS = ("pipe", "directory", "device", "socket", "circle")


def error_of(call: Callable[[], object]) -> BaseException | None:
    """What ``call`` raises; it runs on a thread of its own, so that a hang fails the test."""
    raised: list[BaseException | None] = []

    def attempt() -> None:
        try:
            call()
        except Exception as error:
            raised.append(error)
        else:
            raised.append(None)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert raised, "the reader hangs"
    return raised[0]


def iceberg_table(root: Path, manifest: bytes | None = None) -> None:
    manifest = manifest or seeds.data_manifest()
    lengths = len(manifest), len(seeds.delete_manifest())
    files = {
        "metadata/v1.metadata.json": seeds.metadata_json(),
        seeds.LIST: seeds.manifest_list(True, lengths),
        seeds.MANIFEST: manifest,
        seeds.DELETES: seeds.delete_manifest(),
        seeds.DELETE_FILE: seeds.position_deletes(),
        "data/v": seeds.blob([1, 4]),
    }
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def read_iceberg(root: Path) -> None:
    scan = tf.open_table(root, relocate=True).scan()
    read_deletes(scan.plan())
    scan.to_arrow()


ICEBERG_FILES = (seeds.LIST, seeds.MANIFEST, seeds.DELETES, seeds.DELETE_FILE, "data/v", "data/1.parquet")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ICEBERG_FILES)
def test_files_of_iceberg(tmp_path: Path, name: str, kind: str) -> None:
    iceberg_table(tmp_path)
    if name == "data/1.parquet":  # it has no position deletes of its own, so it is opened
        put(tmp_path / "data/2.parquet", kind)
        put(tmp_path / "data/3.parquet", kind)
    put(tmp_path / name, kind)
    error = error_of(lambda: read_iceberg(tmp_path))
    assert isinstance(error, tf.CorruptMetadataError), error
    assert error.path is not None and str(tmp_path) in error.path


DELTA_FILES = {
    "commit": f"_delta_log/{2:020d}.json",
    "data": "a.parquet",
    "vector": f"deletion_vector_{UUIDS[0]}.bin",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", DELTA_FILES)
def test_files_of_delta(tmp_path: Path, name: str, kind: str) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), protocol=WITH_VECTORS)
    more = {"deletionVector": vector(0)} if name == "vector" else {}
    log.commit(1, add("a.parquet", **more))
    pq.write_table(pa.table({"id": [1, 2]}), log.root / "a.parquet")
    put(log.root / DELTA_FILES[name], kind)
    error = error_of(lambda: tf.open_table(log.root).scan().to_arrow())
    if (name, kind) == ("commit", "circle"):
        assert error is None, "a listing does not show a link that leads nowhere, so there is no such commit"
        return
    assert isinstance(error, tf.CorruptMetadataError), error
    assert error.path == str(log.root / DELTA_FILES[name])


@pytest.mark.parametrize("name", [f"_delta_log/{1:020d}.checkpoint.parquet", f"_delta_log/{1:020d}.crc"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_delta_can_do_without_is_not_opened(tmp_path: Path, name: str, kind: str) -> None:
    log = DeltaLog(tmp_path / "t").start().commit(1, add("a"))
    put(log.root / name, kind)
    put(log.root / "_delta_log/_last_checkpoint", kind)
    assert error_of(lambda: tf.open_table(log.root).scan().plan()) is None
    assert error_of(lambda: tf.open_table(log.root).inspect.log()) is None


@pytest.mark.parametrize("kind", KINDS)
def test_iceberg_hint(tmp_path: Path, kind: str) -> None:
    iceberg_table(tmp_path)
    put(tmp_path / "metadata/version-hint.text", kind)
    assert error_of(lambda: tf.open_table(tmp_path, relocate=True).scan().plan()) is None


@pytest.mark.parametrize("path", ["/" + "x" * 5000, "/a\0b", "/a\ud800b"])
def test_paths_that_can_name_no_file(path: str) -> None:
    with pytest.raises(tf.CorruptMetadataError, match="leads to no file"):
        open_local(path)


def test_what_is_missing_is_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    for name in ("b", "a/b"):
        with pytest.raises(FileNotFoundError):
            open_local(str(tmp_path / name))
    assert open_local(str(tmp_path / "a")).read() == b"x"


def test_what_the_system_refuses_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "stat", refuse)
    with pytest.raises(PermissionError):
        open_local(str(tmp_path))


@pytest.mark.parametrize("kind", ("pipe", "file", "circle"))
@pytest.mark.parametrize("format", ("delta", "iceberg"))
@pytest.mark.parametrize("place", ("_delta_log", "metadata", "data", "."))
def test_tables_are_not_created_where_no_directory_is(tmp_path: Path, place: str, format: str, kind: str) -> None:
    root = tmp_path / "t"
    if place != ".":
        root.mkdir()
    if kind == "file":
        (root / place).write_text("x")
    else:
        put(root / place, kind)
    error = error_of(lambda: tf.write_table(pa.table({"a": [1]}), str(root), format=format))
    is_in_the_way = place in ({".", "_delta_log"} if format == "delta" else {".", "metadata", "data"})
    assert isinstance(error, tf.TableFormatsError) or (error is None and not is_in_the_way), error


WRITTEN = (
    "_delta_log/_last_checkpoint",
    f"_delta_log/{2:020d}.json",
    f"_delta_log/{1:020d}.checkpoint.parquet",
    f"_delta_log/{0:020d}.{1:020d}.compacted.json",
    f"_delta_log/{2:020d}.crc",
)
VERBS: dict[str, Callable[[tf.Table], object]] = {
    "append": lambda table: table.append(pa.table({"id": [3]})),
    "delete": lambda table: table.delete("id > 1"),
    "alter": lambda table: table.alter.add_columns({"more": "int"}),
    "checkpoint": lambda table: table.checkpoint(),
    "compact": lambda table: table.compact_log(0, 1),
    "verify": lambda table: table.verify(deep=True),
}


@pytest.mark.filterwarnings("ignore:version .* is committed, but upkeep")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_meets_no_regular_file(tmp_path: Path, name: str, kind: str) -> None:
    """Each verb ends, with its commit or with one of our errors; no pipe and no device is written to."""
    for verb, call in VERBS.items():
        log = DeltaLog(tmp_path / verb).start(field("id", "long"))
        log.commit(1, add("a.parquet"))
        pq.write_table(pa.table({"id": [1, 2]}), log.root / "a.parquet")
        table = tf.open_table(log.root)
        assert table.count() == 2
        put(log.root / name, kind)
        error = error_of(lambda call=call, table=table: call(table))  # type: ignore[misc]
        assert error is None or isinstance(error, tf.TableFormatsError), (verb, error)


def test_first_plans_import_no_file_systems(tmp_path: Path) -> None:
    """Neither SSL nor the library of S3 is loaded to plan a table on a local disk, with a checkpoint or without."""
    for name in ("delta", "iceberg"):
        table = tf.create_table(tmp_path / name, pa.schema([("x", pa.int64())]), format=name)
        table.append(pa.table({"x": [1]}))
        if name == "delta":
            table.checkpoint()
        lines = (
            f"import sys, tableformats as tf; assert len(tf.open_table({str(table.location)!r}).scan('x > 0').plan())"
        )
        subprocess.run([sys.executable, "-c", f"{lines}; assert 'pyarrow._fs' not in sys.modules"], check=True)


def test_what_is_listed(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    (tmp_path / "b").write_bytes(b"12")
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.json").mkdir()
    (tmp_path / "nothing").symlink_to("nowhere")
    (tmp_path / "circle").symlink_to("circle")
    os.mkdir(os.fsencode(tmp_path) + b"/\xff.avro")
    (tmp_path / "linked").symlink_to("b")
    found = [(info.name, info.size) for info in storage.list(str(tmp_path))]
    assert found == [("a.json", 0), ("b", 2), ("linked", 2)]
    assert storage.list(f"{tmp_path}/none") == storage.list(f"{tmp_path}/b/c") == []
    with pytest.raises(NotADirectoryError):
        storage.list(f"{tmp_path}/b")
    assert storage.is_dir(f"{tmp_path}/folder") and not storage.is_file(f"{tmp_path}/folder")
    assert storage.is_file(f"file://{tmp_path}/linked") and not storage.is_dir(f"{tmp_path}/b/c")


def test_what_the_system_says_of_paths(tmp_path: Path) -> None:
    """In the order of the paths; what is in a directory that is missing is missing, too."""
    (tmp_path / "f").write_bytes(b"abc")
    names = ["none/a", "f", "none/b", "a", "f", "f/below", "\0", "none/deeper/c", "b"]
    found = list(local_stats(f"{tmp_path}/{name}" for name in names))
    assert isinstance([*local_stats(["/no such file", "/etc"])][1], os.stat_result)
    assert [one.st_size if isinstance(one, os.stat_result) else type(one) for one in found] == [
        *(FileNotFoundError, 3, FileNotFoundError, FileNotFoundError, 3),
        *(NotADirectoryError, ValueError, FileNotFoundError, FileNotFoundError),
    ]
