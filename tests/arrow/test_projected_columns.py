"""Columns of a table in one file: how they are found, which are read as they are, and which values are refused."""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa
import pytest

from tableformats.engines.arrow.files.column_tree import Selection, file_tree
from tableformats.engines.arrow.projection import Resolver, default_values
from tableformats.errors import CorruptMetadataError, UnsupportedFeatureError
from tableformats.plugin import NameMapping
from tableformats.schema import Field, ListType, MapType, StructType, Type, primitive

ID = b"PARQUET:field_id"
INT, LONG, TEXT = primitive("int"), primitive("long"), primitive("string")


def stored(name: str, kind: pa.DataType, id: int | None = None, required: bool = False) -> pa.Field:
    return pa.field(name, kind, not required, None if id is None else {ID: str(id)})


def resolver(
    columns: list[pa.Field], mapping: NameMapping | None = None, constants: dict[int, pa.Scalar] | None = None
) -> Resolver:
    root = file_tree(pa.schema(columns), ID, "f")
    return Resolver(root, mapping or NameMapping("name"), constants or {})


def struct(*members: Field) -> StructType:
    return StructType(members)


# ---- how columns are found ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "mapping", "wanted", "leaves"),
    [
        ([stored("a", pa.int64()), stored("b", pa.int64())], NameMapping("name"), Field(9, "b", LONG), {1}),
        ([stored("B", pa.int64()), stored("a", pa.int64())], NameMapping("name"), Field(9, "b", LONG), {0}),
        ([stored("B", pa.int64()), stored("b", pa.int64())], NameMapping("name"), Field(9, "b", LONG), {1}),
        ([stored("col-1", pa.int64())], NameMapping("name"), Field(9, "b", LONG, physical_name="COL-1"), {0}),
        ([stored("b", pa.int64())], NameMapping("name"), Field(9, "b", LONG, physical_name="col-1"), set()),
        ([stored("a", pa.int64(), 1), stored("b", pa.int64(), 2)], NameMapping("id"), Field(1, "z", LONG), {0}),
        ([stored("a", pa.int64(), 1), stored("b", pa.int64(), 2)], NameMapping("id"), Field(3, "a", LONG), set()),
        ([stored("B", pa.int64(), 1)], NameMapping("id", by_name=frozenset([-3])), Field(-3, "b", LONG), set()),
        ([stored("b", pa.int64(), 1)], NameMapping("id", by_name=frozenset([-3])), Field(-3, "b", LONG), {0}),
        ([stored("b", pa.int64())], NameMapping("name"), Field(9, "b", primitive("unknown")), set()),
        ([], NameMapping("id"), Field(1, "b", LONG), set()),
    ],
)
def test_which_column_of_a_file_is_meant(
    columns: list[pa.Field], mapping: NameMapping, wanted: Field, leaves: set[int]
) -> None:
    assert resolver(columns, mapping).project([wanted]).leaves == leaves


def test_columns_that_are_not_to_be_told_apart() -> None:
    for names, mapping in ((("b", "b"), NameMapping("name")), (("B", "b_"), NameMapping("id"))):
        columns = [stored(name, pa.int64(), 1) for name in names]
        with pytest.raises(CorruptMetadataError, match="2 columns of the file match"):
            resolver(columns, mapping).project([Field(1, "b", LONG)])
    with pytest.raises(CorruptMetadataError, match="2 columns of the file match") as caught:
        inner = pa.struct([stored("X", pa.int64()), stored("x_", pa.int64()), stored("x", pa.int64())] * 2)
        resolver([stored("s", inner)]).project([Field(1, "s", struct(Field(2, "x", LONG)))])
    assert caught.value.field == "s.x"


def test_files_without_ids() -> None:
    columns = [stored("a", pa.int64())]
    with pytest.raises(UnsupportedFeatureError, match="column 'a' is found by field id, but the file carries none"):
        resolver(columns, NameMapping("id")).project([Field(1, "a", LONG)])
    mapped = NameMapping("id", names={"a": 1})
    assert resolver(columns, mapped).project([Field(1, "a", LONG)]).leaves == set()


@pytest.mark.parametrize(("first", "leaves", "value"), [(True, set(), 7), (False, {0}, None)])
def test_partition_values_come_first_or_stand_in(first: bool, leaves: set[int], value: int | None) -> None:
    mapping = NameMapping("name", partition_values_first=first)
    found = resolver([stored("a", pa.int64())], mapping, {1: pa.scalar(7)})
    assert found.project([Field(1, "a", LONG)]).leaves == leaves
    constants = found.project([Field(1, "a", LONG)]).constant_values()
    assert {id: one.as_py() for id, one in constants.items()} == ({} if value is None else {1: value})
    missing = resolver([stored("z", pa.int64())], mapping, {1: pa.scalar(7)}).project([Field(1, "a", LONG)])
    assert missing.constant_values()[1].as_py() == 7


# ---- constants and defaults -----------------------------------------------------------------------------------------


