"""Streams of tables that are appended to: what every micro-batch has, across restarts from the checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.support.delta_changes import data_file, id_file, inline_vector
from tests.support.delta_log import WITH_VECTORS, DeltaLog, field, first_actions, metadata, remove
from tests.support.iceberg_history import History

datasource = pytest.importorskip("pyspark.sql.datasource", reason="needs PySpark 4.0")

from tableformats.errors import SnapshotNotFoundError, UnsupportedFeatureError  # noqa: E402
from tableformats.spark.datasource import TableFormatsDataSource  # noqa: E402
from tableformats.spark.streaming import ReadAllAvailable, StreamReader  # noqa: E402

Batches = list[list[int]]
METADATA = metadata(field("id", "long"))


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    """Version 1: files with 1, 2 and 3, 4. Version 2: a file with 5."""
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), protocol=WITH_VECTORS)
    log.commit(1, id_file(log, "a", [1, 2]), id_file(log, "b", [3, 4]))
    return log.commit(2, id_file(log, "c", [5]))


# ---- the reader alone: what Spark calls, without Spark --------------------------------------------------------------


def reader(root: Path, **options: Any) -> StreamReader:
    source = TableFormatsDataSource({"path": str(root), **{name: str(value) for name, value in options.items()}})
    return source.streamReader(source.schema())


def ids(stream: StreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[int]:
    groups = stream.partitions(start, end)
    return sorted(i for group in groups for batch in stream.read(group) for i in batch["id"].to_pylist())


def drained(stream: StreamReader, start: dict[str, Any] | None = None, limit: Any = None) -> tuple[Batches, Any]:
    """The micro-batches up to the one with nothing new, and the last offset. Each is read twice, as after a failure."""
    at = stream.initialOffset() if start is None else start
    batches = []
    while (end := stream.latestOffset(at, limit)) != at:
        batches.append(ids(stream, at, end))
        assert ids(stream, at, end) == batches[-1]
        at = end
    return batches, at


def test_begins_with_all_rows_and_goes_on(log: DeltaLog) -> None:
    stream = reader(log.root)
    batches, at = drained(stream)
    assert batches == [[1, 2, 3, 4, 5]]
    log.commit(3, id_file(log, "d", [6])).commit(4, {"commitInfo": {}}).commit(5, id_file(log, "e", [7]))
    assert drained(stream, at)[0] == [[6, 7]]
    assert drained(reader(log.root), at)[0] == [[6, 7]]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"maxFilesPerTrigger": 1}, [[1, 2], [3, 4], [5], [6], [7]]),
        ({"maxFilesPerTrigger": 2}, [[1, 2, 3, 4], [5, 6], [7]]),
        ({"maxBytesPerTrigger": "1b"}, [[1, 2], [3, 4], [5], [6], [7]]),
        ({"maxBytesPerTrigger": "1g"}, [[1, 2, 3, 4, 5, 6, 7]]),
        ({"maxFilesPerTrigger": 2, "filter": "id NOT IN (1, 2, 5)"}, [[3, 4], [6], [7]]),
    ],
)
@pytest.mark.parametrize("start", [{}, {"startingVersion": 1}])
def test_limits(log: DeltaLog, options: dict[str, Any], expected: Batches, start: dict[str, Any]) -> None:
    """Of the table's files as of those that versions append: they lie in the same order."""
    log.commit(3, id_file(log, "d", [6]), id_file(log, "e", [7]))
    assert drained(reader(log.root, **options, **start))[0] == expected


def test_read_all_ignores_limits(log: DeltaLog) -> None:
    batches, _ = drained(reader(log.root, maxFilesPerTrigger=1), limit=ReadAllAvailable())
    assert batches == [[1, 2, 3, 4, 5]]


def test_a_restart_in_the_middle_of_a_version(log: DeltaLog) -> None:
    for options in ({}, {"startingVersion": 1}):
        first = reader(log.root, maxFilesPerTrigger=1, **options)
        begun = first.initialOffset()
        middle = first.latestOffset(begun, None)
        assert ids(first, begun, middle) == [1, 2]
        # What the log says may be told by a checkpoint later on, in another order.
        assert drained(reader(log.root, maxFilesPerTrigger=1, **options), middle)[0] == [[3, 4], [5]]
        assert drained(reader(log.root, filter="id <> 4", **options), middle)[0] == [[3, 5]]


def test_without_a_start_the_reader_knows_where_it_is(log: DeltaLog) -> None:
    """As Spark 4.0 and 4.1 ask."""
    stream = reader(log.root, maxFilesPerTrigger=2)
    begun = stream.initialOffset()
    middle = stream.latestOffset()
    assert ids(stream, begun, middle) == [1, 2, 3, 4]
    end = stream.latestOffset()
    assert ids(stream, middle, end) == [5]
    assert stream.latestOffset() == end
    again = reader(log.root, maxFilesPerTrigger=1)
    log.commit(3, id_file(log, "d", [6]), id_file(log, "e", [7]))
    assert ids(again, end, again.latestOffset()) == [6, 7]


