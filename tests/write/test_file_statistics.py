"""What is known of a written file: counts and bounds of its columns, of its rows or of its footer alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats.engines.arrow.writing.file_statistics import AddedFiles
from tableformats.plugin import PartitionField, Schema, WriteTarget, primitive
from tableformats.schema.transforms import Transform

NAN, INFINITY = float("nan"), float("inf")
POINT = pa.struct([pa.field("x", pa.float64()), pa.field("y", pa.int32())])


def target_of(schema: pa.Schema, **options: Any) -> WriteTarget:
    """Fields are numbered from 1 on, each column before its members, depth first."""
    return WriteTarget(Schema.from_arrow(schema), **options)


def stored(rows: pa.Table, **options: Any) -> pq.FileMetaData:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="none", **options)
    return pq.read_metadata(pa.BufferReader(sink.getvalue()))


def with_nan(rows: pa.Table) -> set[int]:
    """Columns with NaN; only for tables without nested columns."""
    return {i for i, column in enumerate(rows.columns) if any(v != v for v in column.to_pylist())}


def added(rows: pa.Table, footer: pq.FileMetaData | None = None, **options: Any) -> dict[str, Any]:
    """The only file, of which the rows are known."""
    target = target_of(rows.schema, **options)
    files = AddedFiles(target)
    place = files.begin()
    files.add(place, "f", 123, (), rows, footer or stored(rows), with_nan(rows))
    (found,) = files.table().to_pylist()
    return dict(found)


def of_footer(rows: pa.Table, footer: pq.FileMetaData, **options: Any) -> dict[str, Any]:
    """The only file, of which the footer is known; only columns of numbers with a fraction may be read."""

    def values(number: int) -> Iterator[pa.ChunkedArray]:
        assert pa.types.is_floating(rows.column(number).type)
        half = len(rows) // 2
        yield from (rows.column(number).slice(0, half), rows.column(number).slice(half))

    files = AddedFiles(target_of(rows.schema, **options))
    files.add_footer("f", 123, footer, values)
    (found,) = files.table().to_pylist()
    return dict(found)


@pytest.mark.parametrize(
    ("values", "kind", "lower", "upper"),
    [
        ([3, None, -2], pa.int64(), -2, 3),
        (["b", "a", None], pa.string(), "a", "b"),
        ([b"b", b"a"], pa.binary(), b"a", b"b"),
        ([b"bb", b"ab", None], pa.binary(2), b"ab", b"bb"),
        ([True, False], pa.bool_(), None, None),
        ([dt.date(2020, 1, 2), dt.date(1960, 1, 1)], pa.date32(), dt.date(1960, 1, 1), dt.date(2020, 1, 2)),
        ([Decimal("1.5"), Decimal("-0.5")], pa.decimal128(3, 1), Decimal("-0.5"), Decimal("1.5")),
        ([1.5, None, -2.0], pa.float32(), -2.0, 1.5),
        ([None, None], pa.int64(), None, None),
    ],
    ids=str,
)
def test_bounds_of_a_column(values: list[Any], kind: pa.DataType, lower: Any, upper: Any) -> None:
    rows = pa.table({"a": pa.array(values, kind)})
    for found in (added(rows), of_footer(rows, stored(rows))):
        assert (found["path"], found["size_bytes"], found["record_count"]) == ("f", 123, len(values))
        assert (found["lower"], found["upper"]) == ({"1": lower}, {"1": upper})
        assert found["null_count"] == {"1": values.count(None)}


@pytest.mark.parametrize(
    ("values", "nans", "lower", "upper"),
    [
        ([1.0, NAN, 3.0, NAN], 2, 1.0, 3.0),
        ([NAN, None, 2.0, 2.0], 1, 2.0, 2.0),
        ([NAN, NAN, NAN, NAN], 4, None, None),
        ([NAN, None, None, NAN], 2, None, None),
        ([None, None, None, None], 0, None, None),
        ([-INFINITY, 0.0, 1.0, INFINITY], 0, -INFINITY, INFINITY),
        ([1.0, 2.0, NAN, NAN], 2, 1.0, 2.0),
        ([3.0, 4.0, 1.0, 2.0], 0, 1.0, 4.0),
    ],
)
def test_nan_is_counted_and_no_bound(values: list[Any], nans: int, lower: float | None, upper: float | None) -> None:
    rows = pa.table({"a": pa.array(values, pa.float64())})
    footers = (stored(rows), stored(rows, write_statistics=False))
    for footer in footers:
        found = added(rows, footer)
        assert found["nan_count"] == {"1": nans}
        assert (found["lower"], found["upper"]) == ({"1": lower}, {"1": upper})
        assert found["null_count"] == {"1": values.count(None)}, "also where the footer does not say it"
    found = of_footer(rows, footers[0])
    assert found["nan_count"] == {"1": nans}
    assert (found["lower"], found["upper"]) == ({"1": lower}, {"1": upper})


def test_counts_of_null_are_unknown_without_statistics() -> None:
    rows = pa.table({"a": pa.array([1, None, 3], pa.int64())})
    assert added(rows, stored(rows, write_statistics=False))["null_count"] == {"1": None}
    found = of_footer(rows, stored(rows, write_statistics=False))
    assert found["null_count"] == found["lower"] == found["upper"] == {"1": None}


@pytest.mark.parametrize("count", [4096, 4097])
@pytest.mark.parametrize("special", [None, NAN, 0.25], ids=str)
def test_bounds_of_many_floats_in_chunks(count: int, special: float | None) -> None:
    values = [special, *(float(i % 1000) for i in range(1, count - 2)), -7.5, 2e9]
    parts = [pa.array(values[:10], pa.float64()), pa.array([], pa.float64()), pa.array(values[10:], pa.float64())]
    found = added(pa.table({"a": pa.chunked_array(parts)}))
    assert (found["lower"], found["upper"]) == ({"1": -7.5}, {"1": 2e9})
    assert found["nan_count"] == {"1": int(special is not None and special != special)}
    assert found["null_count"] == {"1": int(special is None)}


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("count", [4096, 4097])
def test_bounds_of_many_texts(count: int, statistics: bool) -> None:
    """Those of the footer, where it has them."""
    rows = pa.table({"a": ["m", "\U0001f600", "a", "\uffff", *(["k"] * (count - 4))]})
    found = added(rows, stored(rows, write_statistics=statistics))
    assert (found["lower"], found["upper"]) == ({"1": "a"}, {"1": "\U0001f600"})


def test_the_footer_is_asked_for_bounds_of_many_texts_alone() -> None:
    """Bounds of few rows are computed of them."""
    few, many = (pa.table({"a": ["b"] * count}) for count in (4096, 4097))
    for rows, lower in ((few, "b"), (many, "a")):
        assert added(rows, stored(pa.table({"a": ["a"] * len(rows)})))["lower"] == {"1": lower}


def test_texts_that_are_no_utf_8_have_no_bounds_in_the_footer() -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.array([0, 1], pa.int32()).buffers()[1], pa.py_buffer(b"\xff")]
    )
    rows = pa.table({"a": broken})
    found = of_footer(rows, stored(rows))
    assert found["lower"] == found["upper"] == {"1": None} and found["null_count"] == {"1": 0}


def test_members_and_lists() -> None:
    """Members of a NULL struct are NULL. Members of lists have counts alone."""
    schema = pa.schema([("p", POINT), ("l", pa.list_(pa.int64()))])
    rows = pa.table({"p": [{"x": 1.5, "y": 7}, None, {"x": None, "y": 9}], "l": [[1, None], [], [5]]}, schema=schema)
    found = added(rows)
    x, y, element = "2", "3", "5"
    target = target_of(schema)
    assert [str(path[-1].id) for path in target._stored_leaves] == ["2", "3", "5"]
    assert found["lower"] == {x: 1.5, y: 7} and found["upper"] == {x: 1.5, y: 9}
    assert found["null_count"] == {x: 2, y: 1, element: 2}
    assert found["value_count"] == {x: 3, y: 3, element: 4}
    assert found["nan_count"] == {x: 0}


def test_bounds_are_made_of_wanted_columns_alone() -> None:
    rows = pa.table({"a": [1, 2], "b": [1.0, NAN], "c": [1.0, 2.0]})
    for found in (added(rows, bounded=frozenset((3,))), of_footer(rows, stored(rows), bounded=frozenset((3,)))):
        assert found["lower"] == {"3": 1.0} and found["upper"] == {"3": 2.0}
        assert found["null_count"] in ({"1": 0, "2": 0, "3": 0}, {"1": 0, "2": None, "3": 0})
    assert added(rows, bounded=frozenset((3,)))["nan_count"] == {"2": 1, "3": 0}


@pytest.mark.parametrize("dictionary", [True, False])
def test_values_bytes_and_places_of_row_groups(dictionary: bool) -> None:
    rows = pa.table({"a": pa.array([1, 2, 3, 4, None], pa.int64()), "b": ["x", "y", "z", "u", "v"]})
    footer = stored(rows, row_group_size=2, use_dictionary=dictionary)
    groups = [footer.row_group(i) for i in range(3)]
    sizes = [[group.column(i).total_compressed_size for group in groups] for i in range(2)]
    for found in (added(rows, footer), of_footer(rows, footer)):
        assert found["value_count"] == {"1": 5, "2": 5} and found["null_count"] == {"1": 1, "2": 0}
        assert found["column_sizes"] == {"1": sum(sizes[0]), "2": sum(sizes[1])}
        begins = [4 + sum(sum(column[:n]) for column in sizes) for n in range(3)]
        assert found["split_offsets"] == begins, "column chunks follow each other from behind the magic number on"
        assert (found["lower"], found["upper"]) == ({"1": 1, "2": "u"}, {"1": 4, "2": "z"})
    assert "split_offsets" not in added(rows, footer, with_layout=False)
    assert added(rows, footer, with_layout=False)["null_count"] == {"1": 1, "2": 0}


def test_partition_values_get_the_type_of_the_field_and_files_their_places() -> None:
    schema = Schema.from_arrow(pa.schema([("day", pa.date32()), ("v", pa.int64())]))
    partitioning = (PartitionField(1000, "day", 1, Transform("identity"), primitive("date")),)
    files = AddedFiles(WriteTarget(schema, partitioning))
    rows = pa.table({"v": [1]})
    first, second = files.begin(), files.begin()
    assert len(files) == 2
    for place, path, value in (
        (second, "b", pa.scalar(None, pa.date32())),
        (first, "a", pa.scalar(dt.datetime(2020, 1, 2), pa.date64())),
    ):
        files.add(place, path, 1, (value,), rows, stored(rows), frozenset())
    found = files.table()
    assert found["path"].to_pylist() == ["a", "b"]
    assert found["partition"].to_pylist() == [{"1000": dt.date(2020, 1, 2)}, {"1000": None}]


def test_times_of_a_footer() -> None:
    values = pa.array([5_000_000, -7_000_000, None], pa.int64()).cast(pa.timestamp("us", "UTC"))
    rows = pa.table({"a": values})
    found = of_footer(rows, stored(rows))
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
    assert found["lower"] == {"1": epoch - dt.timedelta(seconds=7)}
    assert found["upper"] == {"1": epoch + dt.timedelta(seconds=5)}
