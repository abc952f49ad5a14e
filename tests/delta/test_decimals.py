"""Decimals of many digits as delta-rs describes them: whatever it makes of them, each row is found."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats import col, open_table
from tests.support.strategies import EXACT, long_integers

deltalake = pytest.importorskip("deltalake", reason="needs the extra [test]")

ENDS = [-(2**63), 2**63 - 1, 2**63, 2**53 + 1]


@st.composite
def columns(draw: st.DrawFn) -> tuple[int, list[Decimal]]:
    """A scale, and numbers of one type with that scale: a few of some digits, or what is next to a power of two."""
    precision = draw(st.integers(16, 38))
    scale = draw(st.sampled_from([0, 0, 2, precision // 2, precision]))
    near = draw(long_integers(precision))
    greatest = 10**precision - 1
    numbers = st.one_of(st.integers(near - 3, near + 3), st.sampled_from(ENDS), st.just(10 * near))
    drawn = draw(st.lists(numbers.filter(lambda n: abs(n) <= greatest), min_size=1, max_size=4))
    return precision, [Decimal(number).scaleb(-scale, EXACT) for number in drawn]


@settings(max_examples=40, deadline=None)
@given(columns())
def test_every_row_is_found(drawn: tuple[int, list[Decimal]]) -> None:
    precision, numbers = drawn
    scale = -int(numbers[0].as_tuple().exponent)
    with TemporaryDirectory() as folder:
        root = str(Path(folder) / "t")
        for some in (numbers, numbers[:1]):
            rows = pa.table({"n": pa.array(some, pa.decimal128(precision, scale))})
            deltalake.write_deltalake(root, rows, mode="append")
        table = open_table(root)
        for number in numbers:
            for chosen in (col("n") == number, ~(col("n") != number), (col("n") >= number) & (col("n") <= number)):
                found = table.scan(chosen, columns=["n"]).to_arrow()
                assert found.num_rows == numbers.count(number) + (number == numbers[0]), chosen


def test_bounds_still_rule_files_out(tmp_path: Path) -> None:
    for first in (0, 10**30, 2 * 10**30):
        rows = pa.table({"n": pa.array([Decimal(first + i) for i in range(3)], pa.decimal128(38, 4))})
        deltalake.write_deltalake(str(tmp_path / "t"), rows, mode="append")
    table = open_table(tmp_path / "t")
    assert len(table.scan(col("n") == Decimal(10**30)).plan()) == 1
    assert len(table.scan("n < 100").plan()) == 1
