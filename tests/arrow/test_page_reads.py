"""Pages without a matching row are not read, and no row is lost by that.

The independent row model says which rows match. Which bytes are read is counted at the file. Row groups of a few rows
have pages of two here; the product looks at pages of larger row groups alone.
"""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.engines.arrow.files import page_reads
from tableformats.engines.arrow.files.page_reads import PageReader
from tableformats.errors import CorruptMetadataError
from tableformats.io._thrift import read_struct
from tableformats.io._thrift_write import write_struct
from tableformats.io.parquet import pages
from tableformats.io.parquet.data_pages import StoredPage
from tableformats.schema import DecimalType, Field, ListType, StructType, primitive
from tests.arrow.test_row_group_pruning import one_file_and_predicate, with_numbers
from tests.support.arrow_fakes import FakeFile, snapshot_of, write
from tests.support.examples import examples
from tests.support.strategies import ModelTable

LONG, STRING, DOUBLE = primitive("long"), primitive("string"), primitive("double")
ID, NAME, X = Field(1, "id", LONG), Field(2, "name", STRING), Field(3, "x", DOUBLE)
WIDE, NTZ, DAY = pa.decimal128(25, 2), primitive("timestamp_ntz"), dt.date(2021, 1, 1)
SMALL_PAGES = {"max_rows_per_page": 2, "write_batch_size": 2}
UNEQUAL_PAGES = {"data_page_size": 20, "write_batch_size": 1, "use_dictionary": False}
"""Pages by the bytes of their values: those of two columns end at different rows."""
BOTH = pytest.mark.parametrize("with_index", [True, False], ids=["index", "heads"])
I64, LIST = 6, 9


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_reads, "_FEWEST_ROWS", 1)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[tuple[int, ...], list[list[int]]]]]:
    """The leaves and the runs that were read by pages."""
    found: list[tuple[tuple[int, ...], list[list[int]]]] = []
    rows = PageReader.rows

    def noted(self: PageReader, group: int, leaves: Any, coded: Any, runs: Any) -> Any:
        pieces = rows(self, group, leaves, coded, runs)
        if pieces is not None:
            found.append((tuple(leaves), runs.tolist()))
        return pieces

    monkeypatch.setattr(PageReader, "rows", noted)
    yield found


def rows_of(root: Path, table: pa.Table, *fields: Field, filter: str, files: Any = None, **options: Any) -> pa.Table:
    path = write(root, table, **{**SMALL_PAGES, **options})
    snapshot = snapshot_of(root, fields, files(path) if files else [FakeFile(path, table.num_rows)])
    return snapshot.scan(filter).to_arrow()


@BOTH
def test_pages_by_the_bounds_of_the_filter_s_column(tmp_path: Path, read: list[Any], with_index: bool) -> None:
    table = pa.table({"id": range(20), "name": [f"n{i}" for i in range(20)]})
    found = rows_of(tmp_path, table, ID, NAME, filter="id IN (3, 4, 17)", write_page_index=with_index)
    assert found.to_pydict() == {"id": [3, 4, 17], "name": ["n3", "n4", "n17"]}
    assert read == [((0,), [[2, 6], [16, 18]]), ((1,), [[3, 5], [17, 18]])]


@BOTH
def test_other_columns_by_the_rows_that_match(tmp_path: Path, read: list[Any], with_index: bool) -> None:
    values = [7 if i == 11 else i % 2 * 10 for i in range(20)]
    table = pa.table({"id": values, "name": [f"n{i}" for i in range(20)], "x": [float(i) for i in range(20)]})
    found = rows_of(tmp_path, table, ID, NAME, X, filter="id = 7", write_page_index=with_index)
    assert found.to_pydict() == {"id": [7], "name": ["n11"], "x": [11.0]}
    assert read == [((1, 2), [[11, 12]])]


@BOTH
def test_nothing_is_read_where_no_page_matches(tmp_path: Path, read: list[Any], with_index: bool) -> None:
    table = pa.table({"id": [0, 1, 8, 9], "name": ["a", "b", "c", "d"]})
    path = write(tmp_path, table, write_page_index=with_index, **SMALL_PAGES)
    scan = snapshot_of(tmp_path, [ID, NAME], [FakeFile(path, 4)]).scan("id = 5")
    assert scan.to_arrow().num_rows == 0 and scan.count() == 0
    assert read == []


