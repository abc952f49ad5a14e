"""Files in which each column has one value in all rows: conditions on any function are decided as for a row."""

from __future__ import annotations

from typing import Any

import pytest

from tableformats.pruning.compiled_predicate import ALL, NONE, SOME
from tests.pruning.test_computed_conditions import verdict


@pytest.mark.parametrize(
    ("text", "bounds", "nulls", "nans", "wanted"),
    [
        ("CAST(x AS STRING) = '1.5'", (1.5, 1.5), 0, 0, ALL),
        ("CAST(x AS STRING) = '1.0'", (1.0, 1.0), 0, 0, ALL),
        ("CAST(x AS STRING) = '2.5'", (1.5, 1.5), 0, 0, NONE),
        ("CAST(x AS STRING) = '0.0'", (0.0, 0.0), 0, 0, SOME),  # the value may be -0.0
        ("CAST(x AS STRING) = '1.5'", (1.5, 2.5), 0, 0, SOME),
        ("CAST(x AS STRING) = '9.5'", (1.5, 2.5), 0, 0, SOME),
        ("CAST(x AS STRING) = '1.5'", (1.5, 1.5), 0, 1, SOME),
        ("CAST(x AS STRING) = 'NaN'", (1.5, 1.5), 0, 1, SOME),
        ("CAST(x AS STRING) = 'NaN'", (1.5, 1.5), 0, None, SOME),
        ("CAST(x AS STRING) = '1.5'", (1.5, 1.5), 2, 0, SOME),
        ("CAST(x AS STRING) = '1.5'", (None, None), 0, 0, SOME),
    ],
)
def test_floats(text: str, bounds: tuple[Any, Any], nulls: int, nans: int | None, wanted: int) -> None:
    assert verdict(text, nulls=nulls, nans=nans, x=bounds) == wanted


@pytest.mark.parametrize(
    ("text", "bounds", "nulls", "wanted"),
    [
        ("concat_ws('-', s, 'b') = 'a-b'", ("a", "a"), 0, ALL),
        ("concat_ws('-', s, 'b') = 'b'", ("a", "a"), 0, NONE),
        ("concat_ws('-', s, 'b') = 'b'", ("a", "a"), 4, SOME),
        ("concat_ws('-', s, 'b') = 'b'", ("a", "c"), 0, SOME),
        ("concat_ws('-', s, 'b') = 'b'", (None, None), 9, ALL),
        ("concat_ws('-', s, 'b') = 'a-b'", (None, None), 9, NONE),
        ("concat_ws('-', s, 'b') = 'b'", (None, None), 8, SOME),
        ("concat_ws('-', s, 'b') = 'b'", ("a", "a"), 9, SOME),  # a bound contradicts the counts
    ],
)
def test_texts_and_nulls(text: str, bounds: tuple[Any, Any], nulls: int, wanted: int) -> None:
    assert verdict(text, nulls=nulls, s=bounds) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("concat_ws('-', s, CAST(a AS STRING)) = 'k-7'", ALL),
        ("concat_ws('-', s, CAST(a AS STRING)) = 'k-8'", NONE),
        ("concat_ws('-', s, CAST(b AS STRING)) = 'k-8'", SOME),
        ("reverse('abc') = 'cba'", ALL),
    ],
)
def test_each_column_of_a_condition(text: str, wanted: int) -> None:
    assert verdict(text, s=("k", "k"), a=(7, 7), b=(1, 2)) == wanted
