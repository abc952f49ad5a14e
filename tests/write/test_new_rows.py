"""New rows on their way into a file: which types fit which columns, their order, and how files store them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.engines.arrow.writing import rewriting
from tableformats.engines.arrow.writing.partition_overwrite import (
    condition_of_partitions,
    files_of_partitions,
)
from tableformats.engines.arrow.writing.plain_types import plain_schema
from tableformats.engines.arrow.writing.row_order import sorted_rows
from tableformats.engines.arrow.writing.rows import reader_of, rows_of_table
from tableformats.engines.arrow.writing.schema_merge import merged_schema
from tableformats.engines.arrow.writing.stored_columns import FIELD_ID, stored_schema, stored_table
from tableformats.plugin import PartitionField, Schema, WriteTarget, primitive
from tableformats.plugin.writing.write_target import SortColumn, added_files_schema
from tableformats.schema.transforms import Transform

LARGE_TEXT, LARGE_BYTES = pa.large_string(), pa.large_binary()
POINT = pa.struct([("x", pa.int32()), ("y", pa.string())])


def target_of(schema: pa.Schema, **options: Any) -> WriteTarget:
    """Fields are numbered from 1 on, depth first."""
    return WriteTarget(Schema.from_arrow(schema), **options)


def as_table(values: pa.Array, kind: pa.DataType) -> list[Any]:
    """Rows with one column, as a table has them whose column is of the type ``kind``."""
    rows = pa.table({"a": values})
    (batch,) = rows_of_table(reader_of(rows), target_of(pa.schema([("a", kind)])))
    assert batch.schema.field("a").type == kind
    return list(batch.column(0).to_pylist())


@pytest.mark.parametrize(
    ("given", "kind", "values"),
    [
        (pa.int8(), pa.int64(), [1, None]),
        (pa.uint64(), pa.int16(), [7]),
        (pa.int64(), pa.int8(), [-128, 127]),
        (pa.int8(), pa.float32(), [3]),
        (pa.int16(), pa.float32(), [3]),
        (pa.int64(), pa.float64(), [3]),
        (pa.float16(), pa.float32(), [0.5]),
        (pa.float32(), pa.float64(), [0.5]),
        (pa.float64(), pa.float64(), [0.5]),
        (pa.int32(), pa.decimal128(12, 2), [3]),
        (pa.decimal128(3, 1), pa.decimal128(5, 2), [Decimal("1.5")]),
        (LARGE_TEXT, pa.string(), ["x"]),
        (pa.string_view(), pa.string(), ["x"]),
        (LARGE_BYTES, pa.binary(), [b"x"]),
        (pa.binary_view(), pa.binary(), [b"x"]),
        (pa.date64(), pa.date32(), [dt.date(2020, 1, 2)]),
        (pa.timestamp("s"), pa.timestamp("us"), [dt.datetime(2020, 1, 2)]),
        (pa.bool_(), pa.bool_(), [True, False]),
        (pa.null(), pa.int32(), [None]),
        (pa.null(), POINT, [None]),
        (pa.large_list(pa.int32()), pa.list_(pa.int32()), [[1], None]),
        (pa.list_(pa.int32()), pa.list_(pa.int32()), [[1, None], []]),
        (POINT, POINT, [{"x": 1, "y": "a"}, None]),
        (pa.struct([("x", pa.int32()), ("y", pa.string_view())]), POINT, [{"x": 1, "y": "a"}, None]),
        (pa.large_list(pa.string_view()), pa.list_(pa.string()), [["a", None], None, []]),
        (pa.list_(LARGE_TEXT), pa.list_(pa.string()), [["a", None], None, []]),
        (pa.list_(pa.binary_view()), pa.list_(pa.binary()), [[b"a"]]),
        (pa.map_(LARGE_TEXT, LARGE_BYTES), pa.map_(pa.string(), pa.binary()), [[("k", b"v")]]),
        (pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int32()), [[("k", 1)]]),
    ],
    ids=str,
)
def test_types_whose_values_a_column_takes(given: pa.DataType, kind: pa.DataType, values: list[Any]) -> None:
    assert as_table(pa.array(values, given), kind) == values
    if not pa.types.is_nested(given) and not pa.types.is_null(given) and not pa.types.is_float16(given):
        assert as_table(pa.array(values, given).dictionary_encode(), kind) == values


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (pa.int32(), pa.float32()),
        (pa.int64(), pa.float32()),
        (pa.uint8(), pa.float32()),
        (pa.string(), pa.float32()),
        (pa.float64(), pa.float32()),
        (pa.float64(), pa.int32()),
        (pa.float64(), pa.decimal128(5, 2)),
        (pa.decimal128(3, 0), pa.int64()),
        (pa.decimal128(3, 0), pa.float64()),
        (pa.bool_(), pa.int32()),
        (pa.int32(), pa.bool_()),
        (pa.string(), pa.int32()),
        (pa.int32(), pa.string()),
        (pa.string(), pa.binary()),
        (pa.binary(), pa.string()),
        (pa.date32(), pa.timestamp("us")),
        (pa.timestamp("us"), pa.date32()),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.timestamp("us", "UTC"), pa.timestamp("us")),
        (pa.int64(), pa.timestamp("us")),
        (pa.list_(pa.int64()), pa.list_(pa.int32())),
        (pa.list_(LARGE_BYTES), pa.list_(pa.string())),
        (pa.list_(pa.date64()), pa.list_(pa.date32())),
        (pa.list_(pa.int32(), 2), pa.list_(pa.int32())),
        (pa.map_(pa.string(), pa.int32()), pa.list_(pa.int32())),
        (pa.struct([("y", pa.string()), ("x", pa.int32())]), POINT),
        (pa.struct([("x", pa.int32())]), POINT),
        (pa.struct([("x", pa.int64()), ("y", pa.string())]), POINT),
        (pa.struct([("x", pa.int32()), ("y", pa.int32())]), POINT),
        (pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), pa.int32())),
        (pa.map_(pa.int32(), pa.int32()), pa.map_(pa.string(), pa.int32())),
        (pa.list_(pa.int32()), pa.map_(pa.string(), pa.int32())),
        (pa.string(), POINT),
        (POINT, pa.string()),
    ],
    ids=str,
)
def test_types_that_a_column_does_not_take(given: pa.DataType, kind: pa.DataType) -> None:
    for rows in (pa.array([], given), pa.nulls(2, given)):
        with pytest.raises(tf.ConstraintViolationError, match="is not written to a column of the type") as caught:
            as_table(rows, kind)
        assert caught.value.field == "a"


@pytest.mark.parametrize(
    ("value", "given", "kind"),
    [
        (128, pa.int64(), pa.int8()),
        (2**53 + 1, pa.int64(), pa.float64()),
        (1000, pa.int32(), pa.decimal128(5, 2)),
        (Decimal("1.55"), pa.decimal128(4, 2), pa.decimal128(4, 1)),
        (1, pa.timestamp("ns"), pa.timestamp("us")),
    ],
)
def test_values_that_a_column_does_not_hold_exactly(value: Any, given: pa.DataType, kind: pa.DataType) -> None:
    with pytest.raises(tf.ConstraintViolationError, match="a value is not exactly one of the type") as caught:
        as_table(pa.array([value], given), kind)
    assert caught.value.field == "a" and "\n" not in str(caught.value.message)


def test_rows_of_polars(tmp_path: Path) -> None:
    """Its texts are views, also those of categories, and its lists are large."""
    polars = pytest.importorskip("polars")
    columns = {"c": polars.Categorical, "e": polars.Enum(["u", "v"]), "l": polars.List(polars.String)}
    columns["s"] = polars.Struct({"t": polars.String, "b": polars.Binary})
    rows = [
        {"c": "x", "e": "v", "l": ["a", None], "s": {"t": "a", "b": b"b"}},
        {"c": None, "e": None, "l": None, "s": None},
    ]
    tf.write_table(polars.DataFrame(rows, schema=columns), tmp_path / "t", format="delta")
    assert tf.open_table(tmp_path / "t").to_arrow().to_pylist() == rows


def test_columns_are_matched_by_name_without_case() -> None:
    target = target_of(pa.schema([("a", pa.int64()), ("B", pa.string()), ("c", pa.int32())]))
    (batch,) = rows_of_table(reader_of(pa.table({"b": ["x"], "A": [1]})), target)
    assert batch.to_pylist() == [{"a": 1, "B": "x", "c": None}]
    for rows, field, text in (
        (pa.table({"d": [1]}), "d", "the table has no such column"),
        (pa.table([[1], [2]], names=["a", "A"]), "A", "the data has a column twice"),
    ):
        with pytest.raises(tf.ConstraintViolationError, match=text) as caught:
            list(rows_of_table(reader_of(rows), target))
        assert caught.value.field == field


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (pa.uint8(), pa.int16()),
        (pa.uint16(), pa.int32()),
        (pa.uint32(), pa.int64()),
        (pa.uint64(), pa.decimal128(20, 0)),
        (pa.int8(), pa.int8()),
        (pa.float16(), pa.float32()),
        (pa.dictionary(pa.int8(), pa.uint8()), pa.int16()),
        (pa.timestamp("ns"), pa.timestamp("us")),
        (pa.timestamp("s", "Europe/Berlin"), pa.timestamp("us", "UTC")),
        (pa.date64(), pa.date32()),
        (LARGE_TEXT, pa.string()),
        (pa.string_view(), pa.string()),
        (LARGE_BYTES, pa.binary()),
        (pa.binary_view(), pa.binary()),
        (pa.struct([("u", pa.uint8()), ("v", LARGE_TEXT)]), pa.struct([("u", pa.int16()), ("v", pa.string())])),
        (pa.list_(pa.uint8()), pa.list_(pa.int16())),
        (pa.large_list(pa.uint8()), pa.list_(pa.int16())),
        (pa.list_(pa.uint8(), 2), pa.list_(pa.int16())),
        (pa.map_(pa.uint8(), LARGE_TEXT), pa.map_(pa.int16(), pa.string())),
        (pa.bool_(), pa.bool_()),
    ],
    ids=str,
)
def test_types_of_a_new_table(given: pa.DataType, plain: pa.DataType) -> None:
    for nullable in (True, False):
        assert plain_schema(pa.schema([pa.field("a", given, nullable)])) == pa.schema([pa.field("a", plain, nullable)])


def test_the_index_of_pandas_is_no_column() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2]}, index=[7, 8])
    assert reader_of(frame).schema.names == ["a"]
    with pytest.raises(TypeError, match="not list"):
        reader_of([1])


class Planned:
    """A plan of files, of which some match as a whole; ``rows`` are those that the metadata count, -1 unknown."""

    def __init__(self, matched: list[bool], rows: list[int], found: list[list[int]]) -> None:
        self.survivors = pa.table({"fully_matched": matched})
        self.rows, self.found = rows, found

    def __len__(self) -> int:
        return len(self.found)

    def take(self, chosen: Any) -> Any:
        return [int(i) for i in chosen]


@pytest.mark.parametrize(
    ("matched", "rows", "found", "removed", "rewritten", "deleted"),
    [
        ([True, False, False], [5, 9, 9], [[], [0, 0], [2, 1]], [0, 2], [1], 8),
        ([True, True], [5, 0], [[], []], [0, 1], [], 5),
        ([True, False], [-1, 9], [[], [1]], [0, 1], [1], None),
        ([True, False], [4, -1], [[], [1]], [0, 1], [1], 5),
        ([False], [9], [[0]], [], [], 0),
    ],
)
def test_files_that_go_and_those_that_are_written_again(
    matched: list[bool],
    rows: list[int],
    found: list[list[int]],
    removed: list[int],
    rewritten: list[int],
    deleted: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file that matches as a whole is not read; one without a matching row stays."""
    plan: Any = Planned(matched, rows, found)
    monkeypatch.setattr(rewriting, "tasks_of", list)
    monkeypatch.setattr(rewriting, "rows_by_metadata", lambda plan: np.array(plan.rows))
    monkeypatch.setattr(rewriting, "count_rows", lambda plan, tasks: iter(plan.found[tasks[0]]))
    removal: Any = rewriting.removal_of(plan)
    assert (removal.removed, removal.rewritten.tolist(), removal.deleted_rows) == (removed, rewritten, deleted)


