"""Columns that are added, dropped, moved and changed, at the top and inside of others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tableformats.schema import Field, ListType, MapType, Schema, StructType, primitive
from tableformats.schema.editing import (
    Position,
    add_column,
    change_column,
    drop_column,
    find_column,
    move_column,
    type_without_ids,
)
from tableformats.schema.schema import _walk, number_fields

INT, TEXT = primitive("int"), primitive("string")
POINT = StructType((Field(3, "x", INT), Field(4, "Y", INT)))
SCHEMA = Schema(
    (
        Field(1, "id", INT, required=True),
        Field(2, "point", POINT),
        Field(5, "list", ListType(Field(6, "element", POINT))),
        Field(9, "map", MapType(Field(10, "key", TEXT, required=True), Field(11, "value", INT))),
        Field(12, "Name", TEXT),
    ),
    7,
)
NEW = Field(0, "new", TEXT)


def names(schema: Schema) -> str:
    def text(f: Field) -> str:
        inside = ", ".join(map(text, f.type.members)) if f.type.is_nested else ""
        return f"{f.name}({inside})" if inside else f.name

    return ", ".join(map(text, schema.fields))


WHOLE = "id, point(x, Y), list(element(x, Y)), map(key, value), Name"


@pytest.mark.parametrize(
    ("above", "position", "found"),
    [
        ([], Position(), f"{WHOLE}, new"),
        ([], Position(first=True), f"new, {WHOLE}"),
        ([], Position(after="id"), WHOLE.replace("id,", "id, new,")),
        ([], Position(after="NAME"), f"{WHOLE}, new"),
        (["point"], Position(), WHOLE.replace("point(x, Y)", "point(x, Y, new)")),
        (["POINT"], Position(after="x"), WHOLE.replace("point(x, Y)", "point(x, new, Y)")),
        (["list", "element"], Position(first=True), WHOLE.replace("element(x, Y)", "element(new, x, Y)")),
    ],
)
def test_added(above: list[str], position: Position, found: str) -> None:
    changed = add_column(SCHEMA, above, NEW, position)
    assert names(changed) == found and changed.id == 7
    assert find_column(changed, [*above, "new"]) is NEW


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (["id"], WHOLE.removeprefix("id, ")),
        (["name"], WHOLE.removesuffix(", Name")),
        (["point", "x"], WHOLE.replace("point(x, Y)", "point(Y)")),
        (["list", "element", "y"], WHOLE.replace("element(x, Y)", "element(x)")),
    ],
)
def test_dropped(path: list[str], found: str) -> None:
    assert names(drop_column(SCHEMA, path)) == found


@pytest.mark.parametrize(
    ("path", "position", "found"),
    [
        (["Name"], Position(first=True), "Name, " + WHOLE.removesuffix(", Name")),
        (["id"], Position(), WHOLE.removeprefix("id, ") + ", id"),
        (["id"], Position(after="point"), "point(x, Y), id, list(element(x, Y)), map(key, value), Name"),
        (["point", "y"], Position(first=True), WHOLE.replace("point(x, Y)", "point(Y, x)")),
        (["point", "x"], Position(after="Y"), WHOLE.replace("point(x, Y)", "point(Y, x)")),
    ],
)
def test_moved(path: list[str], position: Position, found: str) -> None:
    assert names(move_column(SCHEMA, path, position)) == found


def test_changed() -> None:
    long = primitive("long")
    for path in (["id"], ["point", "x"], ["list", "element", "Y"], ["map", "value"]):
        changed = change_column(SCHEMA, path, lambda f: replace(f, type=long))
        assert names(changed) == WHOLE and find_column(changed, path).type == long
        assert find_column(changed, path).id == find_column(SCHEMA, path).id
        others = [other for other in (["Name"], ["point", "Y"], ["map", "key"]) if other != path]
        assert all(find_column(changed, other) == find_column(SCHEMA, other) for other in others)
    element = change_column(SCHEMA, ["list", "element"], lambda f: replace(f, required=True))
    assert find_column(element, ["list", "element"]).required


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (["other"], "there is no column 'other'; there are id, point, list, map, Name"),
        (["point", "z"], "there is no column 'z'; there are x, Y"),
        (["id", "x"], "'id' has no members: it is int"),
    ],
)
def test_columns_that_are_not_there(path: list[str], said: str) -> None:
    for edit in (
        lambda: find_column(SCHEMA, path),
        lambda: drop_column(SCHEMA, path),
        lambda: move_column(SCHEMA, path, Position()),
        lambda: add_column(SCHEMA, path, NEW, Position()),
    ):
        with pytest.raises(LookupError) as caught:
            edit()
        assert caught.value.args == (said,)


@pytest.mark.parametrize("path", [["list", "element"], ["map", "key"], ["map", "value"]])
def test_elements_keys_and_values_stay(path: list[str]) -> None:
    said = f"the members of {path[0]!r}"
    edits = [lambda: drop_column(SCHEMA, path), lambda: change_column(SCHEMA, path, lambda f: replace(f, name="other"))]
    if path[0] == "map":
        edits.append(lambda: move_column(SCHEMA, ["map", "key"], Position(after="value")))
    for edit in edits:
        with pytest.raises(LookupError) as caught:
            edit()
        assert caught.value.args[0].startswith(said)


def test_a_struct_takes_columns_alone() -> None:
    for path, kind in ((["id"], "int"), (["list"], "array"), (["map", "value"], "int")):
        with pytest.raises(LookupError) as caught:
            add_column(SCHEMA, path, NEW, Position())
        assert caught.value.args[0].startswith(f"{'.'.join(path)!r} is no struct but {kind}")
    with pytest.raises(LookupError, match="there is no column 'z'"):
        add_column(SCHEMA, [], NEW, Position(after="z"))


def test_names_of_several_spellings() -> None:
    schema = Schema((Field(1, "a", INT), Field(2, "A", TEXT)))
    assert (find_column(schema, ["a"]).id, find_column(schema, ["A"]).id) == (1, 2)
    three = Schema((*schema.fields, Field(3, "Ab", INT), Field(4, "aB", INT)))
    with pytest.raises(LookupError) as caught:
        find_column(three, ["ab"])
    assert caught.value.args == ("'ab' is ambiguous",)


def test_new_fields_have_no_ids() -> None:
    for f in SCHEMA.fields:
        inner = replace(f, physical_name="col-1", metadata={"a": "b"})
        made = type_without_ids(StructType((inner,)))
        pending = list(made.members)
        while pending:
            one = pending.pop()
            assert (one.id, one.physical_name, dict(one.metadata)) == (0, None, {})
            pending += one.type.members if one.type.is_nested else ()
        (found,) = made.members
        assert (found.name, found.required) == (f.name, f.required) and str(found.type) == str(f.type)


def test_fields_by_id_and_by_name() -> None:
    ids = {number: path for number in range(1, 13) if (path := SCHEMA.find_id(number)) is not None}
    assert [ids[n].name for n in sorted(ids)] == [
        "id",
        "point",
        "x",
        "Y",
        "list",
        "element",
        "map",
        "key",
        "value",
        "Name",
    ]
    assert SCHEMA.find_id(7) is None and SCHEMA.find_id(0) is None
    assert [f.name for f in SCHEMA.path_of(11)] == ["map", "value"] and [f.name for f in SCHEMA.path_of(6)] == [
        "list",
        "element",
    ]
    with pytest.raises(KeyError):
        SCHEMA.path_of(99)
    assert [".".join(f.name for f in path) for path in SCHEMA.leaves()] == ["id", "point.x", "point.Y", "Name"]


@pytest.mark.parametrize(
    ("parts", "exact", "folded"),
    [
        (["id"], "id", "id"),
        (["ID"], None, "id"),
        (["point", "Y"], "point.Y", "point.Y"),
        (["Point", "y"], None, "point.Y"),
        (["point"], "point", "point"),
        (["list", "element"], None, None),
        (["map", "key"], None, None),
        (["id", "x"], None, None),
        (["z"], None, None),
        ([], None, None),
    ],
)
def test_names_that_are_resolved(parts: list[str], exact: str | None, folded: str | None) -> None:
    for case_sensitive, wanted in ((True, exact), (False, folded)):
        found = SCHEMA.resolve(parts, case_sensitive)
        assert (None if found is None else ".".join(f.name for f in found)) == wanted


def test_ambiguous_names() -> None:
    schema = Schema((Field(1, "ab", INT), Field(2, "AB", TEXT)))
    for name, wanted in (("ab", 1), ("AB", 2), ("Ab", None)):
        for case_sensitive in (True, False):
            found = schema.resolve([name], case_sensitive)
            assert (None if found is None else found[0].id) == wanted


def test_near_names() -> None:
    assert SCHEMA.near_names("nam") == ["Name"] and SCHEMA.near_names("POINT.z") == ["point.Y", "point.x", "point"]
    assert SCHEMA.near_names("point.z", 1) == ["point.Y"] and SCHEMA.near_names("qqq") == []


def test_fields_are_numbered_from_the_outside_in() -> None:
    numbered = number_fields(SCHEMA.fields)
    assert [path[-1].id for path in _walk(numbered, ())] == list(range(1, 13))
    assert [path[-1].id for path in _walk(number_fields(SCHEMA.fields, 5), ())] == list(range(5, 17))
    assert names(Schema(numbered)) == WHOLE
