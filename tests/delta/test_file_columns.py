"""The columns ``add`` and ``remove`` of a checkpoint, made of commits and of an older checkpoint: exact values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.log.file_actions import file_rows
from tableformats_delta.maintenance.file_columns import AddColumns, RemoveColumns
from tableformats_delta.maintenance.stored_statistics import StoredStatistics

import tableformats as tf
from tableformats.plugin import Field, Schema, primitive

VECTOR = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "sizeInBytes": 2, "cardinality": 3}
MAP = pa.map_(pa.string(), pa.string())
STRICT_MAP = pa.map_(pa.string(), pa.field("value", pa.string(), nullable=False))
VECTOR_TYPE = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)


def adds(**more: Any) -> AddColumns:
    return AddColumns(**{"partition_fields": {}, "statistics": StoredStatistics(True, None), **more})


ADD = {"path": "a", "partitionValues": {"p": "1"}, "size": 7, "modificationTime": 8, "dataChange": True}
MADE = {
    "path": "a",
    "partitionValues": [("p", "1")],
    "size": 7,
    "modificationTime": 8,
    "dataChange": False,
    "tags": None,
    "deletionVector": None,
    "baseRowId": None,
    "defaultRowCommitVersion": None,
    "clusteringProvider": None,
    "stats": None,
}


def rows(kind: str, *actions: dict[str, Any]) -> pa.RecordBatch:
    return file_rows([(action, 0) for action in actions], kind, "/log", full=True)


def test_adds_of_commits() -> None:
    """A checkpoint says that nothing changes data; a file has values of its partition, if only none."""
    full = {
        **ADD,
        "stats": "{}",
        "tags": {"k": "v"},
        "clusteringProvider": "c",
        "baseRowId": 1,
        "defaultRowCommitVersion": 2,
        "deletionVector": VECTOR,
    }
    bare = {"path": "b", "size": 1}
    first, second, third = adds().of_rows(rows("add", full, bare, ADD), "/log").to_pylist()
    told = {
        "stats": "{}",
        "tags": [("k", "v")],
        "clusteringProvider": "c",
        "baseRowId": 1,
        "defaultRowCommitVersion": 2,
    }
    assert first == {**MADE, **told, "deletionVector": VECTOR}
    assert second == {**MADE, "path": "b", "size": 1, "partitionValues": [], "modificationTime": 0} and third == MADE


def test_removes_of_commits() -> None:
    full = {"path": "a", "deletionTimestamp": 5, "extendedFileMetadata": True, "size": 7, "stats": "{}", "tags": {}}
    found = RemoveColumns().of_rows(rows("remove", full, {"path": "b"}), "/log").to_pylist()
    nothing = dict.fromkeys(("partitionValues", "deletionVector", "baseRowId", "defaultRowCommitVersion"))
    assert found == [
        {"path": "a", "deletionTimestamp": 5, "dataChange": False, "extendedFileMetadata": True, "size": 7, **nothing},
        {
            "path": "b",
            "deletionTimestamp": None,
            "dataChange": False,
            "extendedFileMetadata": None,
            "size": None,
            **nothing,
        },
    ]


def stored(kinds: dict[str, pa.DataType], *values: dict[str, Any]) -> pa.StructArray:
    return pa.array(list(values), pa.struct(list(kinds.items())))


KINDS: dict[str, pa.DataType] = {
    "path": pa.string(),
    "partitionValues": STRICT_MAP,
    "size": pa.int64(),
    "modificationTime": pa.int64(),
    "dataChange": pa.bool_(),
    "stats": pa.string(),
    "deletionVector": VECTOR_TYPE,
    "own": pa.int8(),
}
STORED = {**ADD, "partitionValues": [("p", "1")], "stats": "{}", "own": 5}


def test_adds_of_an_older_checkpoint() -> None:
    """A vector of nulls is none; a member that is not known is kept where it is asked for."""
    empty = dict.fromkeys(VECTOR)
    values = [{**STORED, "deletionVector": one} for one in (VECTOR, empty, None)]
    found = adds().of_struct(stored(KINDS, *values), "/old").to_pylist()
    assert [one["deletionVector"] for one in found] == [VECTOR, None, None]
    assert [one | {"deletionVector": None} for one in found] == [{**MADE, "stats": "{}"}] * 3
    kept = adds(unknown=[pa.field("own", pa.int8())]).of_struct(stored(KINDS, *values), "/old").to_pylist()
    assert [one["own"] for one in kept] == [5, 5, 5] and next(iter(kept[0])) == "own"
    plain = [{**STORED, "deletionVector": one} for one in (VECTOR, None)]
    found = adds().of_struct(stored(KINDS, *plain), "/old").to_pylist()
    assert [one["deletionVector"] for one in found] == [VECTOR, None]


def test_removes_of_an_older_checkpoint() -> None:
    kinds = {"path": pa.string(), "dataChange": pa.bool_(), "tags": MAP, "deletionTimestamp": pa.int64()}
    value = {"path": "a", "dataChange": True, "tags": [("k", "v")], "deletionTimestamp": 3}
    (found,) = RemoveColumns().of_struct(stored(kinds, value), "/old").to_pylist()
    assert (found["dataChange"], found["deletionTimestamp"], found["size"]) == (False, 3, None) and "tags" not in found


def test_texts_that_are_codes_of_a_dictionary() -> None:
    kinds = {**KINDS, "path": pa.dictionary(pa.int32(), pa.string())}
    values = [{**STORED, "deletionVector": None, "path": name} for name in "aba"]
    columns = [pa.array([value[name] for value in values], kind) for name, kind in kinds.items()]
    found = adds().of_struct(pa.StructArray.from_arrays(columns, list(kinds)), "/old")
    assert found.field("path").type == pa.string() and found.field("path").to_pylist() == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("kind", "name", "is_needed"),
    [
        ("add", "path", True),
        ("add", "size", True),
        ("add", "modificationTime", True),
        ("add", "partitionValues", False),
        ("add", "stats", False),
        ("remove", "path", True),
        ("remove", "size", False),
    ],
)
def test_members_that_are_missing(kind: str, name: str, is_needed: bool) -> None:
    """As a column, and as a value."""
    made: Any = adds() if kind == "add" else RemoveColumns()
    value = {**STORED, "deletionVector": None}
    kinds = {other: of for other, of in KINDS.items() if other != name}
    without = stored(kinds, {other: value[other] for other in kinds})
    with_null = stored(KINDS, value, {**value, name: None})
    null_is_wrong = is_needed and name != "modificationTime"
    for struct, is_wrong in ((without, is_needed), (with_null, null_is_wrong)):
        if not is_wrong:
            made.of_struct(struct, "/old")
            continue
        with pytest.raises(tf.CorruptMetadataError) as caught:
            made.of_struct(struct, "/old")
        assert (caught.value.field, caught.value.path) == (f"{kind}.{name}", "/old")


P = {1000: Field(1, "p", primitive("int"), physical_name="col-p")}


@pytest.mark.parametrize(
    ("as_json", "columns", "fields", "members"),
    [
        (True, None, P, {"stats"}),
        (False, None, P, set()),
        (True, (), P, {"stats", "stats_parsed", "partitionValues_parsed"}),
        (False, (), P, {"stats_parsed", "partitionValues_parsed"}),
        (False, (), {}, {"stats_parsed"}),
    ],
)
def test_which_members_there_are(as_json: bool, columns: Any, fields: Any, members: set[str]) -> None:
    made = adds(statistics=StoredStatistics(as_json, columns), partition_fields=fields)
    names = {member.name for member in made.type}
    assert names & {"stats", "stats_parsed", "partitionValues_parsed"} == members
    if "partitionValues_parsed" in members:
        actions = [{**ADD, "partitionValues": {"col-p": text}} for text in ("5", None)]
        found = made.of_rows(rows("add", *actions), "/log").field("partitionValues_parsed")
        assert found.to_pylist() == [{"col-p": 5}, {"col-p": None}]
        with pytest.raises(tf.CorruptMetadataError) as caught:
            made.of_rows(rows("add", actions[0], {**ADD, "partitionValues": {"col-p": "x"}}), "/log")
        assert caught.value.path == "/log"


def test_what_is_read_of_an_older_checkpoint() -> None:
    kind = pa.struct([*KINDS.items(), ("stats_parsed", pa.struct([])), ("partitionValues_parsed", pa.struct([]))])
    plain = ["add.path", "add.partitionValues", "add.size", "add.modificationTime", "add.deletionVector"]
    assert adds().needed(kind) == [*plain, "add.stats"]
    assert adds(unknown=[pa.field("own", pa.int8())]).needed(kind) == [*plain, "add.own", "add.stats"]
    assert adds(statistics=StoredStatistics(False, None)).needed(kind) == plain
    assert adds(statistics=StoredStatistics(False, ())).needed(kind) == [*plain, "add.stats", "add.stats_parsed"]
    removes = [name.replace("add", "remove") for name in plain if "modificationTime" not in name]
    assert set(RemoveColumns().needed(kind)) == {*removes, "remove.dataChange"}


@pytest.mark.parametrize(
    ("as_json", "as_struct", "members"),
    [
        (None, None, {"stats"}),
        ("true", "false", {"stats"}),
        ("odd", "odd", {"stats"}),
        ("FALSE", None, set()),
        ("false", "TRUE", {"stats_parsed"}),
        (None, "true", {"stats", "stats_parsed"}),
    ],
)
def test_which_statistics_the_properties_ask_for(as_json: str | None, as_struct: str | None, members: set[str]) -> None:
    given = {"delta.checkpoint.writeStatsAsJson": as_json, "delta.checkpoint.writeStatsAsStruct": as_struct}
    schema = Schema((Field(1, "id", primitive("long")),))
    found = StoredStatistics.of(schema, (), {name: value for name, value in given.items() if value is not None})
    assert found.members.keys() == members
