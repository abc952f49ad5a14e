"""The room of Bloom filters: no more than is allowed, and no less than their values need."""

from __future__ import annotations

import math

import pytest

from tableformats.engines.arrow.writing.parquet_files import _filter
from tableformats.plugin.writing.parquet_options import BloomFilter


def stored_bytes(values: int, rate: float) -> int:
    """What a filter takes by the Parquet format: a power of two, from 32 on."""
    bits = -8 * values / math.log(1 - rate ** (1 / 8))
    return max(32, 1 << math.ceil(math.log2(bits / 8)))


@pytest.mark.parametrize("rate", [0.5, 0.01, 0.0001])
@pytest.mark.parametrize("most", [0, 31, 32, 33, 63, 64, 1000, 1024, 1 << 20])
def test_a_filter_is_for_as_many_values_as_there_is_room_for(rate: float, most: int) -> None:
    allowed = 1 << int(math.log2(max(most, 32)))
    found = _filter(BloomFilter(rate), 10**9, most)
    assert found["fpp"] == rate
    assert stored_bytes(found["ndv"], rate) <= allowed < stored_bytes(found["ndv"] + 2, rate)


@pytest.mark.parametrize(
    ("distinct", "rows", "values"),
    [(None, 7, 7), (None, 0, 1), (3, 7, 3), (9, 7, 7), (1, 7, 1), (5, 1, 1), (None, 1, 1)],
)
def test_a_filter_is_for_no_more_values_than_there_are_rows(distinct: int | None, rows: int, values: int) -> None:
    assert _filter(BloomFilter(0.01, distinct), rows, 1 << 20) == {"ndv": values, "fpp": 0.01}
