"""Pages of column chunks, found by indexes and by heads; what contradicts itself is refused. See parquet.thrift."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats.engines.arrow.files.page_reads import _Chunk
from tableformats.engines.arrow.row_runs import joined_runs
from tableformats.engines.arrow.writing import parquet_files
from tableformats.io._thrift_write import write_struct
from tableformats.io.parquet import pages as module
from tableformats.io.parquet.page_files import file_of_pages, write_pieces
from tableformats.io.parquet.pages import (
    ColumnPages,
    PageColumn,
    PageFooter,
    PageValues,
    _checked,
    _end_of,
    _flat_columns,
    _head,
    _indexed_values,
    _items,
    _number,
    _short,
    _struct,
    _structs,
    pages_of,
)

TRUE, FALSE, I32, I64, BINARY, LIST, STRUCT = 1, 2, 5, 6, 8, 9, 12
ROWS = 100
TABLE = pa.table(
    {
        "n": pa.array(range(ROWS), pa.int64()),
        "s": [None if i % 3 == 0 else f"t{i:03}" for i in range(ROWS)],
        "p": [{"x": i} for i in range(ROWS)],
        "c": pa.array([f"code {i // 20}" for i in range(ROWS)]),
        "l": [[i] for i in range(ROWS)],
        "z": pa.array([i / 2 for i in range(ROWS)]),
    }
)
LEAVES = {"n": 0, "s": 1, "c": 3, "z": 5}
"""The columns whose pages are looked at, by their number among the leaves."""


class File:
    """A file whose pages have ten rows; ``reads`` are the offsets and lengths that were asked for."""

    def __init__(self, with_index: bool = True, table: pa.Table = TABLE, **options: Any) -> None:
        sink = pa.BufferOutputStream()
        options = {"max_rows_per_page": 10, "write_batch_size": 10, "use_dictionary": ["c"], **options}
        pq.write_table(table, sink, write_page_index=with_index, **options)
        self.data = sink.getvalue().to_pybytes()
        length = int.from_bytes(self.data[-8:-4], "little")
        self.footer = PageFooter(self.data[-8 - length :], len(self.data))
        self.metadata = pq.read_metadata(pa.BufferReader(self.data))
        self.reads: list[tuple[int, int]] = []

    def read(self, offset: int, length: int) -> bytes:
        assert offset >= 0 and length >= 0 and offset + length <= len(self.data)
        self.reads.append((offset, length))
        return self.data[offset : offset + length]

    def column(self, name: str, group: int = 0) -> PageColumn:
        found = self.footer.column(group, LEAVES[name])
        assert found is not None
        return found

    def pages(self, name: str, most: int = 1000) -> ColumnPages:
        return pages_of(self.column(name), ROWS, self.read, most)


def made_of(file: File, columns: list[tuple[PageColumn, ColumnPages, Any]], schema: bytes | None = None) -> Any:
    """A file of the wanted pages of columns, and the rows of each."""
    parts = []
    for column, pages, wanted in columns:
        found = _Chunk(column, pages).read(joined_runs(pages.first_rows, wanted), file.read)
        parts.append((column, found.dictionary, found.pages))
    pieces, size, counts = file_of_pages(file.footer, parts, schema)
    data = bytearray(size)
    write_pieces(pieces, memoryview(data))
    return data, counts


@pytest.mark.parametrize("with_index", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_pages_and_what_is_known_of_their_values(with_index: bool, version: str, codec: str) -> None:
    file = File(with_index, data_page_version=version, compression=codec)
    for name in LEAVES:
        column, found = file.column(name), file.pages(name)
        chunk = file.metadata.row_group(0).column(LEAVES[name])
        assert found.first_rows.tolist() == list(range(0, 101, 10))
        assert found.offsets[0] == chunk.data_page_offset
        assert (found.offsets[:-1] + found.sizes[:-1]).tolist() == found.offsets[1:].tolist()
        assert found.offsets[-1] + found.sizes[-1] == column.stop == column.start + chunk.total_compressed_size
        assert found.dictionary == (column.start, chunk.data_page_offset - column.start)
        assert (found.dictionary[1] > 0) is chunk.has_dictionary_page is (name == "c")
        values = [TABLE[name][i : i + 10].to_pylist() for i in range(0, 100, 10)]
        assert found.values.nulls == [some.count(None) for some in values]
        if name == "s":
            known = [[one.encode() for one in some if one is not None] for some in values]
            assert found.values.lower == [min(some) for some in known]
            assert found.values.upper == [max(some) for some in known]
        if name == "n":
            assert found.values.lower == [(10 * i).to_bytes(8, "little") for i in range(10)]
            assert found.values.upper == [(10 * i + 9).to_bytes(8, "little") for i in range(10)]


def test_indexes_are_read_and_no_heads() -> None:
    file = File()
    column = file.column("n")
    assert column.offset_index is not None and column.column_index is not None
    file.pages("n")
    assert file.reads == [column.offset_index, column.column_index] == column.indexes
    without = File(with_index=False).column("n")
    assert without.offset_index is None and without.column_index is None and without.indexes == []


@pytest.mark.parametrize("with_index", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["snappy", "zstd"])
@pytest.mark.parametrize("chosen", [[0], [9], [0, 1, 2], [1, 3, 4, 8], list(range(10))])
def test_a_file_of_some_pages_has_their_rows(with_index: bool, version: str, codec: str, chosen: list[int]) -> None:
    file = File(with_index, data_page_version=version, compression=codec)
    wanted = np.isin(np.arange(10), chosen)
    columns = [(file.column(name), file.pages(name), wanted) for name in LEAVES]
    data, counts = made_of(file, columns)
    assert counts == [10 * len(chosen)] * 4
    found = pq.read_table(pa.BufferReader(bytes(data)))
    expected = pa.concat_tables([TABLE.select([*LEAVES]).slice(10 * i, 10) for i in chosen])
    assert found.to_pydict() == expected.to_pydict()
    footer = pq.read_metadata(pa.BufferReader(bytes(data)))
    assert footer.created_by == file.metadata.created_by and footer.num_row_groups == 1 and footer.metadata is None


def test_columns_may_have_other_numbers_of_rows() -> None:
    file = File(compression="none")
    stored = base64.b64encode(TABLE.select(["n", "c"]).schema.serialize())
    first, all_but_one = np.arange(10) == 0, np.arange(10) != 3
    columns = [(file.column("n"), file.pages("n"), first), (file.column("c"), file.pages("c"), all_but_one)]
    data, counts = made_of(file, columns, stored)
    assert counts == [10, 90]
    footer = pq.read_metadata(pa.BufferReader(bytes(data)))
    assert footer.metadata == {b"ARROW:schema": stored} and footer.num_rows == 90
    group = footer.row_group(0)
    assert [group.column(i).num_values for i in range(2)] == [10, 90]
    assert group.total_byte_size == sum(group.column(i).total_compressed_size for i in range(2))
    assert group.column(0).data_page_offset == 4 and not group.column(0).has_dictionary_page
    assert group.column(1).dictionary_page_offset == 4 + group.column(0).total_compressed_size
    assert group.column(1).data_page_offset == group.column(1).dictionary_page_offset + file.pages("c").dictionary[1]
    assert {group.column(i).compression for i in range(2)} == {"UNCOMPRESSED"}


def test_the_dictionary_is_read_for_codes_alone() -> None:
    """A writer gives its dictionary up where values are many: later pages have them as they are."""
    table = pa.table({"n": pa.array(range(ROWS), pa.int64()), "s": [f"{i:0100}" for i in range(ROWS)]})
    file = File(table=table, use_dictionary=["s"], dictionary_pagesize_limit=1000)
    column, pages = file.column("s"), file.pages("s")
    for chosen, reads_it in (([0], True), ([9], False), ([0, 9], True)):
        file.reads.clear()
        data, _ = made_of(file, [(column, pages, np.isin(np.arange(10), chosen))])
        assert (pages.dictionary in file.reads) is reads_it
        found = pq.read_table(pa.BufferReader(bytes(data)))["s"].to_pylist()
        assert found == [f"{10 * i + n:0100}" for i in chosen for n in range(10)]


@pytest.mark.parametrize("with_index", [True, False])
def test_more_pages_than_may_be_looked_at(with_index: bool) -> None:
    file = File(with_index)
    if not with_index:
        assert len(file.pages("n", 10).sizes) == 10
        for most in (9, 0):
            with pytest.raises(ValueError, match="are more"):
                file.pages("n", most)
        return
    index = file.column("n").offset_index
    assert index is not None
    enough = -(-index[1] // 4)
    assert len(file.pages("n", enough).sizes) == 10
    with pytest.raises(ValueError, match="an offset index is long"):
        file.pages("n", enough - 1)


def test_an_offset_index_of_just_as_many_bytes_as_may_be_read() -> None:
    file = File()
    column = file.column("n")
    assert column.offset_index is not None
    offset, size = column.offset_index
    padded = replace(column, offset_index=(offset, -(-size // 4) * 4))
    assert len(pages_of(padded, ROWS, file.read, -(-size // 4)).sizes) == 10


@pytest.mark.skipif("bloom_filter_options" not in parquet_files._known_options(), reason="pyarrow writes none")
def test_where_a_bloom_filter_is() -> None:
    file = File(bloom_filter_options={"n": {"ndv": 100, "fpp": 0.01}})
    chunk = file.metadata.row_group(0).column(0)
    assert file.column("n").bloom_filter == (chunk.bloom_filter_offset, chunk.bloom_filter_length)
    assert file.column("z").bloom_filter is None


def test_pages_of_another_number_of_rows_than_the_row_group() -> None:
    file = File(with_index=False)
    for rows in (99, 101):
        with pytest.raises(ValueError, match="another number of rows"):
            pages_of(file.column("n"), rows, file.read, 1000)


def test_pages_that_are_not_what_the_index_says() -> None:
    file = File()
    column, pages = file.column("n"), file.pages("n")
    every = np.ones(10, bool)
    for change in ("first_rows", "sizes"):
        wrong = {name: getattr(pages, name) for name in ("start", "offsets", "sizes", "first_rows", "values")}
        wrong[change] = wrong[change].copy()
        wrong[change][1] -= 1
        with pytest.raises(ValueError, match=r"a page (is not what the index says of it|ends after its column chunk)"):
            made_of(file, [(column, ColumnPages(**wrong), every)])


def pages_at(offsets: list[int], sizes: list[int], first_rows: list[int], start: int = 100) -> ColumnPages:
    arrays = [np.array(values, np.int64) for values in (offsets, sizes, first_rows)]
    return ColumnPages(start, *arrays, PageValues([None], [None], [None]))


@pytest.mark.parametrize(
    ("pages", "text"),
    [
        (pages_at([100, 110], [10, 10], [0, 5, 9]), None),
        (pages_at([105, 116], [10, 4], [0, 5, 9]), None),
        (pages_at([100], [20], [0, 1 << 22]), None),
        (pages_at([100], [20], [0, (1 << 22) + 1]), "do not hold its rows"),
        (pages_at([], [], [0]), "do not hold its rows"),
        (pages_at([100, 110], [10, 10], [1, 5, 9]), "do not hold its rows"),
        (pages_at([100, 110], [10, 10], [0, 0, 9]), "do not hold its rows"),
        (pages_at([100, 110], [10, 10], [0, 9, 9]), "do not hold its rows"),
        (pages_at([100, 110], [10, 10], [0, 9, 8]), "do not hold its rows"),
        (pages_at([99, 110], [10, 10], [0, 5, 9]), "outside of its column chunk"),
        (pages_at([100, 110], [10, 0], [0, 5, 9]), "outside of its column chunk"),
        (pages_at([100, 121], [10, 1], [0, 5, 9]), "outside of its column chunk"),
        (pages_at([100, 110], [10, 121], [0, 5, 9]), "outside of its column chunk"),
        (pages_at([100, 110], [10, 11], [0, 5, 9]), "overlap"),
        (pages_at([100, 110], [11, 10], [0, 5, 9]), "overlap"),
        (pages_at([110, 100], [10, 10], [0, 5, 9]), "overlap"),
    ],
)
def test_pages_follow_each_other_within_their_chunk(pages: ColumnPages, text: str | None) -> None:
    if text is None:
        assert _checked(pages, 120) is pages
        return
    with pytest.raises(ValueError, match=text):
        _checked(pages, 120)


def test_runs_of_pages_that_follow_each_other_at_once() -> None:
    pages = pages_at([100, 110, 121, 131, 141], [10, 10, 10, 10, 10], [0, 1, 2, 3, 4, 5], start=90)
    for wanted, runs in (
        ([1, 1, 1, 1, 1], [[0, 1], [2, 3, 4]]),
        ([1, 0, 1, 1, 0], [[0], [2, 3]]),
        ([0, 1, 1, 0, 1], [[1], [2], [4]]),
    ):
        chosen = np.array(wanted, bool)
        assert pages.runs_of(chosen) == runs
        places = [(int(pages.offsets[run[0]]), 10 * len(run)) for run in runs]
        assert [pages.place_of(run) for run in runs] == places
        assert pages.places(chosen) == [(90, 10), *places]


@pytest.mark.parametrize("size", [0, 1 << 18, (1 << 18) + 1])
def test_a_long_dictionary_is_not_surely_read(size: int) -> None:
    pages = pages_at([size + 7], [10], [0, 1], start=7)
    places = pages.places(np.ones(1, bool))
    assert places == ([(7, size)] if size <= 1 << 18 else []) + [(size + 7, 10)]


def column_index(**fields: Any) -> dict[int, tuple[int, Any]]:
    given = {
        1: (TRUE, [FALSE, TRUE]),
        2: (BINARY, [b"a", b""]),
        3: (BINARY, [b"z", b""]),
        4: None,
        5: (I64, [2, 0]),
        **{int(name[1:]): value for name, value in fields.items()},
    }
    return {key: (LIST, value) for key, value in given.items() if value is not None}


def test_values_of_a_column_index() -> None:
    """A page of NULLs alone has as many as it has rows, whatever the counts say."""
    found = _indexed_values(column_index(), [10, 7])
    assert (found.lower, found.upper, found.nulls) == ([b"a", None], [b"z", None], [2, 7])
    found = _indexed_values(column_index(_5=None), [10, 7])
    assert found.nulls == [None, 7]
    assert _indexed_values(column_index(_1=(FALSE, [FALSE, TRUE])), [10, 7]).nulls == [2, 7]
    long = _indexed_values(column_index(_2=(BINARY, [b"x" * 1025, b""]), _3=(BINARY, [b"x" * 1024, b""])), [10, 7])
    assert (long.lower, long.upper) == ([None, None], [b"x" * 1024, None])


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"_1": (TRUE, [FALSE])}, "another number of pages"),
        ({"_2": (BINARY, [b"a"])}, "another number of pages"),
        ({"_3": (BINARY, [b"a", b"b", b"c"])}, "another number of pages"),
        ({"_1": (I64, [0, 1])}, "another number of pages"),
        ({"_1": None}, "a list is missing"),
        ({"_2": (I64, [1, 2])}, "a bound is no bytes"),
        ({"_3": (I64, [1, 2])}, "a bound is no bytes"),
        ({"_5": (I64, [1])}, "counts the NULLs of another number of pages"),
        ({"_5": (I32, [1, 2])}, "counts the NULLs of another number of pages"),
    ],
)
def test_a_column_index_that_contradicts_itself(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        _indexed_values(column_index(**fields), [10, 7])


def element(name: str | None, children: int | None = None, repetition: int | None = 1) -> dict[int, tuple[int, Any]]:
    found: dict[int, tuple[int, Any]] = {} if name is None else {4: (BINARY, name.encode())}
    if children is None:
        found[1] = I32, 2
    else:
        found[5] = I32, children
    if repetition is not None:
        found[3] = I32, repetition
    return found


def test_columns_at_the_top_that_are_no_trees() -> None:
    elements = [
        element("root", 6, None),
        element("a", repetition=0),
        element("g", 2),
        element("x"),
        element("h", 1),
        element("y"),
        element("b", repetition=1),
        element("r", repetition=2),
        element("n", repetition=None),
        {3: (I32, 1)},
    ]
    found = _flat_columns(elements)
    assert {leaf: number for leaf, (number, _) in found.items()} == {0: 0, 3: 2}
    assert found[0][1] is elements[1] and found[3][1] is elements[6]
    assert _end_of(elements, 2) == (6, 2) and _end_of(elements, 1) == (2, 1)
    with pytest.raises(ValueError, match="fewer elements than it says"):
        _end_of(elements[:4], 2)


def head_of(length: int) -> bytes:
    """A head with a field of so many bytes that no page has."""
    numbers = {key: (I32, 0) for key in (1, 2, 3, 4)}
    return write_struct({1: (I32, 0), 2: (I32, 0), 3: (I32, 0), 5: (STRUCT, numbers), 9: (BINARY, b"x" * length)})


@pytest.mark.parametrize("length", [50, 256, 257, 4096, 5000, 1 << 16, (1 << 16) + 1])
def test_long_heads_are_read_in_steps(length: int) -> None:
    """A head of at most 64 kB, in growing pieces."""
    bare = len(head_of(1000)) - 1000
    stored = head_of(length - bare - (length > 16_383 + bare) + (length < 128 + bare))
    data, reads = b"....." + stored + b"behind", []

    def read(offset: int, size: int) -> bytes:
        reads.append(size)
        return data[offset : offset + size]

    stop = len(data)
    if len(stored) > 1 << 16:
        with pytest.raises(ValueError):
            _head(read, 5, stop)
        assert reads == [256, 4096, 1 << 16]
        return
    assert len(stored) == length
    assert _head(read, 5, stop).body_start == len(stored)
    steps = [min(most, stop - 5) for most in (256, 4096, 1 << 16)]
    assert reads == steps[: 1 + sum(len(stored) > step for step in (256, 4096))]
    with pytest.raises(ValueError):
        _head(read, 5, 5 + len(stored) - 1)


def test_numbers_structs_and_lists_that_are_missing() -> None:
    assert _number({1: (I32, 0)}, 1) == 0
    for fields in ({}, {1: (I32, -1)}, {1: (TRUE, True)}, {1: (BINARY, b"1")}):
        with pytest.raises(ValueError, match="a number is missing or negative"):
            _number(fields, 1)
    assert _struct({1: (STRUCT, {})}, 1) == {}
    for fields in ({}, {1: (I32, 1)}):
        with pytest.raises(ValueError, match="a struct is missing"):
            _struct(fields, 1)
    assert _items({1: (LIST, (I32, [1]))}, 1) == (I32, [1])
    for fields in ({}, {1: (I32, 1)}):
        with pytest.raises(ValueError, match="a list is missing"):
            _items(fields, 1)
    assert _structs({1: (LIST, (STRUCT, [{}]))}, 1) == [{}] and _structs({1: (LIST, (I32, []))}, 1) == []
    with pytest.raises(ValueError, match="a list is of another type"):
        _structs({1: (LIST, (I32, [1]))}, 1)
    assert _short(None) is None and _short(b"x" * 1024) == b"x" * 1024 and _short(b"x" * 1025) is None


def test_footers_that_are_long_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = File().data
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length : -8]
    for most in (length, length - 1):
        monkeypatch.setattr(module, "_MOST_BYTES", most)
        if most < length:
            with pytest.raises(ValueError, match="the footer is long"):
                PageFooter(footer, len(data))
        else:
            assert PageFooter(footer, len(data)).has_orders


def test_chunks_and_indexes_outside_of_the_file() -> None:
    file = File()
    stop = max(file.column(name).stop for name in LEAVES)
    length = int.from_bytes(file.data[-8:-4], "little")
    footer = file.data[-8 - length : -8]
    assert PageFooter(footer, stop).column(0, LEAVES["z"]) is not None
    with pytest.raises(ValueError, match="a column chunk is outside of the file"):
        PageFooter(footer, stop - 1).column(0, LEAVES["z"])
    short = PageFooter(footer, stop).column(0, LEAVES["n"])
    assert short is not None and short.offset_index is None and short.column_index is None, "they follow the chunks"
    assert file.footer.column(0, 2) is None and file.footer.column(0, 4) is None, "members and elements"


def test_row_groups_have_chunks_of_their_own() -> None:
    file = File(row_group_size=50)
    for group in range(2):
        chunk = file.metadata.row_group(group).column(0)
        column = file.column("n", group)
        assert (column.start, column.stop) == (
            chunk.data_page_offset,
            chunk.data_page_offset + chunk.total_compressed_size,
        )
        assert column.number == 0 and file.column("z", group).number == 5
        found = pages_of(column, 50, file.read, 1000)
        assert found.values.lower == [(10 * i + 50 * group).to_bytes(8, "little") for i in range(5)]
