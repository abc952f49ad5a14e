"""Changes between versions across changes of schema and of partitioning: read right, or refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.delta_changes import (
    changes_of,
    data_file,
    id_file,
    inline_vector,
    inserts,
    mapped,
    mapped_log,
    mapping,
)
from tests.support.delta_log import (
    METADATA_TYPE,
    WITH_VECTORS,
    DeltaLog,
    add,
    field,
    metadata,
    remove,
)


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    return DeltaLog(tmp_path / "t").start(protocol=WITH_VECTORS)


class TestSchemas:
    """Rows are those of the ending version's schema."""

    def test_added_columns_are_null(self, log: DeltaLog) -> None:
        log.commit(1, id_file(log, "1", [1]))
        log.commit(2, {"metaData": metadata(field("id", "long"), field("note", "string"))})
        rows = pa.table({"id": pa.array([2], pa.int64()), "note": ["x"]})
        log.commit(3, remove("1"), data_file(log, "2", rows))
        assert changes_of(log.root, 1) == [("insert", 1, (1, None)), ("delete", 3, (1, None)), ("insert", 3, (2, "x"))]
        assert changes_of(log.root, 1, 1) == inserts(1, 1)

    def test_required_columns_may_be_null(self, log: DeltaLog) -> None:
        log.commit(1, data_file(log, "1", pa.table({"id": pa.array([None], pa.int64())})))
        log.commit(2, remove("1"), {"metaData": metadata({**field("id", "long"), "nullable": False})})
        found = tf.open_table(log.root).changes(1)
        assert found.to_arrow()["id"].to_pylist() == [None, None]
        assert changes_of(log.root, 1, filter="id IS NULL") == [("insert", 1, (None,)), ("delete", 2, (None,))]

    @pytest.mark.parametrize("mode", ["name", "id"])
    def test_renamed_columns(self, tmp_path: Path, mode: str) -> None:
        log = mapped_log(tmp_path, mode, a=1, b=2)
        fields = [pa.field(f"col-{i}", pa.int64(), metadata={"PARQUET:field_id": str(i)}) for i in (1, 2)]
        log.commit(1, data_file(log, "1", pa.table([[10], [20]], pa.schema(fields))))
        swapped = metadata(mapped("b", "long", 1), mapped("a", "long", 2), configuration=mapping(mode))
        log.commit(2, {"metaData": swapped}).commit(3, remove("1"))
        found = tf.open_table(log.root).changes(1).to_arrow()
        assert found.select(["b", "a"]).to_pylist() == [{"b": 10, "a": 20}] * 2

    def test_columns_that_were_mapped_later(self, log: DeltaLog) -> None:
        log.commit(1, id_file(log, "1", [1]))
        later = metadata(mapped("key", "long", 1, "id"), configuration=mapping("name"))
        protocol = {**WITH_VECTORS, "readerFeatures": ["deletionVectors", "columnMapping"]}
        log.commit(2, {"protocol": protocol}, {"metaData": later}).commit(3, remove("1"))
        assert tf.open_table(log.root).changes(1).to_arrow()["key"].to_pylist() == [1, 1]

    def test_widened_columns(self, log: DeltaLog) -> None:
        old = metadata(field("id", "integer"), field("n", "decimal(3,1)"))
        new = metadata(field("id", "long"), field("n", "decimal(6,2)"))
        rows = pa.table({"id": pa.array([1], pa.int32()), "n": pa.array([1], pa.int32()).cast(pa.decimal128(12, 1))})
        rows = rows.set_column(1, "n", rows["n"].cast(pa.decimal128(3, 1)))
        log.commit(1, {"metaData": old}, data_file(log, "1", rows)).commit(2, {"metaData": new}, remove("1"))
        found = tf.open_table(log.root).changes(1).to_arrow()
        assert found.schema.field("id").type == pa.int64() and found.schema.field("n").type == pa.decimal128(6, 2)
        assert [(r["id"], str(r["n"])) for r in found.to_pylist()] == [(1, "1.00")] * 2

    def test_bounds_of_another_type_do_not_prune(self, log: DeltaLog) -> None:
        """A float's digits are those of another double: 0.7 as a float is less than 0.7."""
        old, new = (metadata(field("id", "long"), field("n", kind)) for kind in ("float", "double"))
        rows = pa.table({"id": pa.array([1], pa.int64()), "n": pa.array([0.7], pa.float32())})
        bounds = {"numRecords": 1, "minValues": {"n": 0.7}, "maxValues": {"n": 0.7}, "nullCount": {"n": 0}}
        stats = json.dumps(bounds)
        log.commit(1, {"metaData": old}, data_file(log, "1", rows, stats=stats))
        vector = inline_vector(0)
        log.commit(2, {"metaData": new}, data_file(log, "1", rows, deletionVector=vector), remove("1", stats=stats))
        found = tf.open_table(log.root).changes(1).where("n < 0.7")
        assert found.to_arrow()["_change_type"].to_pylist() == ["insert", "delete"] and found.count() == 2
        assert len(tf.open_table(log.root).changes(1, 1).where("n < 0").plan()) == 0

    def test_generated_columns_of_another_expression_do_not_prune(self, tmp_path: Path) -> None:
        """What the partition value says of the column that it is computed from is new."""
        plain = [field("ts", "timestamp"), field("day", "date")]
        generated = field("day", "date", {"delta.generationExpression": "CAST(ts AS DATE)"})
        log = DeltaLog(tmp_path / "t").start(*plain, partition=("day",))
        moment = pa.table({"ts": pa.array([0], pa.timestamp("us", "UTC"))})
        log.commit(1, data_file(log, "1", moment, partitionValues={"day": "2024-01-01"}))
        log.commit(2, {"metaData": metadata(plain[0], generated, partition=("day",))})
        log.commit(3, remove("1", partitionValues={"day": "2024-01-01"}))
        log.commit(4, data_file(log, "4", moment, partitionValues={"day": "2024-01-01"}))
        found = tf.open_table(log.root).changes(1).where("ts = '1970-01-01T00:00:00Z'")
        # The last two files were written when the rule held, so they are believed.
        assert found.files["version"].to_pylist() == [1]
        assert found.to_arrow()["_commit_version"].to_pylist() == [1]

    NESTED = ("struct", "array", "map", "key")

    @staticmethod
    def wrapped(kind: Any, where: str) -> dict[str, Any]:
        if where == "struct":
            return field("c", {"type": "struct", "fields": [field("x", kind)]})
        if where == "array":
            return field("c", {"type": "array", "elementType": kind, "containsNull": True})
        if where in ("map", "key"):
            key, value = ("string", kind) if where == "map" else (kind, "string")
            return field("c", {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True})
        return field("c", kind)

    @pytest.mark.parametrize("where", ["", *NESTED])
    @pytest.mark.parametrize(
        ("old", "new"), [("string", "long"), ("long", "integer"), ("decimal(5,2)", "decimal(5,3)")]
    )
    def test_other_changes_of_type(self, log: DeltaLog, where: str, old: str, new: str) -> None:
        before, after = (metadata(field("id", "long"), self.wrapped(kind, where)) for kind in (old, new))
        log.commit(1, {"metaData": before}, id_file(log, "1", [1])).commit(2, {"metaData": after})
        log.commit(3, id_file(log, "3", [3]))
        leaf = {"": "c", "struct": "c.x", "array": "c.element", "map": "c.value", "key": "c.key"}[where]
        self.refused(log, 1, 2, leaf)
        assert [(v, row[0]) for _, v, row in changes_of(log.root, 2)] == [(3, 3)]
        assert [(v, row[0]) for _, v, row in changes_of(log.root, 1, 1)] == [(1, 1)]

    @pytest.mark.parametrize("mode", ["none", "name", "id"])
    def test_dropped_columns(self, tmp_path: Path, mode: str) -> None:
        log = mapped_log(tmp_path, mode, a=1, b=2)
        file = pa.field("col-1", pa.int64(), metadata={"PARQUET:field_id": "1"})
        log.commit(1, data_file(log, "1", pa.table([[10]], pa.schema([file]))))
        again = metadata(mapped("a", "long", 1), mapped("b", "long", 3), configuration=mapping(mode))
        without = metadata(mapped("a", "long", 1), configuration=mapping(mode))
        log.commit(2, {"metaData": without}).commit(3, remove("1"))
        self.refused(log, 1, 3, "b")
        assert len(changes_of(log.root, 2)) == 1
        log.commit(4, {"metaData": again})
        if mode != "none":
            self.refused(log, 1, 4, "b")

    @pytest.mark.parametrize(("mode", "refused"), [("id", True), ("name", False)])
    def test_columns_that_only_look_the_same(self, tmp_path: Path, mode: str, refused: bool) -> None:
        """What tells columns apart is what they are found by: the id, or the physical name."""
        log = mapped_log(tmp_path, mode, a=1)
        stored = pa.field("col-1", pa.int64(), metadata={"PARQUET:field_id": "1"})
        log.commit(1, data_file(log, "1", pa.table([[10]], pa.schema([stored]))))
        log.commit(2, {"metaData": metadata(mapped("a", "long", 2, "col-1"), configuration=mapping(mode))})
        if refused:
            self.refused(log, 1, 2, "a")
        else:
            assert changes_of(log.root, 1) == inserts(1, 10)

    def test_a_column_of_no_type(self, log: DeltaLog) -> None:
        log.commit(1, {"metaData": metadata(field("id", "long"), field("n", "void"))}, id_file(log, "1", [1]))
        log.commit(2, {"metaData": metadata(field("id", "long"), field("n", "string"))})
        assert changes_of(log.root, 1) == [("insert", 1, (1, None))]

    def test_a_replaced_table(self, log: DeltaLog) -> None:
        """The version that replaces it deletes rows of the schema before it."""
        log.commit(1, id_file(log, "1", [1]))
        log.commit(2, {"metaData": metadata(field("key", "string"))}, remove("1"))
        self.refused(log, 2, 2, "id")

    def test_mapping_that_was_taken_away(self, tmp_path: Path) -> None:
        """The old files spell their columns as no name of the new schema does."""
        log = mapped_log(tmp_path, "name", a=1)
        log.commit(1, data_file(log, "1", pa.table({"col-1": [1]})))
        log.commit(2, {"metaData": metadata(field("a", "long"), configuration=mapping("none"))}, remove("1"))
        self.refused(log, 1, 2, "delta.columnMapping.mode")

    def test_a_column_with_the_name_of_a_change_column(self, tmp_path: Path) -> None:
        log = DeltaLog(tmp_path / "t").start(field("_Commit_Version", "long"))
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            tf.open_table(log.root).changes(0)
        assert caught.value.field == "_Commit_Version"

    @pytest.mark.parametrize("starting", [1, 2])
    def test_a_protocol_that_newer_versions_do_not_have(self, log: DeltaLog, starting: int) -> None:
        """It came within the range, or before it."""
        protocol = {**WITH_VECTORS, "readerFeatures": ["catalogManaged"]}
        log.commit(1, {"protocol": protocol}).commit(2, id_file(log, "2", [2])).commit(3, {"protocol": WITH_VECTORS})
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            tf.open_table(log.root).changes(starting, 3)
        assert caught.value.field == "catalogManaged"
        assert changes_of(log.root, 3) == []

    @staticmethod
    def refused(log: DeltaLog, starting: int, ending: int, column: str) -> None:
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            tf.open_table(log.root).changes(starting, ending)
        assert caught.value.field == column and caught.value.path is not None


