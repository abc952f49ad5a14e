"""The ``schemaString`` of changed columns: what each change makes of a field, at any depth, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tableformats_delta.evolution.schema_change import SchemaChange, SchemaContext
from tableformats_delta.evolution.schema_json import ID, PHYSICAL_NAME, ColumnIds
from tableformats_delta.schema.schema_string import parse_schema

import tableformats as tf
from tableformats.plugin import Field, ListType, MapType, StructType, Type, primitive

INT, LONG, TEXT = primitive("int"), primitive("long"), primitive("string")
"""Delta spells the first one ``integer``."""


def raw(name: str, kind: Any = "integer", nullable: bool = True, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


def mapped(number: int, name: str, kind: Any = "integer", **metadata: Any) -> dict[str, Any]:
    return raw(name, kind, **{ID: number, PHYSICAL_NAME: f"col-{name}"}, **metadata)


STRUCT = {"type": "struct", "fields": [mapped(4, "x"), mapped(5, "y", "string")]}
INNER = {"type": "struct", "fields": [mapped(9, "x"), mapped(10, "y", "string")]}
LIST = {"type": "array", "elementType": "integer", "containsNull": True, "own": 1}
MAP = {"type": "map", "keyType": "integer", "valueType": "integer", "valueContainsNull": True}
MAPPED = [
    mapped(1, "a", own=1),
    mapped(2, "b", "string", comment="of b"),
    mapped(3, "s", STRUCT),
    mapped(6, "l", LIST),
    mapped(7, "m", MAP),
    mapped(8, "n", {"type": "array", "elementType": INNER, "containsNull": False}),
]


class Case:
    """A table's columns, with column mapping or without, and what is changed of them."""

    def __init__(self, fields: list[dict[str, Any]], **context: Any) -> None:
        self.value = {"type": "struct", "fields": fields, "own": 1}
        ids = ColumnIds(100, lambda name: f"new-{name}") if ID in fields[0]["metadata"] else None
        self.change = SchemaChange(SchemaContext(**{"ids": ids, "widens": True, **context}))
        import json

        self.fields = {f.name: f for f in parse_schema(json.dumps(self.value), "name" if ids else "none", "p").fields}

    def __call__(self, *fields: Field) -> list[dict[str, Any]]:
        found = self.change.struct(self.value, list(self.fields.values()), fields)
        assert found["own"] == 1
        return found["fields"]  # type: ignore[no-any-return]


def of(name: str, kind: Type, **more: Any) -> Field:
    return Field(0, name, kind, **more)


def test_what_did_not_change_stays() -> None:
    case = Case(MAPPED)
    assert case(*case.fields.values()) == MAPPED and case.change.renamed == {}
    assert case(*[*case.fields.values()][::-1]) == MAPPED[::-1]
    plain = Case([raw("a", own=1), raw("b")])
    assert plain(plain.fields["b"], plain.fields["a"]) == [raw("b"), raw("a", own=1)]


def test_new_columns() -> None:
    case = Case([raw("a")])
    assert case(case.fields["a"], of("n", LONG, doc="new"))[1] == raw("n", "long", comment="new")
    case = Case(MAPPED[:1])
    inner = StructType((of("p", INT), of("q", ListType(of("element", TEXT)))))
    (_, found) = case(case.fields["a"], of("t", inner))
    assert found["metadata"] == {ID: 101, PHYSICAL_NAME: "new-t"}
    first, second = found["type"]["fields"]
    assert (first["metadata"][ID], second["metadata"][ID], second["type"]["elementType"]) == (102, 103, "string")


def test_names_comments_and_nulls() -> None:
    case = Case(MAPPED)
    a, b, s = (case.fields[name] for name in "abs")
    x, y = s.type.members
    others = [case.fields[name] for name in "lmn"]
    wanted = replace(s, name="t", type=StructType((replace(x, name="z", required=True), y)))
    found = case(replace(a, doc="new"), replace(b, name="c", doc=None, required=True), wanted, *others)
    assert found[0] == {**MAPPED[0], "metadata": {**MAPPED[0]["metadata"], "comment": "new"}}
    assert found[1] == raw("c", "string", False, **{ID: 2, PHYSICAL_NAME: "col-b"})
    assert found[2]["name"] == "t" and found[2]["metadata"] == MAPPED[2]["metadata"]
    assert found[2]["type"]["fields"] == [{**mapped(4, "x"), "name": "z", "nullable": False}, mapped(5, "y", "string")]
    assert case.change.renamed == {"b": "c", "s": "t"}, "of columns at the top"