def read(wanted: Field, name: str, values: pa.Array) -> list[dict[str, Any]]:
    """The column of a file that has one column of this name."""
    column = stored(name, values.type)
    found = resolver([column])
    rows = pa.StructArray.from_arrays([values], fields=[column])
    selection = Selection(found.root, found.root.leaves)
    return found.project([wanted]).read(rows, selection).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        (Field(1, "a", LONG), None),
        (Field(1, "a", LONG, initial_default=5), 5),
        (Field(1, "a", primitive("uuid"), initial_default=uuid.UUID(int=1)), b"\0" * 15 + b"\1"),
        (Field(1, "a", TEXT, initial_default="x", char_length=3), "x  "),
        (
            Field(1, "a", struct(Field(2, "x", LONG, initial_default=3), Field(3, "y", LONG)), initial_default={}),
            {"x": 3, "y": None},
        ),
        (Field(1, "a", struct(Field(2, "x", LONG, initial_default=3)), initial_default={"x": 4}), {"x": 4}),
        (Field(1, "a", struct(Field(2, "x", LONG, initial_default=3))), None),
    ],
)
def test_columns_that_a_file_lacks(wanted: Field, value: Any) -> None:
    assert read(wanted, "z", pa.array([1, 2])) == [{"a": value}] * 2
    if wanted.char_length is None:
        assert default_values(wanted).to_pylist() == [value]


def test_constants_that_the_type_cannot_hold() -> None:
    for wanted, constants in (
        (Field(1, "a", INT), {1: pa.scalar(2**40)}),
        (Field(1, "a", LONG, initial_default="x"), {}),
    ):
        with pytest.raises(CorruptMetadataError, match="the column's constant value is no") as caught:
            resolver([stored("z", pa.int64())], constants=constants).project([wanted])
        assert caught.value.field == "a"


# ---- values that are refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (pa.string(), LONG),
        (pa.int64(), TEXT),
        (pa.struct([("x", pa.int64())]), LONG),
        (pa.int64(), struct(Field(2, "x", LONG))),
        (pa.list_(pa.int64()), MapType(Field(2, "key", TEXT), Field(3, "value", LONG))),
        (pa.map_(pa.string(), pa.int64()), ListType(Field(2, "element", LONG))),
        (pa.struct([("x", pa.int64())]), ListType(Field(2, "element", LONG))),
        (pa.int64(), primitive("variant")),
    ],
)
def test_columns_of_other_types(kind: pa.DataType, wanted: Type) -> None:
    with pytest.raises(CorruptMetadataError, match="cannot be read as") as caught:
        resolver([stored("a", kind)]).project([Field(1, "a", wanted)])
    assert caught.value.field == "a"


@pytest.mark.parametrize(
    ("wanted", "values", "is_refused"),
    [
        (Field(1, "a", LONG, required=True), pa.array([1, None]), True),
        (Field(1, "a", LONG, required=True), pa.array([1, 2]), False),
        (Field(1, "a", LONG), pa.array([1, None]), False),
        (Field(1, "a", struct(Field(2, "x", LONG, required=True))), pa.array([{"x": 1}, None]), False),
        (Field(1, "a", struct(Field(2, "x", LONG, required=True))), pa.array([{"x": 1}, {"x": None}]), True),
        (Field(1, "a", struct(Field(2, "y", LONG, required=True))), pa.array([{"x": 1}, None]), True),
        (
            Field(1, "a", struct(Field(2, "y", LONG, required=True))),
            pa.array([None, None], pa.struct([("x", pa.int64())])),
            False,
        ),
        (Field(1, "a", ListType(Field(2, "element", LONG, required=True))), pa.array([[1], None, []]), False),
        (Field(1, "a", ListType(Field(2, "element", LONG, required=True))), pa.array([[1], [None]]), True),
        (Field(1, "b", LONG, required=True), pa.array([1, 2]), True),
        (Field(1, "a", INT), pa.array([1, 2**40]), True),
    ],
)
def test_values_that_contradict_the_schema(wanted: Field, values: pa.Array, is_refused: bool) -> None:
    if not is_refused:
        assert read(wanted, "a", values) == [{wanted.name: one} for one in values.to_pylist()]
        return
    with pytest.raises(CorruptMetadataError) as caught:
        read(wanted, "a", values)
    assert str(caught.value.field).startswith(wanted.name)


# ---- what another reader may take -----------------------------------------------------------------------------------

