"""The verbs of tables, on directories, a SQL catalog and a REST catalog alike; PyIceberg reads what they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.errors import (
    CommitConflictError,
    CommitUnknownError,
    ConstraintViolationError,
    SnapshotNotFoundError,
    UnsupportedFeatureError,
)
from tests.support.rest_catalog import RestCatalogStub

pytest.importorskip("sqlalchemy")
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable

ROWS = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})


@dataclass
class Place:
    """Where the table of a test is."""

    location: Any
    catalog: Any
    theirs: Callable[[tf.Table], Any]

    def create(self, version: int = 2) -> tf.Table:
        """A new table with the rows 1, 2 and 3."""
        properties = {"format-version": str(version)}
        tf.create_table(self.location, ROWS.schema, catalog=self.catalog, properties=properties, **self.more)
        self.open().append(ROWS)
        return self.open()

    @property
    def more(self) -> dict[str, str]:
        """The format, where no catalog says it."""
        return {"format": "iceberg"} if self.catalog is None else {}

    def open(self) -> tf.Table:
        return tf.open_table(self.location, catalog=self.catalog)

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the main branch, as PyIceberg reads them."""
        found = self.theirs(self.open()).scan().to_arrow().to_pylist()
        return sorted(found, key=lambda row: row["id"])


@pytest.fixture(scope="module")
def server() -> Iterator[RestCatalogStub]:
    with RestCatalogStub() as stub:
        yield stub


@pytest.fixture(params=["directory", "sql", "rest"])
def place(request: pytest.FixtureRequest, tmp_path: Path, server: RestCatalogStub) -> Iterator[Place]:
    def static(table: tf.Table) -> Any:
        return StaticTable.from_metadata(table.snapshot().format_snapshot.metadata.path)  # type: ignore[attr-defined]

    if request.param == "directory":
        yield Place(str(tmp_path / "t"), None, static)
    elif request.param == "rest":
        server.tables, server.warehouse, server.commit_fault = {("n", "other"): {}}, str(tmp_path), None
        yield Place("n.t", server.properties(), static)
    else:
        catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path / 'c.db'}", warehouse=str(tmp_path))
        catalog.create_namespace("n")
        yield Place("n.t", catalog, lambda table: catalog.load_table("n.t"))
        catalog.close()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_tables_are_written_where_none_is(place: Place, version: int) -> None:
    rows = pa.table({"id": [1, 2, 3], "day": pa.array([0, 0, 1], pa.date32())})
    given: dict[str, Any] = {"catalog": place.catalog, "partition_by": ["months(day)"], **place.more}
    given["properties"] = {"format-version": str(version)}
    done = tf.write_table(rows, place.location, **given)
    assert (done.attempts, done.metrics["added_rows"]) == (1, 3)
    theirs = place.theirs(place.open())
    assert (theirs.format_version, len(theirs.metadata.snapshots)) == (version, 1)
    assert [(f.name, str(f.transform)) for f in theirs.spec().fields] == [("day_month", "month")]
    assert tf.write_table(rows, place.location, mode="ignore", **given).attempts == 0
    tf.write_table(rows, place.location, mode="append", **given)
    assert [row["id"] for row in place.rows()] == [1, 1, 2, 2, 3, 3]
    tf.write_table(rows, place.location, mode="overwrite", **given)
    assert [row["id"] for row in place.rows()] == [1, 2, 3]
    with pytest.raises(tf.TableExistsError):
        tf.write_table(rows, place.location, **given)
    with pytest.raises(tf.TableExistsError, match="partitioned by"):
        tf.write_table(rows, place.location, mode="append", **{**given, "partition_by": ["day"]})
    with pytest.raises(tf.TableExistsError):
        tf.create_table(place.location, rows.schema, catalog=place.catalog, **place.more)
    found = tf.create_table(place.location, rows.schema, catalog=place.catalog, if_exists="ignore", **place.more)
    assert found.scan().count() == 3