class TestPartitions:
    def partitioned(self, folder: Path) -> DeltaLog:
        return DeltaLog(folder / "t").start(field("id", "long"), field("p", "string"), partition=("p",))

    def rows(self, *ids: int, p: str | None = None) -> pa.Table:
        table = pa.table({"id": pa.array(ids, pa.int64())})
        return table if p is None else table.append_column("p", pa.array([p] * len(ids)))

    @pytest.mark.parametrize("text", ["a", "", None, "x=%/ é"])
    def test_removes_bring_their_values(self, tmp_path: Path, text: str | None) -> None:
        log = self.partitioned(tmp_path)
        log.commit(1, data_file(log, "1", self.rows(1), partitionValues={"p": text}))
        log.commit(2, remove("1", partitionValues={"p": text}))
        assert changes_of(log.root, 1) == [("insert", 1, (1, text or None)), ("delete", 2, (1, text or None))]

    @pytest.mark.parametrize("starting", [1, 2])
    @pytest.mark.parametrize("checkpoint", [False, True])
    def test_removes_without_values(self, tmp_path: Path, starting: int, checkpoint: bool) -> None:
        """Old writers left them out: they stand in the add action, in the range, before it, or in a checkpoint."""
        log = self.partitioned(tmp_path)
        file = data_file(log, "a b", self.rows(1), partitionValues={"p": "x"}, path="a%20b")
        log.commit(1, file)
        if checkpoint:
            protocol, action = log.actions(0)
            kept = {k: v for k, v in action["metaData"].items() if k in [f.name for f in METADATA_TYPE]}
            stored = {"add": {**file["add"], "partitionValues": [("p", "x")]}}
            log.checkpoint(f"{1:020d}.checkpoint.parquet", protocol, {"metaData": kept}, stored)
        log.commit(2, remove("%61%20b"))
        assert changes_of(log.root, starting)[-1] == ("delete", 2, (1, "x"))
        assert changes_of(log.root, 2, filter="p = 'y'") == []
        assert tf.open_table(log.root).changes(2).files["size_bytes"].to_pylist() == [0]

    def test_removes_whose_values_are_gone(self, tmp_path: Path) -> None:
        log = self.partitioned(tmp_path)
        log.commit(1, remove("1"))
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            tf.open_table(log.root).changes(1)
        assert caught.value.field == "remove.partitionValues"

    def test_a_table_partitioned_anew(self, tmp_path: Path) -> None:
        """Files of the old spec hold the new partition column as data, and lack the old one."""
        log = self.partitioned(tmp_path)
        log.commit(1, data_file(log, "1", self.rows(1), partitionValues={"p": "x"}))
        log.commit(
            2,
            {"metaData": metadata(field("id", "long"), field("p", "string"), partition=("id",))},
            remove("1", partitionValues={"p": "x"}),
            data_file(log, "2", pa.table({"p": ["y"]}), partitionValues={"id": "2"}),
        )
        log.commit(
            3,
            {"metaData": metadata(field("id", "long"), field("p", "string"))},
            remove("2", partitionValues={"id": "2"}),
            data_file(log, "3", self.rows(3, p="z")),
        )
        expected = [
            ("insert", 1, (1, "x")),
            ("delete", 2, (1, "x")),
            ("insert", 2, (2, "y")),
            ("delete", 3, (2, "y")),
            ("insert", 3, (3, "z")),
        ]
        assert changes_of(log.root, 0) == expected
        for version in (1, 2, 3):
            assert changes_of(log.root, version, version) == [c for c in expected if c[1] == version]
        assert changes_of(log.root, 0, filter="p = 'x' OR id = 2") == expected[:4]
        assert changes_of(log.root, 0, filter="p = 'x'") == expected[:2]
        assert changes_of(log.root, 0, filter="id > 2") == expected[4:]

    def test_a_value_that_is_none(self, tmp_path: Path) -> None:
        log = DeltaLog(tmp_path / "t").start(field("d", "date"), partition=("d",))
        log.commit(1, add("1", partitionValues={"d": "soon"}))
        with pytest.raises(tf.CorruptMetadataError, match="'soon' is no date") as caught:
            tf.open_table(log.root).changes(1).plan()
        assert caught.value.field == "d" and str(caught.value.path).endswith(f"{1:020d}.json")
