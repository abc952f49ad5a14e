"""Which bytes of a data file in a store are asked for, where few of its pages may hold a matching row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.engines.arrow.files import page_reads
from tests.support.s3_stub import S3Stub

ROWS = 400_000


@pytest.fixture
def stub() -> Iterator[S3Stub]:
    with S3Stub() as server:
        yield server


def bytes_of(stub: S3Stub) -> int:
    """The bytes that were asked for of data files."""
    ranges = [r.range.removeprefix("bytes=") for r in stub.requests if r.path.endswith(".parquet") and r.range]
    ends = [tuple(map(int, text.split("-"))) for text in ranges if not text.startswith("-")]
    return sum(last - first + 1 for first, last in ends)


def test_a_row_of_a_large_file(stub: S3Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The indexes are read with the footer, and then the pages: not the 10 MB of the file."""
    monkeypatch.setattr(page_reads, "FEWEST_REMOTE_BYTES", 1 << 20)
    numbers = np.random.default_rng(1)
    columns = {"id": np.arange(ROWS), **{name: numbers.random(ROWS) for name in ("x", "y", "z")}}
    table = pa.table(columns)
    tf.create_table(tmp_path / "t", table.schema, format="delta")
    tf.open_table(tmp_path / "t").append(table)
    stub.upload(tmp_path / "t", "t")
    remote = tf.open_table("s3://bucket/t", storage_options=stub.options)
    for where, expected in {"id = 250000": [250_000], f"id >= {ROWS - 2}": [ROWS - 2, ROWS - 1]}.items():
        stub.requests.clear()
        found = remote.scan(where).to_arrow()
        assert found.equals(table.take(pa.array(expected)))
        assert bytes_of(stub) < 1_500_000
    stub.requests.clear()
    assert remote.scan("x < 0.5").to_arrow().num_rows == int((columns["x"] < 0.5).sum())
    assert bytes_of(stub) > 8_000_000


def test_deleted_rows_take_no_request_of_their_own(
    stub: S3Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where few rows are deleted all bytes are wanted, and no index is read before them."""
    monkeypatch.setattr(page_reads, "FEWEST_REMOTE_BYTES", 1 << 20)
    table = pa.table({"id": np.arange(ROWS), "x": np.random.default_rng(1).random(ROWS)})
    made = tf.create_table(
        tmp_path / "t", table.schema, format="delta", properties={"delta.enableDeletionVectors": "true"}
    )
    made.append(table)
    tf.open_table(tmp_path / "t").delete("id IN (5, 6, 399000)")
    stub.upload(tmp_path / "t", "t")
    looked_up: list[int] = []
    monkeypatch.setattr(page_reads.PageReader, "_chunks", lambda self, group, leaves: looked_up.append(group))
    found = tf.open_table("s3://bucket/t", storage_options=stub.options).scan().to_arrow()
    assert sorted(set(range(ROWS)) - set(found["id"].to_pylist())) == [5, 6, 399_000] and looked_up == []