def test_dropped_columns() -> None:
    case = Case(MAPPED)
    s = case.fields["s"]
    found = case(case.fields["a"], replace(s, type=StructType(s.type.members[1:])))
    assert [f["name"] for f in found] == ["a", "s"]
    assert found[1]["type"]["fields"] == [mapped(5, "y", "string")]


def changes_of(found: dict[str, Any]) -> Any:
    return found["metadata"].get("delta.typeChanges")


def test_wider_types() -> None:
    """What was changed stands in the metadata of the column, with the way to it within lists and maps."""
    case = Case(MAPPED)
    a, s, listed, m, n = (case.fields[name] for name in ("a", "s", "l", "m", "n"))
    x, y = s.type.members
    element, (key, value) = listed.type.members[0], m.type.members
    inner = n.type.members[0]
    found = case(
        replace(a, type=LONG),
        case.fields["b"],
        replace(s, type=StructType((replace(x, type=LONG), y))),
        replace(listed, type=ListType(replace(element, type=LONG, required=True))),
        replace(m, type=MapType(replace(key, type=LONG), replace(value, type=LONG))),
        replace(
            n,
            type=ListType(
                replace(inner, type=StructType((replace(inner.type.members[0], type=LONG), inner.type.members[1])))
            ),
        ),
    )
    one = {"toType": "long", "fromType": "integer"}
    assert (found[0]["type"], changes_of(found[0])) == ("long", [one])
    assert changes_of(found[2]) is None and changes_of(found[2]["type"]["fields"][0]) == [one]
    assert found[3]["type"] == {**LIST, "elementType": "long", "containsNull": False}
    assert changes_of(found[3]) == [{**one, "fieldPath": "element"}]
    assert found[4]["type"] == {**MAP, "keyType": "long", "valueType": "long"}
    assert changes_of(found[4]) == [{**one, "fieldPath": "key"}, {**one, "fieldPath": "value"}]
    assert changes_of(found[5]) is None
    assert changes_of(found[5]["type"]["elementType"]["fields"][0]) == [one]


def test_a_type_that_was_widened_before() -> None:
    older = {"toType": "integer", "fromType": "short"}
    case = Case([raw("a", **{"delta.typeChanges": [older]})])
    (found,) = case(replace(case.fields["a"], type=LONG))
    assert changes_of(found) == [older, {"toType": "long", "fromType": "integer"}]


def test_values_that_may_be_null_within_lists_and_maps() -> None:
    case = Case([raw("l", {**LIST, "containsNull": False}), raw("m", {**MAP, "valueContainsNull": False})])
    listed, m = case.fields["l"], case.fields["m"]
    element, (key, value) = listed.type.members[0], m.type.members
    first, second = case(
        replace(listed, type=ListType(replace(element, required=False))),
        replace(m, type=MapType(key, replace(value, required=False))),
    )
    assert first["type"]["containsNull"] is True and second["type"]["valueContainsNull"] is True
    assert changes_of(first) is changes_of(second) is None


PLAIN = [raw("a"), raw("s", {"type": "struct", "fields": [raw("x"), raw("y", "string")]})]


def refused(case: Case, *fields: Field) -> tf.UnsupportedFeatureError:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        case(*fields)
    return caught.value


MAPPING = "Set delta.columnMapping.mode to name"


def test_what_needs_column_mapping() -> None:
    case = Case(PLAIN)
    a, s = case.fields["a"], case.fields["s"]
    x, y = s.type.members
    cases = [
        ((a,), "s"),
        ((s,), "a"),
        ((replace(a, name="b"), s), "a"),
        ((a, replace(s, type=StructType((y,)))), "s.x"),
        ((a, replace(s, type=StructType((replace(x, name="z"), y)))), "s.x"),
        *(((a, s, of(f"n{odd}", INT)), f"n{odd}") for odd in " ,;{}()\n\t="),
        ((a, s, of("t", StructType((of("p q", INT),)))), "t.p q"),
        ((a, s, of("t", ListType(of("element", StructType((of("p;", INT),)))))), "t.element.p;"),
    ]
    for fields, name in cases:
        error = refused(case, *fields)
        assert (error.field, error.hint) == (name, MAPPING), name
    with_ids = Case(MAPPED)
    assert with_ids(*with_ids.fields.values(), of("n m", INT))[-1]["name"] == "n m"