@BOTH
def test_nulls_and_nans(tmp_path: Path, with_index: bool) -> None:
    x = [1.0, None, None, None, float("nan"), 2.0, 3.0, 3.0, float("nan"), float("nan")]
    table = pa.table({"id": range(10), "x": x})
    for where, expected in {
        "x IS NULL": [1, 2, 3],
        "x IS NOT NULL": [0, 4, 5, 6, 7, 8, 9],
        "x > 2.5": [4, 6, 7, 8, 9],
        "isnan(x)": [4, 8, 9],
        "x = 1": [0],
        "x <=> NULL AND id > 2": [3],
        "x IS NULL OR x = 3": [1, 2, 3, 6, 7],
    }.items():
        found = rows_of(tmp_path, table, ID, X, filter=where, write_page_index=with_index)
        assert found["id"].to_pylist() == expected, where


@BOTH
def test_pages_of_two_columns_that_end_at_different_rows(tmp_path: Path, read: list[Any], with_index: bool) -> None:
    """The third page of the texts has a NULL, which is in the part beside the numbers 3 to 5, not in that beside 6."""
    names = [None if i % 3 == 0 else "x" * (i % 5 * 4) for i in range(20)]
    table = pa.table({"id": range(20), "name": names})
    options = {"write_page_index": with_index, **UNEQUAL_PAGES}
    for where, expected in {
        "id = 6 AND name IS NULL": [6],
        "id IN (4, 5) AND name IS NOT NULL": [4, 5],
        "id = 13 AND name = 'xxxxxxxxxxxx'": [13],
        "id = 14 AND name = 'xxxxxxxxxxxxxxxx'": [14],
        "id IN (8, 9) AND (name = 'xxxxxxxxxxxx' OR name IS NULL)": [8, 9],
    }.items():
        path = write(tmp_path, table, **options)
        found = snapshot_of(tmp_path, [ID, NAME], [FakeFile(path, 20)]).scan(where).to_arrow()
        assert found.to_pydict() == {"id": expected, "name": [names[i] for i in expected]}, where
    assert len(read) == 5


@BOTH
@pytest.mark.parametrize(
    ("stored", "kind", "value"),
    [
        (pa.array([1, 1, 7, 7, 9, 9], pa.int32()), LONG, "7"),
        (pa.array([1.5, 1.5, 7.5, 7.5, 9, 9], pa.float32()), DOUBLE, "7.5"),
        (pa.array([Decimal("1.2")] * 2 + [Decimal("-7.25"), Decimal("-7.25"), Decimal(9), None], WIDE), None, "-7.25"),
        (pa.array([dt.date(2020, 1, 1)] * 2 + [DAY] * 2 + [None] * 2), primitive("date"), "'2021-01-01'"),
        (pa.array([1000, 1000, 7000, 7000, 9000, 9000], pa.timestamp("ms")), NTZ, "'1970-01-01 00:00:07'"),
        (pa.array([b"a", b"a", b"\xff", b"\xff", b"b", b""]), primitive("binary"), "X'FF'"),
        (pa.array([False, False, True, True, False, None]), primitive("boolean"), "TRUE"),
        (pa.array(["a", "a", "b", "b", "c", "\U0010ffff"], pa.large_string()), STRING, "'b'"),
    ],
    ids=lambda given: str(given.type) if isinstance(given, pa.Array) else "",
)
@pytest.mark.parametrize("options", [{}, {"data_page_version": "2.0", "use_dictionary": False}], ids=["1", "2"])
def test_types(
    tmp_path: Path, stored: pa.Array, kind: Any, value: str, options: dict[str, Any], with_index: bool
) -> None:
    table = pa.table({"id": range(6), "v": stored})
    field = Field(2, "v", kind or DecimalType(30, 2))
    found = rows_of(tmp_path, table, ID, field, filter=f"v = {value}", write_page_index=with_index, **options)
    assert found["id"].to_pylist() == [2, 3]
    assert found["v"].to_pylist() == table["v"].cast(found["v"].type)[2:4].to_pylist()


@BOTH
def test_deleted_rows_are_those_of_the_file(tmp_path: Path, read: list[Any], with_index: bool) -> None:
    table = pa.table({"id": range(20), "name": [f"n{i}" for i in range(20)]})
    deleted = lambda path: [FakeFile(path, 20, positions=[1, 4, 16, 19])]  # noqa: E731
    found = rows_of(tmp_path, table, ID, NAME, filter="id IN (4, 5, 17)", files=deleted, write_page_index=with_index)
    assert found.to_pydict() == {"id": [5, 17], "name": ["n5", "n17"]}
    assert read[0] == ((0,), [[4, 6], [16, 18]])