def ordered(values: list[Any], kind: pa.DataType, *columns: SortColumn) -> list[int]:
    target = target_of(pa.schema([("a", kind), ("n", pa.int64())]), sort_by=columns or (SortColumn(1),))
    rows = pa.table({"a": pa.array(values, kind), "n": range(len(values))})
    return [int(n) for n in sorted_rows(rows, target)["n"].to_pylist()]


NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "kind", "column", "order"),
    [
        ([2, 1, 3], pa.int64(), SortColumn(1), [1, 0, 2]),
        ([2, 1], pa.int64(), SortColumn(1), [1, 0]),
        ([2, 1, 3], pa.int64(), SortColumn(1, descending=True), [2, 0, 1]),
        ([2, None, 1], pa.int64(), SortColumn(1), [1, 2, 0]),
        ([2, None, 1], pa.int64(), SortColumn(1, nulls_first=False), [2, 0, 1]),
        ([2, None, 1], pa.int64(), SortColumn(1, descending=True), [1, 0, 2]),
        ([2, None, 1], pa.int64(), SortColumn(1, descending=True, nulls_first=False), [0, 2, 1]),
        ([1.0, NAN, -1.0, None], pa.float64(), SortColumn(1), [3, 2, 0, 1]),
        ([1.0, NAN, -1.0], pa.float32(), SortColumn(1, descending=True), [1, 0, 2]),
        ([0.0, -0.0, -2.0, -1.0], pa.float64(), SortColumn(1), [2, 3, 1, 0]),
        ([5, 1, 3], pa.int64(), SortColumn(1, transform=Transform("truncate", 10)), [0, 1, 2]),
        ([15, 1, 3], pa.int64(), SortColumn(1, transform=Transform("truncate", 10)), [1, 2, 0]),
        ([{"x": 2, "y": "a"}, None, {"x": 1, "y": "b"}], POINT, SortColumn(2), [1, 2, 0]),
        ([{"x": 1, "y": "b"}, None, {"x": 2, "y": "a"}], POINT, SortColumn(3), [1, 2, 0]),
    ],
    ids=str,
)
def test_rows_of_a_file_in_order(values: list[Any], kind: pa.DataType, column: SortColumn, order: list[int]) -> None:
    assert ordered(values, kind, column) == order


