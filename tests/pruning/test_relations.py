"""How the values of two ranges can lie to each other: over all small ranges, with NaN and NULL on each side alone."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats._core.masks import MAY_FALSE, MAY_NULL, MAY_TRUE
from tableformats.expressions.tree import COMPARISONS
from tableformats.pruning.column_ranges import NAN_COUNTED, NAN_UNCOUNTED, Range
from tableformats.pruning.relations import ANY_RELATION, intersected, outcomes, relations, same_value
from tableformats.schema import DecimalType, FixedType, arrow_type, primitive

LESS, EQUAL, GREATER, LEFT_NULL, RIGHT_NULL, BOTH_NULL = 1, 2, 4, 8, 16, 32
NAN = math.nan
DOUBLE, LONG = primitive("double"), primitive("long")
Side = tuple[float | None, float | None, int, int, int]
"""Bounds, and whether there may be a value, a NULL, a NaN beside the bounds."""


def range_of(sides: list[Side], kind: pa.DataType) -> Range:
    lower, upper, *flags = zip(*sides, strict=True)
    return Range(pa.array(lower, kind), pa.array(upper, kind), *(np.array(flag, np.uint8) for flag in flags))


def values_of(side: Side) -> list[float | None]:
    low, high, may_value, may_null, may_nan = side
    only_nan = low is not None and low != low
    numbers = [] if only_nan else [v for v in (-9, 0, 0.5, 1, 1.5, 2, 9) if (low is None or v >= low)]
    numbers = [v for v in numbers if high is None or v <= high]
    values: list[float | None] = [*numbers, *([NAN] if may_nan or only_nan else [])] if may_value else []
    return [*values, *([None] if may_null else [])]


def relation(a: float | None, b: float | None) -> int:
    if a is None or b is None:
        return BOTH_NULL if a is b else LEFT_NULL if a is None else RIGHT_NULL
    left, right = ((v != v, 0 if v != v else v) for v in (a, b))
    return LESS if left < right else EQUAL if left == right else GREATER


BOUNDS: list[tuple[float | None, float | None]] = [(0, 0), (0, 1), (1, 2), (2, 2), (None, 1), (1, None)]
FLAGS = [(1, 0, 0), (1, 1, 0), (1, 0, NAN_COUNTED), (1, 0, NAN_UNCOUNTED), (0, 1, 0), (1, 1, NAN_UNCOUNTED)]


def test_all_small_ranges_of_floats() -> None:
    sides: list[Side] = [(*pair, *flags) for pair, flags in product(BOUNDS, FLAGS)]
    sides += [(NAN, NAN, 1, 0, 0), (NAN, NAN, 1, 1, NAN_COUNTED)]
    files = list(product(sides, sides))
    a, b = (range_of(list(side), pa.float64()) for side in zip(*files, strict=True))
    found = relations((a, DOUBLE), (b, DOUBLE)).tolist()
    for (left, right), known in zip(files, found, strict=True):
        wanted = {relation(x, y) for x, y in product(values_of(left), values_of(right))}
        assert known == sum(wanted), (left, right)


def test_floats_beside_integers() -> None:
    """Only one side has NaN. Without it numbers of both types are in one order."""
    floats: list[Side] = [(*pair, *flags) for pair, flags in product(BOUNDS[:4], FLAGS)]
    integers: list[Side] = [(*pair, 1, null, 0) for pair, null in product(BOUNDS[:4], (0, 1))]
    files = list(product(floats, integers))
    a, b = zip(*files, strict=True)
    sides = (range_of(list(a), pa.float64()), DOUBLE), (range_of(list(b), pa.int64()), LONG)
    known, turned = relations(*sides).tolist(), relations(*reversed(sides)).tolist()
    for (left, right), one, other in zip(files, known, turned, strict=True):
        whole = [v for v in values_of(right) if v is None or v == int(v)]
        assert one == sum({relation(x, y) for x, y in product(values_of(left), whole)}), (left, right)
        assert other == sum({relation(y, x) for x, y in product(values_of(left), whole)}), (left, right)


@pytest.mark.parametrize(
    ("kinds", "a", "b", "wanted"),
    [
        ((DecimalType(9, 2), "double"), Decimal("0.30"), 0.301, LESS),
        (("double", DecimalType(9, 2)), 0.301, Decimal("0.30"), GREATER),
        ((DecimalType(9, 2), "double"), Decimal("0.50"), 0.5, LESS | EQUAL | GREATER),  # as doubles they are equal
        (("int", "double"), 3, 3.0, EQUAL),  # each int is one double
        (("long", "double"), 2**53 - 1, 2.0**53 - 1, EQUAL),
        (("long", "double"), 2**53, 2.0**53, LESS | EQUAL | GREATER),
        (("long", "double"), -(2**53), -(2.0**53), LESS | EQUAL | GREATER),
        (("long", "double"), -(2**53) + 1, -(2.0**53) + 1, EQUAL),
        (("float", "double"), 0.5, 0.5, EQUAL),
        (("long", "int"), 7, 7, EQUAL),
        ((DecimalType(38, 0), DecimalType(38, 38)), Decimal(1), Decimal("0.5"), GREATER),
        ((DecimalType(9, 2), "long"), Decimal("7.01"), 7, GREATER),
        (("date", "timestamp"), 1, 86_400_000_000, EQUAL),
        (("date", "date"), 1, 2, LESS),
        (("timestamp_ns", "timestamp"), 1, 2, LESS | EQUAL | GREATER),  # nobody compares them
        (("binary", FixedType(2)), b"a", b"ab", LESS),
        ((FixedType(2), FixedType(3)), b"ab", b"aaa", GREATER),
        (("timestamp_ntz", "timestamp"), 1, 1, EQUAL),
        (("date", "timestamp_ntz"), 2_000_000_000, 2**62, GREATER),  # beyond 64 bits in microseconds
        (("string", "binary"), "a", b"b", LESS | EQUAL | GREATER),
    ],
)
def test_values_of_two_types(kinds: tuple[Any, Any], a: Any, b: Any, wanted: int) -> None:
    left, right = (primitive(kind) if isinstance(kind, str) else kind for kind in kinds)
    sides = []
    for kind, value in ((left, a), (right, b)):
        arrow = arrow_type(kind)
        stored = pa.array([value], pa.int32() if kind == primitive("date") else None)
        bound = stored if stored.type == arrow else stored.cast(arrow)
        sides.append((Range(bound, bound, *(np.array([flag], np.uint8) for flag in (1, 0, 0))), kind))
    assert relations(*sides).tolist() == [wanted]
    assert relations(*sides, has_order=False).tolist() == [LESS | EQUAL | GREATER]


def test_bounds_that_contradict_each_other_compare_with_nothing() -> None:
    a, b = range_of([(5, 1, 1, 0, 0), (5, 5, 1, 0, 0)], pa.float64()), range_of([(9, 9, 1, 0, 0)] * 2, pa.float64())
    assert relations((a, DOUBLE), (b, DOUBLE)).tolist() == [LESS | EQUAL | GREATER, LESS]
    assert relations((b, DOUBLE), (a, DOUBLE)).tolist() == [LESS | EQUAL | GREATER, GREATER]


@pytest.mark.parametrize("op", COMPARISONS)
def test_outcomes_of_each_set_of_relations(op: str) -> None:
    truth = {
        "=": (EQUAL, LESS | GREATER),
        "<=>": (EQUAL | BOTH_NULL, LESS | GREATER | LEFT_NULL | RIGHT_NULL),
        "!=": (LESS | GREATER, EQUAL),
        "<": (LESS, EQUAL | GREATER),
        "<=": (LESS | EQUAL, GREATER),
        ">": (GREATER, LESS | EQUAL),
        ">=": (GREATER | EQUAL, LESS),
    }[op]
    null = ANY_RELATION - truth[0] - truth[1]
    found = outcomes(op, np.arange(64, dtype=np.uint8)).tolist()
    for known, mask in enumerate(found):
        wanted = (known & truth[0], MAY_TRUE), (known & truth[1], MAY_FALSE), (known & null, MAY_NULL)
        assert mask == sum(bit for holds, bit in wanted if holds), known


def test_relations_that_two_sources_allow() -> None:
    def both(*pairs: tuple[int, int]) -> list[int]:
        a, b = (np.array(side, np.uint8) for side in zip(*pairs, strict=True))
        return intersected(a, b).tolist()

    assert both((LESS | EQUAL, EQUAL), (ANY_RELATION, LESS)) == [EQUAL, LESS]
    assert both((LESS, EQUAL), (LESS, 0), (LESS, LESS)) == [ANY_RELATION, 0, LESS]
    every = np.array([ANY_RELATION, LESS, EQUAL, BOTH_NULL | LEFT_NULL], np.uint8)
    assert same_value(every).tolist() == [EQUAL | BOTH_NULL, 0, EQUAL, BOTH_NULL]