def test_columns_beside_nested_ones(tmp_path: Path, read: list[Any]) -> None:
    """A leaf is not at its number among the columns there, and the stored Arrow schema is cut to the columns read."""
    inner = StructType((Field(5, "a", LONG), Field(6, "b", LONG)))
    fields = (Field(4, "s", inner), ID, Field(7, "l", ListType(Field(8, "element", LONG))), NAME)
    columns = {
        "s": [{"a": i, "b": -i} for i in range(20)],
        "id": range(20),
        "l": [[i] * (i % 3) for i in range(20)],
        "name": pa.array([f"n{i % 3}" for i in range(20)]).dictionary_encode(),
    }
    path = write(tmp_path, pa.table(columns), **SMALL_PAGES)
    snapshot = snapshot_of(tmp_path, fields, [FakeFile(path, 20)])
    found = snapshot.scan("id = 13", columns=["name", "id"]).to_arrow()
    assert found.to_pydict() == {"name": ["n1"], "id": [13]}
    assert read == [((2,), [[12, 14]]), ((4,), [[13, 14]])]
    whole = snapshot.scan("id = 13").to_arrow()
    assert whole.to_pydict() == {"s": [{"a": 13, "b": -13}], "id": [13], "l": [[13]], "name": ["n1"]}


def test_row_positions_and_equal_names(tmp_path: Path) -> None:
    table = pa.table({"id": range(20), "name": [f"n{i}" for i in range(20)]})
    path = write(tmp_path, table, row_group_size=10, **SMALL_PAGES)
    snapshot = snapshot_of(tmp_path, [ID, NAME], [FakeFile(path, 20)])
    assert snapshot.scan("id > 17", columns=["id"]).to_arrow()["id"].to_pylist() == [18, 19]
    assert snapshot.scan("id = 12 AND name >= 'n12'").to_arrow().to_pydict() == {"id": [12], "name": ["n12"]}


def test_windows_of_a_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[Any]) -> None:
    monkeypatch.setattr(page_reads, "_WINDOW_BYTES", 1)
    table = pa.table({"id": range(30), "name": [f"n{i}" for i in range(30)]})
    found = rows_of(tmp_path, table, ID, NAME, filter="id BETWEEN 7 AND 12")
    assert found.to_pydict() == {"id": list(range(7, 13)), "name": [f"n{i}" for i in range(7, 13)]}
    assert read


@BOTH
def test_pages_of_large_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_index: bool) -> None:
    """What the product does without the settings of these tests: fewer bytes are read for one row of many."""
    monkeypatch.undo()
    count = 120_000
    table = pa.table({"id": range(count), "name": [f"name {i}" for i in range(count)]})
    path = write(tmp_path, table, write_page_index=with_index, use_dictionary=False)
    sizes: list[int] = []

    def noted(stored: bytes, at: int) -> StoredPage:
        page = StoredPage(stored, at)
        sizes.append(page.stop - at)
        return page

    monkeypatch.setattr(pages, "StoredPage", noted)
    snapshot = snapshot_of(tmp_path, [ID, NAME], [FakeFile(path, count)])
    assert snapshot.scan("id = 70000").to_arrow().to_pydict() == {"id": [70_000], "name": ["name 70000"]}
    assert sizes and sum(sizes) < Path(path).stat().st_size / 2
    sizes.clear()
    half = snapshot.scan("id % 2 = 0").to_arrow()
    assert half["name"].to_pylist() == [f"name {i}" for i in range(0, count, 2)]
    assert Path(path).stat().st_size / 2 < sum(sizes) < Path(path).stat().st_size


def changed_index(path: str, change: Any, key: int = 4) -> None:
    """Write the offset index (4) or the column index (6) of the first chunk anew; its length must not change."""
    data = bytearray(Path(path).read_bytes())
    length = int.from_bytes(data[-8:-4], "little")
    footer = read_struct(bytes(data[-8 - length :]))
    chunk = footer[4][1][1][0][1][1][1][0]
    offset, size = chunk[key][1], chunk[key + 1][1]
    index = read_struct(bytes(data[offset : offset + size]))
    change(index)
    found = write_struct(index)
    assert len(found) == size, "the index has another length"
    data[offset : offset + size] = found
    Path(path).write_bytes(data)


def places_of(index: Any) -> list[Any]:
    return index[1][1][1]  # type: ignore[no-any-return]


def swap_rows(index: Any) -> None:
    places_of(index)[1][3], places_of(index)[2][3] = places_of(index)[2][3], places_of(index)[1][3]


def first_is_not_first(index: Any) -> None:
    places_of(index)[0][3] = (I64, 1)


def overlap(index: Any) -> None:
    places_of(index)[2][1] = places_of(index)[1][1]


@pytest.mark.parametrize("change", [swap_rows, first_is_not_first, overlap])
def test_an_offset_index_that_contradicts_itself_is_not_used(tmp_path: Path, change: Any, read: list[Any]) -> None:
    path = write(tmp_path, pa.table({"id": range(20)}), write_page_index=True, **SMALL_PAGES)
    changed_index(path, change)
    snapshot = snapshot_of(tmp_path, [ID], [FakeFile(path, 20)])
    assert snapshot.scan("id = 7").to_arrow()["id"].to_pylist() == [7]
    assert read == []