def test_rows_that_are_equal_in_the_first_column_are_ordered_by_the_next() -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    rows = pa.table({"a": [None, 1, None, 1], "b": [2, None, 1, 5]}, schema=schema)
    target = target_of(schema, sort_by=(SortColumn(1), SortColumn(2, descending=True, nulls_first=False)))
    chunks = pa.concat_tables([rows.slice(0, 3), rows.slice(3)])
    assert sorted_rows(chunks, target).to_pydict() == {"a": [None, None, 1, 1], "b": [2, 1, 5, None]}
    assert sorted_rows(rows, target_of(schema)).equals(rows)


def field_ids(field: pa.Field) -> list[Any]:
    kind, found = field.type, [(field.metadata or {}).get(FIELD_ID.encode())]
    if pa.types.is_map(kind):
        below = [kind.key_field, kind.item_field]
    else:
        below = [kind.field(i) for i in range(kind.num_fields)]
    return found + [one for member in below for one in field_ids(member)]


NESTED = pa.schema(
    [
        pa.field("a", pa.int64(), nullable=False),
        ("p", POINT),
        ("l", pa.list_(pa.int32())),
        ("m", pa.map_(pa.string(), pa.int32())),
    ]
)


def test_fields_of_files_have_ids_and_stored_names() -> None:
    plain = stored_schema(target_of(NESTED))
    assert plain.names == NESTED.names and {one for f in plain for one in field_ids(f)} == {None}
    assert [f.nullable for f in plain] == [False, True, True, True]
    assert plain.field("m").type.key_field.nullable is False and plain.field("m").type.item_field.nullable is True
    options = {"with_field_ids": True, "unnumbered": frozenset((2,)), "stored_names": {1: "c1", 3: "cx", 6: "no"}}
    found = stored_schema(target_of(NESTED, **options))
    assert found.names == ["c1", "p", "l", "m"] and [f.name for f in found.field("p").type] == ["cx", "y"]
    ids = [[None if one is None else int(one) for one in field_ids(f)] for f in found]
    assert ids == [[1], [None, 3, 4], [5, 6], [7, 8, 9]]
    assert [found.field("l").type.value_field.name, found.field("m").type.key_field.name] == ["element", "key"]