@pytest.mark.parametrize(
    ("wanted", "message", "field"),
    [
        (lambda f: (), "a struct without columns", ""),
        (lambda f: (f["a"], f["b"], of("A", INT)), "a second column of the name", "a"),
        (lambda f: (f["a"], replace(f["b"], name="A")), "a second column of the name", "a"),
        (lambda f: (f["a"], Field(77, "q", INT)), "does not move", "q"),
        (lambda f: (f["a"], of("n", INT, required=True)), "cannot be NOT NULL", "n"),
        (lambda f: (f["a"], of("n", INT, initial_default=1)), "a value for the rows", "n"),
        (lambda f: (f["a"], of("", INT)), "a column has no name", ""),
        (lambda f: (f["a"], replace(f["b"], name="")), "a column has no name", ""),
        (lambda f: (f["a"], replace(f["s"], type=StructType(()))), "a struct without columns", "s"),
        (lambda f: (replace(f["a"], type=TEXT),), "is not changed to", "a"),
        (lambda f: (replace(f["a"], type=f["s"].type),), "is not changed to", "a"),
        (lambda f: (replace(f["l"], type=f["m"].type),), "is not changed to", "l"),
        (
            lambda f: (replace(f["l"], type=ListType(replace(f["l"].type.members[0], type=TEXT))),),
            "is not changed",
            "l.element",
        ),
    ],
)
def test_what_is_refused(wanted: Any, message: str, field: str) -> None:
    case = Case(MAPPED)
    error = refused(case, *wanted(case.fields))
    assert message in str(error) and (error.field or "") == field


def test_what_tables_keep_columns_for() -> None:
    """Partitions and clusters by columns at the top; expressions by any word that they have."""
    context = {"partition_columns": frozenset({"b", "x"}), "clustered": frozenset({"col-l", "col-y"})}
    case = Case(MAPPED, named={"m": "a check", "y": "a default"}, **context)
    f = case.fields
    rest = [f[name] for name in "asmn"]
    assert "a partition column" in str(refused(case, *rest, f["l"]))
    assert "clustered by the column" in str(refused(case, *rest, f["b"]))
    kept = [f[name] for name in "ablsn"]
    assert refused(case, *kept).field == "m"
    assert refused(case, *kept, replace(f["m"], name="other")).field == "m"
    without = replace(f["s"], type=StructType(f["s"].type.members[:1]))
    assert refused(case, f["a"], f["b"], f["l"], f["m"], f["n"], without).field == "s.y"
    without = replace(f["s"], type=StructType(f["s"].type.members[1:]))
    assert len(case(f["a"], f["b"], f["l"], f["m"], f["n"], without)) == 6
    assert refused(case, f["a"], f["b"], f["l"], f["m"], f["n"]).field is not None, "s has the member y"


@pytest.mark.parametrize("name", ["_change_type", "_Commit_Version", "_commit_timestamp"])
def test_columns_of_changes(name: str) -> None:
    """Their names are taken at the top of tables with a change data feed."""
    case = Case(MAPPED[:2], has_changes=True)
    a, b = case.fields["a"], case.fields["b"]
    assert "change data feed" in str(refused(case, a, b, of(name, INT)))
    assert "change data feed" in str(refused(case, a, replace(b, name=name)))
    assert case(a, b, of("t", StructType((of(name, INT),))))[2]["name"] == "t"
    free = Case(MAPPED[:2])
    assert free(*free.fields.values(), of(name, INT))[2]["name"] == name


def test_types_that_are_not_widened() -> None:
    for fields, context, message in (
        ([raw("a")], {"widens": False}, "does not allow that types are widened"),
        ([raw("a", **{"delta.identity.start": 1})], {}, "identity column"),
        ([raw("a", **{"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"})], {}, "CHAR or VARCHAR"),
        ([raw("a")], {"named": {"a": "a check"}}, ""),
    ):
        case = Case(fields, **context)
        error = refused(case, replace(case.fields["a"], type=LONG))
        assert message in str(error) and error.field == "a"
    case = Case([raw("a")], widens=False)
    assert case(replace(case.fields["a"], doc="x")) == [raw("a", comment="x")]