def test_available_now_stops_at_what_was_there(log: DeltaLog) -> None:
    stream = reader(log.root, maxFilesPerTrigger=1, startingVersion=1)
    stream.prepareForTriggerAvailableNow()
    log.commit(3, id_file(log, "d", [6]))
    batches, at = drained(stream)
    assert batches == [[1, 2], [3, 4], [5]]
    assert drained(reader(log.root), at)[0] == [[6]]


def test_starts(log: DeltaLog, tmp_path: Path) -> None:
    log.commit(3, id_file(log, "d", [6]))
    assert drained(reader(log.root, startingVersion=2))[0] == [[5, 6]]
    latest = reader(log.root, startingVersion="latest")
    batches, at = drained(latest)
    assert batches == []
    log.commit(4, id_file(log, "e", [7]))
    assert drained(latest, at)[0] == [[7]]
    dated = DeltaLog(tmp_path / "dated")
    for version, day in enumerate((1, 2, 3)):
        action = id_file(dated, str(version), [version])
        first = [{"protocol": WITH_VECTORS}, {"metaData": METADATA}] if not version else []
        dated.commit(version, *first, action, mtime_ms=1704067200000 + day * 86_400_000)
    assert drained(reader(dated.root, startingTimestamp="2024-01-03"))[0] == [[1, 2]]
    assert drained(reader(dated.root, startingTimestamp="2024-02-01"))[0] == []
    with pytest.raises(UnsupportedFeatureError):
        reader(dated.root, startingTimestamp="2024-02-01", startingVersion=1).initialOffset()
    with pytest.raises(SnapshotNotFoundError):
        reader(dated.root, startingVersion=9).initialOffset()


def test_rewritten_files_are_not_read_again(log: DeltaLog) -> None:
    _, at = drained(reader(log.root))
    moved = id_file(log, "ab", [1, 2, 3, 4], dataChange=False)
    log.commit(3, remove("a", dataChange=False), remove("b", dataChange=False), moved)
    log.commit(4, id_file(log, "d", [6]))
    assert drained(reader(log.root), at)[0] == [[6]]


Change = Callable[[DeltaLog], Any]


def deleted_file(log: DeltaLog) -> Any:
    log.commit(3, remove("a"))


def deleted_rows(log: DeltaLog) -> Any:
    log.commit(3, remove("a"), id_file(log, "a", [1, 2], deletionVector=inline_vector(0)))


def rewritten(log: DeltaLog) -> Any:
    log.commit(3, remove("a"), id_file(log, "a2", [1, 22]))


@pytest.mark.parametrize(
    ("change", "passing"),
    [
        (deleted_file, {"ignoreDeletes", "skipChangeCommits", "streaming-skip-delete-snapshots"}),
        (deleted_rows, {"ignoreDeletes", "skipChangeCommits", "streaming-skip-delete-snapshots"}),
        (rewritten, {"skipChangeCommits", "streaming-skip-overwrite-snapshots"}),
    ],
)
def test_versions_that_change_rows(log: DeltaLog, change: Change, passing: set[str]) -> None:
    _, at = drained(reader(log.root))
    change(log)
    log.commit(4, id_file(log, "d", [6]))
    options = [
        "ignoreDeletes",
        "skipChangeCommits",
        "streaming-skip-delete-snapshots",
        "streaming-skip-overwrite-snapshots",
    ]
    for option in options:
        stream = reader(log.root, **{option: "true"})
        if option in passing:
            assert drained(stream, at)[0] == [[6]]
            continue
        with pytest.raises(UnsupportedFeatureError, match="version 3") as caught:
            drained(stream, at)
        assert all(name in (caught.value.hint or "") for name in passing)


def test_what_lies_before_a_change_is_read_first(log: DeltaLog) -> None:
    _, at = drained(reader(log.root))
    log.commit(3, id_file(log, "d", [6])).commit(4, remove("a"))
    stream = reader(log.root)
    end = stream.latestOffset(at, None)
    assert ids(stream, at, end) == [6]
    with pytest.raises(UnsupportedFeatureError, match="version 4"):
        stream.latestOffset(end, None)


def test_the_first_snapshot_is_without_deleted_rows(log: DeltaLog) -> None:
    deleted_rows(log)
    assert drained(reader(log.root))[0] == [[2, 3, 4, 5]]