def test_rows_get_the_names_of_files_from_any_place_in_a_batch() -> None:
    row = {"a": 1, "p": {"x": 1, "y": "u"}, "l": [1, 2], "m": [("k", 1)]}
    none = {"a": 2, "p": None, "l": None, "m": None}
    rows = pa.Table.from_pylist([row, none, {**row, "a": 3, "l": []}, {**none, "a": 4}], schema=NESTED)
    target = target_of(NESTED, stored_names={1: "c1", 3: "cx"})
    for start in range(4):
        found = stored_table(rows.slice(start), stored_schema(target))
        found.validate(full=True)
        expected = [
            {"c1": one["a"], "p": one["p"] and {"cx": one["p"]["x"], "y": one["p"]["y"]}, "l": one["l"], "m": one["m"]}
            for one in rows.slice(start).to_pylist()
        ]
        assert found.to_pylist() == expected


IDENTITY = Transform("identity")


def partition_target(**options: Any) -> WriteTarget:
    schema = pa.schema([("a", pa.int64()), ("b", pa.string()), ("c", pa.int64())])
    partitioning = (
        PartitionField(1000, "a", 1, IDENTITY, primitive("long")),
        PartitionField(1001, "b", 2, IDENTITY, primitive("string")),
        PartitionField(1002, "c_bucket", 3, Transform("bucket", 4), primitive("int")),
    )
    return target_of(schema, partitioning=partitioning, **options)


