"""Texts that a file stores as codes of a dictionary are read as codes, and become texts when rows are chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tableformats.columnar.dropped_rows import without_rows
from tableformats.engines.arrow.files import page_rows, parquet
from tests.support.delta_log import DeltaLog, add, field

ROWS = 20_000
SHORT = pa.dictionary(pa.int32(), pa.string())
TEXTS = pa.array([None if i % 7 == 0 else f"text {i % 5}" for i in range(ROWS)])
DIFFERENT = pa.array([f"another {i}" for i in range(ROWS)])


def table_of(path: Path, rows: pa.Table, **options: Any) -> tf.Table:
    """A Delta table of one file that pyarrow writes."""
    kinds = {pa.string(): "string", pa.binary(): "binary", pa.int64(): "long"}
    log = DeltaLog(path).start(*(field(f.name, kinds[f.type]) for f in rows.schema))
    pq.write_table(rows, path / "f.parquet", **options)
    log.commit(1, add("f.parquet", size=(path / "f.parquet").stat().st_size))
    return tf.open_table(path)


@pytest.fixture
def coded(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The columns that are read as codes, of each reader."""
    found: list[list[str]] = []
    opened = parquet.open_parquet

    def open_parquet(source: Any, metadata: Any, piece: int, columns: list[str]) -> pq.ParquetFile:
        found.append(columns)
        return opened(source, metadata, piece, columns)

    def open_pages(source: Any, read_dictionary: list[str]) -> pq.ParquetFile:
        found.append(read_dictionary)
        return opened(source, read_dictionary=read_dictionary)

    monkeypatch.setattr(parquet, "open_parquet", open_parquet)
    monkeypatch.setattr(page_rows, "open_parquet", open_pages)
    return found


@pytest.mark.parametrize("where", [None, "s = 'text 3'", "id > 19000", "s IS NULL AND d >= 'another 5'", "id < 0"])
def test_rows_are_those_of_arrow(where: str | None, tmp_path: Path, coded: list[list[str]]) -> None:
    rows = pa.table({"id": range(ROWS), "s": TEXTS, "b": TEXTS.cast(pa.binary()), "d": DIFFERENT})
    table = table_of(tmp_path / "t", rows, row_group_size=ROWS // 2)
    chosen = {
        None: pa.array([True] * ROWS),
        "s = 'text 3'": pc.equal(TEXTS, "text 3"),
        "id > 19000": pc.greater(rows["id"], 19_000),
        "s IS NULL AND d >= 'another 5'": pc.and_(pc.is_null(TEXTS), pc.greater_equal(DIFFERENT, "another 5")),
        "id < 0": pc.less(rows["id"], 0),
    }[where]
    assert table.scan(where).to_arrow().equals(rows.filter(chosen))
    assert {name for columns in coded for name in columns} <= {"s", "b"}
    assert where == "id < 0" or any(coded)


def test_only_texts_that_are_codes_are_read_so(tmp_path: Path, coded: list[list[str]]) -> None:
    rows = pa.table({"s": TEXTS, "d": DIFFERENT, "plain": TEXTS})
    # The dictionary of `d` has room for few: after them, texts stand for themselves.
    table = table_of(tmp_path / "t", rows, use_dictionary=["s", "d"], dictionary_pagesize_limit=1 << 10)
    assert table.to_arrow().equals(rows)
    assert coded == [["s"]]


def test_few_rows_are_read_as_ever(tmp_path: Path, coded: list[list[str]]) -> None:
    rows = pa.table({"s": TEXTS.slice(0, 100)})
    assert table_of(tmp_path / "t", rows).to_arrow().equals(rows)
    assert coded == [[]]


def test_long_texts_come_in_small_batches(tmp_path: Path) -> None:
    """All rows of the file in one array of texts would take 600 MB."""
    texts = [c * length for c, length in zip("abcd", (1, 30_000, 30_000, 60_000), strict=True)]
    codes = np.arange(ROWS) % 4
    rows = pa.table({"id": range(ROWS), "s": pa.DictionaryArray.from_arrays(pa.array(codes), texts).cast(SHORT)})
    pq.write_table(rows, tmp_path / "f.parquet", store_schema=False, compression="none")
    log = DeltaLog(tmp_path).start(field("id", "long"), field("s", "string"))
    log.commit(1, add("f.parquet", size=(tmp_path / "f.parquet").stat().st_size))
    seen = 0
    for batch in tf.open_table(tmp_path).scan().to_arrow_batch_reader():
        assert batch.nbytes < 34 << 20
        of_batch = codes[seen : seen + len(batch)]
        assert pc.binary_length(batch["s"]).to_pylist() == [len(texts[code]) for code in of_batch]
        assert batch["s"][0].as_py() == texts[of_batch[0]]
        seen += len(batch)
    assert seen == ROWS


def test_rows_are_dropped_from_codes() -> None:
    codes = TEXTS.dictionary_encode()
    rows = pa.StructArray.from_arrays([codes.slice(3), pa.array(range(ROWS - 3))], names=["s", "i"])
    dropped = np.array([0, 1, 500, ROWS - 4])
    left = without_rows(rows, dropped)
    kept = np.delete(np.arange(ROWS - 3), dropped)
    assert pa.types.is_dictionary(left.field(0).type)
    assert left.field(0).dictionary_decode().equals(TEXTS.slice(3).take(pa.array(kept)))
    assert left.field(1).to_pylist() == kept.tolist()


@pytest.mark.parametrize("where", [None, "s = 'b'", "id >= 0"])
def test_a_code_that_the_dictionary_does_not_have_is_damage(where: str | None, tmp_path: Path) -> None:
    rows = pa.table({"id": range(ROWS), "s": ["a", "b", "c"][:1] * (ROWS // 2) + ["b"] * (ROWS // 2 - 1) + ["c"]})
    table = table_of(tmp_path / "t", rows, compression="none", use_dictionary=["s"], write_statistics=False)
    path = tmp_path / "t" / "f.parquet"
    data, chunk = path.read_bytes(), pq.read_metadata(path).row_group(0).column(1)
    start, end = chunk.data_page_offset, chunk.data_page_offset + chunk.total_compressed_size
    page = data[start:end]
    # A run of the code 0: twice its length as a number of variable length (LEB128), and the code.
    at = start + page.index(bytes([(ROWS & 127) | 128, (ROWS >> 7 & 127) | 128, ROWS >> 14, 0])) + 3
    path.write_bytes(data[:at] + b"\3" + data[at + 1 :])
    with pytest.raises(tf.CorruptMetadataError, match=r"f\.parquet"):
        table.scan(where).to_arrow()
