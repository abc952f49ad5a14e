"""What heads of pages say that a chunk becomes, and where a chunk has all of its values in a dictionary."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats.errors import CorruptMetadataError, LimitExceededError
from tableformats.io.parquet import chunks
from tableformats.io.parquet.chunks import _inflated_size, check_pages
from tableformats.io.parquet.dictionaries import dictionary_of
from tableformats.io.parquet.pages import PageStream
from tableformats.io.parquet.schema_bytes import is_of_old_spark
from tableformats.limits import Limits


def head(inflated: int, stored: int) -> bytes:
    """PageHeader in Thrift's compact protocol: type, uncompressed_page_size, compressed_page_size."""
    return (
        b"\x15\x00"
        + b"".join(b"\x15" + varint(2 * size if size >= 0 else -2 * size - 1) for size in (inflated, stored))
        + b"\x00"
    )


def varint(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found, number = found + bytes([number & 0x7F | 0x80]), number >> 7
    return found + bytes([number])


def inflated(data: bytes, first: int, dictionary: int | None, size: int) -> int:
    chunk = SimpleNamespace(data_page_offset=first, dictionary_page_offset=dictionary, total_compressed_size=size)
    return _inflated_size(data, chunk, "/t/f")


def test_sizes_of_pages() -> None:
    one, two = head(1000, 3) + b"abc", head(7, 1) + b"x"
    data = b"PAR1" + one + two
    assert inflated(data, 4, None, len(one) + len(two)) == 1007
    assert inflated(data, 4, None, len(one)) == 1000
    assert inflated(data, 4, 0, len(one)) == 1000, "an offset of 0 is none"
    assert inflated(data, 4 + len(one), 4, len(one) + len(two)) == 1007, "the dictionary comes first"
    assert inflated(data, 4 + len(one), None, len(two)) == 7
    assert inflated(data, 4, None, 10**9) == 1007, "what is behind the file is none"
    assert inflated(data, 4, None, 0) == 0
    assert inflated(b"PAR1" + head(0, 0), 4, None, len(head(0, 0))) == 0


@pytest.mark.parametrize(
    "page",
    [head(-1, 3), head(3, -1), b"\x15\x00\x00", b"\x15\x00\x15\x02\x00", b"\x15", b"\x15\x00\x18\x01a\x15\x02\x00"],
)
def test_heads_that_are_damaged(page: bytes) -> None:
    with pytest.raises(CorruptMetadataError, match="the head of a page is damaged") as caught:
        inflated(b"PAR1" + page, 4, None, len(page))
    assert caught.value.path == "/t/f" and caught.value.offset == 4


I32, I64, LIST, STRUCT = 5, 6, 9, 12
DATA, DICTIONARY, DATA_V2, PLAIN, CODES = 0, 2, 3, 0, 8


def pages(*kinds: tuple[int, int], element: int = STRUCT) -> Any:
    """PageEncodingStats of pages with these types and encodings."""
    return LIST, (element, [{1: (I32, kind), 2: (I32, encoding), 3: (I32, 1)} for kind, encoding in kinds])


CODED = pages((DICTIONARY, PLAIN), (DATA, CODES))
PLACE = {11: (I64, 4), 9: (I64, 100)}


@pytest.mark.parametrize(
    ("data", "physical", "stop", "found"),
    [
        ({13: CODED, **PLACE}, 1, 500, (4, 96)),
        ({13: CODED, **PLACE}, 2, 500, (4, 96)),
        ({13: CODED, **PLACE}, 6, 100, (4, 96)),
        ({13: CODED, **PLACE}, 6, 99, None),
        ({13: CODED, **PLACE}, 5, 500, None),  # a double
        ({13: (8, CODED[1]), **PLACE}, 6, 500, None),
        ({13: pages((DATA, CODES), element=I32), **PLACE}, 6, 500, None),
        ({13: pages((DATA_V2, CODES), (DATA, 2)), **PLACE}, 6, 500, (4, 96)),
        ({13: pages((DATA, CODES), (DATA, PLAIN)), **PLACE}, 6, 500, None),
        ({13: pages((DICTIONARY, CODES)), **PLACE}, 6, 500, None),
        ({13: pages(), **PLACE}, 6, 500, None),
        (PLACE, 6, 500, None),
        ({13: CODED, 9: (I64, 100)}, 6, 500, None),
        ({13: CODED, 11: (I64, 4)}, 6, 500, None),
        ({13: CODED, 11: (8, b"x"), 9: (I64, 100)}, 6, 500, None),
        ({13: CODED, 11: (I32, 4), 9: (I64, 100)}, 6, 500, (4, 96)),
        ({13: CODED, 11: (I64, 0), 9: (I64, 100)}, 6, 500, None),
        ({13: CODED, 11: (I64, 1), 9: (I64, 100)}, 6, 500, (1, 99)),
        ({13: CODED, 11: (I64, 100), 9: (I64, 100)}, 6, 500, None),
        ({13: CODED, 11: (I64, 99), 9: (I64, 100)}, 6, 500, (99, 1)),
    ],
)
def test_where_all_values_are_in_a_dictionary(
    data: dict[int, Any], physical: int, stop: int, found: tuple[int, int] | None
) -> None:
    column: Any = SimpleNamespace(data=data, physical_type=physical, stop=stop)
    assert dictionary_of(column) == found


@pytest.mark.parametrize(
    ("start", "stop", "firsts"),
    [(0, 20, [0, 10, 20]), (9, 20, [0, 10, 20]), (10, 20, [10, 20]), (11, 20, [10, 20]), (20, 25, [20]), (25, 25, [])],
)
def test_pages_that_have_rows_from_a_position_on(start: int, stop: int, firsts: list[int]) -> None:
    stream: Any = SimpleNamespace(
        _pages=[(first, SimpleNamespace(rows=rows)) for first, rows in ((0, 10), (10, 10), (20, 5))]
    )
    stream._rows = 25
    assert [first for first, _ in PageStream.until(stream, start, stop)] == firsts


@pytest.mark.parametrize(
    ("written", "is_old"),
    [
        (b"", False),
        (b"parquet-mr version 1.2", False),
        (b"org.apache.spark.version\x18\x052.4.5", True),
        (b"org.apache.spark.version\x18\x053.0.3", True),
        (b"org.apache.spark.version\x18\x053.1.0", False),
        (b"org.apache.spark.version\x18\x054.0.0", False),
        (b"org.apache.spark.version\x18\x0610.0.0", False),
        (b"org.apache.spark.version\x18\x053.1.0 org.apache.spark.legacyDateTime", True),
        (b"org.apache.spark.legacyINT96", True),
        (b"org.apache.spark.version\x18\x03new", True),
    ],
)
def test_files_of_old_sparks(written: bytes, is_old: bool) -> None:
    assert is_of_old_spark(b"PAR1 " + written) is is_old


@pytest.mark.parametrize("columns", [1, 2])
def test_pages_that_become_as_much_as_a_file_may(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk takes all of the limit here; with another one it is too much."""
    monkeypatch.setattr(chunks, "_inflated_size", lambda *_: (1 << 20) // chunks._COPIES)
    out = pa.BufferOutputStream()
    pq.write_table(pa.table({str(i): [1] for i in range(columns)}), out, compression="gzip")
    source = pa.BufferReader(out.getvalue())
    metadata = pq.read_metadata(source)
    if columns == 1:
        check_pages(source, metadata, "f", Limits(expansion=1))
        return
    with pytest.raises(LimitExceededError, match=r"the pages of a Parquet file .* limit expansion of 1"):
        check_pages(source, metadata, "f", Limits(expansion=1))
