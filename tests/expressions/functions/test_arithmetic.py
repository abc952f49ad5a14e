"""Types and values of arithmetic: decimals and floats against Python's, and by the rules of Spark's reference."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
import pytest

from tableformats.errors import InvalidPredicateError
from tableformats.expressions.functions.coercion import type_of
from tests.support.expressions import answers, bound

RANGE, ZERO = "! the result is out of range", "! division by zero"
KINDS = pa.schema(
    {
        "b": pa.int8(),
        "h": pa.int16(),
        "i": pa.int32(),
        "l": pa.int64(),
        "f": pa.float32(),
        "d": pa.float64(),
        "m": pa.decimal128(5, 2),
        "w": pa.decimal128(38, 10),
        "s": pa.string(),
        "t": pa.timestamp("us", "UTC"),
        "o": pa.bool_(),
    }
)


@pytest.mark.parametrize(
    ("call", "ansi", "legacy"),
    [
        ("NULL * i", "int", "int"),
        ("i * NULL", "int", "int"),
        ("NULL * NULL", "double", "double"),
        ("NULL * s", "double", "double"),
        ("NULL / NULL", "double", "double"),
        ("i * h", "int", "int"),
        ("i / h", "double", "double"),
        ("i DIV b", "bigint", "bigint"),
        ("m DIV m", "bigint", "bigint"),
        ("i * f", None, None),
        ("f * f", "float", "float"),
        ("l * d", "double", "double"),
        ("s * i", "bigint", "double"),
        ("s * d", "double", "double"),
        ("s * s", "InvalidPredicateError", "double"),
        ("o * i", "InvalidPredicateError", "InvalidPredicateError"),
        ("t * i", "InvalidPredicateError", "InvalidPredicateError"),
        ("d DIV i", "InvalidPredicateError", "InvalidPredicateError"),
        ("m + m", "decimal(6,2)", None),
        ("m - w", "decimal(38,9)", None),
        ("m * m", "decimal(11,4)", None),
        ("m / m", "decimal(13,8)", None),
        ("m % m", "decimal(5,2)", None),
        ("CAST(b AS DECIMAL(1,0)) % CAST(i AS DECIMAL(1,0))", "decimal(1,0)", None),
        ("CAST(d AS DECIMAL(1,1)) % CAST(i AS DECIMAL(1,1))", "decimal(1,1)", None),
        ("CAST(d AS DECIMAL(1,1)) * CAST(i AS DECIMAL(37,20))", "decimal(38,20)", None),
        ("CAST(d AS DECIMAL(20,0)) * CAST(i AS DECIMAL(17,9))", "decimal(38,9)", None),
        ("CAST(d AS DECIMAL(20,0)) * CAST(i AS DECIMAL(18,9))", "decimal(38,8)", None),
        ("pmod(m, m)", "decimal(5,2)", None),
        ("w * w", "decimal(38,6)", None),
        ("w / w", "decimal(38,6)", None),
        ("w + w", "decimal(38,9)", None),
        ("m * i", "decimal(16,2)", None),
        ("m / i", "decimal(16,13)", None),
        ("l * m", "decimal(26,2)", None),
        ("m * d", "double", None),
        ("abs(s)", "double", None),
        ("abs(NULL)", "double", None),
        ("abs(h)", "smallint", None),
        ("-m", "decimal(5,2)", None),
        ("abs(o)", "InvalidPredicateError", None),
        ("sqrt(i)", "double", None),
        ("sign(m)", "double", None),
        ("floor(i)", "bigint", None),
        ("floor(d)", "bigint", None),
        ("floor(f)", "bigint", None),
        ("floor(m)", "decimal(4,0)", None),
        ("ceil(s)", "bigint", None),
        ("ceil(b, 1)", "decimal(4,0)", None),
        ("ceil(h, -2)", "decimal(6,0)", None),
        ("floor(d, 3)", "decimal(19,3)", None),
        ("floor(f, 9)", "decimal(15,7)", None),
        ("round(i, 2)", "int", None),
        ("round(d)", "double", None),
        ("round(m)", "decimal(4,0)", None),
        ("round(m, 1)", "decimal(5,1)", None),
        ("round(m, 2)", "decimal(6,2)", None),
        ("round(m, 3)", "decimal(6,2)", None),
        ("round(m, -1)", "decimal(4,0)", None),
        ("round(m, -4)", "decimal(5,0)", None),
        ("round(w, 10)", "decimal(38,10)", None),
        ("round(s)", "double", None),
        ("round(NULL)", "double", None),
        ("round(o)", "InvalidPredicateError", None),
        ("round(m, i)", "InvalidPredicateError", None),
        ("round(m, NULL)", "InvalidPredicateError", None),
        ("round(m, 1.5)", "InvalidPredicateError", None),
        ("i & h", "int", None),
        ("l | b", "bigint", None),
        ("b ^ b", "tinyint", None),
        ("~h", "smallint", None),
        ("d & i", "InvalidPredicateError", None),
        ("shiftleft(h, 1)", "int", None),
        ("shiftright(l, 1)", "bigint", None),
        ("nanvl(f, 1)", "double", None),
    ],
)
def test_types(call: str, ansi: str | None, legacy: str | None) -> None:
    for mode, wanted in ((True, ansi), (False, legacy if legacy is not None else ansi)):
        try:
            found = str(type_of(bound(call, KINDS, mode)))
        except InvalidPredicateError as error:
            found = type(error).__name__
        assert wanted is None or found == wanted, (call, mode)


NUMBERS = [0.0, -0.0, 1.5, -1.5, 7.25, -7.25, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan]


def float_answer(op: str, a: float, b: float) -> float:
    if op == "%":
        return math.nan if math.isnan(a) or math.isnan(b) or math.isinf(a) else math.fmod(a, b)
    if op == "/":
        return a / b
    return a + b if op == "+" else a - b if op == "-" else a * b


@pytest.mark.parametrize("op", "+-*/%")
def test_doubles(op: str) -> None:
    pairs = [(a, b) for a in NUMBERS for b in NUMBERS]
    rows = {"a": pa.array([a for a, _ in pairs] + [None, 1.0]), "b": pa.array([b for _, b in pairs] + [1.0, None])}
    for ansi in (True, False):
        kind, found = answers(f"a {op} b", rows, ansi)
        assert kind == "double" and found[-2:] == [None, None]
        for (a, b), one in zip(pairs, found, strict=False):
            if b == 0 and op in "/%":
                assert one == (ZERO if ansi else None)
            else:
                assert repr(one) == repr(float_answer(op, a, b)), (a, op, b)


@pytest.mark.parametrize(
    ("a", "b", "rest"), [(7.5, 2.0, 1.5), (-7.5, 2.0, 0.5), (7.5, -2.0, 1.5), (-7.5, -2.0, -1.5), (-4.0, 2.0, -0.0)]
)
def test_rests_of_doubles(a: float, b: float, rest: float) -> None:
    rows = {"a": pa.array([a]), "b": pa.array([b])}
    assert repr(answers("pmod(a, b)", rows)[1]) == repr([rest])


DECIMALS = [Decimal(text) for text in ("0.00", "1.25", "-1.25", "999.99", "-999.99", "0.01", "3.00", "-7.00")]
_EXACT = Context(prec=100)


def decimal_answer(op: str, a: Decimal, b: Decimal) -> Decimal | int | None:
    """None: by zero. The scales are those of DECIMAL(5,2) twice."""
    if b == 0 and op in ("/", "%", "DIV", "pmod"):
        return None
    if op == "DIV":
        return int(_EXACT.divide_int(a, b))
    if op == "/":
        return Context(prec=60).divide(a, b).quantize(Decimal("1e-8"), ROUND_HALF_UP)
    if op in ("%", "pmod"):
        rest = _EXACT.remainder(a, b)
        return _EXACT.remainder(rest + b, b) if op == "pmod" and rest < 0 else rest
    return a + b if op == "+" else a - b if op == "-" else a * b


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "%", "DIV", "pmod"])
def test_decimals(op: str) -> None:
    pairs = [(a, b) for a in DECIMALS for b in DECIMALS]
    kind = pa.decimal128(5, 2)
    rows = {"a": pa.array([a for a, _ in pairs], kind), "b": pa.array([b for _, b in pairs], kind)}
    call = "pmod(a, b)" if op == "pmod" else f"a {op} b"
    exact = [decimal_answer(op, a, b) for a, b in pairs]
    assert answers(call, rows)[1] == [ZERO if one is None else one for one in exact]
    assert answers(call, rows, ansi=False)[1] == exact
    if op in ("+", "-", "*", "/", "%"):
        name = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "mod"}[op]
        assert answers(f"try_{name}(a, b)", rows)[1] == exact


def test_decimals_out_of_range() -> None:
    most = "9" * 38
    rows = {"a": pa.array([Decimal(most), Decimal(f"-{most}"), Decimal(1)], pa.decimal128(38, 0))}
    assert answers("a + a", rows)[1] == [RANGE, RANGE, 2]
    assert answers("a + a", rows, ansi=False)[1] == answers("try_add(a, a)", rows)[1] == [None, None, 2]
    small = {"a": pa.array([Decimal("9223372036854775807.9"), Decimal("9223372036854775808.0")], pa.decimal128(20, 1))}
    assert answers("a DIV 1", small)[1] == [2**63 - 1, RANGE]
    assert answers("a DIV 1", small, ansi=False)[1] == [2**63 - 1, -(2**63)]
    assert answers("-a DIV 1", small)[1] == [1 - 2**63, -(2**63)]


@pytest.mark.parametrize("ansi", [True, False])
def test_the_least_integer_has_no_opposite(ansi: bool) -> None:
    for bits in (8, 16, 32, 64):
        least = -(1 << bits - 1)
        rows = {"a": pa.array([least, least + 1, -1, 0, 5, None], f"int{bits}")}
        for call in ("-a", "abs(a)"):
            sign = [-1, -1, -1, -1, -1] if call == "-a" else [-1, -1, -1, 1, 1]
            wanted: list[Any] = [s * v for s, v in zip(sign, [least, least + 1, -1, 0, 5], strict=True)] + [None]
            wanted[0] = RANGE if ansi else least
            assert answers(call, rows, ansi)[1] == wanted


def test_signs_of_decimals_and_doubles() -> None:
    rows = {
        "m": pa.array([Decimal("-1.50"), Decimal("0.00"), Decimal("1.50"), None]),
        "d": pa.array([-1.5, 0.0, 1.5, None]),
    }
    assert answers("-m", rows)[1] == [Decimal("1.50"), 0, Decimal("-1.50"), None]
    assert str(answers("-m", rows)[1][1]) == "0.00"
    assert answers("abs(m)", rows)[1] == [Decimal("1.50"), 0, Decimal("1.50"), None]
    assert repr(answers("-d", rows)[1]) == "[1.5, -0.0, -1.5, None]"
    assert repr(answers("abs(-d)", rows)[1]) == "[1.5, 0.0, 1.5, None]"
    assert repr(answers("sign(d)", rows)[1]) == "[-1.0, 0.0, 1.0, None]"
    assert repr(answers("sign(-d)", rows)[1]) == "[1.0, -0.0, -1.0, None]"
    assert repr(answers("sqrt(d)", rows)[1]) == f"[nan, 0.0, {1.5**0.5!r}, None]"
    assert repr(answers("nanvl(sqrt(d), 7)", rows)[1]) == f"[7.0, 0.0, {1.5**0.5!r}, None]"


MODES = {"round": ROUND_HALF_UP, "bround": ROUND_HALF_EVEN, "floor": ROUND_FLOOR, "ceil": ROUND_CEILING}
ROUNDED = [
    "0.00",
    "0.05",
    "0.15",
    "0.25",
    "-0.15",
    "-0.25",
    "1.50",
    "2.50",
    "-2.50",
    "14.99",
    "15.00",
    "-15.00",
    "999.99",
]


@pytest.mark.parametrize("digits", [-3, -2, -1, 0, 1, 2, 3])
@pytest.mark.parametrize("name", MODES)
def test_rounded_decimals(name: str, digits: int) -> None:
    values = [Decimal(text) for text in ROUNDED]
    rows = {"m": pa.array([*values, None], pa.decimal128(5, 2))}
    expected = [v.quantize(Decimal((0, (1,), -digits)), MODES[name]) for v in values]
    assert answers(f"{name}(m, {digits})", rows)[1] == [
        *(v if digits < 3 else w for v, w in zip(expected, values, strict=True)),
        None,
    ]
    if digits == 0:
        assert answers(f"{name}(m)", rows)[1] == [*expected, None]


@pytest.mark.parametrize("digits", [-2, -1, 0, 1])
@pytest.mark.parametrize("name", ["round", "bround"])
def test_rounded_integers(name: str, digits: int) -> None:
    values = [0, 4, 5, 15, 25, 49, 50, 51, 127, -5, -15, -25, -128]
    for bits in (8, 64):
        rows = {"i": pa.array([*values, None], f"int{bits}")}
        exact = [int(Decimal(v).quantize(Decimal((0, (1,), -digits)), MODES[name])) for v in values]
        fits = [-(1 << bits - 1) <= v < 1 << bits - 1 for v in exact]
        wrapped = [(v + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1) for v in exact]
        strict = [v if ok else RANGE for v, ok in zip(exact, fits, strict=True)]
        assert answers(f"{name}(i, {digits})", rows)[1] == [*strict, None]
        assert answers(f"{name}(i, {digits})", rows, ansi=False)[1] == [*wrapped, None]


@pytest.mark.parametrize("name", ["floor", "ceil"])
def test_whole_numbers_around_doubles(name: str) -> None:
    whole = math.floor if name == "floor" else math.ceil
    values = [0.0, 1.5, -1.5, 2.0, -0.5, 0.5, 2.0**62, -(2.0**63), 2.0**53 + 2]
    rows = {"d": pa.array([*values, math.nan, 2.0**63, -(2.0**63) * 1.5, math.inf, -math.inf, None])}
    limits: list[Any] = [2**63 - 1, -(2**63), 2**63 - 1, -(2**63), None]
    assert answers(f"{name}(d)", rows, ansi=False)[1] == [*map(whole, values), 0, *limits]
    assert answers(f"{name}(d)", rows)[1] == [*map(whole, values), 0, RANGE, RANGE, RANGE, RANGE, None]
    ints = {"i": pa.array([5, -5, 2**53 + 1, None], pa.int64())}
    assert answers(f"{name}(i)", ints) == ("bigint", [5, -5, 2**53 + 1, None])
    assert str(bound(f"{name}(f)", KINDS)) == f"{name}(CAST(f AS DOUBLE))"


@pytest.mark.parametrize("digits", [-1, 0, 1, 2])
def test_rounded_doubles(digits: int) -> None:
    values = [0.0, -0.0, 0.25, -0.25, 0.35, 1.005, 2.5, -2.5, 3.5, 14.5, 15.0, -0.01, 1e300]
    rows = {"d": pa.array([*values, math.nan, math.inf, -math.inf])}
    for name in ("round", "bround"):
        exact = [
            float(Decimal(repr(v)).quantize(Decimal((0, (1,), -digits)), MODES[name], Context(prec=400))) + 0.0
            for v in values
        ]
        assert repr(answers(f"{name}(d, {digits})", rows)[1]) == repr([*exact, math.nan, math.inf, -math.inf])


def test_no_rounded_number_is_a_negative_zero() -> None:
    rows = {"d": pa.array([-0.0, -0.001])}
    assert repr(answers("round(d, 400)", rows)[1]) == "[0.0, -0.001]"
    assert repr(answers("round(d, 2)", rows)[1]) == "[0.0, 0.0]"


@pytest.mark.parametrize("bits", [32, 64])
def test_bits(bits: int) -> None:
    values = [0, 1, -1, 5, -6, (1 << bits - 1) - 1, -(1 << bits - 1)]
    pairs = [(a, b) for a in values for b in values]
    rows = {"a": pa.array([a for a, _ in pairs], f"int{bits}"), "b": pa.array([b for _, b in pairs], f"int{bits}")}

    def signed(value: int) -> int:
        return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)

    assert answers("a & b", rows)[1] == [a & b for a, b in pairs]
    assert answers("a | b", rows)[1] == [a | b for a, b in pairs]
    assert answers("a ^ b", rows)[1] == [a ^ b for a, b in pairs]
    assert answers("~a", rows)[1] == [~a for a, _ in pairs]
    for places in (0, 1, 31, 32, 33, 63, 64, 65, -1):
        n = places % bits
        rows["n"] = pa.array([places] * len(pairs), pa.int32())
        for given in (str(places), "n"):
            assert answers(f"shiftleft(a, {given})", rows)[1] == [signed(a << n) for a, _ in pairs]
            assert answers(f"shiftright(a, {given})", rows)[1] == [a >> n for a, _ in pairs]
            unsigned = [signed((a % (1 << bits)) >> n) for a, _ in pairs]
            assert answers(f"shiftrightunsigned(a, {given})", rows)[1] == unsigned
    rows = {"a": pa.array([None, 1], f"int{bits}"), "b": pa.array([1, None], f"int{bits}")}
    assert answers("a & b", rows)[1] == answers("shiftleft(a, CAST(b AS INT))", rows, ansi=False)[1] == [None, None]


def test_quotients_are_cut_before_they_are_rounded() -> None:
    """39 digits of a quotient are known, and the result has 38."""
    rows = {
        "a": pa.array([Decimal(2), Decimal(1)], pa.decimal128(38, 0)),
        "b": pa.array([Decimal(3), Decimal(3)], pa.decimal128(1, 0)),
    }
    assert answers("a / b", rows)[1] == [Decimal("0.666667"), Decimal("0.333333")]
    assert Context(prec=39, rounding=ROUND_DOWN).divide(Decimal(2), Decimal(3)) < Decimal(2) / 3
