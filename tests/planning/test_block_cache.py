"""Plans that use what earlier plans left behind are the plans that nothing was kept for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from threading import Barrier, Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tableformats.columnar.sparse_rows import SparseRows
from tableformats.io.storage import Storage
from tableformats.planning import block_pruning, blocks, planner
from tableformats.planning.cache import block_cache, file_columns
from tableformats.planning.cache.file_columns import CachedFiles
from tableformats.plugin import (
    Bounds,
    DeleteFiles,
    FileBatch,
    FormatSnapshot,
    MetadataCache,
    MetadataPart,
    NameMapping,
    PartitionField,
    PartitionSpec,
    ReadRequest,
    Statistics,
)
from tableformats.plugin.report import ScanReport
from tableformats.schema import Field, Schema, primitive
from tableformats.schema.transforms import parse_transform
from tableformats.table.scan import ScanPlan
from tableformats.table.table import Snapshot
from tests.support.examples import examples

COLUMNS = {"id": "long", "day": "int", "x": "long"}
SCHEMA = Schema(tuple(Field(i, name, primitive(kind)) for i, (name, kind) in enumerate(COLUMNS.items(), 1)))
SPEC = PartitionSpec(0, (PartitionField(1000, "day", 2, parse_transform("identity"), primitive("int")),))


@dataclass(frozen=True)
class File:
    """An action of the log: ``key`` is added, or removed where it is not ``live``."""

    key: str
    live: bool
    day: int
    lower: int
    width: int

    @property
    def rows(self) -> int:
        return 1 + self.lower % 3

    @property
    def upper(self) -> int:
        return self.lower + self.width

    @property
    def nulls(self) -> int:
        """How many rows have no ``id``."""
        return int(self.rows == 3)


class FileStatistics(Statistics):
    def __init__(self, files: Sequence[File]) -> None:
        self.files = files

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        chosen = self.files if rows is None else [self.files[i] for i in rows]
        assert len(chosen), "nobody asks for the bounds of no file"
        found = Bounds(record_count=pa.array([f.rows for f in chosen], pa.int64()))
        for column in columns:
            if column.id == 1:
                found.null_count[1] = pa.array([f.nulls for f in chosen], pa.int64())
                found.lower[1] = pa.array([f.lower for f in chosen], pa.int64())
                found.upper[1] = pa.array([f.upper for f in chosen], pa.int64())
            elif column.id == 3:
                found.upper[3] = pa.array([f.width for f in chosen], pa.int64())
        return found

    def bounds_or_counts(self, columns: Sequence[Field], rows: np.ndarray | None, counted: Collection[int]) -> Bounds:
        found = self.bounds(columns, rows)
        for column in counted:
            found.lower.pop(column, None)
            found.upper.pop(column, None)
        return found

    def record_counts(self, rows: np.ndarray) -> pa.Int64Array:
        return pa.array([self.files[i].rows for i in rows], pa.int64())


@dataclass
class Log:
    """Commits, the oldest first; ``checkpoint`` of them (0: none) are also there as a checkpoint of two pieces. The
    batches of a piece whose keys nobody asks for are stretches of one that has ``between`` other files between them
    (None: batches of their own)."""

    commits: list[list[File]]
    checkpoint: int = 0
    runs: int = 1
    between: int | None = None
    counted: bool = False
    """Whether batches have counts of rows."""

    def __post_init__(self) -> None:
        self.reads: list[Any] = []

    def live(self, commits: Sequence[list[File]]) -> list[File]:
        found: dict[str, File] = {}
        for commit in commits:
            for file in commit:
                found.pop(file.key, None)
                if file.live:
                    found[file.key] = file
        return list(found.values())


class LogSnapshot(FormatSnapshot):
    properties: dict[str, str] = {}
    name_mapping = NameMapping()
    timestamp_ms = None
    schema = SCHEMA
    default_spec_id = 0

    def __init__(self, log: Log, version: int) -> None:
        self.log, self.version = log, version
        self.specs = {0: SPEC}

    def parts(self, request: ReadRequest) -> list[MetadataPart]:
        log = self.log
        base = log.checkpoint if log.checkpoint <= self.version else 0
        later = list(enumerate(log.commits[base : self.version], base))[::-1]
        parts = []
        for i in range(0, len(later), log.runs):
            run = later[i : i + log.runs]
            files = [file for _, commit in run for file in reversed(commit)]
            parts.append(self._part(tuple(n for n, _ in run), files, tuple(n for n, _ in run), True))
        rows = log.live(log.commits[:base])
        for piece, cut in enumerate((rows[::2], rows[1::2])):
            parts.append(self._part((base, "checkpoint", piece), cut, (), bool(later)))
        return parts

    def _part(self, key: Any, files: Sequence[File], adds: tuple[int, ...], with_keys: bool) -> MetadataPart:
        def read(report: ScanReport) -> Iterator[FileBatch]:
            self.log.reads.append(key)
            report.note(f"read {key}")
            half, between = len(files) // 2, self.log.between
            if between is None or adds or with_keys:
                for cut in (files[:half], files[half:]):
                    yield self._batch(cut, bool(adds), with_keys)
            else:
                others = [File("of nobody", True, 1, 3, 6)] * between
                whole = self._batch([*files[:half], *others, *files[half:]], False, False)
                yield whole.slice(0, half)
                yield whole.slice(half + between, between + len(files))

        return MetadataPart(key, read, len(files), adds, keys_of=lambda rows: rows["path"].cast(pa.binary()))

    def _batch(self, files: Sequence[File], inserts: bool, with_keys: bool) -> FileBatch:
        paths = pa.array([f.key for f in files], pa.string())
        day = pa.array([f.day for f in files], pa.int32())
        columns = {
            "path": paths,
            "size_bytes": pa.array([10 * f.lower for f in files], pa.int64()),
            "partition": pa.StructArray.from_arrays([day], names=["1000"]),
            "lower": pa.array([f.lower for f in files], pa.int64()),
        }
        if self.log.counted:
            columns["record_count"] = pa.array([f.rows for f in files], pa.int64())
        batch = FileBatch(pa.record_batch(columns), statistics=FileStatistics(files), insert_keys=inserts)
        if with_keys:
            batch.keys = paths.cast(pa.binary())
        if inserts:
            batch.live = np.array([f.live for f in files], bool)
        return batch

    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        return DeleteFiles.none(files.num_rows)

    def resolve_paths(self, paths: pa.Array) -> pa.Array:
        return paths

    def deleted_positions(self, path: str, record_count: int | None, deletes: pa.Table) -> Any:
        raise NotImplementedError


def planned(log: Log, version: int, filter: str | None, cache: MetadataCache, limit: int | None = None) -> ScanPlan:
    table: Any = SimpleNamespace(storage=Storage("/t"), format="fake", location="/t", cache=cache)
    return Snapshot(table, LogSnapshot(log, version)).scan(filter, limit=limit).plan()


def answers(plan: ScanPlan) -> Any:
    report = plan.report
    rows = plan.files.drop_columns(["deletes"]).to_pylist()
    funnel = (report.files_total, report.bytes_total, report.files_dropped_by_partition, report.files_dropped_by_bounds)
    return sorted(rows, key=str), funnel, sorted(report.notes)


SMALL = st.integers(0, 6)
FILES = st.builds(File, st.sampled_from("abcdefgh"), st.booleans(), st.integers(1, 2), SMALL, st.integers(0, 2))
COMMITS = st.lists(st.lists(FILES, max_size=4, unique_by=lambda f: f.key), min_size=1, max_size=6)
PARTITION, BOUNDS, SOME, ALL = "dropped by partition", "dropped by bounds", "kept", "fully matched"


def by_bounds(may_match: bool, all_match: bool) -> str:
    return ALL if all_match else SOME if may_match else BOUNDS


VERDICTS: dict[str | None, Callable[[File], str]] = {
    None: lambda f: ALL,
    "day = 1": lambda f: ALL if f.day == 1 else PARTITION,
    "id >= 3": lambda f: by_bounds(f.upper >= 3, f.lower >= 3 and not f.nulls),
    "id = 2 AND day = 2": lambda f: (
        PARTITION if f.day != 2 else by_bounds(f.lower <= 2 <= f.upper, f.lower == 2 == f.upper and not f.nulls)
    ),
    "day = 1 OR id < 2": lambda f: ALL if f.day == 1 else by_bounds(f.lower < 2, f.upper < 2 and not f.nulls),
    "x > 0": lambda f: by_bounds(f.width > 0, False),
    "x = 1 AND id > 1": lambda f: by_bounds(f.width >= 1 and f.upper > 1, False),
    "id IS NULL": lambda f: by_bounds(f.nulls > 0, False),
    "x IS NULL OR id > 3": lambda f: by_bounds(True, f.lower > 3 and not f.nulls),
}
"""{filter: what becomes of a file}"""
FILTERS = st.sampled_from([*VERDICTS])


@settings(max_examples=examples(60), deadline=None)
@given(
    commits=COMMITS,
    checkpoint=st.integers(0, 3),
    runs=st.integers(1, 3),
    budget=st.sampled_from([0, 3000, 1 << 20]),
    asked=st.lists(st.tuples(SMALL, FILTERS), min_size=2, max_size=8),
    few=st.booleans(),
    alone=st.booleans(),
    between=st.sampled_from([None, 0, 1]),
)
@example(  # bounds of some files of a block, and counts alone of others, are not bounds of all
    commits=[[File("c", False, 1, 6, 2), File("a", True, 2, 4, 1), File("b", True, 2, 4, 0), File("f", True, 1, 1, 1)]],
    checkpoint=2,
    runs=2,
    budget=3000,
    asked=[(2, "id = 2 AND day = 2"), (3, "id IS NULL"), (1, "day = 1 OR id < 2")],
    few=False,
    alone=False,
    between=1,
)
def test_plans_after_plans(
    commits: list[list[File]],
    checkpoint: int,
    runs: int,
    budget: int,
    asked: list[tuple[int, str | None]],
    few: bool,
    alone: bool,
    between: int | None,
) -> None:
    """Any versions and filters one after the other, with a budget that holds nothing, a little or everything."""
    log = Log(commits, min(checkpoint, len(commits)), runs, between)
    cache = MetadataCache(budget)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "TARGET_FILES", 3 if few else 1000)
        patch.setattr(file_columns, "_FEW", 1 if alone else 8)
        for version, filter in asked:
            version = min(version, len(commits))
            plan = planned(log, version, filter, cache)
            assert answers(plan) == answers(planned(log, version, filter, MetadataCache(0))), (version, filter)
            live = {f.key for f in log.live(commits[:version])}
            assert set(plan.file_uris()) <= live
            if filter is None:
                assert set(plan.file_uris()) == live
            assert cache.used_bytes <= budget


@settings(max_examples=30, deadline=None)
@given(
    commits=COMMITS,
    checkpoint=st.integers(0, 3),
    asked=st.lists(st.tuples(SMALL, FILTERS, st.none() | st.integers(0, 9)), min_size=1, max_size=5),
    few=st.booleans(),
    counted=st.booleans(),
)
def test_plans_are_what_is_known_of_each_file(
    commits: list[list[File]],
    checkpoint: int,
    asked: list[tuple[int, str | None, int | None]],
    few: bool,
    counted: bool,
) -> None:
    """Which files, what is said of them, and what is counted."""
    log, cache = Log(commits, min(checkpoint, len(commits)), counted=counted), MetadataCache()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "TARGET_FILES", 3 if few else 1000)
        for version, filter, limit in asked:
            version = min(version, len(commits))
            plan = planned(log, version, filter, cache, limit)
            live = {f.key: f for f in log.live(commits[:version])}
            verdicts = {key: VERDICTS[filter](file) for key, file in live.items()}
            kept = {key: verdict == ALL for key, verdict in verdicts.items() if verdict in (SOME, ALL)}
            paths = planned(log, version, filter, cache).files["path"].to_pylist()
            assert sorted(paths) == sorted(kept)
            every = planned(log, version, None, cache)
            mask = every.keep_mask("1 = 1" if filter is None else filter).tolist()
            assert mask == [path in kept for path in every.files["path"].to_pylist()]
            filled = list(accumulate(live[path].rows * kept[path] for path in paths))
            enough = [n for n, rows in enumerate(filled, 1) if rows >= limit] if limit is not None else []
            paths = paths[: 0 if limit == 0 else enough[0] if enough else len(paths)]
            assert plan.files.select(["path", "size_bytes", "record_count", "fully_matched"]).to_pylist() == [
                {
                    "path": path,
                    "size_bytes": 10 * live[path].lower,
                    "record_count": live[path].rows,
                    "fully_matched": kept[path],
                }
                for path in paths
            ]
            report, found = plan.report, list(verdicts.values())
            assert (report.files_total, report.bytes_total) == (len(live), sum(10 * f.lower for f in live.values()))
            assert (report.files_dropped_by_partition, report.files_dropped_by_bounds) == (
                found.count(PARTITION),
                found.count(BOUNDS),
            )
            assert report.rows_planned == sum(live[path].rows for path in paths)
            assert report.rows_total == sum(f.rows for f in live.values())
            assert report.files_planned == len(paths)
            assert report.files_fully_matched == sum(kept[path] for path in paths)


def some_log() -> Log:
    return Log([[File(f"{c}{i}", True, i % 2 + 1, i, 1) for i in range(4)] for c in range(4)], checkpoint=2)


@pytest.mark.parametrize("filter", [None, "id = 7", "id IN (7, 40)", "id < 40", "day = 1"])
@pytest.mark.parametrize("between", [0, 1, 5])
def test_stretches_of_one_batch(between: int, filter: str | None) -> None:
    """What is done with neighbours at once is done with their files, and with no others."""
    files = [File(f"{i:02}", True, i % 2 + 1, i, 0) for i in range(64)]
    log, cache = Log([files], checkpoint=1, between=between), MetadataCache()
    expected = answers(planned(Log([files], checkpoint=1), 1, filter, MetadataCache(0)))
    for _ in range(2):
        assert answers(planned(log, 1, filter, cache)) == expected


def test_a_second_plan_reads_nothing() -> None:
    log, cache = some_log(), MetadataCache()
    first = planned(log, 4, "id > 1", cache)
    log.reads.clear()
    second = planned(log, 4, "id > 2 OR day = 1", cache)
    assert log.reads == []
    assert second.report.notes == first.report.notes
    planned(log, 4, "x > 0", cache)
    assert log.reads, "the bounds of another column are read"


def test_counts_alone_are_not_kept_as_bounds() -> None:
    log, cache = some_log(), MetadataCache()
    planned(log, 4, "id IS NULL", cache)
    plan = planned(log, 4, "id > 2 AND id IS NOT NULL", cache)
    assert answers(plan) == answers(planned(log, 4, "id > 2", MetadataCache(0)))
    log.reads.clear()
    planned(log, 4, "id IS NULL", cache)
    assert log.reads == [], "bounds come with counts"


def test_a_new_commit_is_all_that_is_read() -> None:
    log, cache = some_log(), MetadataCache()
    planned(log, 4, "id > 1", cache)
    log.commits.append([File("00", False, 1, 0, 0), File("33", True, 1, 9, 1), File("new", True, 1, 9, 1)])
    log.reads.clear()
    plan = planned(log, 5, "id > 1", cache)
    assert set(log.reads) == {(4,)}
    assert answers(plan) == answers(planned(log, 5, "id > 1", MetadataCache(0)))
    assert {"33", "new"} < set(plan.file_uris()) and len(plan.file_uris()) == len(set(plan.file_uris()))


def test_an_older_version_does_not_see_newer_commits() -> None:
    log, cache = some_log(), MetadataCache()
    log.commits.append([File("20", False, 1, 0, 0), File("00", False, 1, 0, 0)])
    assert "20" not in planned(log, 5, None, cache).file_uris()
    assert {"20", "00"} < set(planned(log, 4, None, cache).file_uris())


def test_few_survivors_are_kept_alone_until_others_are_asked_for() -> None:
    log, cache = Log([[File(f"{i:02}", True, 1, i, 0) for i in range(64)]], checkpoint=1), MetadataCache()
    sizes = []
    for filter, reads in (("id = 7", 1), ("id = 7", 0), ("id = 9", 1), ("id = 11", 0)):
        expected = answers(planned(log, 1, filter, MetadataCache(0)))
        log.reads.clear()
        assert answers(planned(log, 1, filter, cache)) == expected
        assert bool(log.reads) == reads
        sizes.append(cache.used_bytes)
    assert sizes[0] == sizes[1] < sizes[2] == sizes[3]


@pytest.mark.parametrize("most", [1, 2, 1000])
def test_a_block_of_several_parts_is_kept_once(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """However few files are enough for a block: parts that were read together stay together."""
    monkeypatch.setattr(block_cache, "_COMMIT_FILES", most)
    monkeypatch.setattr(blocks, "TARGET_FILES", 15)
    monkeypatch.setattr(planner, "_bundles", lambda parts: iter([list(parts)]))
    seen: list[list[int]] = []
    known_blocks = planner.cached_blocks

    def spy(known: Any) -> Any:
        found = list(known_blocks(known))
        seen.append([len(block) for _, block, _ in found])
        assert all(alive is None for *_, alive in found)
        return iter(found)

    monkeypatch.setattr(planner, "cached_blocks", spy)
    log, cache = Log([[File(f"{i:02}", True, 1, i, 0) for i in range(20)]], checkpoint=1), MetadataCache()
    planned(log, 1, "id > 1", cache)
    planned(log, 1, "id > 1", cache)
    assert seen == [[], [20]]


def test_a_partition_field_of_another_type_is_read_again() -> None:
    log, cache = some_log(), MetadataCache()
    planned(log, 4, "day = 1", cache)
    wide = PartitionField(1000, "day", 2, parse_transform("identity"), primitive("long"))
    table: Any = SimpleNamespace(storage=Storage("/t"), format="fake", location="/t", cache=cache)
    snapshot = LogSnapshot(log, 4)
    snapshot.specs = {0: PartitionSpec(0, (wide,))}
    snapshot.schema = Schema((SCHEMA.fields[0], Field(2, "day", primitive("long")), SCHEMA.fields[2]))
    plan = Snapshot(table, snapshot).scan("day = 1").plan()
    assert plan.files.schema.field("partition").type == pa.struct([("day", pa.int64())])
    assert len(plan) == len(planned(log, 4, "day = 1", MetadataCache(0)))


def test_threads_may_plan_at_once() -> None:
    log, cache = some_log(), MetadataCache()
    filters = ["id > 1", "day = 1", None, "x > 0", "id = 2 AND day = 2"] * 2
    expected = [answers(planned(log, 4, filter, MetadataCache(0))) for filter in filters]
    found: list[list[Any]] = [[] for _ in filters]
    start = Barrier(len(filters))

    def work(i: int) -> None:
        start.wait()
        for _ in range(5):
            found[i].append(answers(planned(log, 4, filters[i], cache)))

    threads = [Thread(target=work, args=(i,)) for i in range(len(filters))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[answer] * 5 for answer in expected]


@pytest.mark.parametrize(
    ("ours", "other"),
    [
        ("day = 1 AND id > 2", "day = 2 AND id > 2"),
        ("day < 9 AND id > 2", "day < 9 AND id IS NULL"),
    ],
)
def test_a_plan_of_other_rows_between_two_steps(monkeypatch: pytest.MonkeyPatch, ours: str, other: str) -> None:
    """What another thread learns of a block, of other rows or less, is not taken for what this one read."""
    log, cache = some_log(), MetadataCache()
    planned(log, 4, None, cache)
    taken, waiting = block_pruning.take_rows, [other]

    def interrupted(values: Any, rows: Any) -> Any:
        if values is None and waiting:
            planned(log, 4, waiting.pop(), cache)
        return taken(values, rows)

    monkeypatch.setattr(block_pruning, "take_rows", interrupted)
    found = answers(planned(log, 4, ours, cache))
    assert not waiting
    assert found == answers(planned(log, 4, ours, MetadataCache(0)))


def test_errors_while_reading_are_not_kept() -> None:
    class Damaged(LogSnapshot):
        def _batch(self, files: Sequence[File], inserts: bool, with_keys: bool) -> FileBatch:
            raise ValueError("damaged")

    log, cache = some_log(), MetadataCache()
    table: Any = SimpleNamespace(storage=Storage("/t"), format="fake", location="/t", cache=cache)
    for _ in range(2):
        with pytest.raises(ValueError, match="damaged"):
            Snapshot(table, Damaged(log, 4)).scan().plan()
    assert answers(planned(log, 4, None, cache)) == answers(planned(log, 4, None, MetadataCache(0)))


def test_files_that_are_kept_hold_no_memory_of_others() -> None:
    every = pa.RecordBatch.from_pydict({"path": [f"{i:0100}" for i in range(1000)], "size_bytes": list(range(1000))})
    some = CachedFiles(every.slice(100, 50), SparseRows())
    assert some.files.get_total_buffer_size() > 10 * some.nbytes
    assert some.copied().files == some.files and some.copied().files.get_total_buffer_size() <= 2 * some.nbytes
    assert CachedFiles(every, SparseRows()).copied().files is every


def test_what_is_kept_is_about_all_commits() -> None:
    """Two logs with one newest commit are two logs."""

    def part(*adds: str) -> MetadataPart:
        return MetadataPart("part", lambda report: iter(()), 1, adds)

    cache = MetadataCache()
    for adds in (("c", "b", "a"), ("c", "b"), ("c", "x", "a"), ("c",)):
        below = block_cache.BlockCache(cache, {})
        below.bind_snapshot([part(*adds)])
        assert below.find(part(*adds), ()) is None
        below.put(part(*adds), block_cache.CachedPart([]))
        again = block_cache.BlockCache(cache, {})
        again.bind_snapshot([part(*adds)])
        assert again.find(part(*adds), ()) is not None
