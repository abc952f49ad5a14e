"""SQL conditions: what is read, what is refused, and how an error says where."""

from __future__ import annotations

import decimal
import logging
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.errors import InvalidPredicateError, TableFormatsError, UnsupportedFeatureError
from tableformats.expressions import And, Comparison, Literal, Or, Reference, col
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.expressions.parse.lexing import lex
from tableformats.schema import Field, Schema, primitive


@pytest.mark.parametrize(
    ("sql", "tree"),
    [
        ("a = 1", "a = 1"),
        ("a == 1", "a = 1"),
        ("a <=> NULL", "a <=> NULL"),
        ("a != 1", "a != 1"),
        ("a <> 1", "a != 1"),
        ("5 < a", "a > 5"),
        ("5 >= a", "a <= 5"),
        ("1 <=> a", "a <=> 1"),
        ("a < b", "a < b"),
        ("a = 1 OR b = 2 AND NOT c = 3", "a = 1 OR (b = 2 AND NOT (c = 3))"),
        ("(((a = 1)))", "a = 1"),
        ("((a)) = (1)", "a = 1"),
        ("!a", "NOT (a = TRUE)"),
        ("NOT a = 1", "NOT (a = 1)"),
        ("a IN (1, NULL)", "a IN (1, NULL)"),
        ("a NOT IN (1, 2)", "NOT (a IN (1, 2))"),
        ("a IN (b, 1)", "a = b OR a = 1"),
        ("1 IN (a, 1)", "a = 1 OR TRUE"),
        ("a BETWEEN 1 AND 2", "a >= 1 AND a <= 2"),
        ("a NOT BETWEEN 1 AND 2 AND c", "NOT (a >= 1 AND a <= 2) AND c = TRUE"),
        ("5 BETWEEN a AND b", "a <= 5 AND b >= 5"),
        ("a IS NULL", "a IS NULL"),
        ("a IS NOT NULL", "a IS NOT NULL"),
        ("isnull(a)", "a IS NULL"),
        ("isnotnull(a)", "a IS NOT NULL"),
        ("a IS TRUE", "a <=> TRUE"),
        ("a IS NOT FALSE", "NOT (a <=> FALSE)"),
        ("a AND b", "a = TRUE AND b = TRUE"),
        ("a LIKE 'x%'", "a LIKE 'x%'"),
        ("a NOT LIKE 'x'", "NOT (a LIKE 'x')"),
        ("a LIKE NULL", "NULL"),
        ("a LIKE '/%/_//\\\\' ESCAPE '/'", "a LIKE '\\\\%\\\\_/\\\\\\\\'"),
        ("a NOT LIKE 'x%' ESCAPE '!'", "NOT (a LIKE 'x%')"),
        ("startswith(a, 'x')", "startswith(a, 'x')"),
        ("isnan(a)", "isnan(a)"),
        ("a IS DISTINCT FROM 1", "NOT (a <=> 1)"),
        ("a IS NOT DISTINCT FROM b", "a <=> b"),
        ("a = DATE '2024-01-31'", "a = DATE '2024-01-31'"),
        ("a = CAST('2024-01-31' AS DATE)", "a = DATE '2024-01-31'"),
        ("a = '2024-01-31'::date", "a = DATE '2024-01-31'"),
        ("a = date('2024-1-31')", "a = DATE '2024-01-31'"),
        ("a = TIMESTAMP '2024-01-31 10:00:00+02:00'", "a = TIMESTAMP '2024-01-31 08:00:00Z'"),
        ("a = TIMESTAMP_LTZ '2024-01-31'", "a = TIMESTAMP '2024-01-31 00:00:00Z'"),
        ("a = TIMESTAMP_NTZ '2024-01-31'", "a = TIMESTAMP_NTZ '2024-01-31 00:00:00'"),
        ("a = X'0aF'", "a = X'00AF'"),
        ("a = 1L", "a = 1"),
        ("a = -1.5D", "a = -1.5"),
        ("a = 1.5BD", "a = 1.5"),
        ("a = 1e3", "a = 1000.0"),
        ("a = .5", "a = 0.5"),
        ("a = 0.1F", "a = 0.10000000149011612"),
        ("a = - -1", "a = 1"),
        ("a = +1", "a = 1"),
        ("a = -9223372036854775808", "a = -9223372036854775808"),
        ("a = CAST(1 AS DECIMAL(10,2))", "a = 1.00"),
        ("a = CAST(NULL AS INT)", "a = NULL"),
        ("a = double('-Infinity')", "a = CAST('-Infinity' AS DOUBLE)"),
        ("a = TRUE", "a = TRUE"),
        ("a.b.c.d.e.f = 1", "a.b.c.d.e.f = 1"),
        ("a.`b.c` = 1", "a.`b.c` = 1"),
        ("`a``b`.c = 1", "`a``b`.c = 1"),
        ("comment = 1 AND desc = 2", "comment = 1 AND desc = 2"),
        ("`select` = 1", "`select` = 1"),
        ("1 = 1 AND a = 2", "TRUE AND a = 2"),
        ("1 > 2.5", "FALSE"),
        ("'a' < 'b'", "TRUE"),
        ("NULL = 1", "NULL"),
        ("NULL <=> NULL", "TRUE"),
        ("double('nan') > 1e300", "TRUE"),
        ("double('nan') = double('nan')", "TRUE"),
        ("a = 1;", "a = 1"),
        ("a = 1 -- why\n AND /* or /* nested */ ; */ b = 2", "a = 1 AND b = 2"),
        ("ümlaut = 'ß'", "`ümlaut` = 'ß'"),
        ("A = 1", "A = 1"),
    ],
)
def test_conditions_are_read(sql, tree):
    assert str(parse_filter(sql)) == tree


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        (r"'it\'s'", "it's"),
        ('"a\'b"', "a'b"),
        (r"'\\'", "\\"),
        (r"'\n\t\r\b\0\Z'", "\n\t\r\b\0\x1a"),
        (r"'\%\_'", "\\%\\_"),
        (r"'\u00e9\U0001F600'", "é\U0001f600"),
        (r"'\101\x41\1'", "Ax411"),
        (r"r'\n'", "\\n"),
        ("''", ""),
        ("'a\nb'", "a\nb"),
        ("'\U000f00001'", "\U000f00001"),
        ("'--/*'", "--/*"),
        ("'a;b'", "a;b"),
        ("'`'", "`"),
    ],
)
def test_strings_are_read_as_spark_reads_them(sql, value):
    assert parse_filter(f"a = {sql}") == Comparison("=", Reference(("a",)), Literal(value))