def test_new_columns_end_the_query_until_it_starts_again(log: DeltaLog) -> None:
    stream = reader(log.root)
    _, at = drained(stream)
    log.commit(3, {"metaData": metadata(field("id", "long"), field("more", "string"))})
    log.commit(4, data_file(log, "d", pa.table({"id": pa.array([6]), "more": ["x"]})))
    with pytest.raises(UnsupportedFeatureError, match="more") as caught:
        stream.latestOffset(at, None)
    assert "start the query again" in (caught.value.hint or "")
    again = reader(log.root)
    end = again.latestOffset(at, None)
    groups = again.partitions(at, end)
    assert [row for g in groups for b in again.read(g) for row in b.to_pylist()] == [{"id": 6, "more": "x"}]


def test_versions_that_are_gone(log: DeltaLog) -> None:
    _, at = drained(reader(log.root))
    log.commit(3, id_file(log, "d", [6])).commit(4, id_file(log, "e", [7]))
    log.checkpoint(f"{4:020d}.checkpoint.parquet", *first_actions())
    for version in range(4):
        (log.directory / f"{version:020d}.json").unlink()
    with pytest.raises(SnapshotNotFoundError, match="version 3"):
        reader(log.root).latestOffset(at, None)


# ---- Iceberg --------------------------------------------------------------------------------------------------------


def test_snapshots(tmp_path: Path) -> None:
    history = History(tmp_path / "t")
    history.commit("append", add=[[1, 2], [3]])
    stream = reader(history.root, maxFilesPerTrigger=1)
    batches, at = drained(stream)
    assert batches == [[1, 2], [3]]
    history.commit("append", add=[[4], [5]])
    history.commit("replace", remove=["f1-1.parquet"], add=[[3]])
    history.commit("append", add=[[6]])
    batches, at = drained(stream, at)
    assert [b for b in batches if b] == [[4], [5], [6]]
    history.commit("delete", vectors=[("f1-0.parquet", 1)])
    history.commit("append", add=[[7]])
    with pytest.raises(UnsupportedFeatureError, match="version 105"):
        drained(stream, at)
    batches, at = drained(reader(history.root, **{"streaming-skip-delete-snapshots": "true"}), at)
    assert batches == [[7]]
    history.commit("overwrite", remove=["f1-0.parquet"], add=[[8]])
    with pytest.raises(UnsupportedFeatureError, match="version 107"):
        drained(reader(history.root, **{"streaming-skip-delete-snapshots": "true"}), at)
    assert drained(reader(history.root, **{"streaming-skip-overwrite-snapshots": "true"}), at)[0] == [[]]
    assert drained(reader(history.root, startingVersion=102, skipChangeCommits="true"))[0] == [[4, 5, 6, 7]]


def test_snapshots_that_delete_by_key(tmp_path: Path) -> None:
    history = History(tmp_path / "t")
    history.commit("append", add=[[1, 2, 3]])
    _, at = drained(reader(history.root))
    history.commit("overwrite", keys=[3], add=[[30]])
    history.commit("append", add=[[4]])
    with pytest.raises(UnsupportedFeatureError, match="version 102 deleted or changed rows"):
        drained(reader(history.root), at)
    assert drained(reader(history.root, skipChangeCommits="true"), at)[0] == [[4]]


# ---- in Spark -------------------------------------------------------------------------------------------------------


def run(spark: Any, root: Path, checkpoint: Path, **options: Any) -> Batches:
    """The micro-batches of a query that takes what is there and ends."""
    batches: Batches = []

    def take(frame: Any, number: int) -> None:
        batches.append(sorted(row.id for row in frame.collect()))

    frame = spark.readStream.format("tableformats").options(**options).load(str(root))
    query = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(checkpoint))
    assert query.trigger(availableNow=True).start().awaitTermination(120)
    return batches


def test_a_query_goes_on_from_its_checkpoint(spark: Any, log: DeltaLog, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    assert run(spark, log.root, checkpoint) == [[1, 2, 3, 4, 5]]
    log.commit(3, id_file(log, "d", [6]), id_file(log, "e", [7]), id_file(log, "f", [8]))
    # Before Spark 4.2 availableNow is one micro-batch.
    has_limits = hasattr(datasource.DataSourceStreamReader, "getDefaultReadLimit")
    expected = [[6, 7], [8]] if has_limits else [[6, 7, 8]]
    assert run(spark, log.root, checkpoint, **{"maxFilesPerTrigger": 2} if has_limits else {}) == expected
    # A batch that was planned and not committed is read again as it was.
    last = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())
    for path in (checkpoint / "commits").glob(f"*{last}*"):
        path.unlink()
    log.commit(4, id_file(log, "g", [9]))
    again = run(spark, log.root, checkpoint) + ([] if has_limits else run(spark, log.root, checkpoint))
    assert again == [expected[-1], [9]]
    log.commit(5, remove("a"))
    with pytest.raises(Exception, match="version 5 deleted rows") as caught:
        run(spark, log.root, checkpoint)
    assert "Traceback" not in str(caught.value)
