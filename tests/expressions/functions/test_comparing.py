"""Comparisons, choices, the greatest and the least: every pair of some values against Python's own order."""

from __future__ import annotations

import datetime as dt
import math
import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from tableformats.errors import InvalidPredicateError
from tableformats.expressions import Literal
from tableformats.expressions.functions import comparing
from tableformats.expressions.functions.coercion import type_of
from tableformats.schema import DecimalType, FixedType, Type, primitive
from tests.support.expressions import answers, bound

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
FLOATS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -1.5, 2.0**53, None]
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "float": (pa.float32(), FLOATS),
    "double": (pa.float64(), FLOATS),
    "int": (pa.int32(), [-(2**31), -1, 0, 1, 2**31 - 1, None]),
    "bigint": (pa.int64(), [-(2**63), -1, 0, 2**53, 2**53 + 1, 2**63 - 1, None]),
    "string": (pa.string(), ["", "A", "a", "ab", "\uffff", "\U00010000", None]),
    "binary": (pa.binary(), [b"", b"\x00", b"\x7f", b"\xff", b"\xff\x00", None]),
    "boolean": (pa.bool_(), [True, False, None]),
    "date": (pa.date32(), [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(9999, 12, 31), None]),
    "decimal": (pa.decimal128(5, 2), [Decimal("-1.25"), Decimal("0.00"), Decimal("1.24"), Decimal("999.99"), None]),
}


