"""How the insides of a Parquet file are laid out: codecs, row groups, pages, statistics and Bloom filters."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats.engines.arrow.writing import parquet_files
from tableformats.engines.arrow.writing.parquet_files import ParquetLayout, _filter
from tableformats.engines.arrow.writing.stored_columns import stored_schema
from tableformats.plugin import Schema, WriteTarget
from tableformats.plugin.writing.parquet_options import BloomFilter, ParquetOptions

NAN = float("nan")


def written(
    rows: pa.Table, parquet: ParquetOptions | None = None, **options: Any
) -> tuple[pq.FileMetaData, frozenset[int]]:
    """The footer of a file, and which leaves have NaN. Fields are numbered from 1 on, depth first."""
    target = WriteTarget(Schema.from_arrow(rows.schema), parquet=parquet or ParquetOptions(), **options)
    sink = pa.BufferOutputStream()
    _, found = ParquetLayout(target, stored_schema(target)).write(rows, sink)
    data = pa.BufferReader(sink.getvalue())
    assert str(pq.read_table(data).to_pylist()) == str(rows.to_pylist())
    data.seek(0)
    return pq.read_metadata(data), found


def groups(footer: pq.FileMetaData) -> list[int]:
    return [footer.row_group(i).num_rows for i in range(footer.num_row_groups)]


def chunks(footer: pq.FileMetaData) -> dict[str, pq.ColumnChunkMetaData]:
    """Those of the first row group."""
    group = footer.row_group(0)
    return {one.path_in_schema: one for one in map(group.column, range(group.num_columns))}


@pytest.mark.parametrize(
    ("rows", "asked", "level", "codec"),
    [
        (127, "zstd", None, "SNAPPY"),
        (128, "zstd", None, "ZSTD"),
        (127, "zstd", 3, "ZSTD"),
        (127, "gzip", None, "GZIP"),
        (128, "snappy", None, "SNAPPY"),
    ],
)
@pytest.mark.parametrize("columns", [1, 2])
def test_the_codec_of_few_bytes(rows: int, asked: str, level: int | None, codec: str, columns: int) -> None:
    """Zstandard takes long to begin, so that a kilobyte a column is not worth it."""
    table = pa.table({f"c{i}": pa.array(range(rows), pa.int64()) for i in range(columns)})
    footer, _ = written(table, ParquetOptions(compression_level=level), compression=asked)
    assert {chunk.compression for chunk in chunks(footer).values()} == {codec}


@pytest.mark.parametrize("rows", [20_000, 20_001])
def test_files_of_several_pages_have_a_page_index(rows: int) -> None:
    (chunk,) = chunks(written(pa.table({"a": pa.array(range(rows), pa.int32())}))[0]).values()
    assert chunk.has_offset_index is chunk.has_column_index is (rows > 20_000)


@pytest.mark.parametrize(
    ("rows", "most", "found"),
    [
        (1000, None, [1000]),
        (1000, 1, [100] * 10),
        (1000, 100_000, [1000]),
        (250, 1, [100, 100, 50]),
        (99, 1, [99]),
        (101, 1, [100, 1]),
    ],
)
def test_row_groups_by_their_bytes(rows: int, most: int | None, found: list[int]) -> None:
    """None has fewer than 100 rows, but for the last one."""
    table = pa.table({"a": pa.array(range(rows), pa.int64())})
    assert groups(written(table, ParquetOptions(row_group_bytes=most))[0]) == found


def test_a_row_group_is_cut_by_the_bytes_that_the_one_before_took() -> None:
    """The first has the rows that take 8 kB in memory; the next ones as many as take that in the file."""
    table = pa.table({"a": pa.array([5] * 20_000, pa.int64())})
    first, *others = groups(written(table, ParquetOptions(row_group_bytes=8000))[0])
    assert first == 1000 and others == [19_000]
    noise = pa.table({"a": pa.array([i * 0x9E3779B97F4A7C15 % 2**63 for i in range(5000)], pa.int64())})
    options = ParquetOptions(row_group_bytes=8000, without_dictionary=frozenset((1,)))
    first, *others, _ = groups(written(noise, options)[0])
    assert first == 1000 and others and all(900 <= rows <= 1000 for rows in others)


def test_row_groups_have_no_more_rows_than_they_may() -> None:
    table = pa.table({"a": pa.array(range(1000), pa.int64())})
    for parquet in (ParquetOptions(), ParquetOptions(row_group_bytes=1 << 20)):
        assert groups(written(table, parquet, row_group_rows=400)[0]) == [400, 400, 200]


def test_columns_with_nan_have_no_statistics() -> None:
    inner = pa.struct([("x", pa.float32()), ("t", pa.string())])
    rows = pa.table(
        {
            "a": [1.0, 2.0],
            "s": ["u", "v"],
            "p": pa.array([{"x": 1.0, "t": "u"}, {"x": NAN, "t": "v"}], inner),
            "l": [[NAN], [1.0]],
            "b": [NAN, None],
            "n": [1, 2],
        }
    )
    footer, found = written(rows)
    leaves = ["a", "s", "p.x", "p.t", "l.list.element", "b", "n"]
    assert [*chunks(footer)] == leaves and found == {leaves.index("p.x"), leaves.index("b")}
    bare = {name for name, chunk in chunks(footer).items() if not chunk.is_stats_set}
    assert bare == {"p.x", "b"}
    clean = rows.slice(0, 1).select(["a", "s", "n"])
    assert written(clean)[1] == frozenset() and all(c.is_stats_set for c in chunks(written(clean)[0]).values())


def test_statistics_and_dictionaries_are_left_out_where_they_are_not_wanted() -> None:
    rows = pa.table({"a": ["x", "x"], "b": [1.0, NAN], "c": ["y", "y"]})
    options = ParquetOptions(without_statistics=frozenset((1,)), without_dictionary=frozenset((3,)))
    for table, bare in ((rows, {"a", "b"}), (rows.slice(0, 1), {"a"})):
        found = chunks(written(table, options)[0])
        assert {name for name, chunk in found.items() if not chunk.is_stats_set} == bare
        assert {name for name, chunk in found.items() if not chunk.has_dictionary_page} == {"c"}


def test_older_writers_are_not_asked_for_what_they_do_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = pa.table({"a": pa.array(range(1000), pa.int64())})
    options = ParquetOptions(page_rows=100, compression_level=1, bloom_filters={1: BloomFilter()})
    target = WriteTarget(Schema.from_arrow(rows.schema), parquet=options)
    assert parquet_files._writer_options(target, rows.schema)["max_rows_per_page"] == 100
    monkeypatch.setattr(parquet_files, "_known_options", lambda: frozenset(("compression_level",)))
    found = parquet_files._writer_options(target, rows.schema)
    assert found == {"compression": "zstd", "data_page_version": "1.0", "compression_level": 1}
    layout = ParquetLayout(target, stored_schema(target))
    assert layout._filters(1000) == {}
    layout.write(rows, pa.BufferOutputStream())


@pytest.mark.skipif("bloom_filter_options" not in parquet_files._known_options(), reason="pyarrow writes none")
def test_bloom_filters_of_the_columns_that_ask_for_them() -> None:
    rows = pa.table({"a": pa.array(range(3000), pa.int64()), "b": ["x"] * 3000, "c": range(3000)})
    asked = ParquetOptions(bloom_filters={1: BloomFilter(0.5), 3: BloomFilter(distinct_values=10)})
    target = WriteTarget(Schema.from_arrow(rows.schema), parquet=asked, row_group_rows=2000)
    found = ParquetLayout(target, stored_schema(target))._filters(3000)
    assert found == {"bloom_filter_options": {"a": {"ndv": 2000, "fpp": 0.5}, "c": {"ndv": 10, "fpp": 0.01}}}
    footer, _ = written(rows, asked)
    assert {name for name, chunk in chunks(footer).items() if chunk.bloom_filter_length} == {"a", "c"}
    plain = WriteTarget(Schema.from_arrow(rows.schema))
    assert ParquetLayout(plain, stored_schema(plain))._filters(3000) == {}


@pytest.mark.parametrize(
    ("asked", "rows", "most_bytes", "values"),
    [
        (BloomFilter(0.01), 1000, 1 << 20, 1000),
        (BloomFilter(0.01, 50), 1000, 1 << 20, 50),
        (BloomFilter(0.01, 5000), 1000, 1 << 20, 1000),
        (BloomFilter(0.01), 100_000, 1024, 846),
        (BloomFilter(0.01), 100_000, 2047, 846),
        (BloomFilter(0.01), 100_000, 0, 26),
        (BloomFilter(0.01), 100_000, 63, 26),
        (BloomFilter(0.01), 100_000, 64, 52),
        (BloomFilter(0.0001), 100_000, 4096, 1557),
        (BloomFilter(0.01), 0, 1024, 1),
    ],
)
def test_how_many_values_a_bloom_filter_is_for(asked: BloomFilter, rows: int, most_bytes: int, values: int) -> None:
    """By the formula of the Parquet format, in a filter of the next lower power of two bytes, 32 at least."""
    assert _filter(asked, rows, most_bytes) == {"ndv": values, "fpp": asked.false_positives}
