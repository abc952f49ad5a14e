"""What two sources say of one column together, over all small ranges: no value that both allow is lost."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats.pruning.column_ranges import NAN_COUNTED, NAN_UNCOUNTED, Range
from tableformats.pruning.value_ranges import merged
from tableformats.schema import primitive

NAN = math.nan
BOUNDS = [(None, None), (0, 0), (0, 1), (1, 2), (2, 2), (1, None), (None, 1)]
VALUES = [None, 0, 1, 2, "NaN"]


def ranges_of(rows: list[tuple[Any, ...]], kind: pa.DataType) -> Range:
    lower, upper, *flags = zip(*rows, strict=True)
    return Range(pa.array(lower, kind), pa.array(upper, kind), *(np.array(flag, np.uint8) for flag in flags))


def allowed(found: Range) -> list[set[Any]]:
    """The values that each row may have."""
    rows = []
    for low, high, *flags in zip(found.lower.to_pylist(), found.upper.to_pylist(), *flags_of(found), strict=True):
        may_value, may_null, may_nan = map(bool, flags)
        is_nan = low is not None and low != low
        numbers = {v for v in (0, 1, 2) if (low is None or low <= v) and (high is None or v <= high)}
        values = (set() if is_nan else numbers) | ({"NaN"} if may_nan or is_nan else set())
        rows.append((values if may_value else set()) | ({None} if may_null else set()))
    return rows


def flags_of(found: Range) -> list[list[int]]:
    return [flag.tolist() for flag in (found.may_value, found.may_null, found.may_nan)]


@pytest.mark.parametrize("name", ["long", "double"])
def test_two_sources(name: str) -> None:
    is_floating = name == "double"
    kind = pa.float64() if is_floating else pa.int64()
    bounds = [*BOUNDS, (NAN, NAN)] if is_floating else BOUNDS
    nans = (0, NAN_COUNTED, NAN_UNCOUNTED) if is_floating else (0,)
    rows = [(*pair, *flags) for pair in bounds for flags in itertools.product((0, 1), (0, 1), nans)]
    sides = [ranges_of([*side], kind) for side in zip(*itertools.product(rows, rows), strict=True)]
    found = merged(sides, primitive(name))
    everything = set(VALUES if is_floating else VALUES[:-1])
    both = [a & b for a, b in zip(*map(allowed, sides), strict=True)]
    ones, zeros = np.ones(len(both), np.uint8), np.zeros(len(both), np.uint8)
    bounded = [allowed(replace(side, may_value=ones, may_null=zeros, may_nan=zeros)) for side in sides]
    agree = [bool(a & b) for a, b in zip(*bounded, strict=True)]
    claims = np.array([values != everything for values in allowed(found)])
    for values, expected, is_claim, bounds_agree in zip(allowed(found), both, claims.tolist(), agree, strict=True):
        assert values == expected or not (is_claim or (expected and bounds_agree))
        assert expected or not is_claim, "sources that contradict each other prove nothing"
    assert 0 < np.count_nonzero(claims) < len(claims)
    for part in (claims, ~claims):  # a file says the same whichever files stand beside it
        alone = merged([side.take(np.flatnonzero(part)) for side in sides], primitive(name))
        assert flags_of(alone) == flags_of(found.take(np.flatnonzero(part)))
        assert repr(alone.lower.to_pylist()) == repr(found.lower.take(pa.array(np.flatnonzero(part))).to_pylist())
