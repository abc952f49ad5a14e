"""SQL that computes values: how operators bind, functions by each of their names, casts, CASE, intervals, tuples."""

from __future__ import annotations

import random

import pytest

from tableformats.errors import TableFormatsError
from tableformats.expressions import Function, Holds, Literal, Reference
from tableformats.expressions.parse import parse_filter
from tableformats.schema import primitive

A, B = Reference(("a",)), Reference(("b",))


@pytest.mark.parametrize(
    ("sql", "same"),
    [
        ("a | b & c ^ d = 1", "(a | ((b & c) ^ d)) = 1"),
        ("a << 1 + b = 1", "(a << (1 + b)) = 1"),
        ("'x' || 1 + a = 'y'", "('x' || 1) + a = 'y'"),
        ("a - b - c = 1", "((a - b) - c) = 1"),
        ("a / b * c % d DIV e = 1", "((((a / b) * c) % d) DIV e) = 1"),
        ("-a * b = 1", "((-a) * b) = 1"),
        ("-a.b::int = 1", "(-CAST(a.b AS INT)) = 1"),
        ("- -a = 1", "(-(-a)) = 1"),
        ("~a & b = 1", "((~a) & b) = 1"),
        ("a + 1 < b = c", "((a + 1) < b) = c"),
        ("a = b + 1 < c", "((a = (b + 1)) < c)"),
        ("a = b IS NULL", "(a = b) IS NULL"),
        ("a = 1 IN (TRUE)", "(a = 1) IN (TRUE)"),
        ("NOT a = b IS NULL", "NOT ((a = b) IS NULL)"),
        ("!a = b", "NOT (a = b)"),
        ("a + 1 BETWEEN b AND c + 1 AND d", "(a + 1 >= b AND a + 1 <= c + 1) AND d"),
        ("a NOT LIKE b || '%'", "NOT (like(a, (b || '%')))"),
        ("a !> 1 AND b !< 1", "a <= 1 AND b >= 1"),
    ],
)
def test_operators_bind_as_in_spark(sql, same):
    assert parse_filter(sql) == parse_filter(same)


