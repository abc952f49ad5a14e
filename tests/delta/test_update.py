"""What is read when: snapshots that move on, plans that come again, statistics that nobody asks for."""

from __future__ import annotations

import gc
import json
import weakref
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.format import DeltaFormat
from tableformats_delta.log import listing as log_module
from tableformats_delta.statistics import log_statistics as statistics
from tableformats_delta.table import DeltaTable

import tableformats as tf
from tableformats.errors import CorruptMetadataError, SnapshotNotFoundError
from tableformats.io.storage import FileInfo, Storage
from tableformats.plugin import MetadataCache, OpenOptions, SnapshotSelector
from tableformats.table.table import Table
from tests.support.delta_log import (
    ADD_FIELDS,
    VECTOR_TYPE,
    DeltaLog,
    add,
    compaction_name,
    field,
    first_actions,
    live_files,
    metadata,
    remove,
    stats,
)

CHECKPOINT = "{:020d}.checkpoint.parquet"
META = first_actions()


Names = list[str]
Listing = list[FileInfo]


class CountingStorage(Storage):
    """Notes the name of every file that is opened, and how often the log was listed."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.opened: Names = []
        self.listings = 0

    def open_file(self, path: str, size: int = 0, tail: Any = None) -> pa.NativeFile:
        self.opened.append(Path(path).name)
        return super().open_file(path, size)

    def list(self, path: str) -> Listing:
        self.listings += 1
        return super().list(path)

    def taken(self) -> Names:
        """What was opened since the last call."""
        found, self.opened = sorted(self.opened), []
        return found


def open_counting(log: DeltaLog, cache: bool = True) -> tuple[Table, CountingStorage]:
    storage = CountingStorage(log.root)
    kept = MetadataCache() if cache else MetadataCache(0)
    return Table(DeltaFormat().open(storage, OpenOptions(cache=kept)), storage, kept), storage


def commit_names(*versions: int) -> list[str]:
    return [f"{version:020d}.json" for version in versions]


def paths(snapshot: tf.Snapshot) -> list[str]:
    return sorted(row["path"] for row in live_files(snapshot.format_snapshot))


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """A checkpoint at version 2, and version 3 after it."""
    log = DeltaLog(tmp_path / "t").start()
    log.commit(1, add("a1")).commit(2, add("a2"))
    log.checkpoint(CHECKPOINT.format(2), *META, add("a1"), add("a2"))
    return log.commit(3, add("a3"))


@pytest.mark.parametrize("cache", [True, False])
class TestUpdate:
    def test_reads_what_is_new_alone(self, log: DeltaLog, cache: bool) -> None:
        table, storage = open_counting(log, cache)
        old = table.snapshot()
        assert paths(old) == ["a1", "a2", "a3"]
        storage.taken()
        log.commit(4, add("a4"), remove("a1"), {"metaData": metadata(field("new", "long"))}).commit(5, add("a5"))
        new = old.update()
        assert storage.taken() == commit_names(4, 5)
        assert storage.listings == 2
        assert (new.version, new.schema.names, paths(new)) == (5, ["new"], ["a2", "a3", "a4", "a5"])
        assert (old.version, old.schema.names, paths(old)) == (3, ["id"], ["a1", "a2", "a3"])
        storage.taken()
        log.commit(6, remove("a5"))
        newer = new.update()
        assert storage.taken() == commit_names(6)
        assert paths(newer) == ["a2", "a3", "a4"]

    def test_nothing_new(self, log: DeltaLog, cache: bool) -> None:
        table, storage = open_counting(log, cache)
        snapshot = table.snapshot()
        storage.taken()
        assert snapshot.update() is snapshot
        log.compact(1, 3).checkpoint(CHECKPOINT.format(3), *META, add("a1"), add("a2"), add("a3"))
        log.write(f"{3:020d}.crc", b"{}")
        assert snapshot.update() is snapshot
        assert storage.taken() == []

    def test_equals_a_snapshot_that_is_opened(self, log: DeltaLog, cache: bool) -> None:
        table, _ = open_counting(log, cache)
        snapshots = [table.snapshot(1), table.snapshot(2), table.snapshot(3)]
        for version in range(4, 9):
            log.commit(version, add(f"a{version}"), remove(f"a{version - 3}"))
            if version == 6:
                log.compact(4, 6).checkpoint(CHECKPOINT.format(5), *META, add("a3"), add("a4"), add("a5"))
            snapshots = [snapshot.update() for snapshot in snapshots]
            fresh = tf.open_table(log.root).snapshot()
            for snapshot in snapshots:
                assert (snapshot.version, snapshot.timestamp) == (fresh.version, fresh.timestamp)
                assert paths(snapshot) == paths(fresh) == [f"a{version - i}" for i in (2, 1, 0)]

    def test_new_commits_by_their_compaction(self, log: DeltaLog, cache: bool) -> None:
        table, storage = open_counting(log, cache)
        old = table.snapshot()
        paths(old)
        for version in range(4, 8):
            log.commit(version, add(f"a{version}"), remove(f"a{version - 1}"))
        log.compact(4, 7).compact(2, 5)
        storage.taken()
        new = old.update()
        assert storage.taken() == [compaction_name(4, 7)]
        assert paths(new) == ["a1", "a2", "a7"]

    def test_a_log_that_was_cleaned_up(self, log: DeltaLog, cache: bool) -> None:
        table, _ = open_counting(log, cache)
        old = table.snapshot()
        log.commit(4, add("a4")).checkpoint(CHECKPOINT.format(4), *META, *(add(f"a{i}") for i in range(1, 5)))
        for name in (*commit_names(0, 1, 2, 3), CHECKPOINT.format(2)):
            (log.directory / name).unlink()
        assert paths(old.update()) == ["a1", "a2", "a3", "a4"]

    def test_a_long_tail_begins_again_at_a_checkpoint(
        self, log: DeltaLog, cache: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log_module, "_MAX_TAIL_FILES", 3)
        table, _ = open_counting(log, cache)
        snapshot = table.snapshot()
        live = [add(f"a{i}") for i in (1, 2, 3)]
        for version in range(4, 10):
            live.append(add(f"a{version}"))
            log.commit(version, live[-1]).checkpoint(CHECKPOINT.format(version), *META, *live)
            snapshot = snapshot.update()
            assert len(snapshot.format_snapshot.segment.commits) <= 3  # type: ignore[attr-defined]
            assert paths(snapshot) == sorted(action["add"]["path"] for action in live)

    def test_a_table_that_was_made_anew(self, log: DeltaLog, cache: bool) -> None:
        table, _ = open_counting(log, cache)
        old = table.snapshot()
        for name in (*commit_names(1, 2, 3), CHECKPOINT.format(2)):
            (log.directory / name).unlink()
        log.start(field("other", "string")).commit(1, add("b"))
        new = old.update()
        assert (new.version, new.schema.names, paths(new)) == (1, ["other"], ["b"])

    def test_a_checkpoint_that_was_replaced(self, log: DeltaLog, cache: bool) -> None:
        table, _ = open_counting(log, cache)
        old = table.snapshot()
        log.checkpoint(CHECKPOINT.format(1), *META, add("a1"))
        (log.directory / CHECKPOINT.format(2)).unlink()
        new = old.update()
        assert paths(new) == ["a1", "a2", "a3"]
        assert new.format_snapshot.segment.checkpoint.version == 1  # type: ignore[attr-defined]

    @pytest.mark.parametrize("more", [[], [4]])
    def test_a_commit_that_was_rewritten(self, log: DeltaLog, cache: bool, more: list[int]) -> None:
        """No writer may do so; what the old one said is not held on to."""
        log.commit(3, add("old"), {"metaData": metadata(field("old", "long"))})
        table, _ = open_counting(log, cache)
        old = table.snapshot()
        assert (old.schema.names, paths(old)) == (["old"], ["a1", "a2", "old"])
        log.commit(3, add("rewritten"))
        for version in more:
            log.commit(version, add(f"a{version}"))
        new = old.update()
        assert new.schema.names == ["id"]
        assert paths(new) == sorted(["a1", "a2", "rewritten", *(f"a{version}" for version in more)])

    def test_a_gap_in_what_is_new(self, log: DeltaLog, cache: bool) -> None:
        table, _ = open_counting(log, cache)
        old = table.snapshot()
        log.commit(5, add("a5"))
        with pytest.raises(CorruptMetadataError, match="needs the commit of version 4"):
            old.update()


def test_a_table_of_a_store(log: DeltaLog) -> None:
    """Commits are read several at a time there, and stay in order."""
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    for version in range(4, 40):
        log.commit(version, add(f"a{version}"), remove(f"a{version - 1}"))
    store.put(str(log.root), "/store/t", recursive=True)
    table = tf.open_table("memory://store/t")
    snapshot = table.snapshot(20)
    assert paths(snapshot) == ["a1", "a2", "a20"]
    assert paths(snapshot.update()) == ["a1", "a2", "a39"]
    store.pipe(f"/store/t/_delta_log/{30:020d}.json", b"junk")
    with pytest.raises(CorruptMetadataError) as caught:
        table.snapshot()
    assert caught.value.path is not None
    assert caught.value.path.endswith(f"{30:020d}.json")
    store.rm("/store", recursive=True)


@pytest.mark.parametrize("is_local", [True, False])
def test_the_version_that_is_asked_for(tmp_path: Path, is_local: bool) -> None:
    log = DeltaLog(tmp_path / "t").start().commit(1, add("a")).commit(2, add("b"))
    root = str(log.root)
    if not is_local:
        fsspec = pytest.importorskip("fsspec")
        fsspec.filesystem("memory").put(root, "/asked/t", recursive=True)
        root = "memory://asked/t"
    table = DeltaTable(Storage(root), MetadataCache(0))
    assert table.snapshot(SnapshotSelector()).version == 2
    for version in (0, 1, 2):
        assert table.snapshot(SnapshotSelector(version=version)).version == version
    for missing in (SnapshotSelector(version=3), SnapshotSelector(branch="b"), SnapshotSelector(tag="t")):
        with pytest.raises(SnapshotNotFoundError):
            table.snapshot(missing)


class TestCache:
    def test_a_second_plan_reads_nothing(self, log: DeltaLog) -> None:
        table, storage = open_counting(log)
        snapshot = table.snapshot()
        first = snapshot.scan("id > 1").plan()
        assert storage.taken() != []
        second = snapshot.scan("id > 2").plan()
        assert storage.taken() == []
        assert first.files.equals(second.files)

    def test_a_second_snapshot_reads_what_is_new(self, log: DeltaLog) -> None:
        table, storage = open_counting(log)
        table.scan().plan()
        storage.taken()
        log.commit(4, add("a4"))
        assert len(table.scan().plan()) == 4
        assert storage.taken() == commit_names(4)

    def test_sidecars_and_parsed_statistics(self, tmp_path: Path) -> None:
        parsed = pa.struct(
            [
                ("numRecords", pa.int64()),
                ("minValues", pa.struct([("id", pa.int64())])),
                ("maxValues", pa.struct([("id", pa.int64())])),
                ("nullCount", pa.struct([("id", pa.int64())])),
            ]
        )
        kind = pa.struct([*ADD_FIELDS, ("deletionVector", VECTOR_TYPE), ("stats_parsed", parsed)])
        log = DeltaLog(tmp_path / "s").start()
        bounds = [{"minValues": {"id": i}, "maxValues": {"id": i}, "nullCount": {"id": 0}} for i in range(4)]
        rows = [add(f"a{i}", stats_parsed={"numRecords": 1, **bounds[i]}) for i in range(4)]
        log.checkpoint("_sidecars/s.parquet", *rows, add_type=kind)
        named = {"sidecar": {"path": "s.parquet", "sizeInBytes": 1, "modificationTime": 1}}
        manifest = f"{0:020d}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"
        log.write(manifest, "\n".join(map(json.dumps, [*META, named])).encode())
        table, storage = open_counting(log)
        snapshot = table.snapshot()
        assert len(snapshot.scan("id = 2").plan().files) == 1
        assert set(storage.taken()) == {manifest, "s.parquet"}
        assert len(snapshot.scan("id >= 2").plan().files) == 2
        assert storage.taken() == []

    def test_off(self, log: DeltaLog) -> None:
        table, storage = open_counting(log, cache=False)
        snapshot = table.snapshot()
        for _ in range(2):
            snapshot.scan().plan()
            assert CHECKPOINT.format(2) in storage.taken()
        table.snapshot()
        assert commit_names(3)[0] in storage.taken()

    def test_a_file_that_changed_is_another(self, log: DeltaLog) -> None:
        """Nobody may rewrite a log; who does anyway is not answered from memory."""
        table, _ = open_counting(log)
        table.scan().plan()
        log.commit(3, add("b-longer-name"))
        log.checkpoint(CHECKPOINT.format(2), *META, add("c-name-longer-than-before"))
        assert paths(table.snapshot()) == ["b-longer-name", "c-name-longer-than-before"]

    def test_the_budget(self) -> None:
        cache = MetadataCache(100)
        loads: list[str] = []

        def get(key: str, size: int) -> str:
            return cache.get(key, lambda: loads.append(key) or key, lambda _: size)  # type: ignore[func-returns-value]

        for key in ("a", "b", "a", "c", "a", "b"):  # c pushes out b, which was not used for longest
            assert get(key, 40) == key
            assert cache.used_bytes <= 100
        assert loads == ["a", "b", "c", "b"]
        get("huge", 101)
        get("huge", 101)
        assert loads[-2:] == ["huge", "huge"]
        assert cache.used_bytes == 80

    def test_one_key_that_is_loaded_twice_at_once_counts_once(self) -> None:
        cache = MetadataCache(100)
        cache.get("a", lambda: cache.get("a", lambda: "inner", lambda _: 40), lambda _: 40)
        assert cache.used_bytes == 40

    def test_a_stream_that_is_too_long_holds_nothing_back(self) -> None:
        class Item:
            pass

        cache, seen = MetadataCache(25), []
        for item in cache.stream("a", lambda: (Item() for _ in range(6)), lambda _: 10):
            seen.append(weakref.ref(item))
        del item
        gc.collect()
        assert [reference() for reference in seen] == [None] * 6
        passing = cache.stream("b", lambda: (Item() for _ in range(6)), lambda _: 10)
        first = weakref.ref(next(passing))
        next(passing)
        assert first() is not None
        next(passing)
        gc.collect()
        assert first() is None

    def test_a_stream_is_kept_when_it_ended_and_fits(self) -> None:
        cache = MetadataCache(100)
        loads: list[int] = []

        def stream(key: str, count: int) -> Any:
            def load() -> Any:
                for i in range(count):
                    loads.append(i)
                    yield i

            return cache.stream(key, load, lambda _: 10)

        next(stream("a", 5))
        assert list(stream("a", 5)) == list(stream("a", 5)) == [0, 1, 2, 3, 4]
        assert loads == [0, 0, 1, 2, 3, 4]
        loads.clear()
        for _ in range(2):
            assert list(stream("b", 11)) == list(range(11))
        assert len(loads) == 22
        assert cache.used_bytes == 50


class TestLaziness:
    """Statistics are parsed for the columns that a predicate names, and not before."""

    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[str, ...]]]:
        """The leaves of every pass over the statistics' texts; none: the record counts alone."""
        found: list[list[tuple[str, ...]]] = []
        scan = statistics.scan

        def counting(text: pa.StringArray, leaves: Any, rows: Any = None) -> Any:
            found.append([leaf.path for leaf in leaves])
            return scan(text, leaves, rows)

        monkeypatch.setattr(statistics, "scan", counting)
        return found

    @pytest.fixture
    def wide(self, tmp_path: Path) -> DeltaLog:
        nested = {"type": "struct", "fields": [field("x", "long"), field("y", "long")]}
        fields = [field("a", "long"), field("b", "string"), field("n", nested), field("p", "long")]
        log = DeltaLog(tmp_path / "w").start(*fields, partition=("p",))
        values = {"a": 1, "b": "x", "n": {"x": 1, "y": 2}}
        text = stats(1, minValues=values, maxValues=values, nullCount={"a": 0, "b": 0, "n": {"x": 0, "y": 0}})
        rows = [add(f"f{i}", partitionValues={"p": str(i)}, stats=text) for i in range(3)]
        log.checkpoint(CHECKPOINT.format(0), *first_actions(), *rows)
        log.write(CHECKPOINT.format(0), b"")  # only the commits: one batch
        return log.commit(1, *rows)

    def test_opening_parses_none(self, wide: DeltaLog, asked: list[Any]) -> None:
        snapshot = tf.open_table(wide.root).snapshot()
        assert snapshot.schema.names == ["a", "b", "n", "p"]
        assert snapshot.update() is snapshot
        tf.open_table(wide.root).history()
        assert asked == []

    @pytest.mark.parametrize(
        ("predicate", "leaves"),
        [
            (None, []),
            ("p = 1", []),
            ("a = 1", [("a",)]),
            ("n.y > 0", [("n", "y")]),
            ("a = 1 OR b = 'x'", [("a",), ("b",)]),
            ("a = 1 AND p = 1", [("a",)]),
        ],
    )
    def test_a_plan_parses_what_its_predicate_names(
        self, wide: DeltaLog, asked: list[Any], predicate: str | None, leaves: list[Any]
    ) -> None:
        tf.open_table(wide.root).scan(predicate).plan()
        assert sorted({path for parsed in asked for path in parsed}) == leaves
        assert len(asked) == bool(leaves)  # record counts are for whom they are asked