def test_namespaces_and_definitions_that_do_not_fit(place: Place) -> None:
    if place.catalog is not None:
        with pytest.raises(tf.NamespaceNotFoundError):
            tf.create_table("m.t", ROWS.schema, catalog=place.catalog)
        with pytest.raises(UnsupportedFeatureError, match="not created in catalogs"):
            tf.create_table("n.t", ROWS.schema, catalog=place.catalog, format="delta")
    for wrong in ({"partition_by": "week(id)"}, {"sort_by": "no"}, {"properties": {"format-version": "x"}}):
        with pytest.raises(ConstraintViolationError):
            tf.create_table(place.location, ROWS.schema, catalog=place.catalog, **place.more, **wrong)
    with pytest.raises(tf.TableNotFoundError):
        place.open()


@pytest.mark.parametrize("version", [2, 3])
def test_rows(place: Place, version: int) -> None:
    table = place.create(version)
    table.append(pa.table({"id": [4]}))
    table.delete("id = 2")
    table.overwrite(pa.table({"id": [3], "name": ["c"]}), "id = 3")
    assert [(row["id"], row["name"]) for row in place.rows()] == [(1, "a"), (3, "c"), (4, None)]
    assert table.scan("id > 3").to_arrow()["id"].to_pylist() == [4]


def test_columns(place: Place) -> None:
    table = place.create()
    table.alter.add_columns({"n": "int", "s": "struct<a:int>"})
    table.alter.rename_column("name", "label")
    table.alter.change_type("n", "bigint")
    table.alter.move_column("label", first=True)
    kind = pa.struct([("a", pa.int32())])
    table.append(pa.table({"id": [4], "n": [2**40], "label": ["d"], "s": pa.array([{"a": 1}], kind)}))
    assert place.rows()[-1] == {"label": "d", "id": 4, "n": 2**40, "s": {"a": 1}}
    assert place.rows()[0] == {"label": "a", "id": 1, "n": None, "s": None}
    table.alter.drop_columns("label", "s")
    assert place.rows()[0] == {"id": 1, "n": None}
    with pytest.raises(ConstraintViolationError, match="already"):
        table.alter.add_columns({"N": "int"})
    with pytest.raises(UnsupportedFeatureError, match="constraints"):
        table.alter.add_constraint("positive", "id > 0")


def test_defaults_of_version_3(place: Place) -> None:
    table = place.create()
    with pytest.raises(UnsupportedFeatureError, match="format version 3"):
        table.alter.add_columns({"n": "int"}, defaults={"n": 7})
    table.alter.set_properties({"format-version": 3})
    table.alter.add_columns({"n": "int"}, defaults={"n": 7})
    assert table.scan("n = 7").count() == 3
    assert [row["n"] for row in place.rows()] == [7, 7, 7]
    table.append(pa.table({"id": [4, 5]}))
    table.append(pa.table({"id": [6], "n": pa.array([None], pa.int32())}))
    assert [row["n"] for row in place.rows()] == [7, 7, 7, 7, 7, None]
    with pytest.raises(ConstraintViolationError, match="no way leads back"):
        table.alter.set_properties({"format-version": 2})


def test_layout(place: Place) -> None:
    table = place.create()
    table.alter.set_partitioning("bucket(4, id)", "name")
    table.alter.set_sort_order("id desc")
    table.append(pa.table({"id": [5, 4], "name": ["x", "x"]}))
    assert [row["id"] for row in place.rows()] == [1, 2, 3, 4, 5]
    theirs = place.theirs(place.open())
    assert [f.name for f in theirs.spec().fields] == ["id_bucket_4", "name"]
    assert theirs.sort_order().fields[0].source_id == 1
    table.alter.set_partitioning()
    assert place.theirs(place.open()).spec().fields == ()
    with pytest.raises(ConstraintViolationError, match="no column"):
        table.alter.set_partitioning("day(nowhere)")


