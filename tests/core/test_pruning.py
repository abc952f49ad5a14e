"""The pruning kernels against rows: values are drawn, bounds derived, and what really occurs must be in the mask."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats._core.masks import ALL, MAY_ANY, MAY_FALSE, MAY_NULL, MAY_TRUE, NONE, SOME

INT64 = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
DECIMAL = st.integers(-(2**127), 2**127 - 1) | st.integers(-3, 3) | st.sampled_from([2**63, 2**64, -(2**64)])
FLOAT = st.floats() | st.sampled_from([0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 1.0])
BYTES = st.binary(max_size=4) | st.text("aé\U0001f600", max_size=3).map(str.encode)


def _arrow_bytes(values: list[bytes], kind: pa.DataType) -> tuple[np.ndarray, np.ndarray]:
    width = np.int64 if pa.types.is_large_binary(kind) else np.int32
    offsets = np.cumsum([0, *map(len, values)]).astype(width)
    return offsets, np.frombuffer(b"".join(values), np.uint8)


def _packed(values: list[int]) -> np.ndarray:
    """The data buffer of a decimal128 array, as Arrow lays it out."""
    array = pa.array([Decimal(v) for v in values], pa.decimal128(38, 0)) if _fits_38(values) else None
    raw = b"".join(v.to_bytes(16, "little", signed=True) for v in values)
    if array is not None and values:
        assert array.buffers()[1].to_pybytes()[: len(raw)] == raw
    return np.frombuffer(raw, np.uint8)


def _fits_38(values: list[int]) -> bool:
    return all(abs(v) < 10**38 for v in values)


def _located(pruning: ModuleType, kind: str, values: list[Any], literals: list[Any]) -> list[int]:
    out = np.full(len(values), -1, np.int32)
    if kind == "int64":
        pruning.locate_int64(np.array(values, np.int64), np.array(literals, np.int64), out)
    elif kind == "float64":
        pruning.locate_float64(np.array(values, np.float64), np.array(literals, np.float64), out)
    elif kind == "decimal128":
        pruning.locate_decimal128(_packed(values), _packed(literals), out)
    else:
        arrow = pa.large_binary() if kind == "large_bytes" else pa.binary()
        pruning.locate_bytes(*_arrow_bytes(values, arrow), *_arrow_bytes(literals, pa.binary()), out)
    return out.tolist()


def _spark_key(v: float) -> tuple[bool, float]:
    """A key that sorts as Spark does: NaN last and equal to itself, -0.0 equal to 0.0."""
    return (math.isnan(v), 0.0 if math.isnan(v) else v + 0.0)


def _plain_key(v: Any) -> Any:
    return v


KINDS = {
    "int64": (INT64, _plain_key),
    "float64": (FLOAT, _spark_key),
    "decimal128": (DECIMAL, _plain_key),
    "bytes": (BYTES, _plain_key),
    "large_bytes": (BYTES, _plain_key),
}


def _ascending(literals: list[Any], key: Callable[[Any], Any]) -> list[Any]:
    return sorted({key(v): v for v in literals}.values(), key=key)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None)
@given(data=st.data())
def test_codes_count_the_literals_below_and_tell_equality(pruning: ModuleType, kind: str, data: st.DataObject) -> None:
    domain, key = KINDS[kind]
    literals = _ascending(data.draw(st.lists(domain, max_size=20)), key)
    values = data.draw(st.lists(domain | st.sampled_from(literals) if literals else domain, max_size=40))
    below = [sum(1 for literal in literals if key(literal) < key(v)) for v in values]
    equal = [any(key(literal) == key(v) for literal in literals) for v in values]
    assert _located(pruning, kind, values, literals) == [2 * b + e for b, e in zip(below, equal, strict=True)]


@pytest.mark.parametrize("k", [1, 2, 3, 7, 8, 9, 10, 64, 100])
def test_codes_around_every_literal(pruning: ModuleType, k: int) -> None:
    """Every gap and every literal for every number of literals, so each path of the search is taken."""
    values = list(range(-1, 2 * k))
    expected = [v + 1 for v in values]  # literals at the odd places 0, 2, 4, ...: code 0 below, 1 at, 2 after
    assert _located(pruning, "int64", values, list(range(0, 2 * k, 2))) == expected
    assert _located(pruning, "float64", values, list(range(0, 2 * k, 2))) == expected
    assert _located(pruning, "decimal128", values, list(range(0, 2 * k, 2))) == expected
    texts = [f"{v + 1:05d}".encode() for v in values]
    assert _located(pruning, "bytes", texts, [f"{v + 1:05d}".encode() for v in range(0, 2 * k, 2)]) == expected


def test_decimals_need_no_alignment(pruning: ModuleType) -> None:
    """They come as bytes, and a file may put those anywhere."""
    raw, out = _packed([-1, 0, 1, 2**100]).tobytes(), np.zeros(4, np.int32)
    shifted = np.frombuffer(b"x" + raw, np.uint8)[1:]
    pruning.locate_decimal128(shifted, shifted[16:32], out)
    assert out.tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("k", [1, 8, 9, 100])
def test_reads_no_literal_past_the_last(pruning: ModuleType, k: int) -> None:
    """What follows the literals in memory equals the value: it is not one of them."""
    literals, out = np.arange(k + 1, dtype=np.int64), np.zeros(1, np.int32)
    pruning.locate_int64(literals[k:], literals[:k], out)
    assert out.tolist() == [2 * k]
    pruning.locate_float64(literals[k:].astype(np.float64), literals.astype(np.float64)[:k], out)
    assert out.tolist() == [2 * k]


@pytest.mark.parametrize("kind", KINDS)
def test_refuses_literals_that_do_not_ascend(pruning: ModuleType, kind: str) -> None:
    one, two = {"bytes": (b"a", b"b"), "large_bytes": (b"a", b"b")}.get(kind, (1, 2))
    for literals in ([two, one], [one, one]):
        with pytest.raises(ValueError, match="ascending"):
            _located(pruning, kind, [one], literals)
    if kind == "float64":
        for floats in ([math.nan, 1.0], [-0.0, 0.0], [math.nan, math.nan]):
            with pytest.raises(ValueError, match="ascending"):
                _located(pruning, kind, [1.0], floats)


@pytest.mark.parametrize("offsets", [[0, 2, 1], [-1, 0, 1], [0, 1, 4], [2, 1, 3], [0, 3, 3, 2**31 - 1]])
def test_refuses_offsets_outside_of_the_data(pruning: ModuleType, offsets: list[int]) -> None:
    data, out = np.frombuffer(b"abc", np.uint8), np.zeros(len(offsets) - 1, np.int32)
    good, one = np.array([0, 1], np.int32), np.frombuffer(b"a", np.uint8)
    for width in (np.int32, np.int64):
        with pytest.raises(ValueError, match=r"offsets\[\d\]"):
            pruning.locate_bytes(np.array(offsets, width), data, good, one, out)
    with pytest.raises(ValueError, match=r"literal_offsets\[\d\]"):
        pruning.locate_bytes(good, one, np.array(offsets, np.int32), data, np.zeros(1, np.int32))


def test_refuses_lengths_that_do_not_fit(pruning: ModuleType) -> None:
    two, three = np.zeros(2, np.uint8), np.zeros(3, np.uint8)
    with pytest.raises(ValueError, match="out has 1"):
        pruning.locate_int64(np.zeros(2, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int32))
    with pytest.raises(ValueError, match="partial decimal"):
        pruning.locate_decimal128(np.zeros(17, np.uint8), np.zeros(16, np.uint8), np.zeros(1, np.int32))
    for combine in (pruning.and_masks, pruning.or_masks, pruning.intersect_masks):
        with pytest.raises(ValueError, match="b has 3"):
            combine(two, three, two)
    for change in (pruning.not_mask, pruning.verdicts):
        with pytest.raises(ValueError, match="entries"):
            change(three, two)
    codes = np.zeros(2, np.int32)
    for wrong in range(4):
        lengths = [3 if i == wrong else 2 for i in range(4)]
        lower, upper = np.zeros(lengths[0], np.int32), np.zeros(lengths[1], np.int32)
        value, null = np.zeros(lengths[2], np.uint8), np.zeros(lengths[3], np.uint8)
        with pytest.raises(ValueError, match="entries"):
            pruning.leaf_mask(lower, upper, 2, value, null, 0, 0, False, False, np.zeros(len(codes), np.uint8))


# --- Outcomes -----------------------------------------------------------------------------------------------------

# How a comparison with sorted literals is accepted codes, beside what it means for one value.
LEAVES: dict[str, tuple[int, tuple[int, int], bool, Callable[[int, list[int]], bool]]] = {
    "<": (1, (0, 0), False, lambda v, l: v < l[0]),
    "<=": (1, (0, 1), False, lambda v, l: v <= l[0]),
    "=": (1, (1, 1), False, lambda v, l: v == l[0]),
    ">": (1, (2, 2), False, lambda v, l: v > l[0]),
    ">=": (1, (1, 2), False, lambda v, l: v >= l[0]),
    "from-to": (2, (1, 2), False, lambda v, l: l[0] <= v < l[1]),
    "between": (2, (1, 3), False, lambda v, l: l[0] <= v <= l[1]),
    "never": (1, (1, 0), False, lambda v, l: False),
    "in": (3, (0, 0), True, lambda v, l: v in l),
}


@st.composite
def files(draw: st.DrawFn) -> list[list[int | None]]:
    """Rows of files: integers and NULLs, none of them too."""
    value = st.none() | st.integers(-8, 8)
    return draw(st.lists(st.lists(value, max_size=5), min_size=1, max_size=8))


def _outcomes(
    pruning: ModuleType,
    rows: list[list[int | None]],
    name: str,
    literals: list[int],
    negate: bool,
    slack: tuple[int, int],
    unknown: set[int],
) -> list[int]:
    """Masks from bounds that are too wide by ``slack``, and unknown for some files."""
    k, (first, last), odd_only, _ = LEAVES[name]
    values = [[v for v in file if v is not None] for file in rows]
    lower = _located(pruning, "int64", [min(v, default=9) - slack[0] for v in values], literals)
    upper = _located(pruning, "int64", [max(v, default=-9) + slack[1] for v in values], literals)
    for i in unknown & set(range(len(rows))):
        lower[i], upper[i] = 0, 2 * k
    out = np.full(len(rows), 255, np.uint8)
    pruning.leaf_mask(
        np.array(lower, np.int32),
        np.array(upper, np.int32),
        2 * k,
        np.array([bool(v) for v in values], np.uint8),
        np.array([None in file for file in rows], np.uint8),
        first,
        last,
        odd_only,
        negate,
        out,
    )
    return out.tolist()


def _really(file: list[int | None], meaning: Callable[[int], bool]) -> int:
    bits = {True: MAY_TRUE, False: MAY_FALSE}
    return sum({MAY_NULL if v is None else bits[meaning(v)] for v in file})


@pytest.mark.parametrize("negate", [False, True], ids=["plain", "negated"])
@pytest.mark.parametrize("name", LEAVES)
@settings(deadline=None)
@given(data=st.data())
def test_a_leaf_mask_lacks_no_outcome_that_occurs(pruning: ModuleType, name: str, negate: bool, data: Any) -> None:
    k, _, _, accepts = LEAVES[name]
    literals = sorted(data.draw(st.lists(st.integers(-8, 8), min_size=k, max_size=k, unique=True)))
    rows = data.draw(files())
    slack = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    unknown = data.draw(st.sets(st.integers(0, 7), max_size=3))
    found = _outcomes(pruning, rows, name, literals, negate, slack, unknown)
    for file, mask in zip(rows, found, strict=True):
        really = _really(file, lambda v: accepts(v, literals) != negate)
        assert mask & really == really
        assert mask & MAY_NULL == really & MAY_NULL
        assert bool(mask & (MAY_TRUE | MAY_FALSE)) == any(v is not None for v in file)


@pytest.mark.parametrize("negate", [False, True], ids=["plain", "negated"])
@pytest.mark.parametrize("name", LEAVES)
@settings(deadline=None)
@given(data=st.data())
def test_a_leaf_mask_is_exact_where_every_code_of_the_range_occurs(
    pruning: ModuleType, name: str, negate: bool, data: Any
) -> None:
    """Files without holes, literals two apart: each code of the range has a row, so the mask has nothing to add."""
    k, _, _, accepts = LEAVES[name]
    first = data.draw(st.integers(-8, 4))
    literals = list(range(first, first + 2 * k, 2))
    bounds = st.tuples(st.integers(-10, 12), st.integers(0, 6), st.booleans())
    rows: list[list[int | None]] = [
        [*range(low, low + width), *([None] if null else [])]
        for low, width, null in data.draw(st.lists(bounds, min_size=1, max_size=8))
    ]
    found = _outcomes(pruning, rows, name, literals, negate, (0, 0), set())
    assert found == [_really(file, lambda v: accepts(v, literals) != negate) for file in rows]


@pytest.mark.parametrize("odd_only", [False, True], ids=["interval", "odd"])
def test_leaf_mask_over_all_small_ranges(pruning: ModuleType, odd_only: bool) -> None:
    """Every range of codes, contradictory ones included, times every set of accepted codes of two literals."""
    top = 4
    cases = list(product(range(top + 1), range(top + 1), (0, 1), (0, 1)))
    lower, upper, may_value, may_null = (np.array(column) for column in zip(*cases, strict=True))
    for first, last, negate in product(range(top + 1), range(top + 1), (False, True)):
        out = np.zeros(len(cases), np.uint8)
        pruning.leaf_mask(
            lower.astype(np.int32),
            upper.astype(np.int32),
            top,
            may_value.astype(np.uint8),
            may_null.astype(np.uint8),
            first,
            last,
            odd_only,
            negate,
            out,
        )
        for (low, high, value, null), mask in zip(cases, out.tolist(), strict=True):
            codes = range(low, high + 1) if low <= high else range(top + 1)
            accepted = {c for c in codes if (c % 2 == 1 if odd_only else first <= c <= last)}
            true, false = (set(codes) - accepted, accepted) if negate else (accepted, set(codes) - accepted)
            expected = value * (MAY_TRUE * bool(true) + MAY_FALSE * bool(false)) + null * MAY_NULL
            assert mask == expected, (low, high, value, null, first, last, negate)


# --- Truth tables -------------------------------------------------------------------------------------------------

ALL_MASKS = list(range(MAY_ANY + 1))
BITS: dict[bool | None, int] = {True: MAY_TRUE, False: MAY_FALSE, None: MAY_NULL}


def _sets(mask: int) -> list[bool | None]:
    return [outcome for outcome, bit in BITS.items() if mask & bit]


def _arrow_logic(name: str, *operands: bool | None) -> bool | None:
    """The oracle of three-valued logic: Arrow's own compute kernels."""
    import pyarrow.compute as pc

    return getattr(pc, name)(*(pa.scalar(v, pa.bool_()) for v in operands)).as_py()


