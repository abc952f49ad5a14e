"""The middle of a Parquet row group, which decides which part of a file has it, is where parquet-java says it is."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tableformats.engines.arrow.files.parquet import _middle


@pytest.mark.parametrize(
    ("chunks", "middle"),
    [
        ([], 0),
        ([(100, None, 50)], 125),
        ([(100, 40, 50)], 65),
        ([(100, 0, 50)], 125),
        ([(100, 1, 50)], 26),
        ([(100, -3, 50)], 125),
        ([(100, 100, 50)], 125),
        ([(100, 101, 50)], 125),
        ([(100, 99, 51)], 124),
        ([(100, 4, 50), (900, 7, 31)], 44),
        ([(100, None, 0), (200, 3, 1001)], 600),
    ],
)
def test_middles(chunks: list[tuple[int, int | None, int]], middle: int) -> None:
    """From the first page of the first column on, half of all bytes; a dictionary stands before the data."""
    names = ("data_page_offset", "dictionary_page_offset", "total_compressed_size")
    found = [SimpleNamespace(**dict(zip(names, chunk, strict=True))) for chunk in chunks]
    assert _middle(len(found), found.__getitem__) == middle