@pytest.mark.parametrize(
    ("sql", "quoted"),
    [
        ("upper(a) = 'X'", "UPPER(a)"),
        ("a + 1 = 2", "a + 1"),
        ("CAST(a AS INT) = 1", "CAST(a AS INT)"),
        ("a[0] = 1", "a[0]"),
        ("a::int = 1", "CAST(a AS INT)"),
        ("a RLIKE 'x'", "a RLIKE 'x'"),
        ("a IN (SELECT 1)", "SELECT 1"),
        ("EXISTS(SELECT 1)", "EXISTS"),
        ("a = current_date()", "CURRENT_DATE"),
        ("CASE WHEN a THEN b END", "CASE WHEN"),
        ("(a = 1) = TRUE", "a = 1"),
        ("(a = 1) IS NULL", "a = 1"),
        ("a = b = c", "a = b"),
        ("1 < a < 3", "1 < a"),
        ("a LIKE b", "a LIKE b"),
        ("a = INTERVAL '1' DAY", "INTERVAL '1' DAY"),
        ("a LIKE ANY ('x', 'y')", "'x'"),
        ("a = 1 + 2", "1 + 2"),
        ("a = CAST('x' AS ARRAY<INT>)", "CAST("),
        ("a = (b IS NULL)", "b IS NULL"),
        ("a || 'x' = 'y'", "a || 'x'"),
        ("a ILIKE 'x'", "ILIKE"),
    ],
)
def test_what_is_not_built_is_quoted_and_refused(sql, quoted):
    with pytest.raises(UnsupportedFeatureError) as refusal:
        parse_filter(sql)
    assert quoted in str(refusal.value) and "AND, OR and NOT" in str(refusal.value)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("", "empty"),
        ("  -- nothing", "empty"),
        (";", "empty"),
        ("a = 1; DROP TABLE x", "several statements, at line 1, column 6"),
        ("SELECT 1", "statement"),
        ("DROP TABLE x", "line 1, column 1: 'DROP'"),
        ("a = 1 UNION SELECT 2", "column 7: 'UNION'"),
        ("a = 1) OR (b = 2", "line 1, column 6"),
        ("(a = 1", "column 1"),
        ("a =", "EQ lacks an operand"),
        ("a = 1 b", "AS b' cannot"),
        ("a = 'x", "line 1, column 5"),
        ("`a = 1", "name that opens"),
        ("a = 1 /* x", "comment"),
        ("a =\n 'x' 5", "line 2, column 6"),
        ("a = 'it''s'", "two strings in a row"),
        ("a = X'0g'", "hexadecimal"),
        ("a = 1 LIMIT 5", "'LIMIT'"),
        ("a = 1" + "0" * 60, "38 digits"),
        ("a = 1e999", "range"),
        ("a = " + "9" * 99 + "BD", "38 digits"),
        ("a = DATE '2024-13-01'", "date"),
        ("a = DATE 'now'", "DATE '2024-01-31'"),
        ("a = CAST(300 AS TINYINT)", "cannot be cast to tinyint"),
        ("a = CAST('1.5' AS INT)", "cannot be cast to int"),
        ("a = CAST('x' AS FLOAT)", "cannot be cast to float"),
        ("a = CAST(DATE '2024-01-31' AS INT)", "no cast"),
        ("a = TIMESTAMP_NTZ '2024-01-01 00:00:00Z'", "zone"),
        ("a", None),
        ("1", "'1'"),
        ("'x'", "cannot stand"),
        ("a AS b", "cannot stand"),
        ("(a, b) = (1, 2)", "cannot stand"),
        ("a = ?", "cannot stand"),
        ("a = :x", "cannot stand"),
        ("'a' = 1", "two types"),
        ("a IN ()", "nothing in its list"),
        ("a LIKE 'x' ESCAPE 'yy'", "one character"),
        ("a LIKE 'x/y' ESCAPE '/'", "escape"),
        (r"a = '\UFFFFFFFF'", "Unicode"),
    ],
)
def test_errors_say_what_and_where(sql, message):
    if message is None:
        assert str(parse_filter(sql)) == "a = TRUE"
        return
    with pytest.raises(InvalidPredicateError, match=message) as refusal:
        parse_filter(sql)
    assert "\x1b" not in str(refusal.value) and "class '" not in str(refusal.value)