def added_to(target: WriteTarget, *partitions: tuple[Any, ...]) -> pa.Table:
    schema = added_files_schema(target)
    names = [f.name for f in schema.field("partition").type]
    rows = [{"path": str(i), "partition": dict(zip(names, one, strict=True))} for i, one in enumerate(partitions)]
    return pa.Table.from_pylist(rows, schema=schema)


@pytest.mark.parametrize(
    ("partitions", "condition"),
    [
        ([(1, "x", 0)], "a IN (1) AND b IN ('x')"),
        ([(1, "x", 0), (2, "x", 3)], "a IN (1, 2) AND b IN ('x')"),
        ([(1, None, 0)], "a IN (1) AND b IS NULL"),
        ([(1, None, 0), (None, "x", 0)], "(a IN (1) OR a IS NULL) AND (b IN ('x') OR b IS NULL)"),
    ],
)
def test_the_condition_of_partitions(partitions: list[tuple[Any, ...]], condition: str) -> None:
    """Only columns themselves are in it."""
    target = partition_target()
    snapshot: Any = SimpleNamespace(bind=str)
    assert str(condition_of_partitions(added_to(target, *partitions), target, snapshot)) == condition


def test_the_condition_of_one_column_and_of_none() -> None:
    target = partition_target()
    snapshot: Any = SimpleNamespace(bind=str)
    for fields, condition in ((target.partitioning[:1], "a IN (5)"), (target.partitioning[2:], "TRUE")):
        one = target_of(target.schema.to_arrow(), partitioning=fields)
        found = condition_of_partitions(added_to(one, (5,)), one, snapshot)
        assert str(found).upper() == condition.upper()


