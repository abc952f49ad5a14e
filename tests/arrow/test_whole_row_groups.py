"""Row groups that are read by pages as a whole: every kind of column and page, of several writers, beside pyarrow.

Texts are found in the pages, and Snappy is decompressed before Arrow gets the pages. Row groups of a few rows are read
so here; the product does it with larger ones.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tableformats.engines.arrow import file_rows
from tableformats.engines.arrow.files import page_reads, page_rows
from tableformats.engines.arrow.files.column_tree import Selection
from tableformats.engines.arrow.files.page_reads import PageReader
from tableformats.engines.arrow.files.parquet import ParquetFile
from tableformats.errors import CorruptMetadataError, TableFormatsError
from tableformats.io.parquet import data_pages, pages
from tableformats.limits import DEFAULT_LIMITS
from tableformats.schema import Field, primitive
from tests.support.arrow_fakes import FakeFile, snapshot_of

ROWS = 1_600


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_reads, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(page_reads, "_LOCAL_WINDOW_BYTES", 20_000)


@pytest.fixture
def by_pages(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The row groups that are read so."""
    found: list[int] = []
    all_rows = PageReader.all_rows

    def noted(self: PageReader, group: int, *rest: Any) -> Any:
        rows = all_rows(self, group, *rest)
        if rows is not None:
            found.append(group)
        return rows

    monkeypatch.setattr(PageReader, "all_rows", noted)
    return found


def some_rows(seed: int, nulls: float = 0.1) -> pa.Table:
    """Columns of every type at the top, with NULLs here and there; `none` has no other values, `full` none."""
    random = np.random.default_rng(seed)
    numbers = random.integers(-100, 100, ROWS)

    def column(values: Any, kind: pa.DataType | None = None) -> pa.Array:
        array = pa.array(values)
        array = array if kind is None else array.cast(kind)
        return pc.if_else(pa.array(random.random(ROWS) < nulls), pa.scalar(None, array.type), array)

    texts = [f"text {n} " * (n % 4) for n in numbers.tolist()]
    different = [f"{i} {'long' * (i % 7)}" for i in range(ROWS)]
    return pa.table(
        {
            "int8": column(numbers, pa.int8()),
            "int32": column(numbers, pa.int32()),
            "int64": column(numbers * 10**12),
            "uint32": column(abs(numbers), pa.uint32()),
            "float": column(numbers / 7, pa.float32()),
            "double": column(numbers / 7),
            "bool": column(numbers > 0),
            "date": column(numbers, pa.int32()).cast(pa.date32()),
            "time": column(numbers * 10**9).cast(pa.timestamp("us", "UTC")),
            "nanoseconds": column(numbers * 10**9).cast(pa.timestamp("ns")),
            "decimal": column([Decimal(n) for n in numbers.tolist()], pa.decimal128(9, 2)),
            "wide": column([Decimal(n) for n in numbers.tolist()], pa.decimal128(38, 2)),
            "texts": column(texts),
            "different": column(different),
            "full": pa.array(different),
            "none": pa.nulls(ROWS, pa.string()),
            "empty": column([""] * ROWS),
            "bytes": column([text.encode()[::-1] for text in texts]),
            "large": column(texts, pa.large_string()),
            "fixed": column([text.encode()[:4].ljust(4) for text in texts], pa.binary(4)),
            "codes": column(texts).dictionary_encode(),
        }
    )


def rows_of(path: Path, leaves: frozenset[int] | None = None) -> pa.Table:
    """All rows of a file, as our reader gives them, with Arrow's types of its schema."""
    with pa.OSFile(str(path)) as source:
        file = ParquetFile(str(path), source, DEFAULT_LIMITS)
        selection: Selection = file.select(file.root.leaves if leaves is None else leaves)
        batches = []
        for part in file.parts(selection):
            for first, rows in file.part_rows(part, selection):
                assert first == sum(len(batch) for batch in batches)
                batches.append(pa.RecordBatch.from_struct_array(rows))
    columns = [
        pa.chunked_array([pa.concat_arrays([b.column(i).cast(_plain(b.column(i).type))]) for b in batches])
        for i in range(batches[0].num_columns)
    ]
    return pa.table(columns, names=batches[0].schema.names)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def expected(path: Path) -> pa.Table:
    table = pq.read_table(path, coerce_int96_timestamp_unit="us")
    return pa.table([column.cast(_plain(column.type)) for column in table.columns], names=table.column_names)


