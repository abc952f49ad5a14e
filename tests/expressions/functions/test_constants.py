"""Functions of constants: each with arguments of every type, and texts and digits at the limits."""

from __future__ import annotations

import json

import pytest

from tests.expressions.functions import constant_cases as cases

PINNED = json.loads(cases.PINNED.read_text("utf-8"))
SHARES = 6


@pytest.mark.parametrize("share", range(SHARES))
def test_calls_have_their_outcomes(share: int) -> None:
    names = cases.NAMES[share::SHARES]
    assert cases.outcomes(names) == {name: PINNED["functions"][name] for name in names}
    assert set(cases.NAMES) == set(PINNED["functions"])


def test_operators_and_casts_have_their_outcomes() -> None:
    assert cases.of_operators() == PINNED["operators"]
    assert cases.of_casts() == PINNED["casts"]


MOST = 1 << 24


@pytest.mark.parametrize(
    ("call", "length"),
    [
        (f"space({MOST})", MOST),
        (f"space({MOST + 1})", None),
        ("space(2147483647)", None),
        (f"repeat('ab', {MOST // 2})", MOST),
        (f"repeat('ab', {MOST // 2 + 1})", None),
        (f"lpad('a', {MOST}, 'b')", MOST),
        (f"rpad('a', {MOST + 1}, 'b')", None),
        ("rpad('', 2147483647, '')", 0),
        ("repeat('', 2147483647)", 0),
        ("repeat('a', -1)", 0),
    ],
)
def test_texts_that_would_take_all_memory(call: str, length: int | None) -> None:
    found = cases.outcome(f"length({call})", True)
    assert call[:6] in found if length is None else found == f"x = '{length}'", "what is not made is left"


@pytest.mark.parametrize("name", ["round", "bround", "ceil", "floor"])
@pytest.mark.parametrize("value", ["1.5", "2.5D", "7"])
def test_digits_have_32_bits(name: str, value: str) -> None:
    assert "32 bits" in cases.outcome(f"{name}({value}, 2147483648L)", True)
    assert "32 bits" in cases.outcome(f"{name}({value}, -2147483649L)", True)
    assert "32 bits" not in cases.outcome(f"{name}({value}, -2147483648L)", True)
    assert "a constant" in cases.outcome(f"{name}({value}, TIMESTAMP'2024-01-01 00:00:00Z')", True)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("power(1.5D, 1D)", "1.5"),
        ("power(1.5D, 0D)", "1.0"),
        ("power(CAST('NaN' AS DOUBLE), 0D)", "1.0"),
        ("power(CAST('NaN' AS DOUBLE), 2.5D)", "NaN"),
        ("power(2D, 53D)", "9.007199254740992E15"),
        ("power(-3D, 2D)", "9.0"),
        ("power(94906265D, 2D)", "9.007199136250225E15"),
        ("power(1D, 1000D)", "1.0"),
        ("power(-1D, 3D)", "-1.0"),
    ],
)
def test_powers_that_are_exact(call: str, value: str) -> None:
    assert cases.outcome(call, True) == f"x = '{value}'"


@pytest.mark.parametrize(
    "call", ["power(1.5D, 2D)", "power(2D, 54D)", "power(94906266D, 2D)", "power(1D, 1001D)", "power(2D, -1D)"]
)
def test_powers_that_are_left(call: str) -> None:
    assert "pow(" in cases.outcome(call, True)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("like('a%', 'a!%', '!')", "true"),
        ("like('ab', 'a!%', '!')", "false"),
        ("like('a_', 'a!_', '!')", "true"),
        ("like('ab', 'a!_', '!')", "false"),
        ("like('a!', 'a!!', '!')", "true"),
        ("like('a!%', 'a!%')", "true"),
        ("like('a%', 'a\\\\%')", "true"),
        ("like('ab', 'a\\\\%')", "false"),
    ],
)
def test_the_escape_of_a_pattern(call: str, value: str) -> None:
    assert cases.outcome(call, True) == f"x = '{value}'"


@pytest.mark.parametrize(("count", "value"), [(0, ""), (1, "a"), (2, "a.b"), (9, "a.b.c"), (-1, "c"), (-9, "a.b.c")])
def test_as_many_parts_as_asked(count: int, value: str) -> None:
    assert cases.outcome(f"substring_index('a.b.c', '.', {count})", True) == f"x = '{value}'"
    assert cases.outcome(f"substring_index('a.b.c', '', {count})", True) == "x = ''"


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("timestamp_seconds(9223372036854L)", 9223372036854000000),
        ("timestamp_seconds(9223372036855L)", None),
        ("timestamp_seconds(-9223372036854.775808)", -(2**63)),
        ("timestamp_seconds(-9223372036854.775809)", None),
        ("timestamp_seconds(1.0000005)", None),
        ("timestamp_seconds(1e300D)", 2**63 - 1),
        ("timestamp_seconds(-1e300D)", -(2**63)),
        ("timestamp_seconds(1e17D)", 2**63 - 1),
        ("timestamp_seconds(-2.5D)", -2500000),
        ("timestamp_millis(9223372036854775L)", 9223372036854775000),
        ("timestamp_millis(9223372036854776L)", None),
        ("timestamp_micros(-9223372036854775808L)", -(2**63)),
        ("timestampadd(MICROSECOND, 9223372036854775807L, TIMESTAMP'1970-01-01 00:00:00Z')", 2**63 - 1),
        ("timestampadd(MICROSECOND, 9223372036854775807L, TIMESTAMP'1970-01-01 00:00:00.000001Z')", None),
        ("timestampadd(MICROSECOND, -9223372036854775808L, TIMESTAMP'1970-01-01 00:00:00Z')", -(2**63)),
        ("timestampadd(MICROSECOND, -9223372036854775808L, TIMESTAMP'1969-12-31 23:59:59.999999Z')", None),
    ],
)
def test_instants_are_microseconds_of_64_bits(call: str, value: int | None) -> None:
    found = cases.outcome(f"unix_micros({call})", True)
    assert "Error: " in found if value is None else found == f"x = '{value}'"


@pytest.mark.parametrize(
    ("value", "digits", "rounded"),
    [("0.35", 1, "0.3"), ("0.45", 1, "0.4"), ("1.005", 2, "1.0"), ("2.675", 2, "2.67"), ("-0.35", 1, "-0.3")],
)
def test_a_float_is_rounded_as_the_double_that_it_is(value: str, digits: int, rounded: str) -> None:
    """The answers are those of Spark 4. As a text, the float 0.3499999940395355 would be 0.35, which is rounded up."""
    for name in ("round", "bround"):
        assert cases.outcome(f"{name}(CAST('{value}' AS FLOAT), {digits})", True) == f"x = '{rounded}'"
        assert cases.outcome(f"{name}(CAST('{value}' AS FLOAT), 1000)", True) == f"x = '{value}'"
