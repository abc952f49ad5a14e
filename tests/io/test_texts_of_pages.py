"""Texts of some rows of a column chunk: pages of every kind, and NULLs, against lists of Python."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import cramjam
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.io.parquet import texts as module
from tableformats.io.parquet.data_pages import StoredPage
from tableformats.io.parquet.pages import PageColumn
from tableformats.io.parquet.texts import texts_of
from tests.io.test_page_texts import packed
from tests.io.test_page_values import (
    DICTIONARY,
    NONE,
    PLAIN,
    RLE_DICTIONARY,
    SNAPPY,
    column,
    data_page,
    numbers,
    page_bytes,
)
from tests.support.examples import examples

BYTE_ARRAY = 6
TEXTS = st.binary(max_size=20) | st.sampled_from([b"", b"x" * 16, b"y" * 17])
Chunk = tuple[PageColumn, list[bytes | None], list[bytes], bytes]


def plain(texts: Sequence[bytes]) -> bytes:
    return b"".join(struct.pack("<i", len(text)) + text for text in texts)


@st.composite
def chunks(draw: st.DrawFn) -> Chunk:
    """A column, its texts, its pages, and its dictionary."""
    is_optional, codec = draw(st.booleans()), draw(st.sampled_from([NONE, SNAPPY]))
    entries = draw(st.lists(TEXTS, min_size=1, max_size=5))
    every: list[bytes | None] = []
    pages = []
    for _ in range(draw(st.integers(1, 5))):
        version, is_coded = draw(st.integers(1, 2)), draw(st.booleans())
        values = draw(st.lists((st.sampled_from(entries) if is_coded else TEXTS) | st.none(), max_size=15))
        if not is_optional:
            values = [entries[0] if value is None else value for value in values]
        known = [value for value in values if value is not None]
        defined = [int(value is not None) for value in values] if is_optional else None
        stored = bytes([3]) + packed([entries.index(value) for value in known], 3) if is_coded else plain(known)
        pages.append(data_page(stored, defined, len(values), RLE_DICTIONARY if is_coded else PLAIN, version, codec))
        every += values
    body = plain(entries)
    compressed = body if codec == NONE else bytes(cramjam.snappy.compress_raw(body))
    head = page_bytes(DICTIONARY, compressed, numbers([len(entries), PLAIN]), len(body))
    return column(BYTE_ARRAY, is_optional, codec), every, pages, head


@pytest.mark.parametrize("most", [1 << 30, 0], ids=["copied", "by-places"])
@settings(max_examples=examples(300), deadline=None)
@given(chunk=chunks(), data=st.data())
def test_texts_of_some_rows(most: int, chunk: Chunk, data: st.DataObject) -> None:
    stored_column, every, pages, dictionary = chunk
    marks = data.draw(st.none() | st.lists(st.booleans(), min_size=len(every), max_size=len(every)))
    chosen = None if marks is None else np.array(marks, np.uint8)
    values = [value for i, value in enumerate(every) if marks is None or marks[i]]
    opened = [StoredPage(page, 0) for page in pages]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MOST_COPIED", most)
        found = texts_of(pa.binary(), stored_column, opened, StoredPage(dictionary, 0), chosen)
    lengths = [len(value or b"") for value in values]
    assert np.diff(found.ends).tolist() == lengths
    start = data.draw(st.integers(0, len(values)))
    stop = data.draw(st.integers(start, len(values)))
    part = found.array(start, stop)
    part.validate(full=True)
    assert part.to_pylist() == values[start:stop]
    assert part.null_count == values[start:stop].count(None)


def test_codes_without_a_dictionary() -> None:
    page = StoredPage(data_page(bytes([3]) + packed([0], 3), None, 1, RLE_DICTIONARY, 1), 0)
    with pytest.raises(ValueError, match="a page has codes, and its column chunk no dictionary"):
        texts_of(pa.binary(), column(BYTE_ARRAY, is_optional=False), [page], None, None)
