"""Changes between versions: hand-built logs whose rows are known, rule by rule of the protocol."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.delta_changes import (
    applied,
    change_file,
    changes_of,
    data_file,
    deletes,
    id_file,
    inline_vector,
    inserts,
    mapped_log,
)
from tests.support.delta_log import (
    WITH_VECTORS,
    DeltaLog,
    add,
    field,
    first_actions,
    metadata,
    remove,
    request,
    stats,
)


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    return DeltaLog(tmp_path / "t").start(protocol=WITH_VECTORS)


def with_vector(action: dict[str, Any], *positions: int, **more: Any) -> dict[str, Any]:
    (kind,) = action
    vector = {"deletionVector": inline_vector(*positions)} if positions else {}
    return {kind: {**{k: v for k, v in action[kind].items() if k != "deletionVector"}, **vector, **more}}


class TestFiles:
    def test_adds_are_inserts_and_removes_are_deletes(self, log: DeltaLog) -> None:
        one, two = id_file(log, "1", [1, 2]), id_file(log, "2", [3])
        log.commit(1, one).commit(2, two).commit(3, remove("1"), id_file(log, "3", [2]))
        assert changes_of(log.root, 0) == inserts(1, 1, 2) + inserts(2, 3) + deletes(3, 1, 2) + inserts(3, 2)
        assert changes_of(log.root, 2, 2) == inserts(2, 3)
        assert changes_of(log.root, 0, 0) == []

    @pytest.mark.parametrize("kind", ["add", "remove"])
    def test_what_does_not_change_data_yields_nothing(self, log: DeltaLog, kind: str) -> None:
        log.commit(1, id_file(log, "1", [1, 2]))
        log.commit(2, remove("1", dataChange=False), id_file(log, "2", [1, 2], dataChange=False))
        assert changes_of(log.root, 2) == []

    def test_a_remove_leaves_out_what_was_deleted_before(self, log: DeltaLog) -> None:
        one = id_file(log, "1", [1, 2, 3])
        log.commit(1, with_vector(one, 1)).commit(2, with_vector(remove("1"), 1))
        assert changes_of(log.root, 1) == inserts(1, 1, 3) + deletes(2, 1, 3)

    def test_the_same_file_in_several_versions(self, log: DeltaLog) -> None:
        one = id_file(log, "1", [1])
        log.commit(1, one).commit(2, remove("1")).commit(3, one)
        assert changes_of(log.root, 1) == inserts(1, 1) + deletes(2, 1) + inserts(3, 1)

    def test_missing_data_files(self, log: DeltaLog) -> None:
        log.commit(1, id_file(log, "1", [1])).commit(2, id_file(log, "2", [1]))
        (log.root / "1").unlink()
        with pytest.raises(tf.CorruptMetadataError, match="missing") as caught:
            tf.open_table(log.root).changes(0).to_arrow()
        assert caught.value.path == str(log.root / "1") and "cleaned up" in str(caught.value)
        assert changes_of(log.root, 2) == inserts(2, 1)

    def test_another_table_of_the_same_files(self, log: DeltaLog) -> None:
        """The table is copied; relative paths mean the copies."""
        log.commit(1, with_vector(id_file(log, "a b", [1, 2]), 0, path="a%20b"))
        shutil.move(log.root, log.root.with_name("moved"))
        assert changes_of(log.root.with_name("moved"), 0) == inserts(1, 2)


class TestVectors:
    """One file of the ids 0 to 9, so that ids are positions."""

    STATES = ((), (1, 3), (1, 3, 5), (3,), (), (0, 1, 2, 3, 4, 5, 6, 7, 8, 9), (9,))

    def history(self, log: DeltaLog, order: int = 1) -> DeltaLog:
        file = id_file(log, "1", range(10))
        log.commit(1, file)
        for version, (old, new) in enumerate(itertools.pairwise(self.STATES), 2):
            log.commit(version, *[with_vector(file, *new), with_vector(remove("1"), *old)][::order])
        return log

    @pytest.mark.parametrize("order", [1, -1])
    def test_the_rows_between_two_vectors(self, log: DeltaLog, order: int) -> None:
        expected = inserts(1, *range(10))
        for version, (old, new) in enumerate(itertools.pairwise(self.STATES), 2):
            expected += deletes(version, *sorted({*new} - {*old})) + inserts(version, *sorted({*old} - {*new}))
        assert changes_of(self.history(log, order).root, 0) == expected

    def test_the_rows_of_a_version_are_those_before_and_its_changes(self, log: DeltaLog) -> None:
        table = tf.open_table(self.history(log).root)
        rows = [applied({}, changes_of(log.root, 0, v)) for v in range(8)]  # type: ignore[arg-type]
        assert [sorted(i for (i,) in found) for found in rows] == [
            table.scan(version=v).to_arrow()["id"].to_pylist() for v in range(8)
        ]

    def test_files_say_what_is_read(self, log: DeltaLog) -> None:
        found = tf.open_table(self.history(log).root).changes(3, 4).files
        kinds = [[d["kind"] for d in deletes] for deletes in found["deletes"].to_pylist()]
        assert found.select(["version", "change_type"]).to_pylist() == [
            {"version": 3, "change_type": "delete"},
            {"version": 3, "change_type": "insert"},
            {"version": 4, "change_type": "delete"},
            {"version": 4, "change_type": "insert"},
        ]
        assert kinds == [["deletion_vector", "selected_rows"]] * 4
        assert found["path"].unique().to_pylist() == [str(log.root / "1")]
        assert found["record_count"].to_pylist() == [10] * 4

    def test_one_vector_twice(self, log: DeltaLog) -> None:
        """The key is the same: nothing changed, however the statistics did."""
        file = id_file(log, "1", range(10))
        log.commit(1, with_vector(file, 1)).commit(2, with_vector(remove("1"), 1), with_vector(file, 1))
        assert changes_of(log.root, 2) == []
        log.commit(3, with_vector(remove("1"), 1), with_vector(file, 1, stats=stats(10)))
        assert changes_of(log.root, 3) == []
        assert tf.open_table(log.root).changes(2).files.num_rows == 0

    def test_paths_are_compared_decoded(self, log: DeltaLog) -> None:
        file = id_file(log, "a b", [0, 1, 2])
        log.commit(1, with_vector(file, path="a%20b"))
        log.commit(2, with_vector(file, 2, path="%61%20b"), remove("a%20b"))
        assert changes_of(log.root, 2) == deletes(2, 2)

    def test_bounds_of_the_rows_that_are_left(self, log: DeltaLog) -> None:
        """Tight bounds of a file with a vector say nothing of the rows that it deletes."""
        file = id_file(log, "1", range(10))
        left = json.dumps({"numRecords": 10, "minValues": {"id": 0}, "maxValues": {"id": 8}, "tightBounds": True})
        log.commit(1, file).commit(2, with_vector(file, 9, stats=left), remove("1"))
        log.commit(3, with_vector(remove("1"), 9, stats=left), file)
        assert changes_of(log.root, 2, filter="id = 9") == deletes(2, 9) + inserts(3, 9)
        assert changes_of(log.root, 2, filter="id < 9") == []

    def test_bounds_from_before_prune(self, log: DeltaLog) -> None:
        file = id_file(log, "1", range(10))
        log.commit(1, file).commit(2, with_vector(file, 9, stats=None), remove("1", stats=file["add"]["stats"]))
        changes = tf.open_table(log.root).changes(2)
        assert len(changes.where("id > 10").plan()) == 0 < len(changes.where("id > 8").plan())

    def test_a_vector_past_the_end_of_the_file(self, log: DeltaLog) -> None:
        file = id_file(log, "1", range(10))
        log.commit(1, file).commit(2, with_vector(file, 10), remove("1"))
        with pytest.raises(tf.CorruptMetadataError, match="row 10 of a file of 10"):
            tf.open_table(log.root).changes(2).to_arrow()

    def test_without_record_counts(self, log: DeltaLog) -> None:
        file = id_file(log, "1", range(10))
        file["add"].pop("stats")
        log.commit(1, file).commit(2, with_vector(file, 4), remove("1")).commit(3, with_vector(remove("1"), 4))
        assert changes_of(log.root, 2) == deletes(2, 4) + deletes(3, 0, 1, 2, 3, 5, 6, 7, 8, 9)


class TestChangeDataFiles:
    CHANGES = pa.table(
        {
            "id": pa.array([1, 1, 7, 8], pa.int64()),
            "_change_type": ["update_preimage", "update_postimage", "insert", "delete"],
        }
    )

    def test_they_alone_are_read(self, log: DeltaLog) -> None:
        log.commit(1, id_file(log, "1", [1, 8]))
        log.commit(2, remove("1"), change_file(log, "_change_data/c", self.CHANGES), id_file(log, "2", [1, 7]))
        log.commit(3, id_file(log, "3", [5]))
        types = self.CHANGES["_change_type"].to_pylist()
        expected = [(kind, 2, (i,)) for kind, i in zip(types, [1, 1, 7, 8], strict=True)]
        assert changes_of(log.root, 1) == inserts(1, 1, 8) + expected + inserts(3, 5)
        assert changes_of(log.root, 1, filter="_change_type = 'update_preimage'") == expected[:1]
        assert changes_of(log.root, 1, filter="_change_type LIKE 'update%' OR id = 5") == expected[:2] + inserts(3, 5)

    def test_the_type_column_comes_from_metadata_in_other_files(self, log: DeltaLog) -> None:
        """Writers may leave a column _change_type in data files, full of NULLs or of anything."""
        rows = pa.table({"id": pa.array([1], pa.int64()), "_change_type": ["delete"]})
        log.commit(1, data_file(log, "1", rows))
        assert changes_of(log.root, 1) == inserts(1, 1)

    def test_partition_values_are_the_log_s(self, tmp_path: Path) -> None:
        log = DeltaLog(tmp_path / "t").start(field("id", "long"), field("day", "date"), partition=("day",))
        log.commit(1, change_file(log, "_change_data/day=x/c", self.CHANGES, partitionValues={"day": "2024-02-29"}))
        found = tf.open_table(log.root).changes(1)
        assert [str(day) for day in found.to_arrow()["day"].to_pylist()] == ["2024-02-29"] * 4
        assert len(found.where("day > '2024-02-29'").plan()) == 0

    @pytest.mark.parametrize("mode", ["name", "id"])
    def test_column_mapping(self, tmp_path: Path, mode: str) -> None:
        """The type column has no field id; the others are found by theirs, or by their physical names."""
        log = mapped_log(tmp_path, mode, a=1)
        column = pa.field("col-1", pa.int64(), metadata={"PARQUET:field_id": "1"})
        rows = pa.table([[5], ["delete"]], pa.schema([column, pa.field("_change_type", pa.string())]))
        log.commit(1, change_file(log, "_change_data/c", rows))
        assert changes_of(log.root, 1) == deletes(1, 5)

    @pytest.mark.parametrize("types", [None, [None, "insert"]])
    def test_rows_without_a_type(self, log: DeltaLog, types: list[Any] | None) -> None:
        rows = pa.table({"id": pa.array([1, 2], pa.int64())})
        if types is not None:
            rows = rows.append_column("_change_type", pa.array(types))
        log.commit(1, change_file(log, "_change_data/c", rows))
        with pytest.raises(tf.CorruptMetadataError) as caught:
            tf.open_table(log.root).changes(1).to_arrow()
        assert caught.value.field == "_change_type" and caught.value.path == str(log.root / "_change_data/c")

    @pytest.mark.parametrize("damage", [{"path": None}, {"size": "1"}, {"partitionValues": 3}])
    def test_damaged_actions(self, log: DeltaLog, damage: dict[str, Any]) -> None:
        log.commit(1, {"cdc": {"path": "c", "partitionValues": {}, "size": 1, **damage}})
        with pytest.raises(tf.CorruptMetadataError) as caught:
            tf.open_table(log.root).changes(1)
        assert caught.value.field == f"cdc.{next(iter(damage))}" and caught.value.offset == 0


class TestRanges:
    @pytest.fixture
    def four(self, log: DeltaLog) -> DeltaLog:
        for version in (1, 2, 3):
            log.commit(version, id_file(log, str(version), [version]))
        return log

    @pytest.mark.parametrize(
        ("starting", "ending", "message"),
        [
            (4, None, "no version 4"),
            (0, 4, "no version 4"),
            (-1, 2, "no version -1"),
            (5, 9, "no version 5"),
            (3, 2, "2 is before the starting version 3"),
            (0, -1, "-1 is before"),
            (2**70, None, "no version 1180591"),
            (0, 2**70, "no version 1180591"),
            (True, None, "True is no version"),
            ("x", None, "'x' is no version"),
        ],
    )
    def test_versions_that_are_not_there(self, four: DeltaLog, starting: Any, ending: Any, message: str) -> None:
        with pytest.raises(tf.SnapshotNotFoundError, match=message) as caught:
            tf.open_table(four.root).changes(starting, ending)
        assert "ersions 0 to 3 can be asked for" in str(caught.value)

    def test_bounds_are_included(self, four: DeltaLog) -> None:
        assert changes_of(four.root, 1, 2) == inserts(1, 1) + inserts(2, 2)
        found = tf.open_table(four.root).changes("2")
        assert (found.starting_version, found.ending_version) == (2, 3)

    def test_commits_that_were_cleaned_up(self, four: DeltaLog) -> None:
        adds = [{"add": {**add(str(v))["add"], "partitionValues": []}} for v in (1, 2)]
        four.checkpoint(f"{2:020d}.checkpoint.parquet", *first_actions(protocol=WITH_VECTORS), *adds)
        for version in (0, 1):
            (four.directory / f"{version:020d}.json").unlink()
        with pytest.raises(tf.SnapshotNotFoundError, match="version 1 are not known any more") as caught:
            tf.open_table(four.root).changes(1)
        assert "versions 2 to 3 can be asked for" in str(caught.value)
        assert changes_of(four.root, 2) == inserts(2, 2) + inserts(3, 3)
        (four.directory / f"{2:020d}.json").unlink()
        assert changes_of(four.root, 3) == inserts(3, 3)
        (four.directory / f"{3:020d}.json").unlink()
        with pytest.raises(tf.SnapshotNotFoundError, match="No changes can be asked for"):
            tf.open_table(four.root).changes(2)

    def test_commits_below_the_oldest_version(self, four: DeltaLog) -> None:
        """A commit that is left says what it changed, but only what can be reconstructed is promised."""
        adds = [{"add": {**add(str(v))["add"], "partitionValues": []}} for v in (1, 2)]
        four.checkpoint(f"{2:020d}.checkpoint.parquet", *first_actions(protocol=WITH_VECTORS), *adds)
        (four.directory / f"{0:020d}.json").unlink()
        assert changes_of(four.root, 1) == inserts(1, 1) + inserts(2, 2) + inserts(3, 3)
        with pytest.raises(tf.SnapshotNotFoundError, match="Changes of the versions 2 to 3 can be asked for"):
            tf.open_table(four.root).changes(0)

    def test_a_replacement_of_a_schema_that_was_cleaned_up(self, four: DeltaLog) -> None:
        """What the oldest commit removed was written by a schema that is gone."""
        four.commit(2, {"metaData": metadata(field("id", "long"))}, remove("1"))
        adds = [{"add": {**add("3")["add"], "partitionValues": []}}]
        four.checkpoint(f"{2:020d}.checkpoint.parquet", *first_actions(protocol=WITH_VECTORS), *adds)
        for version in (0, 1):
            (four.directory / f"{version:020d}.json").unlink()
        with pytest.raises(tf.SnapshotNotFoundError):
            tf.open_table(four.root).changes(2)
        assert changes_of(four.root, 3) == inserts(3, 3)


class TestTimes:
    def test_of_files(self, tmp_path: Path) -> None:
        log = DeltaLog(tmp_path / "t")
        for version, time in enumerate([1000, 1000, 500]):
            actions = [{"protocol": WITH_VECTORS}, {"metaData": metadata()}] if not version else []
            log.commit(version, *actions, id_file(log, str(version), [version]), mtime_ms=time)
        found = tf.open_table(log.root).changes(0).to_arrow()
        assert found.schema.field("_commit_timestamp").type == pa.timestamp("us", "UTC")
        assert found["_commit_timestamp"].cast(pa.int64()).to_pylist() == [1_000_000, 1_001_000, 1_002_000]

    def test_in_commits(self, tmp_path: Path) -> None:
        log = DeltaLog(tmp_path / "t").start(
            configuration={"delta.enableInCommitTimestamps": "true", "delta.inCommitTimestampEnablementVersion": "1"},
        )
        for version in (1, 2):
            info = {"commitInfo": {"inCommitTimestamp": version * 7}}
            log.commit(version, info, id_file(log, str(version), [version]), mtime_ms=10**12)
        changes = tf.open_table(log.root).changes(1)
        assert changes.to_arrow()["_commit_timestamp"].cast(pa.int64()).to_pylist() == [7000, 14000]
        assert changes.files["timestamp"].cast(pa.int64()).to_pylist() == [7000, 14000]
        assert len(changes.where("_commit_timestamp > '1970-01-01T00:00:00.007Z'").plan()) == 1
        log.commit(3, {"commitInfo": {"inCommitTimestamp": 2**62}}, id_file(log, "3", [3]))
        with pytest.raises(tf.CorruptMetadataError) as caught:
            tf.open_table(log.root).changes(3)
        assert caught.value.field == "commitInfo.inCommitTimestamp"


class TestScan:
    """The verbs of a scan."""

    @pytest.fixture
    def changes(self, log: DeltaLog) -> Any:
        log.commit(1, id_file(log, "1", [1, 2])).commit(2, id_file(log, "2", [3, 4]), remove("1"))
        return tf.open_table(log.root).changes(1)

    def test_schema(self, changes: Any) -> None:
        assert changes.schema.names == ["id", "_change_type", "_commit_version", "_commit_timestamp"]
        assert changes.to_arrow().schema.names == changes.schema.names
        assert changes.to_arrow_batch_reader().schema == changes.schema.to_arrow()

    def test_select(self, changes: Any) -> None:
        assert changes.select("_commit_version", "ID").to_arrow().to_pydict() == {
            "_commit_version": [1, 1, 2, 2, 2, 2],
            "id": [1, 2, 1, 2, 3, 4],
        }
        with pytest.raises(tf.InvalidPredicateError):
            changes.select("_commit")

    @pytest.mark.parametrize(
        ("filter", "ids", "files"),
        [
            ("_commit_version = 2", [1, 2, 3, 4], 2),
            ("_change_type <> 'delete'", [1, 2, 3, 4], 2),
            ("_change_type = 'delete' AND _commit_version = 1", [], 0),
            ("id > 2 OR _change_type = 'delete'", [1, 2, 3, 4], 2),
            ("id = 4", [4], 2),
            ("_commit_timestamp IS NULL", [], 0),
            ("_change_type = 'update_preimage'", [], 0),
        ],
    )
    def test_where(self, changes: Any, filter: str, ids: list[int], files: int) -> None:
        found = changes.where(filter)
        assert found.to_arrow()["id"].to_pylist() == ids
        assert (found.count(), len(found.plan())) == (len(ids), files) and found.files.num_rows == files

    def test_pandas(self, changes: Any) -> None:
        frame = changes.to_pandas()
        assert frame["_change_type"].tolist() == ["insert"] * 2 + ["delete"] * 2 + ["insert"] * 2

    def test_report(self, changes: Any) -> None:
        report = changes.where("_commit_version = 1").plan().report
        assert (report.files_total, report.files_dropped_by_partition, report.log_files_read) == (3, 2, 2)

    def test_many_commits_are_few_batches(self, log: DeltaLog) -> None:
        for version in range(1, 40):
            log.commit(version, id_file(log, str(version), [version]))
        changes = tf.open_table(log.root).changes(1)
        snapshot = changes.snapshot.format_snapshot
        assert [batch.files.num_rows for batch in snapshot.read(request())] == [39]
        assert changes.to_arrow()["id"].to_pylist() == list(range(1, 40))

    def test_added_files(self, log: DeltaLog) -> None:
        log.commit(1, id_file(log, "1", [1, 2])).commit(2, id_file(log, "2", [3], dataChange=False), remove("1"))
        log.commit(3, change_file(log, "c", TestChangeDataFiles.CHANGES), with_vector(id_file(log, "3", [3, 4]), 1))
        (log.root / "1").unlink()
        changes = tf.open_table(log.root).changes(1)
        found = changes.added_files()
        assert found.column_names[:2] == ["version", "timestamp"]
        assert found.select(["version", "path", "record_count", "data_change"]).to_pylist() == [
            {"version": v, "path": str(log.root / str(v)), "record_count": n, "data_change": new}
            for v, n, new in [(1, 2, True), (2, 1, False), (3, 2, True)]
        ]
        assert found["size_bytes"].to_pylist()[1] == (log.root / "2").stat().st_size
        assert [len(deletes) for deletes in found["deletes"].to_pylist()] == [0, 0, 1]
        assert changes.where("id > 2").added_files()["version"].to_pylist() == [2, 3]
        assert tf.open_table(log.root).changes(0, 0).added_files().num_rows == 0