def test_an_offset_index_that_the_pages_contradict_is_an_error(tmp_path: Path) -> None:
    """The rows of the fourth page are said to be three: those behind it would be others."""
    path = write(tmp_path, pa.table({"id": range(20)}), write_page_index=True, **SMALL_PAGES)
    changed_index(path, lambda index: places_of(index)[4].__setitem__(3, (I64, 9)))
    snapshot = snapshot_of(tmp_path, [ID], [FakeFile(path, 20)])
    with pytest.raises(CorruptMetadataError, match="a page is not what the index says of it") as caught:
        snapshot.scan("id = 7").to_arrow()
    assert caught.value.path == path


def test_a_column_index_of_other_pages_is_not_used(tmp_path: Path, read: list[Any]) -> None:
    path = write(tmp_path, pa.table({"id": range(20)}), write_page_index=True, **SMALL_PAGES)

    def drop(index: Any) -> None:
        kind, empty = index[1][1]
        index[1] = (LIST, (kind, empty[:-1]))
        index[2][1][1][0] += b"\0"  # the length stays

    changed_index(path, drop, key=6)
    snapshot = snapshot_of(tmp_path, [ID], [FakeFile(path, 20)])
    assert snapshot.scan("id = 7").to_arrow()["id"].to_pylist() == [7]
    assert read == []


@BOTH
def test_so_many_pages_of_a_file_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_index: bool
) -> None:
    """Row groups could all claim the same pages, and a small file take minutes. Others are read as a whole."""
    monkeypatch.setattr(page_reads, "_MOST_PAGES", 120)
    heads: list[int] = []
    head = pages._head

    def noted(read: Any, at: int, stop: int) -> Any:
        heads.append(at)
        return head(read, at, stop)

    monkeypatch.setattr(pages, "_head", noted)
    ids = [i * 37 % 1000 for i in range(1000)]
    options = {"row_group_size": 100, "use_dictionary": False, "write_page_index": with_index}
    table = pa.table({"id": ids, "x": [float(i) for i in ids]})
    found = rows_of(tmp_path, table, ID, X, filter="id % 100 = 99 AND id > 950", **options)
    assert found.to_pydict() == {"id": [999], "x": [999.0]}
    assert len(heads) == (0 if with_index else 120)


def test_a_page_that_claims_very_many_rows_is_not_looked_at(tmp_path: Path, read: list[Any]) -> None:
    path = write(tmp_path, pa.table({"id": range(20)}), write_page_index=True, max_rows_per_page=20)
    changed_footer(path, 1 << 40)
    snapshot = snapshot_of(tmp_path, [ID], [FakeFile(path, 1 << 40)])
    with pytest.raises(CorruptMetadataError):
        snapshot.scan("id = 7").to_arrow()
    assert read == []


def changed_footer(path: str, rows: int) -> None:
    """Claim so many rows in the footer."""
    data = Path(path).read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = read_struct(data[-8 - length :])
    footer[3] = (I64, rows)
    footer[4][1][1][0][3] = (I64, rows)
    encoded = write_struct(footer)
    Path(path).write_bytes(data[: -8 - length] + encoded + len(encoded).to_bytes(4, "little") + b"PAR1")


@settings(max_examples=examples(100), deadline=None)
@given(
    one_file_and_predicate(),
    st.integers(1, 12),
    st.booleans(),
    st.sampled_from([{}, UNEQUAL_PAGES, UNEQUAL_PAGES, {"data_page_version": "2.0"}, {"compression": "none"}]),
)
def test_rows_are_those_of_the_row_model(
    drawn: tuple[ModelTable, Any], row_group_size: int, with_index: bool, options: dict[str, Any]
) -> None:
    data, fields, expected = with_numbers(*drawn)
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_reads, "_FEWEST_ROWS", 1)
        patch.setattr(page_reads, "_MOST_READ", 1.0)
        sizes = {} if "data_page_size" in options else SMALL_PAGES
        written = {**sizes, **options, "row_group_size": row_group_size, "write_page_index": with_index}
        path = write(Path(directory), data, **written)
        scan = snapshot_of(Path(directory), fields, [FakeFile(path, data.num_rows)]).scan(drawn[1])
        found = scan.to_arrow()
        assert found["row"].to_pylist() == expected
        for name in data.column_names[:-1]:  # as texts, because NaN is not equal to itself
            assert str(found[name].to_pylist()) == str(data[name].take(pa.array(expected, pa.int64())).to_pylist())
        assert scan.count() == len(expected)
