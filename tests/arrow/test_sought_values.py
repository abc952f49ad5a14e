"""Row groups whose Bloom filters lack what a filter looks for are not read, and no row is lost by that."""

from __future__ import annotations

import datetime as dt
import inspect
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tableformats.engines.arrow.files.parquet import ParquetFile
from tableformats.io._thrift_write import write_struct
from tableformats.io.parquet.bloom_filters import BloomFilter, xxh64
from tableformats.schema import Field, primitive
from tests.support.arrow_fakes import FakeFile, snapshot_of, write

pytestmark = pytest.mark.skipif(
    "bloom_filter_options" not in inspect.signature(pq.ParquetWriter.__init__).parameters,
    reason="this pyarrow writes no Bloom filters",
)
LONG = primitive("long")
DAY, A_DAY, LATE_DAY = (dt.date(year, 1, 1) for year in (2020, 2022, 2030))
TIME, A_TIME, LATE_TIME = (dt.datetime(year, 1, 1) for year in (2020, 2022, 2030))
I32, STRUCT = 5, 12


def ids(root: Path, stored: pa.Array, kind: str, filter: str) -> list[int]:
    """The ids of matching rows. A row group has two values, whose bounds hold what is looked for."""
    table = pa.table({"id": range(len(stored)), "v": stored})
    path = write(root, table, row_group_size=2, bloom_filter_options={"v": {"ndv": 10, "fpp": 0.0001}})
    fields = [Field(1, "id", LONG), Field(2, "v", primitive(kind))]
    snapshot = snapshot_of(root, fields, [FakeFile(path, table.num_rows)])
    return snapshot.scan(filter, columns=["id"]).to_arrow()["id"].to_pylist()  # type: ignore[no-any-return]


VALUES = [
    (pa.array([0, 9, 4, 5, 0, 9], pa.int64()), "long", "5", "6"),
    (pa.array([0, 9, 4, 5, 0, 9], pa.int32()), "int", "5", "6"),
    (pa.array([-9, 9, 4, -5, -9, 9], pa.int32()), "long", "-5", "-6"),
    (pa.array(["a", "z", "m", "näme", "a", "z"]), "string", "'näme'", "'n'"),
    (pa.array(["a", "z", "m", "n" * 100, "a", "z"]), "string", f"'{'n' * 100}'", "'n'"),
    (pa.array([b"a", b"z", b"m", b"\xff", b"\0", b"\xff\xff"]), "binary", "X'FF'", "X'FE'"),
    (pa.array([DAY, LATE_DAY, DAY, A_DAY, DAY, LATE_DAY]), "date", "'2022-01-01'", "'2021-01-01'"),
    (
        pa.array([TIME, LATE_TIME, TIME, A_TIME, TIME, LATE_TIME], pa.timestamp("us")),
        *("timestamp_ntz", "'2022-01-01'", "'2021-01-01'"),
    ),
]
"""Values, of which the second row group has one that is looked for; their type; that value, and one that none has."""


@pytest.mark.parametrize(
    ("stored", "kind", "value", "other"),
    VALUES,
    ids=lambda given: str(given.type) if isinstance(given, pa.Array) else "",
)
def test_a_row_group_without_the_value_is_not_read(
    tmp_path: Path,
    groups_read: set[int],
    stored: pa.Array,
    kind: str,
    value: str,
    other: str,
) -> None:
    assert ids(tmp_path, stored, kind, f"v = {value}") == [3]
    assert groups_read == {1}
    groups_read.clear()
    assert ids(tmp_path, stored, kind, f"v IN ({other}, {value}) AND id >= 0") == [3]
    assert groups_read == {1}
    groups_read.clear()
    assert ids(tmp_path, stored, kind, f"v = {other}") == []
    assert groups_read == set()


