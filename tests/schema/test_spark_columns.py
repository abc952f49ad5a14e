"""Which columns Spark can represent, and the names under which its readers find them; no Spark is needed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tableformats.engines.spark.columns.checks import check_collation, check_readable, check_times, has_time
from tableformats.engines.spark.columns.naming import Naming, naming_by_id, quoted, struct_paths
from tableformats.errors import UnsupportedFeatureError
from tableformats.schema import Field, ListType, MapType, Schema, StructType, Type, primitive

STRING, LONG, TIME, UUID, VARIANT = (primitive(name) for name in ("string", "long", "time", "uuid", "variant"))


def session(time_type: str | None) -> Any:
    settings = {} if time_type is None else {"spark.sql.timeType.enabled": time_type}
    return SimpleNamespace(conf=SimpleNamespace(get=lambda name, default: settings.get(name, default)))


def listed(kind: Type, number: int = 10) -> ListType:
    return ListType(Field(number, "element", kind))


def mapped(key: Type, value: Type) -> MapType:
    return MapType(Field(11, "key", key, True), Field(12, "value", value))


def struct(**members: Type) -> StructType:
    return StructType(tuple(Field(20 + i, name, kind) for i, (name, kind) in enumerate(members.items())))


@pytest.mark.parametrize(
    ("version", "setting", "found"),
    [
        ((4, 1), "true", True),
        ((5, 0), "TRUE", True),
        ((4, 0), "true", False),
        ((4, 1), "no", False),
        ((4, 1), None, False),
    ],
)
def test_sessions_with_the_type_time(version: tuple[int, int], setting: str | None, found: bool) -> None:
    assert has_time(session(setting), version) is found


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (TIME, "c"),
        (listed(TIME), "c"),
        (struct(a=LONG, b=TIME), "c.b"),
        (mapped(STRING, listed(TIME, 13)), "c"),
        (mapped(TIME, STRING), "c"),
        (listed(struct(x=TIME)), "c.x"),
    ],
)
def test_times_are_refused_where_the_session_has_none(kind: Type, name: str) -> None:
    fields = [Field(1, "a", STRING), Field(2, "c", kind)]
    check_times(fields, session("true"))
    check_times(fields[:1], session(None))
    with pytest.raises(UnsupportedFeatureError, match="reads no columns of type TIME") as caught:
        check_times(fields, session(None))
    assert caught.value.field == name
    check_readable(fields[1], (4, 1), with_time=True)
    with pytest.raises(UnsupportedFeatureError, match="reads no columns of type TIME") as caught:
        check_readable(fields[1], (4, 1))
    assert caught.value.field == name
    with pytest.raises(UnsupportedFeatureError, match="columns of type time are not read with Spark yet") as caught:
        check_readable(fields[1], (4, 0))
    assert caught.value.field == name


@pytest.mark.parametrize(
    ("kind", "version", "message", "name"),
    [
        (primitive("timestamp_ns"), (4, 3), "columns of type timestamp_ns are not", "c"),
        (struct(a=primitive("timestamp_ntz_ns")), (4, 3), "columns of type timestamp_ntz_ns are not", "c.a"),
        (VARIANT, (3, 5), "columns of type variant are not", "c"),
        (listed(VARIANT), (3, 9), "columns of type variant are not", "c"),
        (listed(UUID), (4, 3), "type uuid inside of a nested column", "c"),
        (struct(u=UUID), (4, 3), "type uuid inside of a nested column", "c.u"),
        (mapped(UUID, LONG), (4, 3), "type uuid inside of a nested column", "c"),
    ],
)
def test_types_that_are_refused(kind: Type, version: tuple[int, int], message: str, name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=message) as caught:
        check_readable(Field(1, "c", kind), version)
    assert caught.value.field == name and "to_arrow()" in caught.value.hint


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        (UUID, (3, 5)),
        (primitive("unknown"), (3, 5)),
        (struct(u=primitive("unknown")), (4, 0)),
        (VARIANT, (4, 0)),
        (listed(VARIANT), (4, 0)),
        (mapped(STRING, LONG), (3, 5)),
    ],
)
def test_types_that_are_read(kind: Type, version: tuple[int, int]) -> None:
    check_readable(Field(1, "c", kind), version)


@pytest.mark.parametrize(
    ("name", "stored", "is_refused"),
    [
        ("_tableformats_x", None, True),
        ("_TABLEFORMATS_", None, True),
        ("_tmp_metadata_row_index", None, True),
        ("_Tmp_Metadata_Row_Index", None, True),
        ("x", "_tmp_metadata_ROW_index", True),
        ("x_tableformats_", None, False),
        ("tableformats_", None, False),
        ("_tmp_metadata_row_index2", None, False),
        ("x", "_tableformats_x", False),
    ],
)
def test_names_that_the_reader_needs(name: str, stored: str | None, is_refused: bool) -> None:
    field = Field(1, name, LONG, physical_name=stored)
    if not is_refused:
        check_readable(field)
        return
    with pytest.raises(UnsupportedFeatureError, match="needs for itself") as caught:
        check_readable(field)
    assert caught.value.field == name


@pytest.mark.parametrize(
    ("collation", "version", "hint"),
    [
        (None, (3, 5), None),
        ("spark.UTF8_LCASE", (4, 0), None),
        ("ICU.de_CI.75", (4, 0), "Read with to_arrow()"),
        ("icu.de_CI", (4, 1), None),
        ("icu.de_CI", (3, 5), "Read with Spark 4"),
        ("other.de", (4, 0), "Read with to_arrow()"),
        ("other.de", (3, 5), "Read with Spark 4"),
    ],
)
def test_collations(collation: str | None, version: tuple[int, int], hint: str | None) -> None:
    field = Field(1, "s", STRING, collation=collation)
    if hint is None:
        check_collation(field, "a.s", version)
        check_readable(Field(2, "l", ListType(field)), version)
        return
    with pytest.raises(UnsupportedFeatureError, match="compares by the collation") as caught:
        check_collation(field, "a.s", version)
    assert caught.value.field == "a.s" and caught.value.hint == f"{hint}, or leave the column out with columns=[...]"
    with pytest.raises(UnsupportedFeatureError, match="compares by the collation") as caught:
        check_readable(Field(2, "l", ListType(field)), version)
    assert caught.value.field == "l"


# ---- names ----------------------------------------------------------------------------------------------------------


def test_columns_are_read_under_their_names_or_by_id() -> None:
    a, b = Field(1, "a", LONG, physical_name="col-a"), Field(2, "b", struct(x=UUID))
    assert [Naming().name(f) for f in (a, b)] == ["col-a", "b"]
    named = Naming(by_id=True, names={1: "other"}, by_name=frozenset([20]))
    assert [named.name(f) for f in (a, b)] == ["other", "_tableformats_field_2"]
    whole = {"name": "other", "type": "long", "nullable": True, "metadata": {"parquet.field.id": 1}}
    assert named.spark_field(a) == whole
    member = {"name": "_tableformats_field_20", "type": "binary", "nullable": True, "metadata": {}}
    assert named.spark_field(b)["type"] == {"type": "struct", "fields": [member]}
    assert named.spark_field(b)["metadata"] == {"parquet.field.id": 2}
    assert Naming(names={1: "other"}).spark_field(a) == {**whole, "metadata": {}}


def test_paths_of_named_fields() -> None:
    deep = mapped(struct(k=LONG), listed(struct(v=LONG), 13))
    fields = [Field(1, "a", struct(x=LONG, y=listed(LONG))), Field(2, "m", deep), Field(3, "z", LONG)]
    found = [".".join(f.name for f in path) for path in struct_paths(fields, ())]
    assert found[:3] == ["a", "a.x", "a.y"] and found[-1] == "z"
    assert sorted(found) == ["a", "a.x", "a.y", "m", "m.k", "m.v", "z"]
    assert [path[0].name for path in struct_paths(fields[2:], (fields[0],))] == ["a"]


def test_names_that_never_meant_another_column() -> None:
    """A column keeps its name if no other has or had it, in any case; else a name that no file holds."""
    now = Schema((Field(1, "a", LONG), Field(2, "B", LONG), Field(3, "c", struct(x=LONG)), Field(4, "d", LONG)))
    before = Schema((Field(1, "a", LONG), Field(9, "b", LONG), Field(3, "c", LONG)))
    assert naming_by_id(now, [], True).names == {1: "a", 2: "B", 3: "c", 20: "x", 4: "d"}
    found = naming_by_id(now, [before], True)
    assert found.by_id and found.names == {1: "a", 3: "c", 20: "x", 4: "d"}
    assert naming_by_id(now, [before], False).names == {}
    mapped_columns = Schema((Field(1, "a", LONG, physical_name="p1"), Field(2, "b", LONG)))
    assert naming_by_id(mapped_columns, [], False).names == {1: "p1"}


@pytest.mark.parametrize(("name", "found"), [("a", "`a`"), ("a.b", "`a.b`"), ("a`b", "`a``b`"), ("", "``")])
def test_names_in_backticks(name: str, found: str) -> None:
    assert quoted(name) == found