PLAIN = [
    (stored("a", pa.int64()), Field(1, "a", LONG), True),
    (stored("a", pa.int32()), Field(1, "a", LONG), False),
    (stored("a", pa.large_string()), Field(1, "a", TEXT), True),
    (stored("a", pa.string_view()), Field(1, "a", TEXT), True),
    (stored("a", pa.large_binary()), Field(1, "a", TEXT), False),
    (stored("a", pa.string()), Field(1, "a", TEXT, char_length=3), False),
    (stored("z", pa.int64()), Field(1, "a", LONG), True),
    (stored("z", pa.int64()), Field(1, "a", LONG, required=True), False),
    (stored("z", pa.int64()), Field(1, "a", LONG, required=True, initial_default=3), True),
    (stored("z", pa.int64()), Field(1, "a", struct(Field(2, "x", LONG))), False),
    (stored("a", pa.struct([("x", pa.int64())])), Field(1, "a", struct(Field(2, "x", LONG))), True),
    (stored("a", pa.struct([("X", pa.int64())])), Field(1, "a", struct(Field(2, "x", LONG))), False),
    (stored("a", pa.struct([("x", pa.int32())])), Field(1, "a", struct(Field(2, "x", LONG))), False),
    (stored("a", pa.struct([("x", pa.int64()), ("y", pa.int64())])), Field(1, "a", struct(Field(2, "x", LONG))), False),
    (stored("a", pa.struct([("x", pa.int64())])), Field(1, "a", struct(Field(2, "x", LONG, required=True))), False),
    (
        stored("a", pa.struct([stored("x", pa.int64(), None, True)])),
        Field(1, "a", struct(Field(2, "x", LONG, required=True))),
        True,
    ),
    (stored("a", pa.list_(pa.int64())), Field(1, "a", ListType(Field(2, "element", LONG))), True),
    (stored("a", pa.large_list(pa.int64())), Field(1, "a", ListType(Field(2, "element", LONG))), True),
    (stored("a", pa.list_(pa.int64(), 2)), Field(1, "a", ListType(Field(2, "element", LONG))), False),
    (stored("a", pa.list_(pa.int32())), Field(1, "a", ListType(Field(2, "element", LONG))), False),
    (stored("a", pa.list_(pa.int64())), Field(1, "a", ListType(Field(2, "element", LONG, required=True))), False),
    (
        stored("a", pa.map_(pa.string(), pa.int64())),
        Field(1, "a", MapType(Field(2, "key", TEXT, True), Field(3, "value", LONG))),
        True,
    ),
    (
        stored("a", pa.map_(pa.string(), pa.int32())),
        Field(1, "a", MapType(Field(2, "key", TEXT, True), Field(3, "value", LONG))),
        False,
    ),
    (
        stored("a", pa.map_(pa.int32(), pa.int64())),
        Field(1, "a", MapType(Field(2, "key", LONG, True), Field(3, "value", LONG))),
        False,
    ),
    (
        stored("a", pa.map_(pa.string(), pa.int64())),
        Field(1, "a", MapType(Field(2, "key", TEXT, True), Field(3, "value", LONG, True))),
        False,
    ),
]


@pytest.mark.parametrize(("column", "wanted", "is_plain"), PLAIN)
def test_columns_that_are_read_as_they_are(column: pa.Field, wanted: Field, is_plain: bool) -> None:
    beside = stored("other", pa.int64())
    found = resolver([beside, column]).project([Field(8, "other", LONG), wanted]).plain_columns()
    assert (found is not None) == is_plain
    if found is not None:
        (first, of_first), (second, of_second) = found
        assert (first.name, second) == ("other", wanted) and of_first.leaves == range(1)  # type: ignore[union-attr]
        assert isinstance(of_second, pa.Scalar) or of_second.leaves.start == 1


def test_values_of_leaves_and_constants() -> None:
    """Columns whose values become others, and elements of lists, are none of them."""
    columns = [
        stored("a", pa.int32()),
        stored("s", pa.struct([("x", pa.int64()), ("y", pa.string())])),
        stored("l", pa.list_(pa.int64())),
        stored("c", pa.string()),
    ]
    fields = [
        Field(1, "a", LONG),
        Field(2, "s", struct(Field(3, "y", TEXT), Field(4, "z", LONG, initial_default=4))),
        Field(5, "l", ListType(Field(6, "element", LONG))),
        Field(7, "c", TEXT, char_length=2),
        Field(8, "p", LONG),
    ]
    found = resolver(columns, constants={8: pa.scalar(7)}).project(fields)
    assert {id: (f.name, leaf) for id, (f, leaf) in found.stored_values().items()} == {1: ("a", 0), 3: ("y", 2)}
    assert {id: one.as_py() for id, one in found.constant_values().items()} == {4: 4, 8: 7}
    assert found.leaves == {0, 2, 3, 4}


@pytest.mark.parametrize(
    ("wanted", "leaves"),
    [
        (Field(1, "s", struct(Field(2, "new", LONG))), {0}),  # one leaf says which structs are NULL
        (Field(1, "s", struct(Field(2, "y", LONG))), {1}),
        (Field(1, "m", MapType(Field(2, "key", TEXT), Field(3, "value", struct(Field(4, "new", LONG))))), {2, 3}),
        (Field(1, "m", MapType(Field(2, "key", TEXT), Field(3, "value", struct(Field(4, "v", LONG))))), {2, 4}),
        (Field(1, "l", ListType(Field(2, "element", struct(Field(3, "new", LONG))))), {5}),
    ],
)
def test_leaves_that_are_read(wanted: Field, leaves: set[int]) -> None:
    pair = pa.struct([("u", pa.int64()), ("v", pa.int64())])
    columns = [
        stored("s", pa.struct([("x", pa.int64()), ("y", pa.int64())])),
        stored("m", pa.map_(pa.string(), pair)),
        stored("l", pa.list_(pair)),
    ]
    assert resolver(columns).project([wanted]).leaves == leaves