@pytest.mark.parametrize("filter", ["v = 5 OR id = 0", "NOT v = 5", "v > 4", "v IS NULL", "v <> 5", "v = id"])
def test_other_filters_do_not_ask(tmp_path: Path, filter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: Any) -> bool:
        raise AssertionError("asked")

    monkeypatch.setattr(ParquetFile, "groups_without", refused)
    values = [0, 9, 4, 5, None, 9]
    expected = {
        "v = 5 OR id = 0": [0, 3],
        "NOT v = 5": [0, 1, 2, 5],
        "v > 4": [1, 3, 5],
        "v IS NULL": [4],
        "v <> 5": [0, 1, 2, 5],
        "v = id": [0],
    }
    assert ids(tmp_path, pa.array(values, pa.int64()), "long", filter) == expected[filter]


@pytest.mark.parametrize(
    ("stored", "kind", "value"),
    [
        (pa.array([0.5, 9, 4, 5, -0.0, 9]), "double", "5"),
        (pa.array([0, 9, 4, 5, 0, 9], pa.uint32()), "long", "5"),
        (pa.array([0, 9000, 4000, 5000, 0, 9000], pa.timestamp("ms")), "timestamp_ntz", "'1970-01-01 00:00:05'"),
        (pa.array(["0", "9", "4", "5" * 2000, "0", "9"]), "string", f"'{'5' * 2000}'"),
    ],
    ids=lambda given: str(given.type) if isinstance(given, pa.Array) else "",
)
def test_what_is_stored_otherwise_is_not_looked_for(
    tmp_path: Path,
    groups_read: set[int],
    stored: pa.Array,
    kind: str,
    value: str,
) -> None:
    assert ids(tmp_path, stored, kind, f"v = {value}") == [3]
    assert groups_read == {0, 1, 2}


def test_a_number_that_the_file_cannot_store(tmp_path: Path, groups_read: set[int]) -> None:
    assert ids(tmp_path, pa.array([0, 9, 4, 5], pa.int32()), "long", f"v IN (5, {2**40})") == [3]
    assert groups_read == {0, 1}


def test_xxh64() -> None:
    """Values of the reference: xxHash's own test vectors, and what python-xxhash gives."""
    assert xxh64(b"") == 0xEF46DB3751D8E999
    assert xxh64(b"a") == 0xD24EC4F1A98C6E5B
    assert xxh64(b"abc") == 0x44BC2CF5AD770999
    assert xxh64(b"Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1


def head(size: int = 64, **members: int) -> bytes:
    unions = [members.get(name, 1) for name in ("algorithm", "hash", "compression")]
    return write_struct(
        {1: (I32, size), **{key: (STRUCT, {member: (STRUCT, {})}) for key, member in enumerate(unions, 2)}}
    )


@pytest.mark.parametrize(
    "stored",
    [head(0), head(-32), head(33), head(algorithm=2), head(hash=2), head(compression=2), head()[:4], b"", b"\0"],
)
def test_filters_that_are_not_known(stored: bytes) -> None:
    with pytest.raises(ValueError):
        BloomFilter(stored)


@given(st.integers(1, 1 << 20), st.integers(0, 2**64 - 1))
def test_the_block_of_a_value_is_within_the_filter(blocks: int, hashed: int) -> None:
    start = len(head(32 * blocks))
    at = BloomFilter(head(32 * blocks)).block_of(hashed)
    assert start <= at < start + 32 * blocks and (at - start) % 32 == 0


def test_all_bits_of_a_value_are_looked_at() -> None:
    """A block with one bit less than those of a value does not hold it."""
    hashed = xxh64(b"value")
    assert not BloomFilter.may_hold(bytes(32), hashed) and BloomFilter.may_hold(b"\xff" * 32, hashed)
    lost = 0
    for bit in range(256):
        block = bytearray(b"\xff" * 32)
        block[bit // 8] ^= 1 << bit % 8
        lost += not BloomFilter.may_hold(bytes(block), hashed)
    assert lost == 8
    with pytest.raises(ValueError, match="cut short"):
        BloomFilter.may_hold(bytes(31), hashed)
