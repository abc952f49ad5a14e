"""Row groups without a matching row are not read, and no row is lost by that.

The independent row model says which rows match. Which row groups are read is counted where they are read.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.expressions.binding import bind
from tableformats.io.parquet.chunks import RowGroups
from tableformats.schema import DecimalType, Field, ListType, Schema, StructType, primitive
from tests.support import rowmodel
from tests.support.arrow_fakes import FakeFile, snapshot_of, write
from tests.support.examples import examples
from tests.support.strategies import VALUES, ModelFile, ModelTable, PartitionSpec, predicates, to_array, type_of

LONG, STRING, DOUBLE = primitive("long"), primitive("string"), primitive("double")
ID, NAME, X = Field(1, "id", LONG), Field(2, "name", STRING), Field(3, "x", DOUBLE)


def ids(root: Path, table: pa.Table, *fields: Field, filter: str, files: Any = None, **options: Any) -> list[Any]:
    path = write(root, table, row_group_size=2, **options)
    snapshot = snapshot_of(root, fields, files(path) if files else [FakeFile(path, table.num_rows)])
    return snapshot.scan(filter, columns=["id"]).to_arrow()["id"].to_pylist()  # type: ignore[no-any-return]


def test_only_row_groups_that_may_match_are_read(tmp_path: Path, groups_read: set[int]) -> None:
    table = pa.table({"id": range(10)})
    assert ids(tmp_path, table, ID, filter="id IN (3, 8)") == [3, 8]
    assert groups_read == {1, 4}


def test_no_row_group_is_read_where_none_matches(tmp_path: Path, groups_read: set[int]) -> None:
    table = pa.table({"id": range(10), "name": ["b"] * 10})
    assert ids(tmp_path, table, ID, NAME, filter="name = 'a'") == []
    assert not groups_read


def test_counts_say_where_nulls_are(tmp_path: Path, groups_read: set[int]) -> None:
    table = pa.table({"id": range(6), "name": ["b", "b", None, None, "b", None]})
    assert ids(tmp_path, table, ID, NAME, filter="name IS NULL") == [2, 3, 5]
    assert groups_read == {1, 2}
    groups_read.clear()
    assert ids(tmp_path, table, ID, NAME, filter="name IS NOT NULL") == [0, 1, 4]
    assert groups_read == {0, 2}


def test_a_nan_may_stand_beside_the_bounds(tmp_path: Path, groups_read: set[int]) -> None:
    table = pa.table({"id": range(4), "x": [1.0, float("nan"), 1.0, 2.0]})
    assert ids(tmp_path, table, ID, X, filter="x > 5") == [1]
    assert groups_read == {0, 1}
    groups_read.clear()
    assert ids(tmp_path, table, ID, X, filter="x = 5") == []
    assert not groups_read


@pytest.mark.parametrize(
    ("stored", "kind", "value"),
    [
        (pa.array([1, 1, 7, 7], pa.int32()), LONG, "7"),
        (pa.array([1.5, 1.5, 7.5, 7.5], pa.float32()), DOUBLE, "7.5"),
        (pa.array([Decimal("1.20")] * 2 + [Decimal("-7.25")] * 2, pa.decimal128(5, 2)), DecimalType(30, 2), "-7.25"),
        (pa.array([1, 1, 7, 7], pa.int32()), DecimalType(12, 2), "7"),
        (pa.array([dt.date(2020, 1, 1)] * 2 + [dt.date(2021, 1, 1)] * 2), primitive("timestamp_ntz"), "'2021-01-01'"),
        (pa.array([1000, 1000, 7000, 7000], pa.timestamp("ms")), primitive("timestamp_ntz"), "'1970-01-01 00:00:07'"),
        (pa.array([b"a", b"a", b"\xff", b"\xff"]), primitive("binary"), "X'FF'"),
        (pa.array([False, False, True, True]), primitive("boolean"), "TRUE"),
    ],
    ids=lambda given: str(given.type) if isinstance(given, pa.Array) else str(given),
)
@pytest.mark.parametrize("options", [{}, {"store_decimal_as_integer": True}], ids=["", "integers"])
def test_types_that_were_widened(
    tmp_path: Path, groups_read: set[int], stored: pa.Array, kind: Any, value: str, options: dict[str, Any]
) -> None:
    table = pa.table({"id": range(4), "v": stored})
    assert ids(tmp_path, table, ID, Field(2, "v", kind), filter=f"v = {value}", **options) == [2, 3]
    assert groups_read == {1}


def test_members_of_structs(tmp_path: Path, groups_read: set[int]) -> None:
    inner = StructType((Field(5, "a", LONG), Field(6, "b", LONG)))
    table = pa.table(
        {"id": range(6), "s": [{"b": 1, "a": 9}] * 2 + [None, {"b": None, "a": 9}] + [{"b": 5, "a": 9}] * 2}
    )
    assert ids(tmp_path, table, ID, Field(4, "s", inner), filter="s.b = 5") == [4, 5]
    assert groups_read == {2}
    groups_read.clear()
    assert ids(tmp_path, table, ID, Field(4, "s", inner), filter="s.b IS NULL") == [2, 3]
    assert groups_read == {1}


def test_elements_of_lists_bound_nothing(tmp_path: Path) -> None:
    table = pa.table({"id": range(4), "l": [[1, 7], [], [2], None]})
    column = Field(2, "l", ListType(Field(3, "element", LONG)))
    assert ids(tmp_path, table, ID, column, filter="array_contains(l, 7)") == [0]
    assert ids(tmp_path, table, ID, column, filter="l IS NULL") == [3]


@pytest.mark.parametrize(
    "stored",
    [
        pa.array([1, 2, 3, 2**32 - 1], pa.uint32()),
        pa.array([1, 2, 3, 4], pa.uint64()),
    ],
    ids=["32", "64"],
)
def test_unsigned_numbers_bound_nothing(tmp_path: Path, groups_read: set[int], stored: pa.Array) -> None:
    table = pa.table({"id": range(4), "v": stored})
    assert ids(tmp_path, table, ID, Field(2, "v", LONG), filter="v > 3") == [3]
    assert groups_read == {0, 1}


def test_instants_of_96_bits_bound_nothing(tmp_path: Path) -> None:
    days = [dt.datetime(1900 + 50 * i, 1, 1) for i in range(4)]
    table = pa.table({"id": range(4), "v": pa.array(days, pa.timestamp("us"))})
    v = Field(2, "v", primitive("timestamp"))
    found = ids(tmp_path, table, ID, v, filter="v >= '2000-01-01'", use_deprecated_int96_timestamps=True)
    assert found == [2, 3]


def test_padded_values_are_not_those_of_the_statistics(tmp_path: Path) -> None:
    table = pa.table({"id": range(4), "v": ["a", "a", "b", "b"]})
    assert ids(tmp_path, table, ID, Field(2, "v", STRING, char_length=3), filter="v = 'b  '") == [2, 3]


def test_texts_that_are_not_utf8(tmp_path: Path) -> None:
    path = str(tmp_path / "f.parquet")
    values = [b"a", b"a\xff", b"b", b"b"]
    text = pa.Array.from_buffers(pa.string(), 4, pa.array(values).buffers())
    pq.write_table(pa.table({"id": range(4), "v": text}), path, row_group_size=2, use_dictionary=False)
    snapshot = snapshot_of(tmp_path, [ID, Field(2, "v", STRING)], [FakeFile(path, 4)])
    assert snapshot.scan("v > 'a\U0010ffff'", columns=["id"]).to_arrow()["id"].to_pylist() == [1, 2, 3]


def test_positions_of_deleted_rows_are_those_of_the_file(tmp_path: Path, groups_read: set[int]) -> None:
    table = pa.table({"id": range(10)})
    found = ids(tmp_path, table, ID, filter="id > 5", files=lambda path: [FakeFile(path, 10, positions=[1, 7, 9])])
    assert found == [6, 8]
    assert groups_read == {3, 4}


def test_positions_behind_row_groups_that_are_left_out(tmp_path: Path, groups_read: set[int]) -> None:
    table = pa.table({"id": range(10)})
    deleted = lambda path: [FakeFile(path, 10, positions=[2, 9])]  # noqa: E731
    assert ids(tmp_path, table, ID, filter="id IN (1, 8, 9)", files=deleted) == [1, 8]
    assert groups_read == {0, 4}


def test_footers_that_contradict_themselves_are_not_asked(
    tmp_path: Path, groups_read: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RowGroups, "is_sound", property(lambda self: False))
    assert ids(tmp_path, pa.table({"id": range(4)}), ID, filter="id = 3") == [3]
    assert groups_read == {0, 1}


def test_files_without_statistics(tmp_path: Path, groups_read: set[int]) -> None:
    assert ids(tmp_path, pa.table({"id": range(4)}), ID, filter="id = 3", write_statistics=False) == [3]
    assert groups_read == {0, 1}


@st.composite
def one_file_and_predicate(draw: st.DrawFn) -> tuple[ModelTable, Any]:
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3))
    kinds = dict(enumerate(names, start=1))
    columns = {i: st.one_of(st.none(), VALUES[kind], VALUES[kind]) for i, kind in kinds.items()}
    rows = draw(st.lists(st.fixed_dictionaries(columns), min_size=1, max_size=9))
    schema = Schema(tuple(Field(i, f"c{i}", type_of(kind)) for i, kind in kinds.items()))
    table = ModelTable(schema, kinds, PartitionSpec(0, ()), [ModelFile(rows)])
    return table, draw(predicates(table))


def with_numbers(table: ModelTable, predicate: Any) -> tuple[pa.Table, list[Field], list[int]]:
    """The rows of a drawn file with their numbers, the columns, and the numbers of the rows that match."""
    rows = table.files[0].rows
    columns = {f"c{i}": to_array([row[i] for row in rows], type_of(kind)) for i, kind in table.kinds.items()}
    data = pa.table({**columns, "row": range(len(rows))})
    bound = bind(predicate, table.schema)
    expected = [number for number, row in enumerate(rows) if rowmodel.is_kept(bound, row)]
    return data, [*table.schema.fields, Field(99, "row", LONG)], expected


@settings(max_examples=examples(150), deadline=None)
@given(one_file_and_predicate(), st.integers(1, 3))
def test_rows_are_those_of_the_row_model(drawn: tuple[ModelTable, Any], row_group_size: int) -> None:
    data, fields, expected = with_numbers(*drawn)
    with tempfile.TemporaryDirectory() as directory:
        path = write(Path(directory), data, row_group_size=row_group_size)
        scan = snapshot_of(Path(directory), fields, [FakeFile(path, data.num_rows)]).scan(drawn[1], columns=["row"])
        assert scan.to_arrow()["row"].to_pylist() == expected
        assert scan.count() == len(expected)
