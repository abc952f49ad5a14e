"""The JSON of a changed schema: what each change makes of a field, at any depth, and what is refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tableformats_iceberg.files.strict_json import Node
from tableformats_iceberg.metadata.schema import parse_schema
from tableformats_iceberg.write.schema_change import SchemaChange, changed_name_mapping, changed_properties

import tableformats as tf
from tableformats.plugin import Field, ListType, MapType, Schema, StructType, Type, primitive

INT, LONG, TEXT = primitive("int"), primitive("long"), primitive("string")


def raw(number: int, name: str, kind: Any = "int", required: bool = False, **more: Any) -> dict[str, Any]:
    return {"id": number, "name": name, "required": required, "type": kind, **more}


BASE = {
    "type": "struct",
    "schema-id": 0,
    "identifier-field-ids": [1],
    "fields": [
        raw(1, "id", "int", True, x="own"),
        raw(2, "b", "string", doc="of b"),
        raw(3, "s", {"type": "struct", "fields": [raw(4, "x", "int", y="own"), raw(5, "r", "int", True)]}),
        raw(6, "l", {"type": "list", "element-id": 7, "element": "int", "element-required": True, "z": "own"}),
        raw(
            8,
            "m",
            {"type": "map", "key-id": 9, "key": "string", "value-id": 10, "value": "int", "value-required": True},
        ),
    ],
}
ID, B, S, L, M = parse_schema(Node(BASE, "m")).fields


def changed(
    *fields: Field, version: int = 2, base: dict[str, Any] = BASE, sources: frozenset[int] = frozenset()
) -> list[dict[str, Any]]:
    """The JSON of the fields; ids go on from 100."""
    change = SchemaChange(base, version, 100, sources)
    found = change.of(parse_schema(Node(base, "m")), Schema(fields))
    assert {k: v for k, v in found.items() if k != "fields"} == {k: v for k, v in base.items() if k != "fields"}
    return found["fields"]  # type: ignore[no-any-return]


def of(name: str, kind: Type, **more: Any) -> Field:
    return Field(0, name, kind, **more)


def struct(f: Field, *members: Field) -> Field:
    return replace(f, type=StructType(members))


def test_what_did_not_change_stays() -> None:
    assert changed(ID, B, S, L, M) == BASE["fields"]
    assert changed(M, ID, L) == [BASE["fields"][i] for i in (4, 0, 3)]  # type: ignore[index]


def test_new_columns() -> None:
    inner = StructType((of("p", INT), of("q", ListType(of("element", TEXT)))))
    found = changed(ID, of("n", LONG, doc="new"), of("t", inner))
    assert found[1:] == [
        raw(101, "n", "long", doc="new"),
        raw(
            102,
            "t",
            {
                "type": "struct",
                "fields": [
                    raw(103, "p", "int"),
                    raw(104, "q", {"type": "list", "element-id": 105, "element": "string", "element-required": False}),
                ],
            },
        ),
    ]


def test_new_columns_with_a_value() -> None:
    found = changed(ID, of("n", LONG, initial_default=7), of("r", INT, required=True, initial_default=0), version=3)
    assert found[1:] == [
        raw(101, "n", "long", **{"initial-default": 7, "write-default": 7}),
        raw(102, "r", "int", True, **{"initial-default": 0, "write-default": 0}),
    ]


def test_names_and_comments() -> None:
    change = SchemaChange(BASE, 2, 100)
    x, r = S.type.members
    fields = (
        replace(ID, doc="key"),
        replace(B, name="c", doc=None),
        struct(replace(S, name="t"), replace(x, name="z"), r),
    )
    found = change.of(parse_schema(Node(BASE, "m")), Schema(fields))["fields"]
    assert found[:2] == [raw(1, "id", "int", True, x="own", doc="key"), raw(2, "c", "string")]
    assert found[2] == raw(
        3, "t", {"type": "struct", "fields": [raw(4, "z", "int", y="own"), raw(5, "r", "int", True)]}
    )
    assert change.renamed == {2: "c", 3: "t", 4: "z"}


def test_columns_that_may_be_null_from_now_on() -> None:
    x, r = S.type.members
    element, (key, value) = L.type.members[0], M.type.members
    found = changed(
        ID,
        struct(S, x, replace(r, required=False)),
        replace(L, type=ListType(replace(element, required=False))),
        replace(M, type=MapType(key, replace(value, required=False))),
    )
    assert found[1]["type"]["fields"][1] == raw(5, "r", "int", False)
    assert found[2]["type"] == {**BASE["fields"][3]["type"], "element-required": False}  # type: ignore[index]
    assert found[3]["type"] == {**BASE["fields"][4]["type"], "value-required": False}  # type: ignore[index]


def test_wider_types_at_any_depth() -> None:
    x, r = S.type.members
    element, (key, value) = L.type.members[0], M.type.members
    found = changed(
        replace(ID, type=LONG),
        struct(S, replace(x, type=LONG), r, of("new", TEXT)),
        replace(L, type=ListType(replace(element, type=LONG))),
        replace(M, type=MapType(key, replace(value, type=LONG))),
    )
    assert found[0] == raw(1, "id", "long", True, x="own")
    assert [f["type"] for f in found[1]["type"]["fields"]] == ["long", "int", "string"]
    assert (found[2]["type"]["element"], found[2]["type"]["z"], found[3]["type"]["value"]) == ("long", "own", "long")


@pytest.mark.parametrize(
    ("old", "new", "versions"),
    [
        ("int", "long", (1, 2, 3)),
        ("float", "double", (1, 2, 3)),
        ("date", "timestamp", (3,)),
        ("date", "timestamp_ns", (3,)),
        ("unknown", "string", (3,)),
        ("long", "int", ()),
        ("int", "double", ()),
        ("date", "timestamptz", ()),
        ("string", "binary", ()),
        ("decimal(9, 2)", "decimal(10, 2)", (1, 2, 3)),
        ("decimal(9, 2)", "decimal(8, 2)", ()),
        ("decimal(9, 2)", "decimal(10, 3)", ()),
        ("int", "decimal(10, 0)", ()),
    ],
)
def test_types(old: str, new: str, versions: tuple[int, ...]) -> None:
    def base(kind: str) -> dict[str, Any]:
        return {"type": "struct", "schema-id": 0, "fields": [raw(1, "a", kind), raw(2, "k")]}

    for version in (1, 2, 3):
        if version < 3 and {old, new} & {"unknown", "timestamp_ns"}:
            continue  # there is no such column
        wanted = parse_schema(Node(base(new), "m")).fields
        if version in versions:
            assert changed(*wanted, version=version, base=base(old))[0] == raw(1, "a", new)
            continue
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            changed(*wanted, version=version, base=base(old))
        assert caught.value.field == "a"
        assert caught.value.hint == ("It can in format version 3" if versions == (3,) else "Add a new column")


def test_dates_of_partitions_stay() -> None:
    base = {"type": "struct", "schema-id": 0, "fields": [raw(1, "d", "date"), raw(2, "i", "int")]}
    d, i = parse_schema(Node(base, "m")).fields
    wanted = replace(d, type=primitive("timestamp_ntz")), replace(i, type=LONG)
    assert [f["type"] for f in changed(*wanted, version=3, base=base, sources=frozenset({2}))] == ["timestamp", "long"]
    with pytest.raises(tf.ConstraintViolationError, match="partition values") as caught:
        changed(*wanted, version=3, base=base, sources=frozenset({1}))
    assert caught.value.field == "d"


X, R = S.type.members
ELEMENT, (KEY, VALUE) = L.type.members[0], M.type.members


@pytest.mark.parametrize(
    ("fields", "message", "field"),
    [
        ((), "without columns", ""),
        ((ID, struct(S)), "without columns", "s"),
        ((B,), "identifies rows", "id"),
        ((replace(ID, required=False),), "identifies rows", "id"),
        ((ID, replace(B, required=True)), "does not become NOT NULL", "b"),
        ((ID, struct(S, replace(X, required=True), R)), "does not become NOT NULL", "s.x"),
        ((ID, replace(M, type=MapType(replace(KEY, type=LONG), VALUE))), "keys of a map", "m"),
        ((ID, replace(M, type=MapType(replace(KEY, doc="x"), VALUE))), "keys of a map", "m"),
        ((ID, of("n", INT, required=True)), "a new column is NOT NULL only", "n"),
        ((ID, struct(S, X, of("n", INT, required=True))), "a new column is NOT NULL only", "s.n"),
        ((ID, of("", INT)), "no name", ""),
        ((ID, replace(B, name="")), "no name", ""),
        ((ID, B, of("B", INT)), "a column of this name already", "B"),
        ((ID, B, of("b", INT)), "a column of this name already", "b"),
        ((ID, of("n", INT), of("N", INT)), "a column of this name already", "N"),
        ((ID, B, replace(S, name="B")), "a column of this name already", "B"),
        ((ID, struct(S, X, of("X", INT))), "a column of this name already", "s.X"),
        ((ID, Field(99, "q", INT)), "does not move", "q"),
        ((ID, X), "does not move", "x"),
        ((ID, replace(B, initial_default="x")), "default for rows that are there", "b"),
    ],
)
def test_what_is_refused(fields: tuple[Field, ...], message: str, field: str) -> None:
    with pytest.raises(tf.ConstraintViolationError, match=message) as caught:
        changed(*fields)
    assert caught.value.field == field and caught.value.hint == "Nothing was changed"


def test_elements_and_values_that_may_be_null() -> None:
    loose = {
        "type": "struct",
        "schema-id": 0,
        "fields": [
            raw(1, "l", {"type": "list", "element-id": 2, "element": "int", "element-required": False}),
            raw(
                3,
                "m",
                {"type": "map", "key-id": 4, "key": "int", "value-id": 5, "value": "int", "value-required": False},
            ),
        ],
    }
    found, mapped = parse_schema(Node(loose, "m")).fields
    element, (key, value) = found.type.members[0], mapped.type.members
    strict = replace(found, type=ListType(replace(element, required=True)))
    with pytest.raises(tf.ConstraintViolationError) as caught:
        changed(strict, base=loose)
    assert caught.value.field == "l.element"
    with pytest.raises(tf.ConstraintViolationError) as caught:
        changed(replace(mapped, type=MapType(key, replace(value, required=True))), base=loose)
    assert caught.value.field == "m.value"


def test_defaults_need_version_3() -> None:
    for version in (1, 2):
        with pytest.raises(tf.UnsupportedFeatureError, match=f"and the table has {version}") as caught:
            changed(ID, struct(S, X, of("n", INT, initial_default=1)), version=version)
        assert caught.value.field == "s.n"
    with pytest.raises(tf.ConstraintViolationError, match="does not fit") as caught:
        changed(ID, of("n", INT, initial_default="x"), version=3)
    assert caught.value.field == "n"


def test_names_that_differ_in_case_may_stay() -> None:
    base = {"type": "struct", "schema-id": 0, "fields": [raw(1, "a"), raw(2, "A"), raw(3, "c")]}
    a, other, c = parse_schema(Node(base, "m")).fields
    assert [f["name"] for f in changed(a, other, replace(c, name="d"), base=base)] == ["a", "A", "d"]
    for fields in ((a, replace(other, name="a")), (a, replace(c, name="A")), (a, other, of("A", INT))):
        with pytest.raises(tf.ConstraintViolationError, match="already"):
            changed(*fields, base=base)


def test_identifiers_that_are_gone_already() -> None:
    """An id that no column has is told as it is."""
    base = {**BASE, "identifier-field-ids": [77, 1, 55]}
    with pytest.raises(tf.ConstraintViolationError) as caught:
        changed(ID, B, S, L, M, base=base)
    assert caught.value.field == "55"
    assert changed(ID, base={**BASE, "identifier-field-ids": None}) == [BASE["fields"][0]]  # type: ignore[index]


# ---- what names columns beside the schema ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", '[{"field-id":1,"names":["a"]},{"field-id":2,"names":["s"],"fields":[{"field-id":3,"names":["x"]}]}]'),
        ("7", '[{"field-id":1,"names":["a"]},{"field-id":2,"names":["s"],"fields":[{"field-id":3,"names":["x"]}]}]'),
        (
            '[{"field-id":1,"names":["old","a"],"k":1},{"field-id":2,"fields":[{"field-id":3,"names":["y"]}]}]',
            '[{"field-id":1,"names":["old","a"],"k":1},'
            '{"field-id":2,"fields":[{"field-id":3,"names":["y","x"]}],"names":["s"]}]',
        ),
        # A name that a column has now is taken from others, and what is left of a dropped one stays.
        (
            '[{"field-id":1,"names":["s"]},{"field-id":9,"names":["a","gone"]},{"field-id":8,"names":["s"]},{"names":["q"]}]',
            '[{"field-id":1,"names":["a"]},{"field-id":2,"names":["s"],"fields":[{"field-id":3,"names":["x"]}]},'
            '{"field-id":9,"names":["gone"]},{"names":["q"]}]',
        ),
    ],
)
def test_name_mappings(text: str, expected: str) -> None:
    kind = {"type": "struct", "fields": [raw(3, "x")]}
    assert changed_name_mapping(text, {"type": "struct", "fields": [raw(1, "a"), raw(2, "s", kind)]}) == expected


def test_name_mappings_of_lists_and_maps() -> None:
    schema = {"type": "struct", "fields": [BASE["fields"][3], BASE["fields"][4]]}  # type: ignore[index]
    assert changed_name_mapping("[]", schema) == (
        '[{"field-id":6,"names":["l"],"fields":[{"field-id":7,"names":["element"]}]},'
        '{"field-id":8,"names":["m"],"fields":[{"field-id":9,"names":["key"]},{"field-id":10,"names":["value"]}]}]'
    )


def test_properties_that_name_columns() -> None:
    old = parse_schema(Node(BASE, "m"))
    prefix = "write.metadata.metrics.column."
    given = {prefix + name: name for name in ("id", "b", "s.x", "s.r", "l.element", "gone")} | {"other": "b"}
    fields = [
        raw(1, "id"),
        raw(3, "t", {"type": "struct", "fields": [raw(4, "x")]}),
        raw(6, "m", {"type": "list", "element-id": 7, "element": "int"}),
    ]
    assert changed_properties(given, old, {"type": "struct", "fields": fields}) == {
        prefix + "b": None,
        prefix + "s.x": None,
        prefix + "t.x": "s.x",
        prefix + "s.r": None,
        prefix + "l.element": None,
        prefix + "m.element": "l.element",
    }
    assert changed_properties(given, old, BASE) == {}


@pytest.mark.parametrize("column", [S, L, M], ids=["struct", "list", "map"])
@pytest.mark.parametrize("kind", [S.type, L.type, M.type, INT], ids=["struct", "list", "map", "int"])
def test_nested_columns_do_not_become_others(column: Field, kind: Type) -> None:
    if kind == column.type:
        return
    for old, new in ((column, replace(column, type=kind)), (B, replace(B, type=column.type))):
        with pytest.raises(tf.UnsupportedFeatureError, match="does not become") as caught:
            changed(*(new if f is old else f for f in (ID, B, S, L, M)))
        assert caught.value.field == old.name