@pytest.mark.parametrize(("kernel", "logic"), [("and_masks", "and_kleene"), ("or_masks", "or_kleene")])
def test_combined_masks_hold_the_outcomes_of_three_valued_logic(pruning: ModuleType, kernel: str, logic: str) -> None:
    pairs = list(product(ALL_MASKS, ALL_MASKS))
    a, b = (np.array(side, np.uint8) for side in zip(*pairs, strict=True))
    out = np.full(len(pairs), 255, np.uint8)
    getattr(pruning, kernel)(a, b, out)
    expected = [sum({BITS[_arrow_logic(logic, x, y)] for x, y in product(_sets(p), _sets(q))}) for p, q in pairs]
    assert out.tolist() == expected
    getattr(pruning, kernel)(a, b, a)  # in place
    assert a.tolist() == expected


def test_not_intersect_and_verdicts(pruning: ModuleType) -> None:
    mask = np.array(ALL_MASKS, np.uint8)
    out = np.full(len(mask), 255, np.uint8)
    pruning.not_mask(mask, out)
    assert out.tolist() == [sum({BITS[_arrow_logic("invert", v)] for v in _sets(m)}) for m in ALL_MASKS]
    pruning.verdicts(mask, out)
    assert out.tolist() == [NONE if True not in _sets(m) else ALL if _sets(m) == [True] else SOME for m in ALL_MASKS]
    pairs = list(product(ALL_MASKS, ALL_MASKS))
    a, b = (np.array(side, np.uint8) for side in zip(*pairs, strict=True))
    pruning.intersect_masks(a, b, a)
    both = [sum(BITS[v] for v in _sets(p) if v in _sets(q)) for p, q in pairs]
    assert a.tolist() == [m or (MAY_ANY if p and q else 0) for m, (p, q) in zip(both, pairs, strict=True)]


def test_empty_arrays(pruning: ModuleType) -> None:
    codes, none = np.zeros(0, np.int32), np.zeros(0, np.uint8)
    for kind in KINDS:
        assert _located(pruning, kind, [], []) == []
    pruning.locate_bytes(codes, none, codes, none, codes)  # no offsets at all, as Arrow allows for no entries
    pruning.leaf_mask(codes, codes, 2, none, none, 0, 1, False, False, none)
    pruning.and_masks(none, none, none)
    pruning.verdicts(none, none)


def test_reads_what_cannot_be_written(pruning: ModuleType) -> None:
    """Arrow's buffers are read-only."""
    values = np.array([1, 2, 3], np.int64)
    values.setflags(write=False)
    out = np.zeros(3, np.int32)
    pruning.locate_int64(values, values[1:2], out)
    assert out.tolist() == [0, 1, 2]
