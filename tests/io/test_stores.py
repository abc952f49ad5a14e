"""The stores behind one interface: what each method answers, what writers may rely on, and that nothing is stale."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import fsspec
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs

import tableformats as tf
from tableformats.errors import LimitExceededError, StoreError, TableFormatsError, UnsupportedFeatureError
from tableformats.io.storage import PutOutcome, Storage
from tableformats.io.stores import remote_file
from tableformats.io.stores.base import ObjectStore, Tail
from tableformats.io.stores.faults import not_of_a_store
from tableformats.io.stores.remote_file import BLOCK_BYTES, TAIL_BYTES, RemoteFile
from tableformats.limits import Limits
from tests.support.examples import examples
from tests.support.s3_stub import S3Stub

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "tables"


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Stub]:
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    with S3Stub() as server:
        yield server


@pytest.fixture(params=["local", "obstore", "fsspec", "pyarrow"])
def storage(request: pytest.FixtureRequest, tmp_path: Path, stub: S3Stub) -> Iterator[Storage]:
    """A directory ``t`` in stores of each kind."""
    (tmp_path / "t").mkdir()
    if request.param == "local":
        yield Storage(tmp_path / "t")
    elif request.param == "obstore":
        yield Storage("s3://bucket/t", stub.options)
    elif request.param == "fsspec":
        memory = fsspec.filesystem("memory")
        memory.mkdir("/bucket/t")
        yield Storage("s3://bucket/t", {"filesystem": memory})
        memory.rm("/bucket", recursive=True)
    else:
        yield Storage("s3://bucket/t", {"filesystem": fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())})
        assert not (tmp_path / "t").exists()


def write(storage: Storage, name: str, data: bytes) -> str:
    path = storage.join(name)
    storage.put(path, data)
    return path


@pytest.fixture
def folder(storage: Storage, request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if "pyarrow" in request.node.name:
        (tmp_path / "t").rmdir()
        (tmp_path / "bucket" / "t").mkdir(parents=True)
    return storage


NAMES = ["a", "a b+c", "é", "a%20b", "z=1"]


def test_files_are_written_listed_and_read(folder: Storage) -> None:
    for name in NAMES:
        write(folder, name, name.encode())
    if "s3" in folder.root and "filesystem" not in folder.options:
        write(folder, "below/x", b"1")
    found = folder.list(folder.root)
    assert [info.name for info in found] == sorted(NAMES, key=str.encode)
    assert all(info.path == folder.join(info.name) and info.size == len(info.name.encode()) for info in found)
    assert all(folder.read_bytes(info.path) == info.name.encode() for info in found)
    assert folder.is_dir(folder.root) and not folder.is_dir(folder.join("absent"))
    assert folder.is_file(folder.join("é")) and not folder.is_file(folder.join("absent"))
    folder.delete(folder.join("é"))
    folder.delete(folder.join("é"))
    assert not folder.is_file(folder.join("é")) and len(folder.list(folder.root)) == len(NAMES) - 1
    assert folder.list(folder.join("absent")) == []


def test_ranges(folder: Storage) -> None:
    data = bytes(range(256)) * 4
    path = write(folder, "x", data)
    assert folder.read_bytes(path, 3, 5) == data[3:8] and folder.read_bytes(path, 1000) == data[1000:]
    assert folder.read_bytes(path, 7, 0) == b""
    for offset, length in ((1020, 5), (2000, 1), (-1, 2), (0, -1), (1025, None)):
        with pytest.raises(OSError, match="asked of") as caught:
            folder.read_bytes(path, offset, length)
        assert not isinstance(caught.value, StoreError)
    room = bytearray(2000)
    assert folder.read_into(path, lambda size: memoryview(room)[:size]) == data
    with folder.open_file(path) as source:
        assert source.size() == len(data) and source.read_at(4, 600) == data[600:604]
    with pytest.raises(FileNotFoundError):
        folder.read_bytes(folder.join("absent"))
    with pytest.raises(FileNotFoundError):
        folder.open_file(folder.join("absent"))


def test_limits_hold_before_anything_is_read(folder: Storage) -> None:
    write(folder, "x", b"12345678")
    limited = Storage(folder.root, dict(folder.options), limits=Limits(metadata_bytes=4))
    for call in (
        lambda: limited.read_bytes(limited.join("x")),
        lambda: limited.read_bytes(limited.join("x"), 0, 5),
        lambda: limited.read_into(limited.join("x"), lambda size: memoryview(bytearray(size))),
    ):
        with pytest.raises(LimitExceededError):
            call()
    assert limited.read_bytes(limited.join("x"), 2, 4) == b"3456"


def test_a_file_is_written_only_where_there_is_none(folder: Storage) -> None:
    path = folder.join("_delta_log/00000000000000000007.json")
    if "filesystem" in folder.options:
        with pytest.raises(UnsupportedFeatureError, match="only if there is none"):
            folder.put_if_absent(path, b"mine")
        return
    assert folder.put_if_absent(path, b"mine") is PutOutcome.WON
    assert folder.put_if_absent(path, b"theirs") is PutOutcome.LOST
    assert folder.read_bytes(path) == b"mine"
    assert [info.name for info in folder.list(folder.join("_delta_log"))] == ["00000000000000000007.json"]


def test_one_of_many_writers_wins(folder: Storage) -> None:
    if "filesystem" in folder.options:
        return
    path, outcomes = folder.join("one"), []
    start = threading.Barrier(8)

    def write_once(number: int) -> None:
        start.wait()
        outcomes.append((folder.put_if_absent(path, b"%d" % number), number))

    threads = [threading.Thread(target=write_once, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    won = [number for outcome, number in outcomes if outcome is PutOutcome.WON]
    assert len(won) == 1 and folder.read_bytes(path) == b"%d" % won[0]


def test_an_answer_that_was_lost_is_unknown(stub: S3Stub) -> None:
    storage = Storage("s3://bucket/t", {**stub.options, "max_retries": 0})
    stub.fault = "reset"
    assert storage.put_if_absent(storage.join("x"), b"1") is PutOutcome.UNKNOWN
    stub.fault = "500"
    assert storage.put_if_absent(storage.join("x"), b"1") is PutOutcome.UNKNOWN
    stub.fault = "403"
    with pytest.raises(tf.StorePermissionError):
        storage.put_if_absent(storage.join("x"), b"1")


# ---- requests -------------------------------------------------------------------------------------------------------


def test_a_read_is_one_request_and_no_size_is_asked_for(stub: S3Stub) -> None:
    storage = Storage("s3://bucket/t", stub.options)
    stub.put("t/x", b"12345")
    assert storage.read_bytes("s3://bucket/t/x") == b"12345"
    assert [(r.method, r.path) for r in stub.requests] == [("GET", "/bucket/t/x")]


def test_a_small_file_is_opened_by_one_request(stub: S3Stub) -> None:
    storage = Storage("s3://bucket/t", stub.options)
    stub.put("t/x", bytes(1000))
    with storage.open_file("s3://bucket/t/x") as source:
        assert source.size() == 1000 and source.read_at(10, 990) == bytes(10)
        source.seek(0)
        assert source.read() == bytes(1000)
    assert len(stub.requests) == 1


def test_a_large_file_is_read_by_ranges(stub: S3Stub) -> None:
    data = bytes(range(251)) * 10_000
    storage = Storage("s3://bucket/t", stub.options)
    stub.put("t/x", data)
    with storage.open_file("s3://bucket/t/x") as source:
        assert source.size() == len(data) and source.read_at(8, len(data) - 8) == data[-8:]
        assert [r.range for r in stub.requests] == [f"bytes=-{TAIL_BYTES}"]
        assert source.read_at(1000, 500) == data[500:1500]
        assert stub.requests[-1].range == "bytes=500-1499"
        source.seek(1500)
        assert b"".join(source.read(1000) for _ in range(100)) == data[1500:101_500]
        assert stub.requests[-1].range == f"bytes=1500-{1499 + BLOCK_BYTES}" and len(stub.requests) == 3
        source.seek(0)
        assert source.read() == data


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(st.integers(-5, 220), st.integers(-5, 90)), max_size=8),
    st.lists(st.tuples(st.integers(0, 199), st.integers(0, 200)), max_size=6),
    st.integers(0, 60),
    st.booleans(),
)
def test_ranges_that_are_read_ahead_give_the_same_bytes(
    ranges: list[tuple[int, int]], reads: list[tuple[int, int]], tail: int, is_given_up: bool
) -> None:
    data = bytes(range(200))
    with mock.patch.multiple("tableformats.io.stores.remote_file", HOLE_BYTES=4, PIECE_BYTES=16, BLOCK_BYTES=8):
        end = Tail(memoryview(data)[len(data) - tail :], len(data))
        with RemoteFile(OneObject(data), "s3://b/x", end, lambda size: None).with_ranges(ranges) as file:
            if is_given_up:  # then each piece is asked for when it is needed
                file._ahead.close()
            for offset, length in reads:
                file.seek(offset)
                assert file.read(length) == data[offset : offset + length]


class OneObject(ObjectStore):
    """A store whose every file has the same bytes. Nothing else may be asked for."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def get(
        self, path: str, offset: int = 0, length: int | None = None, limit: int | None = None, etag: str | None = None
    ) -> memoryview:
        assert length and offset + length <= len(self._data)
        return memoryview(self._data)[offset : offset + length]

    pages = below = get_ranges = tail = head = has_files_below = put = put_if_absent = delete = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("ranges", "pieces"),
    [
        ([], []),
        ([(0, 10), (14, 2), (21, 1)], [(0, 16), (21, 22)]),
        ([(30, 40)], [(30, 46), (46, 62), (62, 70)]),
        ([(20, 25)], [(20, 45)]),
        ([(20, 32)], [(20, 52)]),
        ([(20, 33)], [(20, 36), (36, 52), (52, 53)]),
        ([(20, 5), (0, 5), (2, 30)], [(0, 5), (5, 32)]),
        ([(95, 50), (-3, 9), (7, -1), (120, 4)], [(95, 100)]),
    ],
)
def test_ranges_are_joined_over_holes_and_cut(
    ranges: list[tuple[int, int]], pieces: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_file, "HOLE_BYTES", 4)
    monkeypatch.setattr(remote_file, "PIECE_BYTES", 16)
    assert remote_file._pieces(ranges, 100) == pieces