WRITERS: dict[str, dict[str, Any]] = {
    "snappy": {},
    "zstd": {"compression": "zstd"},
    "gzip": {"compression": "gzip"},
    "lz4": {"compression": "lz4"},
    "none": {"compression": "none"},
    "second version": {"data_page_version": "2.0"},
    "second version of zstd": {"data_page_version": "2.0", "compression": "zstd"},
    "no dictionary": {"use_dictionary": False},
    "a dictionary that ends": {"dictionary_pagesize_limit": 2_000, "write_batch_size": 100},
    "pages of unequal rows": {"data_page_size": 700, "write_batch_size": 10, "use_dictionary": ["texts"]},
    "pages of few rows": {"max_rows_per_page": 37, "write_batch_size": 37},
    "row groups": {"row_group_size": 700},
    "checksums": {"write_page_checksum": True, "data_page_version": "2.0"},
    "deltas": {
        "use_dictionary": False,
        "column_encoding": {"texts": "DELTA_BYTE_ARRAY", "different": "DELTA_LENGTH_BYTE_ARRAY", "int64": "PLAIN"},
    },
    "int96": {"use_deprecated_int96_timestamps": True},
}


@pytest.mark.parametrize("options", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("nulls", [0.0, 0.1, 0.9])
def test_rows_are_those_of_arrow(tmp_path: Path, by_pages: list[int], options: dict[str, Any], nulls: float) -> None:
    pq.write_table(some_rows(1, nulls), tmp_path / "f.parquet", **{"row_group_size": ROWS, **options})
    found, wanted = rows_of(tmp_path / "f.parquet"), expected(tmp_path / "f.parquet")
    is_read = options.get("compression") not in ("gzip", "lz4")
    assert by_pages == list(range(pq.ParquetFile(tmp_path / "f.parquet").num_row_groups if is_read else 0))
    for name in wanted.column_names:
        assert found[name].combine_chunks().equals(wanted[name].combine_chunks()), name
    assert found.column_names == wanted.column_names


@pytest.mark.parametrize("block_bytes", [1, 30, 300, 3000, 30_000])
def test_pages_longer_and_shorter_than_blocks(
    tmp_path: Path, by_pages: list[int], monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    """A page that follows one of several blocks is read to its end, too."""
    monkeypatch.setattr(pages, "_BLOCK_BYTES", block_bytes)
    rows = some_rows(3)
    pq.write_table(rows, tmp_path / "f.parquet", data_page_size=2000, use_dictionary=False)
    assert rows_of(tmp_path / "f.parquet").equals(expected(tmp_path / "f.parquet"))
    assert by_pages == [0]


def test_pages_of_incompressible_megabytes(tmp_path: Path) -> None:
    """Spark writes pages of a megabyte before compression."""
    numbers = np.random.default_rng(0).integers(0, 1 << 62, 500_000)
    options = {"data_page_size": 1 << 20, "max_rows_per_page": 1 << 30, "use_dictionary": False}
    pq.write_table(pa.table({"number": numbers}), tmp_path / "f.parquet", **options)
    assert rows_of(tmp_path / "f.parquet")["number"].to_numpy().tolist() == numbers.tolist()


def test_without_cramjam(tmp_path: Path, by_pages: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_pages, "_snappy", lambda: None)
    for compression in ("snappy", "zstd"):
        pq.write_table(some_rows(2), tmp_path / "f.parquet", compression=compression)
        assert rows_of(tmp_path / "f.parquet").equals(expected(tmp_path / "f.parquet"))
    assert by_pages == [0], "Arrow reads Snappy as a whole"


@pytest.mark.parametrize(
    ("kind", "compression", "is_gain"),
    [
        *((pa.string(), codec, True) for codec in ("snappy", "none", "zstd")),
        *((pa.string(), codec, False) for codec in ("gzip", "brotli", "lz4")),
        (pa.decimal128(25, 2), "snappy", True),
        (pa.decimal128(25, 2), "zstd", False),
        (pa.bool_(), "none", False),
    ],
)
def test_where_it_is_quicker(
    tmp_path: Path, by_pages: list[int], kind: pa.DataType, compression: str, is_gain: bool
) -> None:
    pytest.importorskip("cramjam")
    table = pa.table({"column": pa.nulls(ROWS, kind)})
    pq.write_table(table, tmp_path / "f.parquet", compression=compression)
    assert rows_of(tmp_path / "f.parquet").equals(table)
    assert by_pages == ([0] if is_gain else [])


@pytest.mark.parametrize("compression", ["snappy", "zstd", "gzip"])
def test_texts_of_which_nearly_nothing_is_stored(tmp_path: Path, compression: str) -> None:
    """A megabyte of empty texts is a page of some forty bytes."""
    table = pa.table({"text": [""] * 600_000})
    options = {"use_dictionary": False, "max_rows_per_page": 600_000, "data_page_size": 1 << 30}
    pq.write_table(table, tmp_path / "f.parquet", compression=compression, write_batch_size=600_000, **options)
    assert rows_of(tmp_path / "f.parquet").equals(table)


def test_required_columns(tmp_path: Path, by_pages: list[int]) -> None:
    table = some_rows(3, 0.0).drop_columns(["none"])
    required = pa.schema([field.with_nullable(False) for field in table.schema])
    for version in ("1.0", "2.0"):
        pq.write_table(table.cast(required), tmp_path / version, data_page_version=version)
        assert rows_of(tmp_path / version).equals(expected(tmp_path / version))
    assert by_pages == [0, 0]


def test_nested_columns_are_left_to_arrow(tmp_path: Path, by_pages: list[int]) -> None:
    table = pa.table({"list": [[1], None] * 50, "text": ["a", None] * 50})
    pq.write_table(table, tmp_path / "f.parquet")
    assert rows_of(tmp_path / "f.parquet")["text"].to_pylist() == ["a", None] * 50
    assert by_pages == []


@pytest.mark.parametrize("compression", ["snappy", "zstd", "uncompressed", "gzip", "lz4"])
def test_files_of_polars(tmp_path: Path, by_pages: list[int], compression: Any) -> None:
    polars = pytest.importorskip("polars")
    table = some_rows(4).select(["int64", "double", "bool", "date", "texts", "different", "full", "none", "bytes"])
    polars.from_arrow(table).write_parquet(
        tmp_path / "f.parquet", compression=compression, data_page_size=3_000, row_group_size=1_000
    )
    found, wanted = rows_of(tmp_path / "f.parquet"), expected(tmp_path / "f.parquet")
    assert found.cast(wanted.schema).equals(wanted)
    assert found.num_rows == ROWS


@pytest.mark.parametrize("compression", ["snappy", "zstd", "uncompressed", "gzip", "lz4_raw", "brotli"])
def test_files_of_duckdb(tmp_path: Path, by_pages: list[int], compression: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    table = some_rows(5).select(["int64", "double", "bool", "date", "texts", "different", "full", "none", "bytes"])
    for version in ("V1", "V2"):
        options = f"FORMAT parquet, COMPRESSION {compression}, PARQUET_VERSION {version}, ROW_GROUP_SIZE 2048"
        duckdb.connect().register("t", table).execute(f"COPY t TO '{tmp_path / version}' ({options})")
        assert rows_of(tmp_path / version).equals(expected(tmp_path / version))
    assert by_pages == ([0, 0] if compression in ("snappy", "zstd", "uncompressed") else [])


FIELDS = [
    Field(i, name, primitive(kind))
    for i, (name, kind) in enumerate(
        [("int64", "long"), ("double", "double"), ("texts", "string"), ("full", "string")], 1
    )
]
CHOSEN: dict[str, Callable[[pa.Table], Any]] = {
    "double > 13": lambda t: pc.greater(t["double"], 13.0),
    "double > 0": lambda t: pc.greater(t["double"], 0.0),
    "texts IS NULL": lambda t: pc.is_null(t["texts"]),
    "texts LIKE 'text 3%'": lambda t: pc.starts_with(t["texts"], "text 3"),
    "full = '77 '": lambda t: pc.equal(t["full"], "77 "),
    "int64 IS NOT NULL": lambda t: pc.is_valid(t["int64"]),
}


@pytest.mark.parametrize("where", CHOSEN)
@pytest.mark.parametrize(
    "name", ["snappy", "second version of zstd", "pages of unequal rows", "a dictionary that ends"]
)
def test_rows_that_match(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, name: str) -> None:
    monkeypatch.setattr(file_rows, "_AHEAD_ROWS", 500)
    monkeypatch.setattr(page_rows, "BATCH_ROWS", 301)
    monkeypatch.setattr(page_rows, "_BATCH_BYTES", 900)
    table = some_rows(6).select([field.name for field in FIELDS])
    path = str(tmp_path / "f.parquet")
    pq.write_table(table, path, row_group_size=ROWS, **WRITERS[name])
    found = snapshot_of(tmp_path, FIELDS, [FakeFile(path, ROWS)]).scan(where).to_arrow()
    assert found.to_pydict() == table.filter(CHOSEN[where](table)).to_pydict()


def test_texts_that_are_no_utf_8(tmp_path: Path) -> None:
    """As Arrow reads them: nothing is looked at."""
    stored = pa.array([b"\xff\xfe", b"a", None] * 20)
    pq.write_table(pa.table({"text": stored.view(pa.string())}), tmp_path / "f.parquet")
    assert rows_of(tmp_path / "f.parquet")["text"].combine_chunks().view(pa.binary()).equals(stored)


def test_batches_of_long_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes of few long texts do not make a batch of many bytes."""
    monkeypatch.setattr(page_rows, "_BATCH_BYTES", 10_000)
    texts = ["a" * 4_000, "b", None] * 50 + [f"{i}" for i in range(50)]
    pq.write_table(
        pa.table({"text": texts}), tmp_path / "f.parquet", dictionary_pagesize_limit=4_100, write_batch_size=10
    )
    with pa.OSFile(str(tmp_path / "f.parquet")) as source:
        file = ParquetFile("f", source, DEFAULT_LIMITS)
        selection = file.select([0])
        batches = [rows for part in file.parts(selection) for _, rows in file.part_rows(part, selection)]
    assert [text for batch in batches for text in batch.field(0).to_pylist()] == texts
    assert all(batch.nbytes < 15_000 for batch in batches) and len(batches) > 20


def test_damaged_pages(tmp_path: Path) -> None:
    """The right rows, others of their number (no checksum tells), or one of our errors."""
    table = some_rows(7).select(["int64", "texts", "full"])
    pq.write_table(table, tmp_path / "f.parquet", dictionary_pagesize_limit=2_000, write_batch_size=100)
    sound, random = (tmp_path / "f.parquet").read_bytes(), np.random.default_rng(8)
    footer = len(sound) - 8 - int.from_bytes(sound[-8:-4], "little")
    outcomes = set()
    for _ in range(300):
        data = bytearray(sound)
        for place in random.integers(4, footer, int(random.integers(1, 4))):
            data[place] = random.integers(0, 256)
        (tmp_path / "g.parquet").write_bytes(data)
        try:
            assert rows_of(tmp_path / "g.parquet").num_rows == ROWS
            outcomes.add("rows")
        except TableFormatsError as error:
            outcomes.add(type(error).__name__)
            assert str(tmp_path / "g.parquet") in str(error)
    assert outcomes == {"rows", "CorruptMetadataError"}


def test_a_chunk_that_ends_early(tmp_path: Path) -> None:
    table = pa.table(
        {"text": [f"{i}" for i in range(ROWS)], "day": [dt.date(2020, 1, 1)] * ROWS, "d": [Decimal(1)] * ROWS}
    )
    pq.write_table(table, tmp_path / "f.parquet", use_dictionary=False)
    data = (tmp_path / "f.parquet").read_bytes()
    start = pq.ParquetFile(tmp_path / "f.parquet").metadata.row_group(0).column(0).data_page_offset
    (tmp_path / "f.parquet").write_bytes(data[:start] + bytes(40) + data[start + 40 :])
    with pytest.raises(CorruptMetadataError, match=r"f\.parquet"):
        rows_of(tmp_path / "f.parquet")