def test_version_1_keeps_dropped_partition_fields(place: Place) -> None:
    table = place.create(1)
    table.alter.add_columns({"ts": "timestamp_ntz"})
    for texts in (["days(ts)", "bucket(2, id)"], ["bucket(2, id)"], ["bucket(2, id)", "months(ts)"]):
        table.alter.set_partitioning(*texts)
        table.append(pa.table({"id": [4], "ts": pa.array([10**15], pa.timestamp("us"))}))
    assert [f.name for f in place.theirs(place.open()).spec().fields] == ["ts_day", "id_bucket_2", "ts_month"]
    assert table.scan("ts > '2000-01-01'").count() == 3
    table.delete("id = 4")
    assert [row["id"] for row in place.rows()] == [1, 2, 3]


def test_properties(place: Place) -> None:
    table = place.create()
    table.alter.set_properties({"a": "1", "b": True})
    table.alter.unset_properties("a")
    assert place.theirs(place.open()).properties == {"b": "true"}


def test_branches_and_tags(place: Place) -> None:
    table = place.create()
    first = table.snapshot().version
    table.create_branch("audit", min_versions=2, max_age=1000)
    table.create_tag("v1", first)
    with table.transaction(branch="audit") as transaction:
        transaction.append(pa.table({"id": [9]}))
    assert (table.scan(branch="audit").count(), table.scan().count()) == (4, 3)
    refs = place.theirs(place.open()).metadata.refs
    assert (refs["audit"].min_snapshots_to_keep, refs["audit"].max_ref_age_ms) == (2, 1000)
    assert table.fast_forward("main", "audit").version == table.snapshot(branch="audit").version
    assert [row["id"] for row in place.rows()] == [1, 2, 3, 9]
    with pytest.raises(ConstraintViolationError, match="does not descend"):
        table.fast_forward("audit", "v1")
    table.replace_branch("audit", "v1")
    table.replace_tag("v1", max_age=5)
    assert table.scan(branch="audit").count() == 3
    assert place.theirs(place.open()).metadata.refs["v1"].max_ref_age_ms == 5
    assert table.scan(tag="v1").count() == 3
    table.replace_tag("v1", "main")
    assert table.scan(tag="v1").count() == 4
    table.remove_branch("audit")
    table.remove_tag("v1")
    assert set(place.theirs(place.open()).metadata.refs) == {"main"}
    with pytest.raises(SnapshotNotFoundError, match="no branch 'audit'"):
        table.remove_branch("audit")
    with pytest.raises(ConstraintViolationError, match="already"):
        table.create_tag("main")


def test_restore(place: Place) -> None:
    table = place.create()
    first = table.snapshot()
    table.append(pa.table({"id": [9]}))
    assert table.restore(first.version).version == first.version
    assert [row["id"] for row in place.rows()] == [1, 2, 3]
    assert table.scan().count() == 3
    table.append(pa.table({"id": [8]}))
    assert [row["id"] for row in place.rows()] == [1, 2, 3, 8]
    table.restore(timestamp=first.timestamp)
    assert table.snapshot().version == first.version


@pytest.mark.parametrize("version", [1, 2, 3])
def test_write_audit_publish(place: Place, version: int) -> None:
    table = place.create(version)
    with pytest.raises(UnsupportedFeatureError, match=r"write\.wap\.enabled"):
        table.append(pa.table({"id": [4]}), properties={"wap.id": "x"})
    merged_soon = {"commit.manifest.min-count-to-merge": 2}
    table.alter.set_properties({"write.wap.enabled": True, **merged_soon})
    staged = table.append(pa.table({"id": [4]}), properties={"wap.id": "x"})
    assert (table.scan().count(), table.scan(version=staged.version).count()) == (3, 4)
    with pytest.raises(ConstraintViolationError, match=r"wap\.id 'x'"):
        table.append(pa.table({"id": [4]}), properties={"wap.id": "x"})
    assert table.publish("x").version == staged.version, "it follows the main branch: nothing is written"
    table.append(pa.table({"id": [5, 6]}), properties={"wap.id": "y"})
    table.append(pa.table({"id": [7]}))
    done = table.publish("y")
    assert [row["id"] for row in place.rows()] == [1, 2, 3, 4, 5, 6, 7]
    summary = dict(table.history(1)["summary"][0].as_py())
    assert (done.operation, summary["operation"]) == ("append", "append")
    assert (summary["published-wap-id"], summary["added-records"], summary["total-records"]) == ("y", "2", "7")
    theirs = place.theirs(place.open())
    assert theirs.current_snapshot().snapshot_id == done.version
    for again in ("x", "y"):
        with pytest.raises(ConstraintViolationError, match="already"):
            table.publish(again)
    assert table.delete("id = 6").metrics["deleted_rows"] == 1
    assert [row["id"] for row in place.rows()] == [1, 2, 3, 4, 5, 7]


