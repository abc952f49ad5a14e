"""What a storage asks of its store, and what it keeps: bytes, requests and the chain of those that wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tableformats.errors import LimitExceededError, StorePermissionError, StoreTimeoutError, TableNotFoundError
from tableformats.io.recent_bytes import RecentBytes
from tableformats.io.request_meter import RequestMeter
from tableformats.io.storage import WHOLE_BYTES, Storage
from tableformats.io.stores.base import FileInfo, ObjectStore, PutOutcome, Tail
from tableformats.io.stores.remote_file import BLOCK_BYTES, TAIL_BYTES, RemoteFile, tail_bytes
from tableformats.io.stores.renewing import RenewedOptions, RenewingStore
from tableformats.limits import Limits

from ..support.memory_store import ROOT, MemoryStore, memory_storage

FILE = f"{ROOT}/f"


class Asked(MemoryStore):
    """Writes down what is read: (path, offset, length), or the length of an end."""

    def __init__(self, **files: bytes) -> None:
        super().__init__()
        self.files = {f"{ROOT}/{name}": data for name, data in files.items()}
        self.reads: list[Any] = []

    def get(
        self, path: str, offset: int = 0, length: int | None = None, limit: int | None = None, etag: str | None = None
    ) -> memoryview:
        self.reads.append((offset, length))
        return super().get(path, offset, length, limit, etag)

    def tail(self, path: str, length: int) -> Tail:
        self.reads.append(length)
        return super().tail(path, length)


def test_requests_and_their_bytes_are_counted() -> None:
    store = Asked(f=b"0123456789")
    storage = memory_storage(store)
    assert storage.meter.now() == (0, 0, 0)
    assert storage.read_bytes(FILE) == b"0123456789" and storage.meter.now() == (1, 10, 1)
    assert storage.read_bytes(FILE, 2, 3) == b"234" and storage.meter.now() == (2, 13, 2)
    assert storage.read_bytes(FILE, 7) == b"789" and storage.meter.now() == (3, 16, 3)
    assert storage.size_of(FILE) == 10 and storage.size_of(f"{ROOT}/g") is None
    assert storage.meter.now() == (5, 16, 5)
    assert storage.is_dir(ROOT) and not storage.is_dir(f"{ROOT}/x") and storage.meter.now() == (7, 16, 7)
    assert storage.meter.since((3, 16, 3), (0, 0, 0)) == (4, 0) and storage.meter.since((5, 10, 5), (1, 2, 3)) == (3, 8)
    assert repr(storage.meter) == "RequestMeter(requests=7, bytes=16, chain=7)"


def test_requests_that_wait_for_the_same_ones_are_one_link() -> None:
    meter = RequestMeter()
    for waited_for, chain in ((0, 1), (0, 1), (1, 2), (0, 2), (5, 6)):
        meter.count(waited_for, 3)
        assert meter.chain == chain
    assert meter.now() == (5, 15, 6)


@pytest.mark.parametrize(("files", "requests"), [(0, 1), (999, 1), (1000, 2), (1999, 2), (2000, 3)])
def test_a_listing_counts_a_request_for_each_thousand_files(files: int, requests: int) -> None:
    storage = memory_storage(Asked(**{f"n{number:04}": b"" for number in range(files)}))
    assert len(storage.list(ROOT)) == files
    assert storage.meter.now() == (requests, 0, requests)


def test_an_empty_directory_is_a_page() -> None:
    class Empty(Asked):
        def pages(self, directory: str, start_after: str | None = None) -> Iterator[list[FileInfo]]:
            return iter(())

    for store in (Asked(), Empty()):
        storage = memory_storage(store)
        assert [list(page) for page in storage.pages(ROOT)] == [[]] and storage.meter.now() == (1, 0, 1)
        assert list(storage.first_page(f"{ROOT}/x")) == []


def test_each_page_is_a_request_that_waits_for_the_one_before() -> None:
    class Pages(Asked):
        def pages(self, directory: str, start_after: str | None = None) -> Iterator[list[FileInfo]]:
            asked.append(start_after)
            yield from ([self.head(FILE)], [], [self.head(FILE)])

    asked: list[str | None] = []
    storage = memory_storage(Pages(f=b"12"))
    assert [len(page) for page in storage.pages(ROOT)] == [1, 0, 1] and storage.meter.now() == (3, 0, 3)
    with storage.reading_ahead(listed=[ROOT]):
        storage.wait_for((ROOT, "pages"))  # type: ignore[arg-type]
        assert [len(page) for page in storage.pages(ROOT, "e")] == [1, 0, 1] and "e" in asked
        assert [len(page) for page in storage.pages(ROOT)] == [1, 0, 1]
    assert sorted(map(str, asked)) == ["None", "None", "e"]
    assert storage.meter.now() == (9, 0, 8), "one first page was asked for beside another"


def test_local_folders_and_files(tmp_path: Any) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / name).write_bytes(b"12")
    (tmp_path / "d").mkdir()
    storage = Storage(tmp_path)
    for after, names in ((None, ["a", "b", "c"]), ("a", ["b", "c"]), ("bb", ["c"]), ("c", [])):
        (page,) = storage.pages(str(tmp_path), after)
        assert [info.name for info in page] == names
    assert [storage.size_of(f"{tmp_path}/{name}") for name in ("a", "d", "none")] == [2, None, None]
    assert storage.stamp_of(f"{tmp_path}/a")[0] == 2 and storage.meter.requests == 0


@pytest.mark.parametrize("location", ["", "a\0b", "s3://b/\0"])
def test_locations_that_are_none(location: str) -> None:
    with pytest.raises(TableNotFoundError, match="is no location"):
        Storage(location)


def test_credentials_of_a_location_are_for_its_own_store_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def opened(uri: str, *more: Any) -> MemoryStore:
        asked.append(uri)
        return MemoryStore()

    monkeypatch.setattr("tableformats.io.stores.opening.open_store", opened)
    storage = Storage("s3://key:secret@b/t?region=eu", {"x": "y"})
    for path in ("s3://b/other/f", "s3://c/t/f", "gs://b/t", "s3://b/t", "s3://c/x"):
        storage.store_of(path)
    assert asked == ["s3://key:secret@b/t?region=eu", "s3://c", "gs://b"]
    own = {"access_key_id": "key", "secret_access_key": "secret", "region": "eu", "x": "y"}
    assert storage.options_of("s3://b/z") == own and storage.options_of("s3://c/z") == {"x": "y"}


def test_memory_that_the_caller_gives() -> None:
    storage = memory_storage(Asked(f=b"0123456789"))
    memory = bytearray(12)
    assert storage.read_into(FILE, lambda size: memoryview(memory)) == b"0123456789" and memory[10:] == b"\0\0"


@pytest.mark.parametrize(("offset", "length"), [(-1, 2), (0, -1), (2, -1), (-1, None)])
def test_ranges_that_are_none_are_not_asked_for(offset: int, length: int | None) -> None:
    store = Asked(f=b"0123456789")
    with pytest.raises(OSError, match="asked of"):
        memory_storage(store).read_bytes(FILE, offset, length)
    assert store.reads == []


def test_the_limit_of_bytes(tmp_path: Any) -> None:
    (tmp_path / "f").write_bytes(b"0123456789")
    remote = memory_storage(Asked(f=b"0123456789"))
    local = Storage(tmp_path)
    for storage, path in ((remote, FILE), (local, str(tmp_path / "f"))):
        for most in (9, 10):
            storage.limits = Limits(metadata_bytes=most)
            if most == 10:
                assert storage.read_bytes(path) == bytes(storage.read_into(path, lambda n: memoryview(bytearray(n))))
                continue
            for read in (storage.read_bytes, lambda path, s=storage: s.read_into(path, lambda n: memoryview(b""))):
                with pytest.raises(LimitExceededError, match="10 bytes"):
                    read(path)
            assert storage.read_bytes(path, 1) == b"123456789"


def test_ranges_of_local_files(tmp_path: Any) -> None:
    (tmp_path / "f").write_bytes(b"0123456789")
    storage, path = Storage(tmp_path), str(tmp_path / "f")
    for offset, length, found in (
        (0, 10, b"0123456789"),
        (10, None, b""),
        (10, 0, b""),
        (3, 2, b"34"),
        (3, None, b"3456789"),
    ):
        assert storage.read_bytes(path, offset, length) == found
    for offset, length in ((-1, 2), (0, 11), (11, None), (11, 0), (3, -1), (9, 2)):
        with pytest.raises(OSError, match="asked of"):
            storage.read_bytes(path, offset, length)


def test_bytes_that_are_known_are_limited_and_not_asked_for() -> None:
    store = Asked(f=b"0123456789")
    storage = memory_storage(store)
    storage.provide(FILE, b"known")
    assert storage.read_bytes(FILE) == b"known" and store.reads == []
    assert storage.read_bytes(FILE, 0, 2) == b"01" and storage.read_bytes(FILE, 1) == b"123456789"
    storage.limits = Limits(metadata_bytes=4)
    with pytest.raises(LimitExceededError, match="5 bytes"):
        storage.read_bytes(FILE)


@pytest.mark.parametrize(
    ("size", "whole", "reads"),
    [
        (10, True, [(0, None)]),
        (WHOLE_BYTES, True, [(0, None)]),
        (WHOLE_BYTES + 1, True, [TAIL_BYTES]),
        (0, True, [TAIL_BYTES]),
        (10, False, [TAIL_BYTES]),
    ],
)
def test_files_that_never_change_are_kept(size: int, whole: bool, reads: list[Any]) -> None:
    store = Asked(f=b"0123456789")
    storage = memory_storage(store)
    for _ in range(2):
        assert storage.open_immutable(FILE, size, 5, whole).read() == b"0123456789"
    assert store.reads == reads
    for other in ((size + 1, 5), (size, 6)):
        storage.open_immutable(FILE, *other, whole)
    assert len(store.reads) == 3, "a file of another size or time is another file"


@pytest.mark.parametrize("size", [10, WHOLE_BYTES, WHOLE_BYTES + 1])
def test_what_is_read_ahead_is_not_asked_for_again(size: int) -> None:
    store = Asked(f=b"0123456789", g=b"abc")
    storage = memory_storage(store)
    files = [FileInfo("f", FILE, size, 5)]
    with storage.reading_ahead(immutable=files, files=[(f"{ROOT}/g", 3)]):
        storage.wait_for(f"{ROOT}/g")
        assert storage.open_immutable(FILE, size, 5).read() == b"0123456789"
        assert storage.read_bytes(f"{ROOT}/g") == b"abc"
    assert len(store.reads) == 2 and storage.meter.chain == 1, "both were on their way at once"
    with storage.reading_ahead(immutable=files):
        assert storage.open_immutable(FILE, size, 5).read() == b"0123456789"
    assert len(store.reads) == 2 and storage.meter.requests == 2


def test_what_a_context_around_reads_ahead_is_not_asked_for_again() -> None:
    store = Asked(f=b"0123456789", g=b"abc")
    storage = memory_storage(store)
    with storage.reading_ahead(files=[(FILE, 10)]):
        with storage.reading_ahead(files=[(FILE, 10), (f"{ROOT}/g", 3)]):
            storage.wait_for(f"{ROOT}/g")
            storage.wait_for(FILE)
            assert storage.read_bytes(f"{ROOT}/g") == b"abc" and len(store.reads) == 2
        assert storage.read_bytes(FILE) == b"0123456789" and len(store.reads) == 2
    assert storage.read_bytes(f"{ROOT}/g") == b"abc" and len(store.reads) == 3, "its context has ended"


def test_local_files_are_not_read_ahead(tmp_path: Any) -> None:
    (tmp_path / "f").write_bytes(b"x")
    path = str(tmp_path / "f")
    with Storage(tmp_path).reading_ahead([(path, 1)]):
        pass
    store = Asked(f=b"0123456789")
    storage = memory_storage(store)
    with storage.reading_ahead([(path, 1), (FILE, 10)]):
        assert storage.read_bytes(path) == b"x" and storage.read_bytes(FILE) == b"0123456789"
    assert storage.meter.requests == 1


def test_questions_are_asked_once_while_a_table_is_opened() -> None:
    store = Asked(f=b"0123456789")
    storage = memory_storage(store)
    with storage.remembering():
        for _ in range(2):
            assert storage.is_dir(ROOT) and storage.is_file(FILE) and not storage.is_file(f"{ROOT}/g")
            assert [info.name for info in storage.list(ROOT)] == ["f"]
        assert storage.meter.requests == 4
        store.files.clear()
        assert storage.is_file(FILE)
    assert not storage.is_file(FILE) and storage.meter.requests == 5


def test_recent_bytes_are_kept_within_their_budget() -> None:
    recent, reads = RecentBytes(10), []

    def get(key: str, size: int) -> str:
        def read() -> str:
            reads.append(key)
            return key * size

        return recent.get(key, read, len)

    assert get("a", 4) == "aaaa" and get("b", 6) == "bbbbbb" and get("a", 4) == "aaaa"
    assert reads == ["a", "b"], "ten bytes are as many as it may have"
    get("c", 1)  # b was asked for longest ago
    assert "a" in recent and "b" not in recent and "c" in recent
    get("d", 5)
    assert [key for key in "abcd" if key in recent] == ["a", "c", "d"]
    assert get("e", 11) == "e" * 11 and not any(key in recent for key in "abcde"), "too long to be kept"
    assert get("a", 4) == "aaaa" and "a" in recent and reads == [*"abcdea"]


@pytest.mark.parametrize(
    ("size", "wanted"),
    [(0, 1 << 16), (1, 1), (1 << 16, 1 << 16), (1 << 20, 1 << 20), ((1 << 20) + 1, 1 << 16), (-5, 1 << 16)],
)
def test_small_files_are_read_at_once(size: int, wanted: int) -> None:
    assert tail_bytes(size) == wanted


def remote(store: Asked, tail: int = 4) -> tuple[RemoteFile, list[int]]:
    counted: list[int] = []
    return RemoteFile(store, FILE, store.tail(FILE, tail), counted.append), counted


def test_places_in_a_remote_file() -> None:
    data = bytes(range(100))
    file, counted = remote(Asked(f=data))
    assert file.readable() and file.seekable() and file.tell() == 0 and file.size == 100
    for offset, whence, at in ((5, 0, 5), (3, 1, 8), (-2, 1, 6), (-4, 2, 96), (0, 2, 100), (7, 2, 107), (-9, 0, 0)):
        assert file.seek(offset, whence) == file.tell() == at
    file.seek(96)
    assert file.read() == data[96:] and file.read() == b"" and file.tell() == 100 and counted == []
    file.seek(200)
    assert file.read(5) == b"" and file.tell() == 200
    file.seek(10)
    assert file.read(0) == b"" and file.read(5) == data[10:15] and file.tell() == 15 and counted == [5]
    buffer = bytearray(8)
    assert file.readinto(buffer) == 8 and buffer == data[15:23] and file.tell() == 23
    file.seek(97)
    assert file.readinto(buffer) == 3 and buffer[:3] == data[97:]
    assert file.read(None) == b""
    file.seek(90)
    assert file.read(-1) == data[90:], "the last bytes are the end that was read first"
    file.close()
    file.close()
    assert file.closed


def test_who_begins_at_the_start_goes_on() -> None:
    for at, count in ((0, BLOCK_BYTES), (1, 10)):
        file, counted = remote(Asked(f=bytes(2 * BLOCK_BYTES)))
        file.seek(at)
        assert len(file.read(10)) == 10 and counted == [count]


def test_ranges_that_are_read_ahead_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tableformats.io.stores.remote_file.HOLE_BYTES", 4)
    data = bytes(range(100))
    file, counted = remote(Asked(f=data))
    with file.with_ranges([(10, 20), (50, 10), (90, 10)]) as ahead:
        for start, length in ((10, 20), (15, 5), (10, 1), (29, 1), (50, 10), (53, 3), (90, 10), (92, 6), (97, 3)):
            ahead.seek(start)
            assert ahead.read(length) == data[start : start + length]
        assert sorted(counted) == [6, 10, 20]
        ahead.seek(25)
        assert ahead.read(10) == data[25:35] and sorted(counted) == [6, 10, 10, 20], "only a part of it is there"


def test_reads_in_a_row_are_made_of_blocks() -> None:
    data = bytes(range(256)) * (8 * BLOCK_BYTES // 256)
    store = Asked(f=data)
    file, counted = remote(store)
    file.seek(100)
    assert file.read(10) == data[100:110] and counted == [10], "one read says nothing of others"
    assert file.read(10) == data[110:120] and counted == [10, BLOCK_BYTES]
    assert file.read(BLOCK_BYTES - 10) == data[120 : 110 + BLOCK_BYTES] and len(counted) == 2
    file.seek(110)
    assert file.read(1) == data[110:111] and len(counted) == 2, "it is in the block"
    file.seek(109)
    assert file.read(3) == data[109:112] and counted[2:] == [3], "it begins before the block"
    file.seek(50)
    assert file.read(2 * BLOCK_BYTES) == data[50 : 50 + 2 * BLOCK_BYTES] and counted[3:] == [2 * BLOCK_BYTES]
    file.seek(109)
    assert file.read(3) == data[109:112] and len(counted) == 4, "a long read takes no block's place"
    file.seek(len(data) - 10)
    assert file.read(5) == data[-10:-5] and counted[4:] == [5]
    assert file.read(2) == data[-5:-3] and counted[5:] == [5], "no more than the file has"


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("life", "early"), [(10_000, 300), (1_500, 300), (1_000, 200), (100, 20), (0, 0)])
def test_credentials_are_renewed_before_they_expire(life: int, early: int) -> None:
    """Five minutes before; where they live shortly, when a fifth of their life is left. Times are in seconds."""
    clock, expires = Clock(), int((1_000 + life) * 1000)
    options = RenewedOptions({"n": 0}, expires, lambda: ({"n": 1}, None), clock)
    if life:
        clock.now = 1_000 + life - early - 0.5
        assert options.current() == (0, {"n": 0})
    clock.now = 1_000.0 + life - early
    assert options.current() == (1, {"n": 1})
    clock.now += 1e9
    assert options.current() == (1, {"n": 1}), "nobody knows when these expire"
    assert repr(options) == "RenewedOptions(generation=1)"


def test_a_renewal_that_fails_is_tried_again_while_the_old_ones_hold() -> None:
    clock, tries = Clock(), []

    def renew() -> Any:
        tries.append(clock.now)
        raise StoreTimeoutError("the catalog did not answer")

    options = RenewedOptions({"n": 0}, 2_000_000, renew, clock)
    for now, count in ((1799.0, 0), (1800.0, 1), (1809.9, 1), (1810.0, 2), (1999.9, 3)):
        clock.now = now
        assert options.current() == (0, {"n": 0}) and len(tries) == count
    for now in (2000.0 + 9.9, 2020.0):
        clock.now = now
        with pytest.raises(StoreTimeoutError):
            options.current()


def test_options_that_a_store_refused_are_renewed_once() -> None:
    found = iter([{"n": 1}, {"n": 1}])
    options = RenewedOptions({"n": 0}, None, lambda: (next(found), None))
    assert options.replaced(0) and options.current() == (1, {"n": 1})
    assert options.replaced(0), "another thread renewed them"
    assert not options.replaced(1), "they are the same again"
    assert options.current() == (2, {"n": 1})


def expired(path: str = "p", code: str | None = None, message: str = "no") -> StorePermissionError:
    return StorePermissionError(message, path=path, code=code)


@pytest.mark.parametrize(
    ("error", "renews"),
    [
        (expired(code="ExpiredToken"), True),
        (expired(message="the credentials have expired"), True),
        (expired(code="AccessDenied"), False),
        (expired(), False),
    ],
)
def test_requests_are_sent_again_with_renewed_credentials(error: StorePermissionError, renews: bool) -> None:
    class Store(MemoryStore):
        def head(self, path: str) -> FileInfo:
            if not self.faults:
                raise error
            return super().head(path)

    def opened(options: Any) -> ObjectStore:
        store = Store(["ok"] * options["n"])
        store.files[FILE] = b"x"
        opens.append(options["n"])
        return store

    opens: list[int] = []
    options = RenewedOptions({"n": 0}, None, lambda: ({"n": 1}, None))
    store = RenewingStore(options, opened)
    if renews:
        assert store.head(FILE).size == 1 and store.head(FILE).size == 1 and opens == [0, 1]
    else:
        with pytest.raises(StorePermissionError):
            store.head(FILE)
        assert opens == [0] and options.current()[0] == 0


def test_a_renewing_store_does_what_its_store_does() -> None:
    inner = MemoryStore()
    store = RenewingStore(RenewedOptions({}, None, lambda: ({}, None)), lambda options: inner)
    assert store.concurrency == inner.concurrency
    store.put(FILE, b"0123")
    assert (
        store.put_if_absent(FILE, b"x") is PutOutcome.LOST and store.put_if_absent(f"{ROOT}/g", b"x") is PutOutcome.WON
    )
    assert bytes(store.get(FILE, 1, 2)) == b"12" and [bytes(r) for r in store.get_ranges(FILE, [(0, 1)])] == [b"0"]
    assert store.tail(FILE, 2).size == 4 and store.has_files_below(ROOT) and not store.has_files_below(f"{ROOT}/x")
    names = ["f", "g"]
    for pages in (store.pages(ROOT), store.below(ROOT), [store.list(ROOT)]):
        assert [info.name for page in pages for info in page] == names
    assert [info.name for page in store.pages(ROOT, "f") for info in page] == ["g"]
    store.delete(FILE)
    assert [*inner.files] == [f"{ROOT}/g"]
    with pytest.raises(TypeError):
        store.__reduce__()


def test_a_listing_without_a_page() -> None:
    class Empty(MemoryStore):
        def pages(self, directory: str, start_after: str | None = None) -> Iterator[list[FileInfo]]:
            return iter(())

    store = RenewingStore(RenewedOptions({}, None, lambda: ({}, None)), lambda options: Empty())
    assert list(store.pages(ROOT)) == []