def key(value: Any) -> Any:
    """What Python orders as SQL does: NaN is the greatest number, and texts compare by their bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def truth(op: str, a: Any, b: Any) -> bool | None:
    return None if a is None or b is None else OPERATORS[op](key(a), key(b))


@pytest.mark.parametrize("name", KINDS)
def test_pairs_of_one_type(name: str) -> None:
    kind, values = KINDS[name]
    pairs = [(a, b) for a in values for b in values]
    rows = {"a": pa.array([a for a, _ in pairs], kind), "b": pa.array([b for _, b in pairs], kind)}
    for op in OPERATORS:
        assert answers(f"upper('x') = 'X' AND a {op} b", rows)[1] == [truth(op, a, b) for a, b in pairs], op
    same = [a is b is None or bool(truth("=", a, b)) for a, b in pairs]
    assert answers("coalesce(a, NULL) <=> coalesce(b, NULL)", rows)[1] == same
    for call, better in (("greatest", ">"), ("least", "<")):
        wanted = [a if b is None or (a is not None and not truth(better, b, a)) else b for a, b in pairs]
        found = answers(f"{call}(a, b) <=> x", {**rows, "x": pa.array(wanted, kind)})[1]
        assert found == [True] * len(pairs)


@pytest.mark.parametrize("name", KINDS)
def test_a_constant_on_either_side(name: str) -> None:
    """Computed, so that they are no plain comparisons of a column."""
    kind, values = KINDS[name]
    sql = {"string": "'a'", "binary": "X'7f'", "boolean": "true", "date": "DATE'1970-01-01'", "decimal": "1.24"}
    text = sql.get(name, "0")
    constant = {
        "string": "a",
        "binary": b"\x7f",
        "boolean": True,
        "date": dt.date(1970, 1, 1),
        "decimal": Decimal("1.24"),
    }
    other = constant.get(name, 0.0 if name in ("float", "double") else 0)
    rows = {"a": pa.array(values, kind)}
    for op in OPERATORS:
        assert answers(f"coalesce(a, a) {op} {text}", rows)[1] == [truth(op, a, other) for a in values], op
        assert answers(f"{text} {op} coalesce(a, a)", rows)[1] == [truth(op, other, a) for a in values], op
    assert answers(f"coalesce(a, a) <=> {text}", rows)[1] == [bool(truth("=", a, other)) for a in values]
    assert answers("coalesce(a, a) <=> NULL", rows)[1] == [a is None for a in values]
    assert answers("coalesce(a, a) IS NULL", rows)[1] == [a is None for a in values]


def micros(days: int, rest: int = 0) -> int:
    return days * 86_400_000_000 + rest


@pytest.mark.parametrize("op", OPERATORS)
def test_dates_with_timestamps(op: str) -> None:
    """A date is its midnight, also one that no timestamp reaches."""
    days = [-(2**31), -719_162, -1, 0, 1, 2_932_896, 2**31 - 1]
    instants = [-(2**63), micros(-1), micros(-1, 1), -1, 0, 1, micros(1) - 1, micros(1), micros(2_932_896), 2**63 - 1]
    pairs = [(d, t) for d in days for t in instants]
    dates = pa.array([*(d for d, _ in pairs), None, 0], pa.int32()).view(pa.date32())
    times = pa.array([*(t for _, t in pairs), 0, None], pa.int64()).view(pa.timestamp("us", "UTC"))
    date, timestamp = primitive("date"), primitive("timestamp")
    expected = [OPERATORS[op](micros(d), t) for d, t in pairs]
    assert comparing.compare_columns(op, (dates, date), (times, timestamp)).to_pylist() == [*expected, None, None]
    expected = [OPERATORS[op](t, micros(d)) for d, t in pairs]
    assert comparing.compare_columns(op, (times, timestamp), (dates, date)).to_pylist() == [*expected, None, None]


@pytest.mark.parametrize("op", OPERATORS)
def test_numbers_of_two_types(op: str) -> None:
    """Exactly, but where one is a float: then both are doubles."""
    wide = [Decimal("0.1"), Decimal("0.30"), Decimal("9007199254740993"), Decimal("-12345678901234567890.5")]
    sides: list[tuple[pa.DataType, Type, list[Any]]] = [
        (pa.int64(), primitive("long"), [0, 1, 2**53 + 1, -(2**63)]),
        (pa.int8(), primitive("byte"), [0, 1, -128, 127]),
        (pa.float64(), primitive("double"), [0.1, 0.3, 2.0**53, math.nan]),
        (pa.decimal128(38, 2), DecimalType(38, 2), wide),
        (pa.decimal128(38, 0), DecimalType(38, 0), [Decimal(0), Decimal(1), Decimal(2**53 + 1), Decimal("9" * 38)]),
        (
            pa.decimal128(38, 37),
            DecimalType(38, 37),
            [Decimal(0), Decimal(1), Decimal("0." + "0" * 36 + "1"), Decimal("0.3")],
        ),
    ]
    for left_type, left_kind, left in sides:
        for right_type, right_kind, right in sides:
            rounds = "double" in (str(left_kind), str(right_kind))
            if str(left_kind) == str(right_kind):
                continue
            pairs = [(a, b) for a in left for b in right]
            a, b = pa.array([a for a, _ in pairs], left_type), pa.array([b for _, b in pairs], right_type)
            if not rounds and not any(isinstance(kind, DecimalType) for kind in (left_kind, right_kind)):
                continue  # binding makes integers one type
            found = comparing.compare_columns(op, (a, left_kind), (b, right_kind)).to_pylist()
            as_number: Callable[[Any], Any] = (lambda v: key(float(v))) if rounds else Fraction
            assert found == [OPERATORS[op](as_number(x), as_number(y)) for x, y in pairs], (left_kind, right_kind)


@pytest.mark.parametrize("listed", [[], [0.0], [0.0, 1.5], [math.nan], [math.nan, 2.0**53, -math.inf]])
def test_lists_of_doubles(listed: list[float]) -> None:
    kind = primitive("double")
    found = comparing.is_in(pa.array(FLOATS), kind, [Literal(one, kind) for one in listed])
    assert found.to_pylist() == [None if v is None else any(key(v) == key(one) for one in listed) for v in FLOATS]


def test_lists_of_others() -> None:
    for name, values in (("string", ["a", "", None]), ("boolean", [True, False, None]), ("int", [1, 2, None])):
        kind = primitive(name)
        array = pa.array(values)
        found = comparing.is_in(array, kind, [Literal(values[0], kind)])
        assert found.to_pylist() == [True, False, None]


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("coalesce(f, b)", "binary"),
        ("coalesce(f, f)", "fixed[2]"),
        ("greatest(b, f)", "binary"),
        ("coalesce(f, g)", "binary"),
        ("b IN (f)", "boolean"),
        ("coalesce(f, i)", None),
        ("coalesce(b, i)", None),
        ("coalesce(i, NULL, 1)", "int"),
        ("coalesce(l, NULL)", "array<int>"),
        ("l IN (l)", None),
        ("get(m, 0) IN (l)", None),
        ("get(m, 0) = l", None),
        ("l = l", None),
        ("greatest(l, l)", None),
        ("least(i, 2L)", "bigint"),
        ("nullif(l, l)", None),
        ("coalesce(l, i)", None),
    ],
)
def test_the_type_in_which_values_meet(call: str, kind: str | None) -> None:
    schema = pa.schema(
        {
            "f": pa.binary(2),
            "g": pa.binary(3),
            "b": pa.binary(),
            "i": pa.int32(),
            "l": pa.list_(pa.int32()),
            "m": pa.list_(pa.list_(pa.int32())),
        }
    )
    if kind is None:
        with pytest.raises(InvalidPredicateError, match=r"takes no values of type|does not compare"):
            bound(call, schema)
    else:
        assert str(type_of(bound(call, schema))) == kind


@pytest.mark.parametrize("op", OPERATORS)
def test_bytes_of_several_types(op: str) -> None:
    values = [b"\x00\x01", b"\x7f\xff", b"\x80\x00"]
    pairs = [(a, b) for a in values for b in values]
    expected = [OPERATORS[op](a, b) for a, b in pairs]
    kinds: list[tuple[pa.DataType, Type]] = [(pa.binary(), primitive("binary")), (pa.binary(2), FixedType(2))]
    for left_type, left in kinds:
        for right_type, right in kinds:
            a, b = pa.array([a for a, _ in pairs], left_type), pa.array([b for _, b in pairs], right_type)
            assert comparing.compare_columns(op, (a, left), (b, right)).to_pylist() == expected
    uuids = [bytes([n]) * 16 for n in (0, 127, 128)]
    a, b = (pa.array(side, pa.binary(16)) for side in zip(*[(x, y) for x in uuids for y in uuids], strict=True))
    uuid = primitive("uuid")
    assert comparing.compare_columns(op, (a, uuid), (b, uuid)).to_pylist() == expected
    assert comparing.comparable(a, uuid).type == comparing.comparable(pa.array(values, pa.binary(2)), FixedType(2)).type


def test_truth_values_with_others() -> None:
    """Without ANSI mode TRUE is 1 to a number; a text is a truth value in both modes."""
    rows = {
        "o": pa.array([True, False, None, True]),
        "i": pa.array([1, 0, 1, 2]),
        "s": pa.array(["t", "no", "yes", "0"]),
    }
    for call in ("(o) = coalesce(i, 0)", "coalesce(i, 0) = (o)"):
        assert answers(call, rows, ansi=False)[1] == [True, True, None, False]
        with pytest.raises(InvalidPredicateError, match="takes no values of type"):
            answers(call, rows)
    twos = {"o": rows["o"], "i": pa.array([2, 0, 2, -1])}  # no number but 1 is TRUE
    assert answers("(o) = coalesce(i, 0)", twos, ansi=False)[1] == [False, True, None, False]
    for ansi in (True, False):
        assert answers("o = coalesce(s, 'x')", rows, ansi)[1] == [True, True, None, False]


@pytest.mark.parametrize(
    ("call", "values"),
    [
        ("a IN (b, 3)", [False, True, None, True]),
        ("a NOT IN (b, 3)", [True, False, None, False]),
        ("a + 0 IN (b, 3)", [False, True, None, True]),
        ("a IN (b, NULL)", [None, True, None, None]),
        ("coalesce(a)", [1, 2, None, 3]),
        ("coalesce(a, b)", [1, 2, 7, 3]),
        ("coalesce(NULL, b, a)", [5, 2, 7, 3]),
        ("coalesce(10 / (a - 1), 0D)", ["! division by zero", 10.0, 0.0, 5.0]),
        ("coalesce(a / (a - 1), b / (a - 1))", ["! division by zero", 2.0, None, 1.5]),
        ("CASE WHEN a = 1 THEN 10 WHEN b = 2 THEN 20 ELSE 30 END", [10, 20, 30, 30]),
        ("CASE WHEN a = 1 THEN 10 WHEN a < 3 THEN 20 END", [10, 20, None, None]),
        ("CASE WHEN a <> 1 THEN 10 / (a - 1) ELSE 0D END", [0.0, 10.0, 0.0, 5.0]),
        ("CASE WHEN a = 1 THEN 1D WHEN 10 / (a - 1) > 5 THEN 2D ELSE 3D END", [1.0, 2.0, 3.0, 3.0]),
        ("CASE WHEN a = 2 THEN 1D ELSE 10 / (a - 1) END", ["! division by zero", 1.0, None, 5.0]),
        ("IF(10 / (a - 1) > 5, 1D, 2D)", ["! division by zero", 1.0, 2.0, 2.0]),
        ("IF(a > 1, a, b)", [5, 2, 7, 3]),
        ("IF(NULL, a, b)", [5, 2, 7, None]),
        ("IF(true, a, a DIV 0)", [1, 2, None, 3]),
        ("coalesce(b DIV 0, a)", ["! division by zero", "! division by zero", "! division by zero", 3]),
        ("greatest(a, b, 4)", [5, 4, 7, 4]),
        ("least(a, b, 4)", [1, 2, 4, 3]),
        ("greatest(1 / (a - 1), 0)", ["! division by zero", 1.0, 0.0, 0.5]),
        ("nullif(a, 2)", [1, None, None, 3]),
        ("nvl2(a, b, 0)", [5, 2, 0, None]),
        ("greatest(NULL, NULL)", [None] * 4),
        ("least(nullif(NULL, a), NULL)", [None] * 4),
        ("nullif(NULL, NULL)", [None] * 4),
        ("nullif(NULL, a) < nullif(NULL, b)", [None] * 4),
        ("nullif(NULL, a) <=> nullif(NULL, b)", [True] * 4),
        ("nullif(NULL, a) IN (NULL, nullif(NULL, b))", [None] * 4),
        ("a BETWEEN 2 AND b", [False, True, None, None]),
        ("(a = 1) < (b = 5)", [False, False, None, None]),
        ("a = 1 OR 10 / (a - 1) > 5", [True, True, None, False]),
        ("a <> 1 AND 10 / (a - 1) > 5", [False, True, None, False]),
        ("10 / (a - 1) > 5 AND a <> 1", ["! division by zero", True, None, False]),
    ],
)
def test_choices(call: str, values: list[Any]) -> None:
    """An error is one only for rows that ask for the value."""
    rows = {"a": pa.array([1, 2, None, 3], pa.int32()), "b": pa.array([5, 2, 7, None], pa.int32())}
    assert answers(call, rows)[1] == values


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize(
    "call",
    [
        "true <=> INTERVAL '2' MONTH",
        "INTERVAL '1' DAY < coalesce(o)",
        "coalesce(o) = DATE '2024-01-01'",
        "coalesce(o) = TIMESTAMP '2024-01-01 00:00:00Z'",
        "coalesce(o) = X'01'",
    ],
)
def test_booleans_compare_with_numbers_and_texts_alone(call: str, ansi: bool) -> None:
    with pytest.raises(InvalidPredicateError, match="takes no values of type"):
        answers(call, {"o": pa.array([True])}, ansi)
