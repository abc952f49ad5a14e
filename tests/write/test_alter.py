"""``table.alter`` of Delta tables: each verb commits, what others read afterwards, races, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.schema.type_text import parse_type

from ..support.delta_log import field, metadata
from ..support.memory_store import ROOT
from .test_append import LOG, ROWS, local_table, memory_table, rival, with_features
from .test_features import actions_of, rows_of, theirs

MAPPED = {"delta.columnMapping.mode": "name"}


def table_of(path: Path, *properties: str) -> tf.Table:
    """A table of two rows, with ``properties`` that are true."""
    struct = {"type": "struct", "fields": [field("x", "integer")]}
    table = local_table(path, field("id", "integer"), field("s", struct), field("p", "string"), partition=("p",))
    kind = pa.struct([("x", pa.int32())])
    ids = pa.array([1, 2], pa.int32())
    table.append(pa.table({"id": ids, "s": pa.array([{"x": 1}, None], kind), "p": ["a", None]}))
    if properties:
        table.alter.set_properties(dict.fromkeys(properties, "true"))
    return table


def test_columns_are_added_and_written(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    commit = table.alter.add_columns({"n": "bigint", "s.y": pa.list_(pa.string())}, after=None)
    assert (commit.version, commit.operation, commit.attempts) == (2, "ADD COLUMNS", 1)
    table.alter.add_columns(pa.schema([("f", pa.float64()), ("g", pa.date32())]), first=True)
    table.alter.add_columns({"h": "decimal(5,2)", "i": "array<struct<a:int>>"}, after="ID")
    assert table.schema.names == ["f", "g", "id", "h", "i", "s", "p", "n"]
    assert str(table.schema.resolve(("s",))[-1].type) == "struct<x:int,y:array<string>>"  # type: ignore[index]
    table.append(pa.table({"id": pa.array([3], pa.int32()), "n": [7], "p": ["b"]}))
    assert rows_of(table) == theirs(tmp_path)
    assert table.to_arrow().filter(pa.compute.equal(table.to_arrow()["id"], 3))["n"].to_pylist() == [7]
    assert table.scan(version=1).to_arrow().column_names == ["id", "s", "p"], "older versions stay what they were"


def test_columns_are_renamed_and_dropped_with_column_mapping(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    for verb in (lambda: table.alter.rename_column("id", "key"), lambda: table.alter.drop_columns("s")):
        with pytest.raises(tf.UnsupportedFeatureError, match=r"delta\.columnMapping\.mode"):
            verb()
    table.alter.set_properties(MAPPED)
    assert table.alter.rename_column("id", "a key").operation == "RENAME COLUMN"
    table.alter.rename_column("p", "q")
    table.alter.rename_column("s.x", "z")
    table.append(pa.table({"a key": pa.array([3], pa.int32()), "q": ["b"]}))
    expected = [
        {"a key": 1, "s": {"z": 1}, "q": "a"},
        {"a key": 2, "s": None, "q": None},
        {"a key": 3, "s": None, "q": "b"},
    ]
    assert rows_of(table) == theirs(tmp_path) == sorted(expected, key=repr)
    assert table.alter.drop_columns("s").operation == "DROP COLUMNS"
    table.alter.add_columns({"s": "int"})
    table.append(pa.table({"a key": pa.array([4], pa.int32()), "s": pa.array([9], pa.int32())}))
    assert {row["a key"]: row["s"] for row in rows_of(table)} == {1: None, 2: None, 3: None, 4: 9}
    assert rows_of(table) == theirs(tmp_path)
    assert table.count("`a key` = 3") == 1 and table.count("q = 'b'") == 1


def test_types_are_widened(tmp_path: Path) -> None:
    table = table_of(tmp_path, "delta.enableTypeWidening")
    table.alter.change_type("id", "bigint")
    table.alter.change_type("s.x", pa.float64())
    table.append(pa.table({"id": [2**40], "s": [{"x": 0.5}], "p": ["a"]}))
    assert sorted(table.to_arrow()["id"].to_pylist()) == [1, 2, 2**40]
    assert table.count("s.x = 0.5") == 1 and table.count("id = 1") == 1
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        table.alter.change_type("id", "int")
    assert caught.value.field == "id"


def test_columns_are_moved_and_described(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    table.alter.move_column("p", first=True)
    table.alter.move_column("s", after="p")
    table.alter.set_comment("id", "the key")
    assert table.schema.names == ["p", "s", "id"] and table.schema.fields[2].doc == "the key"
    assert rows_of(table) == theirs(tmp_path)


def test_defaults_are_set_for_new_rows_and_dropped(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    before = table.count()
    commit = table.alter.set_default("P", "concat('x', 'y')")
    assert commit.operation == "CHANGE COLUMN" and table.count("p = 'xy'") == 0, "rows that are there stay"
    [protocol] = actions_of(table, commit.version, "protocol")
    assert "allowColumnDefaults" in protocol["writerFeatures"] and "readerFeatures" not in protocol
    table.append(pa.table({"id": pa.array([7], pa.int32())}))
    table.append(pa.table({"id": pa.array([8], pa.int32()), "p": pa.array([None], pa.string())}))
    assert table.scan("p = 'xy'").to_arrow()["id"].to_pylist() == [7], "a NULL that a row has stays"
    for column, sql in [("p", "random()"), ("p", "id + 1"), ("s.x", "1"), ("id", "'text'")]:
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            table.alter.set_default(column, sql)
        assert caught.value.field == column
    with pytest.raises(tf.ConstraintViolationError):
        table.alter.set_default("nothing", "1")
    table.alter.set_default("p", None)
    table.append(pa.table({"id": pa.array([9], pa.int32())}))
    assert table.count("p = 'xy'") == 1 and table.count() == before + 3
    assert rows_of(table) == theirs(tmp_path, by_query=True)


def test_computed_columns_have_no_default(tmp_path: Path) -> None:
    day = pa.field("day", pa.int32(), metadata={"delta.generationExpression": "day(t)"})
    key = pa.field("k", pa.int64(), metadata={"delta.identity.start": "1", "delta.identity.step": "1"})
    schema = pa.schema([key, pa.field("t", pa.timestamp("us", "UTC")), day])
    table = tf.create_table(tmp_path / "t", schema, format="delta")
    for column in ("k", "day"):
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            table.alter.set_default(column, "1")
        assert caught.value.field == column


def test_not_null_is_checked_against_the_rows(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    with pytest.raises(tf.ConstraintViolationError, match="id = 2") as caught:
        table.alter.set_required("p")
    assert caught.value.field == "p" and table.snapshot().version == 1
    table.alter.set_required("id")
    table.alter.set_required("s.x")
    with pytest.raises(tf.ConstraintViolationError, match="NULL"):
        table.append(pa.table({"p": ["a"]}))
    table.alter.set_nullable("ID")
    table.append(pa.table({"p": ["a"]}))
    for column in ("id", "p"):  # they have NULLs already
        table.alter.set_nullable(column)
    assert rows_of(table) == theirs(tmp_path, by_query=True) and len(rows_of(table)) == 3


def test_rows_of_times_that_python_lacks_are_told(tmp_path: Path) -> None:
    far = pa.array([2**62], pa.int64()).cast(pa.timestamp("us", "UTC"))
    rows = pa.table({"t": far, "s": pa.StructArray.from_arrays([far], ["t"]), "p": pa.array([None], pa.string())})
    tf.write_table(rows, tmp_path / "t", format="delta")
    table = tf.open_table(tmp_path / "t")
    for change in (lambda: table.alter.set_required("p"), lambda: table.alter.add_constraint("known", "p = 'x'")):
        with pytest.raises(tf.ConstraintViolationError, match=r"t = \+148108-07-06T14:00:27\.387904Z") as caught:
            change()
        assert "p = None" in str(caught.value)


def test_columns_are_added_in_their_order(tmp_path: Path) -> None:
    table = tf.create_table(tmp_path / "t", pa.schema([("a", pa.int64()), ("z", pa.int64())]), format="delta")
    table.alter.add_columns({"b": "int", "c": "string"}, after="a")
    table.alter.add_columns({"x": "int", "y": "int"}, first=True)
    table.alter.add_columns({"l": "int", "m": "int"})
    assert tf.open_table(tmp_path / "t").schema.names == ["x", "y", "a", "b", "c", "z", "l", "m"]


def test_properties_that_are_true_or_have_capitals(tmp_path: Path) -> None:
    table = tf.create_table(tmp_path / "t", pa.schema([("a", pa.int64())]), format="delta")
    table.alter.set_properties({"x.on": True, "x.off": False, "x.text": "Some", "x.number": 5})
    found = tf.open_table(tmp_path / "t").snapshot().properties
    assert found == {"x.on": "true", "x.off": "false", "x.text": "Some", "x.number": "5"}


def test_changes_that_are_refused_name_their_columns(tmp_path: Path) -> None:
    table = tf.create_table(tmp_path / "t", pa.schema([("a", pa.int64())]), format="delta")
    with pytest.raises(tf.TableFormatsError) as caught:
        table.alter.add_columns({"b.c": "int", "d": "int"})
    assert caught.value.field == "b.c, d"


def test_constraints_are_checked_against_the_rows(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    with pytest.raises(tf.ConstraintViolationError, match="id = 2") as caught:
        table.alter.add_constraint("small", "id < 2")
    assert caught.value.field == "small" and table.snapshot().version == 1
    with pytest.raises(tf.ConstraintViolationError):
        table.alter.add_constraint("known", "s.x > 0")
    assert table.alter.add_constraint("positive", "id > 0").operation == "ADD CONSTRAINT"
    assert actions_of(table, 2, "protocol") == [{"minReaderVersion": 1, "minWriterVersion": 3}]
    with pytest.raises(tf.ConstraintViolationError):
        table.append(pa.table({"id": pa.array([0], pa.int32())}))
    with pytest.raises(tf.UnsupportedFeatureError):
        table.alter.add_constraint("POSITIVE", "id > 1")
    table.alter.drop_constraint("Positive")
    table.append(pa.table({"id": pa.array([0], pa.int32())}))
    with pytest.raises(tf.UnsupportedFeatureError):
        table.alter.drop_constraint("positive")
    with pytest.raises(tf.UnsupportedFeatureError):
        table.alter.add_constraint("random", "exists(array(id), x -> x > 0)")
    with pytest.raises(tf.InvalidPredicateError):
        table.alter.add_constraint("nothing", "nothing > 0")
    assert rows_of(table) == theirs(tmp_path)


def test_properties_enable_features(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    table.alter.set_properties({"delta.appendOnly": True, "mine": 1})
    assert table.snapshot().properties == {"delta.appendOnly": "true", "mine": "1"}
    with pytest.raises(tf.UnsupportedFeatureError):
        table.delete("true")
    table.alter.unset_properties("delta.appendOnly", "mine", "other")
    assert table.snapshot().properties == {}
    assert actions_of(table, 2, "commitInfo")[0]["operationParameters"] == {
        "properties": '{"delta.appendOnly": "true", "mine": "1"}'
    }


def test_in_commit_timestamps_begin_with_the_commit_that_enables_them(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    commit = table.alter.set_properties({"delta.enableInCommitTimestamps": "true"})
    [info], [action] = (actions_of(table, commit.version, kind) for kind in ("commitInfo", "metaData"))
    since = action["configuration"]
    assert since["delta.inCommitTimestampEnablementVersion"] == "2"
    assert since["delta.inCommitTimestampEnablementTimestamp"] == str(info["inCommitTimestamp"])
    table.append(pa.table({"p": ["a"]}))
    assert rows_of(table) == theirs(tmp_path)
    assert [row["version"] for row in table.history().to_pylist()] == [3, 2, 1, 0]


@pytest.mark.parametrize(
    "verb",
    [
        lambda alter: alter.drop_columns("nothing"),
        lambda alter: alter.rename_column("s.nothing", "y"),
        lambda alter: alter.move_column("id", after="nothing"),
        lambda alter: alter.add_columns({"id.x": "int"}),
        lambda alter: alter.set_required("nothing"),
    ],
)
def test_columns_that_are_not_there(tmp_path: Path, verb: Callable[[Any], Any]) -> None:
    table = table_of(tmp_path)
    with pytest.raises(tf.ConstraintViolationError, match=r"no column|no members|no struct"):
        verb(table.alter)
    assert table.snapshot().version == 1


def test_what_is_no_type(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    for kind in ("number", "array<int", "decimal(40,1)", "struct<>"):
        with pytest.raises(ValueError, match=r"no type|no decimal"):
            table.alter.add_columns({"n": kind})
    with pytest.raises(TypeError):
        table.alter.add_columns({"n": int})
    with pytest.raises(TypeError):
        table.alter.add_columns("n int")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("bigint", "bigint"),
        ("DECIMAL( 10 , 2 )", "decimal(10,2)"),
        ("array<struct<a: int, `b c` string NOT NULL>>", "array<struct<a:int,b c:string>>"),
        ("map<string,timestamp_ntz>", "map<string,timestamp_ntz>"),
        ("fixed[16]", "fixed[16]"),
    ],
)
def test_types_from_texts(text: str, kind: str) -> None:
    assert str(parse_type(text)) == kind


# ---- races ---------------------------------------------------------------------------------------------------------


def racing(data: bytes) -> tf.Table:
    table, store = memory_table()
    store.before_put = rival(store, data)
    return table


def added(**more: Any) -> bytes:
    action = {"path": "x", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True, **more}
    lines: list[dict[str, Any]] = [{"commitInfo": {"isBlindAppend": True}}, {"add": action}]
    return "\n".join(json.dumps(line) for line in lines).encode()


def stats(least: int, greatest: int, nulls: int = 0) -> str:
    bounds = {"minValues": {"id": least}, "maxValues": {"id": greatest}, "nullCount": {"id": nulls}}
    return json.dumps({"numRecords": 5, **bounds})


def test_an_alteration_follows_an_append() -> None:
    table = racing(added(stats=stats(-5, 0)))
    commit = table.alter.add_columns({"n": "int"})
    assert (commit.version, commit.attempts) == (3, 2)


@pytest.mark.parametrize(("statistics", "conflicts"), [(stats(1, 9), False), (stats(-1, 9), True), (None, True)])
def test_a_rival_that_adds_rows_against_a_new_constraint(statistics: str | None, conflicts: bool) -> None:
    table = racing(added(stats=statistics))
    if conflicts:
        with pytest.raises(tf.CommitConflictError):
            table.alter.add_constraint("positive", "id > 0")
    else:
        assert table.alter.add_constraint("positive", "id > 0").version == 3


@pytest.mark.parametrize(("nulls", "conflicts"), [(0, False), (1, True)])
def test_a_rival_that_adds_nulls_to_a_column_that_becomes_required(nulls: int, conflicts: bool) -> None:
    table = racing(added(stats=stats(1, 1, nulls)))
    if conflicts:
        with pytest.raises(tf.CommitConflictError):
            table.alter.set_required("id")
    else:
        assert table.alter.set_required("id").version == 3


@pytest.mark.parametrize(
    "action",
    [
        {"metaData": metadata(field("id", "long"), field("theirs", "long"))},
        {"metaData": metadata(configuration={"delta.constraints.c": "id < 3"})},
        {"protocol": with_features("deletionVectors")},
    ],
    ids=["schema", "constraint", "protocol"],
)
def test_a_rival_that_changes_the_table_is_a_conflict(action: dict[str, Any]) -> None:
    table = racing(json.dumps(action).encode())
    with pytest.raises(tf.CommitConflictError):
        table.alter.set_properties({"delta.enableChangeDataFeed": "true"})
    assert table.snapshot().version == 2


def test_an_append_that_loses_to_an_alteration_is_a_conflict(tmp_path: Path) -> None:
    table, store = memory_table()

    def alter(path: str) -> None:
        store.before_put = lambda path: None
        tf.Table(table._opened, table.storage).alter.add_constraint("few", "id < 3")

    store.before_put = alter
    before = {path for path in store.files if path.endswith(".parquet")}
    with pytest.raises(tf.CommitConflictError):
        table.append(ROWS)
    assert {path for path in store.files if path.endswith(".parquet")} == before
    assert f"{ROOT}/{LOG}/{2:020d}.json" in store.files


def test_iceberg_tables_are_altered_by_the_same_verbs(tmp_path: Path) -> None:
    columns = pa.schema({"id": pa.int64(), "p": pa.string()})
    table = tf.create_table(tmp_path / "table", columns, format="iceberg", partition_by="p")
    table.append(pa.table({"id": [1, 2], "p": ["a", None]}))
    table.alter.add_columns({"n": "int", "s": "struct<x:int>"})
    table.alter.rename_column("id", "key")
    table.alter.change_type("n", "bigint")
    table.alter.drop_columns("s")
    table.alter.set_properties({"mine": 1})
    table.append(pa.table({"key": [3], "n": [2**40]}))
    expected = [(1, "a", None), (2, None, None), (3, None, 2**40)]
    assert sorted(tuple(row.values()) for row in table.to_arrow().to_pylist()) == expected
    assert table.snapshot().properties["mine"] == "1"
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        table.alter.add_constraint("c", "key > 0")
    assert caught.value.field == "c"
    pyiceberg = pytest.importorskip("pyiceberg.table")
    found = (tmp_path / "table" / "metadata").glob("v*.metadata.json")
    newest = max(found, key=lambda path: int(path.name[1:].split(".")[0]))
    theirs_ = pyiceberg.StaticTable.from_metadata(str(newest)).scan().to_arrow().to_pylist()
    assert sorted((row["key"], row["p"], row["n"]) for row in theirs_) == expected