def test_listings_come_in_pages_from_a_name_on(stub: S3Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tableformats.io.stores.object_store._PAGE", 10)
    stub.max_keys = 10
    for i in range(25):
        stub.put(f"t/{i:03d}", b"x")
    stub.put("t/_below/x", b"x")
    store = Storage("s3://bucket/t", stub.options).store_of("s3://bucket/t")
    pages = store.pages("s3://bucket/t", start_after="004")
    assert [info.name for info in next(pages)][:2] == ["005", "006"]
    assert len(stub.requests) <= 2  # the client may have asked for the next page
    names = [info.name for page in store.pages("s3://bucket/t", "004") for info in page]
    assert names == [f"{i:03d}" for i in range(5, 25)]


# ---- freshness ------------------------------------------------------------------------------------------------------


def test_another_process_commit_is_seen(stub: S3Stub) -> None:
    stub.upload(GOLDEN / "delta-evolved" / "table", "t")
    table = tf.open_table("s3://bucket/t", storage_options=stub.options)
    snapshot = table.snapshot()
    version = snapshot.version
    commit = b'{"commitInfo":{"operation":"WRITE","timestamp":1}}\n'
    stub.put(f"t/_delta_log/{version + 1:020d}.json", commit)
    assert table.snapshot().version == version + 1
    assert snapshot.update().version == version + 1
    assert tf.open_table("s3://bucket/t", storage_options=stub.options).snapshot().version == version + 1


def test_cached_listings_of_fsspec_are_dropped(tmp_path: Path) -> None:
    class Caching(DirFileSystem):
        """A file system that lists each directory once."""

        def __init__(self, path: str) -> None:
            super().__init__(path=path, fs=fsspec.filesystem("file"))
            self.seen: dict[str, Any] = {}

        def invalidate_cache(self, path: str | None = None) -> None:
            self.seen.clear()

        def find(self, path: str, *arguments: Any, **options: Any) -> Any:
            return self.seen.setdefault(path, super().find(path, *arguments, **options))

    storage = Storage("odd://t", {"filesystem": Caching(str(tmp_path))})
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a").touch()
    assert [info.name for info in storage.list(storage.root)] == ["a"]
    (tmp_path / "t" / "b").touch()
    assert [info.name for info in storage.list(storage.root)] == ["a", "b"]


def test_a_file_system_that_is_none() -> None:
    with pytest.raises(TableFormatsError, match="not int"):
        Storage("s3://bucket/t", {"filesystem": 3}).list("s3://bucket/t")


@pytest.mark.parametrize("without_suffixes", [(), ("s3",)])
def test_the_tail_of_an_empty_file(
    stub: S3Stub, without_suffixes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some stores have no ranges that begin at a file's end: there its size is asked first."""
    monkeypatch.setattr("tableformats.io.stores.object_store._NO_SUFFIX_RANGES", without_suffixes)
    for name, data in {"empty": b"", "short": b"123", "long": b"0123456789abcdef"}.items():
        stub.put(f"t/{name}", data)
    store = Storage("s3://bucket/t", stub.options).store_of("s3://bucket/t")
    found = {name: store.tail(f"s3://bucket/t/{name}", 10) for name in ("short", "long")}
    assert [(bytes(tail.data), tail.size) for tail in found.values()] == [(b"123", 3), (b"6789abcdef", 16)]
    assert all(tail.etag for tail in found.values())
    if not without_suffixes:
        assert store.tail("s3://bucket/t/empty", 10)[:2] == (b"", 0)
    with pytest.raises(FileNotFoundError):
        store.tail("s3://bucket/t/none", 10)


def test_pages_of_a_listing_are_counted(stub: S3Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tableformats.io.storage._KEYS_PER_PAGE", 2)
    storage = Storage("s3://bucket/t", stub.options)
    for i in range(5):
        stub.put(f"t/{i}", b"x")
    before = storage.meter.now()
    assert len(storage.list("s3://bucket/t")) == 5
    assert [after - earlier for earlier, after in zip(before, storage.meter.now(), strict=True)] == [3, 0, 3]


def test_an_answer_without_an_etag_names_the_bucket() -> None:
    error = not_of_a_store("s3://bucket/t/x")
    assert (error.path, error.bucket) == ("s3://bucket/t/x", "bucket") and "no ETag" in str(error)
    assert not_of_a_store("/x").bucket is None
