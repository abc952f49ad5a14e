"""Projection of structs, lists and maps against a slow model that knows only Python values (hypothesis)."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.engines.arrow.file_columns import identity_values
from tableformats.engines.arrow.files.column_tree import Selection, file_tree
from tableformats.engines.arrow.files.opening import open_data_file
from tableformats.engines.arrow.projection import Resolver
from tableformats.errors import LimitExceededError
from tableformats.limits import DEFAULT_LIMITS, Limits
from tableformats.plugin import NameMapping, PartitionField, PartitionSpec
from tableformats.schema import Field, ListType, MapType, Schema, StructType, Type, number_fields, primitive
from tableformats.schema.transforms import parse_transform
from tests.support.examples import examples

SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-5, 5),
    "long": st.integers(-(2**40), 2**40),
    "string": st.text("ab", max_size=2),
    "boolean": st.booleans(),
    "double": st.sampled_from([0.5, -1.5]),
}
WIDER = {"int": "long", "long": "long", "string": "string", "boolean": "boolean", "double": "double"}


def kinds(depth: int) -> st.SearchStrategy[Type]:
    leaf = st.sampled_from(list(SCALARS)).map(primitive)
    if depth == 0:
        return leaf
    below = kinds(depth - 1)
    return st.one_of(
        leaf,
        members(below, 1).map(lambda fields: StructType(tuple(fields))),
        below.map(lambda kind: ListType(Field(0, "element", kind))),
        below.map(lambda kind: MapType(Field(0, "key", primitive("string"), True), Field(0, "value", kind))),
    )


def members(below: st.SearchStrategy[Type], least: int) -> st.SearchStrategy[list[Field]]:
    # Names with dots, and "element" and "key", must not be taken for paths.
    names = st.lists(st.sampled_from(["a", "b", "a.b", "element", "key"]), min_size=least, max_size=4, unique=True)
    return names.flatmap(lambda ns: st.tuples(*(below.map(lambda k, n=n: Field(0, n, k)) for n in ns)).map(list))


def values(kind: Type) -> st.SearchStrategy[Any]:
    if isinstance(kind, StructType):
        return st.none() | st.fixed_dictionaries({f.name: values(f.type) for f in kind.fields})
    if isinstance(kind, ListType):
        return st.none() | st.lists(values(kind.element.type), max_size=3)
    if isinstance(kind, MapType):
        entries = st.dictionaries(SCALARS["string"], values(kind.value.type), max_size=3)
        return st.none() | entries.map(lambda d: list(d.items()))
    return st.none() | SCALARS[str(kind).replace("bigint", "long")]


@st.composite
def evolved(draw: st.DrawFn, kind: Type) -> Type:
    """What the type may have become: members dropped, added, renamed and reordered, numbers widened."""
    if isinstance(kind, StructType):
        return StructType(tuple(draw(evolved_members(kind.fields))))
    if isinstance(kind, ListType):
        return ListType(replace(kind.element, type=draw(evolved(kind.element.type))))
    if isinstance(kind, MapType):
        return MapType(kind.key, replace(kind.value, type=draw(evolved(kind.value.type))))
    name = str(kind).replace("bigint", "long")
    return primitive(draw(st.sampled_from([name, WIDER[name]])))


@st.composite
def evolved_members(draw: st.DrawFn, fields: tuple[Field, ...]) -> list[Field]:
    kept = [f for f in fields if draw(st.integers(0, 3))]
    changed = []
    for f in kept:
        name = draw(st.sampled_from([f.name, f"new {f.id}"]))
        changed.append(replace(f, name=name, physical_name=f.name, type=draw(evolved(f.type))))
    for i in range(draw(st.integers(0, 2))):
        default = draw(st.none() | st.just("d"))
        changed.append(Field(1000 + i, f"added {i}", primitive("string"), initial_default=default))
    changed = draw(st.permutations(changed))
    taken: set[str] = set()
    return [f for f in changed if not (f.name in taken or taken.add(f.name))]


def model(value: Any, stored: Type, now: Type) -> Any:
    """The value as the evolved type shows it."""
    if value is None:
        return None
    if isinstance(now, StructType):
        assert isinstance(stored, StructType)
        found = {f.id: f for f in stored.fields}
        return {
            f.name: model(value[found[f.id].name], found[f.id].type, f.type) if f.id in found else f.initial_default
            for f in now.fields
        }
    if isinstance(now, ListType):
        assert isinstance(stored, ListType)
        return [model(v, stored.element.type, now.element.type) for v in value]
    if isinstance(now, MapType):
        assert isinstance(stored, MapType)
        return [(k, model(v, stored.value.type, now.value.type)) for k, v in value]
    return value


@st.composite
def cases(draw: st.DrawFn) -> tuple[Schema, list[dict[str, Any]], list[Field]]:
    stored = Schema(number_fields(draw(members(kinds(3), 1))))
    whole = values(StructType(stored.fields)).filter(lambda row: row is not None)
    rows = draw(st.lists(whole, max_size=6))
    return stored, rows, draw(evolved_members(stored.fields))


class Bytes:
    """A storage of one file in memory."""

    limits = DEFAULT_LIMITS

    def __init__(self, table: pa.Table) -> None:
        sink = io.BytesIO()
        pq.write_table(table, sink, row_group_size=4)
        self._data = sink.getvalue()

    def open_file(self, path: str, size: int = 0, tail: Any = None) -> pa.NativeFile:
        return pa.BufferReader(self._data)


@settings(max_examples=examples(150), deadline=None)
@given(cases(), st.sampled_from(["id", "name"]))
def test_projection_agrees_with_the_model(case: tuple[Schema, list[dict[str, Any]], list[Field]], by: str) -> None:
    stored, rows, now = case
    table = pa.Table.from_pylist(rows, schema=stored.to_arrow())
    task: Any = SimpleNamespace(path="memory", file_format="parquet", size_bytes=1, start=0, length=1)
    got: list[pa.RecordBatch] = []
    with open_data_file(Bytes(table), task, NameMapping(by)) as file:  # type: ignore[arg-type]
        projection = Resolver(file.root, NameMapping(by)).project(now)
        selection = file.select(projection.leaves)
        got = [projection.read(batch, selection) for _, batch in file.rows(selection)]
    expected = [model(row, StructType(stored.fields), StructType(tuple(now))) for row in rows]
    for batch in got:
        batch.validate(full=True)
        assert batch.schema.equals(Schema(tuple(now)).to_arrow(), check_metadata=True)
    assert sum(batch.num_rows for batch in got) == len(rows)
    if now:
        assert [row for batch in got for row in batch.to_pylist()] == expected


@settings(max_examples=examples(60), deadline=None)
@given(cases(), st.data())
def test_slices_are_read_like_their_copies(case: tuple[Schema, list[dict[str, Any]], list[Field]], data: Any) -> None:
    """Arrow hands out arrays with offsets; no buffer may be read from its beginning then."""
    stored, rows, now = case
    array = pa.Table.from_pylist(rows * 4, schema=stored.to_arrow()).to_struct_array().combine_chunks()
    array = array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)
    start = data.draw(st.integers(0, len(array)))
    length = data.draw(st.integers(0, len(array) - start))
    root = file_tree(stored.to_arrow(), b"PARQUET:field_id", "memory")
    projection = Resolver(root, NameMapping("id")).project(now)
    batch = projection.read(array.slice(start, length), Selection(root, root.leaves))
    batch.validate(full=True)
    sliced = (rows * 4)[start : start + length]
    expected = [model(row, StructType(stored.fields), StructType(tuple(now))) for row in sliced]
    assert batch.num_rows == length
    if now:
        assert batch.to_pylist() == expected


@pytest.mark.parametrize("layout", ["large_list", "fixed_size_list"])
def test_other_layouts_of_lists(layout: str) -> None:
    item = pa.struct([pa.field("x", pa.int32())])
    kind = pa.large_list(item) if layout == "large_list" else pa.list_(item, 2)
    rows = [[{"x": 1}, None], None, [{"x": None}, {"x": 4}]]
    array = pa.StructArray.from_arrays([pa.array(rows, kind)], names=["l"])
    root = file_tree(pa.schema([("l", kind)]), b"PARQUET:field_id", "memory")
    l = Field(1, "l", ListType(Field(2, "element", StructType((Field(3, "x", primitive("long")),)))))
    batch = Resolver(root, NameMapping("name")).project([l]).read(array.slice(1), Selection(root, root.leaves))
    batch.validate(full=True)
    assert batch.to_pylist() == [{"l": row} for row in rows[1:]]


def test_duplicate_names_are_told_apart_by_id() -> None:
    fields = [pa.field("a", pa.int64(), metadata={"PARQUET:field_id": str(i)}) for i in (1, 2, 3)]
    array = pa.StructArray.from_arrays([pa.array([10]), pa.array([30])], fields=[fields[0], fields[2]])
    root = file_tree(pa.schema(fields), b"PARQUET:field_id", "memory")
    wanted = [Field(3, "z", primitive("long")), Field(1, "y", primitive("long"))]
    projection = Resolver(root, NameMapping("id")).project(wanted)
    assert projection.leaves == {0, 2}
    assert projection.read(array, Selection(root, projection.leaves)).to_pylist() == [{"z": 30, "y": 10}]


def test_schema_nested_too_deep_is_refused() -> None:
    kind = pa.int64()
    for _ in range(DEFAULT_LIMITS.nesting):
        kind = pa.struct([("a", kind)])
    with pytest.raises(LimitExceededError, match="nesting"):
        file_tree(pa.schema([("a", kind)]), b"PARQUET:field_id", "memory")


def test_the_deepest_schema_is_taken() -> None:
    """A leaf is a level of its own, and so is each struct, list and map around it."""
    kind = pa.map_(pa.string(), pa.list_(pa.struct([("a", pa.int64())])))
    schema = pa.schema([("a", kind), ("b", pa.int64())])
    root = file_tree(schema, b"PARQUET:field_id", "memory", Limits(nesting=4))
    assert [child.leaves for child in root.children] == [range(2), range(2, 3)]
    with pytest.raises(LimitExceededError, match="nesting"):
        file_tree(schema, b"PARQUET:field_id", "memory", Limits(nesting=3))


def test_a_file_without_columns_has_no_leaves() -> None:
    assert file_tree(pa.schema([]), b"PARQUET:field_id", "memory").leaves == range(0)


def test_only_identity_values_stand_for_a_column() -> None:
    """A bucket or a truncated value is none of the column's."""
    kind = primitive("int")
    fields = [
        PartitionField(1000 + i, f"p{i}", i, parse_transform(text), kind)
        for i, text in enumerate(["identity", "bucket[4]", "truncate[10]", "void"], start=1)
    ]
    snapshot: Any = SimpleNamespace(specs={3: PartitionSpec(3, tuple(fields))})
    task: Any = SimpleNamespace(spec_id=3, partition={f.id: pa.scalar(7) for f in fields})
    assert identity_values(snapshot, task) == {1: pa.scalar(7)}
