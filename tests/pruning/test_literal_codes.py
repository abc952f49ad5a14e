"""Codes of literals: which types have them, which codes values have, and which codes match."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tableformats.expressions import Literal
from tableformats.pruning.literal_codes import (
    MatchingCodes,
    codes_matching_comparison,
    codes_matching_in,
    codes_matching_nan,
    codes_matching_prefix,
    domain_of,
    locate,
)
from tableformats.schema import DecimalType, Field, ListType, arrow_type, primitive

INT = primitive("int")


def test_values_without_an_order_have_no_codes() -> None:
    for kind in (primitive("variant"), primitive("unknown"), ListType(Field(1, "a", primitive("long")))):
        assert domain_of(kind) is None
        assert codes_matching_comparison("=", Literal(1), kind) is codes_matching_in([Literal(1)], kind) is None


@pytest.mark.parametrize(
    ("kind", "values", "literals"),
    [
        ("int", [5, None, 1, 7, 9], [5, 7]),
        ("boolean", [False, None, False, True, True], [False, True]),
        ("double", [0.5, None, -1.0, 1.5, 9.5], [0.5, 1.5]),
        ("string", ["b", None, "a", "c", "cc"], ["b", "c"]),
        ("binary", [b"b", None, b"", b"\xff", b"\xff\x00"], [b"b", b"\xff"]),
        (DecimalType(9, 2), [Decimal("0.50"), None, Decimal(-1), Decimal("1.50"), Decimal(9)], [Decimal("0.5"), "1.5"]),
    ],
)
def test_codes_of_values_behind_the_first_ones(kind: Any, values: list[Any], literals: list[Any]) -> None:
    """A code counts the lesser literals twice, and an equal one once. What is unknown has the code that is asked."""
    kind = primitive(kind) if isinstance(kind, str) else kind
    matching = codes_matching_in([Literal(Decimal(v) if isinstance(kind, DecimalType) else v) for v in literals], kind)
    assert matching is not None and matching.top == 4
    wanted = [1, 9, 1, 3, 3] if kind == primitive("boolean") else [1, 9, 0, 3, 4]
    column = pa.array(values, arrow_type(kind))
    for start in range(len(values)):
        assert locate(column.slice(start), matching, 9).tolist() == wanted[start:]
        assert locate(column.slice(start, 1), matching, 9).tolist() == wanted[start : start + 1]
    padded = pa.array([*values, *values], arrow_type(kind)).slice(5)
    assert locate(padded, matching, 9).tolist() == wanted


@pytest.mark.parametrize(
    ("matching", "matched"),
    [
        (codes_matching_comparison("<", Literal(5), INT), [0]),
        (codes_matching_comparison("<=", Literal(5), INT), [0, 1]),
        (codes_matching_comparison("=", Literal(5), INT), [1]),
        (codes_matching_comparison(">=", Literal(5), INT), [1, 2]),
        (codes_matching_comparison(">", Literal(5), INT), [2]),
        (codes_matching_in([Literal(5), Literal(2), Literal(5)], INT), [1, 3]),
        (codes_matching_nan(), [1]),
        (codes_matching_prefix("ab"), [1, 2]),
        (codes_matching_prefix(b"\xff\xff"), [1, 2]),
        (MatchingCodes("int64", (1, 2), accepted=(True, False, False, True, True)), [0, 3, 4]),
        (MatchingCodes("int64", (1, 2)), []),
        (MatchingCodes("int64", (), 0, 0), [0]),
    ],
)
def test_which_codes_match(matching: MatchingCodes, matched: list[int]) -> None:
    assert [code for code in range(matching.top + 1) if matching.matches(code)] == matched
    is_interval = not matching.odd_only and matching.accepted is None
    assert matching.is_never == (not matched)
    assert matching.is_always == (is_interval and len(matched) == matching.top + 1)


def test_codes_of_nan() -> None:
    """NaN is the last literal, and greater than all numbers where it is none."""
    with_nan = codes_matching_in([Literal(math.nan), Literal(1.5), Literal(math.nan)], primitive("double"))
    without = codes_matching_in([Literal(1.5)], primitive("double"))
    assert with_nan is not None and without is not None
    assert (with_nan.top, with_nan.greatest_number, with_nan.nan) == (4, 2, 3)
    assert (without.top, without.greatest_number, without.nan) == (2, 2, 2)
    assert (codes_matching_nan().greatest_number, codes_matching_nan().nan) == (0, 1)


@pytest.mark.parametrize(
    ("prefix", "ends"),
    [
        ("ab", (b"ab", b"ac")),
        ("a\x7f", (b"a\x7f", b"a\x80")),
        (b"a\xff", (b"a\xff", b"b")),
        (b"a\xfe\xff\xff", (b"a\xfe\xff\xff", b"a\xff")),
        (b"\xff", (b"\xff",)),
        (b"", (b"",)),
    ],
)
def test_where_a_prefix_ends(prefix: str | bytes, ends: tuple[bytes, ...]) -> None:
    assert codes_matching_prefix(prefix).literals == ends