@pytest.mark.parametrize(
    ("sql", "same"),
    [
        ("ucase(a) = 'X'", "upper(a) = 'X'"),
        ("`UPPER`(a) = 'X'", "upper(a) = 'X'"),
        ("nvl(a, 1) = ifnull(b, 2)", "coalesce(a, 1) = coalesce(b, 2)"),
        ("nvl2(a, b, c) = 1", "CASE WHEN a IS NOT NULL THEN b ELSE c END = 1"),
        ("if(a > 1, b, c) = 1", "CASE WHEN a > 1 THEN b ELSE c END = 1"),
        ("when(a > 1, b) = 1", "CASE WHEN a > 1 THEN b END = 1"),
        ("CASE a WHEN 1 THEN b WHEN c THEN 2 END > 3", "CASE WHEN a = 1 THEN b WHEN a = c THEN 2 ELSE NULL END > 3"),
        ("substr(a FROM 2 FOR 3) = 'x'", "substring(a, 2, 3) = 'x'"),
        ("position('x' IN a) = 1", "locate('x', a) = 1"),
        ("trim(BOTH 'x' FROM a) = 'y'", "btrim(a, 'x') = 'y'"),
        ("trim('x', a) = 'y'", "btrim(a, 'x') = 'y'"),
        ("trim(LEADING FROM a) = 'y'", "ltrim(a) = 'y'"),
        ("rtrim('x', a) = 'y'", "trim(TRAILING 'x' FROM a) = 'y'"),
        ("EXTRACT(week FROM a) = 1", "weekofyear(a) = 1"),
        ("date_part('MONS', a) = 1", "month(a) = 1"),
        ("dayofmonth(a) = 1", "EXTRACT(D FROM a) = 1"),
        ("dateadd(DAY, 1, a) > b", "timestampadd(DAY, 1, a) > b"),
        ("dateadd(a, 1) > b", "date_add(a, 1) > b"),
        ("date_diff(MONTH, a, b) > 1", "timestampdiff(month, a, b) > 1"),
        ("now() > a", "current_timestamp > a"),
        ("curdate() > a", "current_date() > a"),
        ("DATE 'tomorrow' > a", "date_add(current_date, 1) > a"),
        ("a::int::string = 'x'", "CAST(CAST(a AS INTEGER) AS VARCHAR(5)) = 'x'"),
        ("date(a) = b", "CAST(a AS DATE) = b"),
        ("decimal(a) = b", "CAST(a AS DEC) = b"),
        ("a REGEXP 'x'", "regexp_like(a, 'x')"),
        ("a NOT RLIKE 'x'", "NOT rlike(a, 'x')"),
        ("a LIKE ANY ('x', b)", "a LIKE 'x' OR a LIKE b"),
        ("a NOT LIKE SOME ('x', 'y')", "a NOT LIKE 'x' OR a NOT LIKE 'y'"),
        ("a NOT ILIKE ALL ('x', 'y')", "a NOT ILIKE 'x' AND a NOT ILIKE 'y'"),
        ("ilike(a, 'x!%', '!')", "a ILIKE 'x!%' ESCAPE '!'"),
        ("equal_null(a, 1)", "a <=> 1"),
        ("between(a, 1, 2)", "a BETWEEN 1 AND 2"),
        ("zeroifnull(a) = 1 AND nullifzero(b) = 2", "coalesce(a, 0) = 1 AND nullif(b, 0) = 2"),
        ("(a, b) IN ((1, 2), (3, 4))", "(a <=> 1 AND b <=> 2) OR (a <=> 3 AND b <=> 4)"),
        ("(a, b) != (1, c)", "NOT (a <=> 1 AND b <=> c)"),
        ("struct(a, b) = (1, 2)", "a <=> 1 AND b <=> 2"),
        ("(a, b) IS NULL", "FALSE"),
    ],
)
def test_several_spellings_mean_one_function(sql, same):
    assert parse_filter(sql) == parse_filter(same)


@pytest.mark.parametrize(
    ("sql", "tree"),
    [
        ("(a > 1) IS TRUE", "(a > 1) IS TRUE"),
        ("(a > 1) IS NOT FALSE", "NOT ((NOT (a > 1)) IS TRUE)"),
        ("(a > 1) = TRUE", "a > 1"),
        ("(a > 1) != TRUE", "NOT (a > 1)"),
        ("FALSE <=> (a > 1)", "(NOT (a > 1)) IS TRUE"),
        ("(a > 1) = NULL", "NULL"),
        ("a IS UNKNOWN", "a IS NULL"),
        ("CASE WHEN a = 1 THEN TRUE ELSE b END", "((a = 1) IS TRUE AND TRUE) OR (NOT ((a = 1) IS TRUE) AND b = TRUE)"),
        ("CASE WHEN a = 1 THEN 'x' END = 'x'", "((a = 1) IS TRUE AND TRUE) OR (NOT ((a = 1) IS TRUE) AND NULL)"),
        ("coalesce(a, FALSE)", "(a = TRUE) IS TRUE OR (NOT ((NOT (a = TRUE)) IS TRUE) AND FALSE)"),
        ("CASE WHEN 1 / a > 1 THEN TRUE END", "CASE WHEN ((1 / a) > 1) THEN TRUE ELSE NULL END"),
    ],
)
def test_conditions_as_values_become_leaves(sql, tree):
    assert str(parse_filter(sql)) == tree