@pytest.mark.parametrize("texts", [True, False])
def test_files_of_the_partitions_of_new_files(texts: bool) -> None:
    """Those of another partition spec are none of them."""
    target = partition_target(spec_id=3, partition_text=(lambda field, value: f"<{value}>") if texts else None)
    added = added_to(target, (1, "x", 0), (1, None, 0))
    planned = added_to(target, (1, "x", 0), (1, "x", 1), (1, None, 0), (1, "x", 0), (2, "x", 0))
    survivors = planned.append_column("spec_id", pa.array([3, 3, 3, 2, 3], pa.int32()))
    plan: Any = SimpleNamespace(survivors=survivors, take=lambda rows: rows.tolist())
    assert files_of_partitions(plan, added, target) == [0, 2]
    nothing: Any = SimpleNamespace(survivors=survivors.slice(0, 0), take=lambda rows: rows.tolist())
    assert files_of_partitions(nothing, added, target) == []
    empty: Any = SimpleNamespace(
        survivors=survivors.schema.empty_table().combine_chunks(), take=lambda rows: rows.tolist()
    )
    assert files_of_partitions(empty, added, target) == []


@pytest.mark.parametrize("texts", [True, False])
def test_files_of_partitions_of_days_that_python_lacks(texts: bool) -> None:
    """Where a value is none of Python's, the condition leaves its column out, and the files are told by the text."""
    field = PartitionField(1000, "d", 1, IDENTITY, primitive("date"))
    schema = pa.schema([("d", pa.date32())])
    text = (lambda field, value: value.isoformat()) if texts else None
    target = target_of(schema, partitioning=(field,), partition_text=text)

    def files(*days: int | None) -> pa.Table:
        table = added_to(target, *((None,) for _ in days))
        member = pa.array(days, pa.int32()).cast(pa.date32())
        partition = pa.StructArray.from_arrays([member], ["1000"])
        return table.set_column(table.schema.get_field_index("partition"), "partition", partition)

    snapshot: Any = SimpleNamespace(bind=str)
    assert str(condition_of_partitions(files(5_000_000, 3), target, snapshot)).upper() == "TRUE"
    assert "1970-01-04" in str(condition_of_partitions(files(3), target, snapshot))
    survivors = files(3, 5_000_000, 5_000_001, None).append_column("spec_id", pa.array([0] * 4, pa.int32()))
    plan: Any = SimpleNamespace(survivors=survivors, take=lambda rows: rows.tolist())
    assert files_of_partitions(plan, files(3), target) == [0]
    assert files_of_partitions(plan, files(5_000_001, None), target) == [2, 3]


def test_files_without_partitions_are_all_of_one() -> None:
    target = target_of(pa.schema([("a", pa.int64())]))
    survivors = added_to(target, (), ()).append_column("spec_id", pa.array([0, 1], pa.int32()))
    plan: Any = SimpleNamespace(survivors=survivors, take=lambda rows: rows.tolist())
    assert files_of_partitions(plan, added_to(target, ()), target) == [0]


def test_new_columns_have_no_ids_at_any_depth() -> None:
    table = Schema.from_arrow(pa.schema([("id", pa.int64())]))
    found = merged_schema(table, pa.schema([("id", pa.int64()), pa.field("p", NESTED.field("p").type, nullable=False)]))
    assert found is not None and found.names == ["id", "p"]
    added = found.fields[1]
    assert (added.id, added.required) == (0, False) and [m.id for m in added.type.members] == [0, 0]
    for kind in (NESTED.field("l").type, NESTED.field("m").type):
        more = merged_schema(table, pa.schema([("more", kind)]))
        assert more is not None and {m.id for m in more.fields[1].type.members} == {0}