def test_cherry_pick(place: Place) -> None:
    table = place.create()
    table.create_branch("b")
    with table.transaction(branch="b") as transaction:
        transaction.append(pa.table({"id": [8]}))
    with table.transaction(branch="b") as transaction:
        transaction.delete("id = 1")
    table.append(pa.table({"id": [9]}))
    appended = table.inspect.snapshots().to_pylist()[-3]["snapshot_id"]
    table.cherry_pick(appended)
    assert [row["id"] for row in place.rows()] == [1, 2, 3, 8, 9]
    assert table.history()["operation"][0].as_py() == "append"
    with pytest.raises(ConstraintViolationError, match="already"):
        table.cherry_pick(appended)
    with pytest.raises(UnsupportedFeatureError, match="removed files"):
        table.cherry_pick("b")


def test_writers_meet(place: Place) -> None:
    one, two = place.create(), place.open()
    with one.transaction() as transaction:
        transaction.append(pa.table({"id": [4]}))
        two.append(pa.table({"id": [5]}))
        two.alter.set_properties({"a": "b"})
    assert transaction.commit is not None and transaction.commit.attempts == 2
    assert [row["id"] for row in place.rows()] == [1, 2, 3, 4, 5]
    with pytest.raises(CommitConflictError), one.transaction() as transaction:
        transaction.delete("id = 1")
        two.delete("id = 1")
    assert [row["id"] for row in place.rows()] == [2, 3, 4, 5]


@pytest.mark.parametrize("fault", [500, 503, 504, 409, "close"])
def test_an_answer_that_is_lost_loses_no_rows(
    server: RestCatalogStub, tmp_path: Path, fault: Any, monkeypatch: Any
) -> None:
    """PyIceberg 0.12 deletes the manifests of a commit that landed and was answered with 409."""
    from tableformats_iceberg.write import swap

    monkeypatch.setattr(swap, "LOOKS_S", (0.0,))
    server.tables, server.warehouse, server.commit_fault = {("n", "other"): {}}, str(tmp_path), None
    place = Place("n.t", server.properties(), lambda table: None)
    table = place.create()
    server.commit_fault = (fault, True)
    done = table.append(pa.table({"id": [4]}), tries=1)
    server.commit_fault = None
    assert (done.attempts, place.open().scan().count()) == (1, 4)
    server.commit_fault = (fault, False)
    files = set(tmp_path.rglob("*.parquet")) | set(tmp_path.rglob("*.avro"))
    error = CommitConflictError if fault == 409 else CommitUnknownError
    with pytest.raises(error):
        table.append(pa.table({"id": [5]}), tries=1)
    server.commit_fault = None
    assert files <= set(tmp_path.rglob("*.parquet")) | set(tmp_path.rglob("*.avro"))
    if error is CommitUnknownError:
        assert len(set(tmp_path.rglob("*.parquet")) - files) == 1, "a commit may still name it"
    assert sorted(place.open().scan().to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]


def test_columns_whose_names_differ_in_case_stay(tmp_path: Path) -> None:
    tf.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "t", format="iceberg")
    newest = max((tmp_path / "t" / "metadata").glob("*.metadata.json"))
    newest.write_text(newest.read_text().replace('"name":"b"', '"name":"A"').replace('"name": "b"', '"name": "A"'))
    tf.open_table(tmp_path / "t").alter.add_columns({"c": "int"})
    assert [f.name for f in tf.open_table(tmp_path / "t").schema] == ["a", "A", "c"]
    with pytest.raises(tf.TableFormatsError, match="case does not distinguish names"):
        tf.open_table(tmp_path / "t").alter.add_columns({"C": "int"})