@pytest.mark.parametrize(
    ("sql", "amount", "unit"),
    [
        ("INTERVAL 7 DAYS", 7, "day"),
        ("interval '-7' day", -7, "day"),
        ("INTERVAL -'7' DAY", -7, "day"),
        ("- INTERVAL 7 DAY", -7, "day"),
        ("INTERVAL 2 WEEKS", 14, "day"),
        ("INTERVAL '1' MONTH", 1, "month"),
        ("INTERVAL '1-2' YEAR TO MONTH", 14, "month"),
        ("INTERVAL '-1-2' YEAR TO MONTH", -14, "month"),
        ("INTERVAL 1 YEAR 2 MONTHS", 14, "month"),
        ("INTERVAL 1 DAY 2 HOURS", 26 * 3600 * 10**6, "microsecond"),
        ("INTERVAL '1 day 2 hours'", 26 * 3600 * 10**6, "microsecond"),
        ("INTERVAL '1 02:03:04.5' DAY TO SECOND", (26 * 3600 + 184) * 10**6 + 500_000, "microsecond"),
        ("INTERVAL '10:11' HOUR TO MINUTE", 36_660 * 10**6, "microsecond"),
        ("INTERVAL 1.5 SECONDS", 1_500_000, "microsecond"),
        ("INTERVAL '0' HOUR", 0, "microsecond"),
    ],
)
def test_intervals(sql, amount, unit):
    found = Function("interval", (Literal(amount), Literal(unit)))
    assert parse_filter(f"a > b + {sql}") == Holds(Function(">", (A, Function("+", (B, found)))))


@pytest.mark.parametrize(
    ("sql", "value", "kind"),
    [
        ("5L", 5, "long"),
        ("bigint(5)", 5, "long"),
        ("-9223372036854775808L", -(2**63), "long"),
        ("CAST('7' AS SMALLINT)", 7, "short"),
        ("-128Y", -128, "byte"),
        ("1.5F", 1.5, "float"),
        ("TRY_CAST('x' AS INT)", None, "int"),
        ("'2024-01-01 00:00:00 Europe/Berlin'::timestamp", 1_704_063_600_000_000, "timestamp"),
        ("TIMESTAMP '2024-01-01 00:00:00 Europe/Berlin'", 1_704_063_600_000_000, "timestamp"),
    ],
)
def test_constants_keep_their_types_as_arguments(sql, value, kind):
    assert parse_filter(f"a + {sql} = b").value.arguments[0] == Function("+", (A, Literal(value, primitive(kind))))


def test_ansi_goes_along_and_decides_casts_of_constants():
    assert parse_filter("CAST(a AS INT) = b", ansi=False).value.arguments[0].ansi is False
    assert parse_filter("a = CAST('x' AS INT)", ansi=False) == parse_filter("a = CAST(NULL AS INT)")


_OPERATORS = "+ - * / % DIV | & ^ << >> = < <=> AND OR".split()  # noqa: SIM905


def test_what_is_printed_is_read_again():
    chance = random.Random(5)
    for _ in range(2000):
        sql = _random(chance, 4)
        try:
            found = parse_filter(sql)
        except TableFormatsError:
            continue
        assert str(parse_filter(str(found))) == str(found), sql


def _random(chance: random.Random, depth: int) -> str:
    if depth == 0 or chance.random() < 0.2:
        return chance.choice(
            ["a", "b", "c.d", "1", "2.5", "5L", "'x'", "TRUE", "NULL", "1e3", "m['k']", "DATE '2024-01-01'"]
        )
    first, second = _random(chance, depth - 1), _random(chance, depth - 1)
    form = chance.choice(
        [
            *["{0} {op} {1}"] * 6,
            *("({0})", "NOT {0}", "-{0}", "~{0}", "{0} IS NULL", "({0}) IS NOT TRUE", "{0} IN ({1}, 3)"),
            *(
                "upper({0})",
                "coalesce({0}, {1})",
                "CASE WHEN {0} THEN {1} END",
                "CAST({0} AS BIGINT)",
                "if({0}, {1}, 2)",
            ),
            *(
                "{0} LIKE '%x'",
                "{0} BETWEEN {1} AND 9",
                "{0} + INTERVAL 7 DAYS",
                "dateadd(HOUR, {0}, {1})",
                "m[{1}]",
            ),
        ]
    )
    return form.format(first, second, op=chance.choice(_OPERATORS))