@pytest.mark.parametrize(
    "sql",
    [
        "(" * 10_000 + "a" + ")" * 10_000,
        "NOT " * 10_000 + "a",
        "-" * 1 + " - " * 10_000 + "1 = a",
        "a < " * 10_000 + "1",
        "f(" * 200,
        "a[" * 5_000,
        "CASE WHEN " * 500 + "a",
        "(" * 60 + "a" + ")" * 60 + " x",
        "a || " * 10_000 + "b = 'c'",
        "a BETWEEN SYMMETRIC 2 AND 1",
        "a IS NULL " * 1000,
        "{" * 500,
        "a" * 5_000 + "(" * 90,
    ],
)
def test_deep_nesting_and_strange_forms_are_typed_errors(sql):
    with pytest.raises(TableFormatsError):
        parse_filter(sql)


def test_long_flat_filters_are_read():
    many = parse_filter(" AND ".join(f"a != {i}" for i in range(3000)))
    assert isinstance(many, And) and len(many.children) == 3000
    mixed = parse_filter(" OR ".join(f"a = {i} AND b = {i}" for i in range(1000)))
    assert isinstance(mixed, Or) and len(mixed.children) == 1000
    assert len(parse_filter(f"a IN ({', '.join(map(str, range(5000)))})").literals) == 5000


def test_nothing_is_logged(caplog):
    with caplog.at_level(logging.DEBUG):
        for sql in ("comment = 1", "ALTER TABLE x", "SHOW TABLES", "SET a = 1"):
            with pytest.raises(TableFormatsError) if sql != "comment = 1" else pytest.MonkeyPatch.context():
                parse_filter(sql)
    assert not caplog.records


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from([*"ab1'\"`()=<>! .,;-/*\\\n%", " AND ", " NOT ", " IN ", "DATE ", "X'", " IS NULL"]),
        max_size=12,
    )
)
def test_any_text_is_read_or_refused(pieces):
    try:
        parse_filter("".join(pieces))
    except TableFormatsError as error:
        assert str(error)


@given(st.text(st.sampled_from("ab \n'\"\\xrX-/*;`()"), max_size=20))
def test_positions_survive_stand_ins(sql):
    try:
        lexed = lex(sql)
    except InvalidPredicateError:
        return
    for start, origin in lexed.starts:
        line = lexed.sql.count("\n", 0, start) + 1
        column = start - lexed.sql.rfind("\n", 0, start)
        assert lexed.offset(line, column) >= origin


def test_numbers_keep_their_digits():
    schema = Schema((Field(1, "a", primitive("long")),))
    exact = parse_filter("a = 9007199254740993")
    assert str(bind(exact, schema)) == "a = 9007199254740993"
    digits = "-9999999999999999999999999999.9999999999"
    assert str(parse_filter(f"a = {digits}")) == f"a = {digits}"
    literal = parse_filter("a = 1.10").right
    assert literal == Literal(decimal.Decimal("1.10")) and str(literal) == "1.10"


def test_sqlglot_is_not_imported_for_other_filters():
    import subprocess

    code = (
        "import sys; from tableformats.expressions.parse import parse_filter; parse_filter([('a', '=', 1)]); "
        "sys.exit('sqlglot' in sys.modules or 'numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_filters_of_other_libraries_are_refused_by_name():
    import pyarrow.compute as pc

    with pytest.raises(UnsupportedFeatureError, match="pyarrow"):
        parse_filter(pc.field("a") > 1)
    assert parse_filter(col("a") == 1) == parse_filter("a = 1")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("a IS 5", "after IS"),
        ("a RLIKE 'x' ESCAPE '/'", "."),
        ("sometimes(a)", "SOMETIMES"),
        ("isnull(a, b)", "ISNULL"),
        ("a.* = 1", "."),
        ("a = -'x'", "anything but a number"),
        ("a = 1e999999", "out of the range of doubles"),
    ],
)
def test_what_parses_and_is_no_condition(sql, message):
    with pytest.raises((InvalidPredicateError, UnsupportedFeatureError), match=message):
        parse_filter(sql)


def test_floats_that_are_too_great_are_infinite():
    assert parse_filter("a < CAST(1e300 AS FLOAT)") == (col("a") < Literal(float("inf"), primitive("float")))
    assert parse_filter("a < CAST(-1e300 AS FLOAT)") == (col("a") < Literal(float("-inf"), primitive("float")))
