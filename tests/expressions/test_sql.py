"""SQL conditions: what is read, what is refused, and how an error says where."""

from __future__ import annotations

import decimal
import logging
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.errors import InvalidPredicateError, TableFormatsError, UnsupportedFeatureError
from tableformats.expressions import And, Comparison, Holds, Literal, Or, Reference, col
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.expressions.parse.lexing import tokenize
from tableformats.expressions.tree import walk
from tableformats.schema import Field, Schema, primitive
from tests.support.examples import examples


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
        ("a = TIMESTAMP_NTZ '2024-01-31 01:00:00+05:00'", "a = TIMESTAMP_NTZ '2024-01-31 01:00:00'"),  # as Spark has it
        ("a = TIMESTAMP_NTZ '2024-01-31'", "a = TIMESTAMP_NTZ '2024-01-31 00:00:00'"),
        ("a = X'0aF'", "a = X'00AF'"),
        ("a = 1L", "a = 1"),
        ("a = -1.5D", "a = -1.5"),
        ("a = 1.5BD", "a = 1.5"),
        ("a = 1e3", "a = 1000.0"),
        ("a = .5", "a = 0.5"),
        ("a = 0.1F", "a = 0.10000000149011612"),
        ("a = - -1", "a = 1"),
        ("a = -(-128)", "a = 128"),
        ("a = - -128Y", "(a = (--128Y))"),  # overflows
        ("a = - -9223372036854775808L", "(a = (--9223372036854775808L))"),
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
        ("'it''s'", "it's"),
        ('"a""b"', 'a"b'),
        (r"'\''''", "''"),
        ("'a' 'b'", "ab"),
        ("r'a''b'", "ab"),
        (r"'\ud83d\ude00'", "\U0001f600"),
        (r"'\ud83d'", "?"),
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
        ("a IN (SELECT 1)", "subquery"),
        ("EXISTS(SELECT 1)", "EXISTS of a subquery"),
        ("a > (SELECT max(b) FROM t)", "line 1, column 5"),
        ("sum(a) > 1", "sum is an aggregate function"),
        ("b = 1 AND count(*) > 1", "line 1, column 11"),
        ("row_number() OVER (ORDER BY a) = 1", "row_number is a window function"),
        ("upper(a) OVER () = 1", "OVER needs other rows"),
        ("rand() < 0.5", "rand is not deterministic"),
        ("explode(a) = 1", "explode makes rows"),
        ("exists(a, x -> x > 1)", "exists takes a lambda function"),
        ("upper(x -> x) = 1", "a lambda function"),
        ("upper(s => a) = 1", "an argument by name"),
        ("printf(a, 'HOST') = 'x'", "the function printf"),
        ("db.f(a) = 1", "functions of a catalog"),
        ("a:b = 1", "path into a VARIANT"),
        ("a COLLATE UTF8_LCASE = 'x'", "collation"),
        ("CAST(a AS ARRAY<INT>) = b", "a cast to ARRAY"),
        ("array_max(b) = 1", "the function array_max"),
        ("b = array(1)", "the function array"),
    ],
)
def test_what_is_not_built_is_quoted_and_refused(sql, quoted):
    with pytest.raises(UnsupportedFeatureError) as refusal:
        parse_filter(sql)
    assert quoted in str(refusal.value) and " of the filter: " in str(refusal.value)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("", "empty"),
        ("  -- nothing", "empty"),
        (";", "empty"),
        ("a = 1; DROP TABLE x", "several statements, at line 1, column 6"),
        ("SELECT 1", "begins a statement"),
        ("DROP TABLE x", "DROP begins a statement"),
        ("a = 1 UNION SELECT 2", "column 7: 'UNION'"),
        ("a = 1) OR (b = 2", "line 1, column 6"),
        ("(a = 1", "column 1"),
        ("a =", "ends too early"),
        ("a = 1 b", "line 1, column 7: 'b' is not expected"),
        ("a = 'x", "line 1, column 5"),
        ("`a = 1", "name that opens"),
        ("a = 1 /* x", "comment"),
        ("a =\n 'x' 5", "line 2, column 6"),
        ("a = X'0g'", "hexadecimal"),
        ("a = 1 LIMIT 5", "'LIMIT'"),
        ("a = 1" + "0" * 60, "38 digits"),
        ("a = 1e999", "range of doubles"),
        ("a = " + "9" * 99 + "BD", "38 digits"),
        ("a = DATE '2024-13-01'", "date"),
        ("a = DATE 'nowhere'", "DATE '2024-01-31'"),
        ("a = CAST(300 AS TINYINT)", "cannot be cast to tinyint"),
        ("a = CAST('1.5' AS INT)", "cannot be cast to int"),
        ("a = CAST('x' AS FLOAT)", "cannot be cast to float"),
        ("a = CAST(DATE '2024-01-31' AS INT)", "no cast"),
        ("a", None),
        ("1", "'1'"),
        ("'x'", "cannot stand"),
        ("a AS b", "'AS' is not expected"),
        ("(a, b) = 1", "tuple"),
        ("(a, b) = (1, 2, 3)", "2 and 3 values"),
        ("(a, b)", "tuple"),
        ("a = ?", "cannot stand"),
        ("a = :x", "cannot stand"),
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
        "a + " * 10_000 + "b = 1",
        "a" + "[0]" * 5_000 + " = 1",
        "a" + "::int" * 5_000 + " = 1",
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


@settings(max_examples=examples(300), deadline=None)
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


@given(st.text(st.sampled_from("ab 1.\n'\"\\xrX-/*;`()[]"), max_size=20))
def test_tokens_stand_where_they_say(sql):
    try:
        tokens = tokenize(sql)
    except InvalidPredicateError:
        return
    for token, following in zip(tokens, tokens[1:], strict=False):
        assert token.start < token.end <= following.start
        assert token.kind == "name" or sql[token.start : token.end] == token.text


def test_numbers_keep_their_digits():
    schema = Schema((Field(1, "a", primitive("long")),))
    exact = parse_filter("a = 9007199254740993")
    assert str(bind(exact, schema)) == "a = 9007199254740993"
    digits = "-9999999999999999999999999999.9999999999"
    assert str(parse_filter(f"a = {digits}")) == f"a = {digits}"
    literal = parse_filter("a = 1.10").right
    assert literal == Literal(decimal.Decimal("1.10")) and str(literal) == "1.10"


def test_reading_a_filter_imports_no_slow_library():
    import subprocess

    code = (
        "import sys; from tableformats.expressions.parse import parse_filter; parse_filter('upper(a) = 1'); "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_columns_of_ours_are_filters():
    assert parse_filter(col("a") == 1) == parse_filter("a = 1")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("a IS 5", "after IS"),
        ("a RLIKE 'x' ESCAPE '/'", "'ESCAPE' is not expected"),
        ("sometimes(a)", "no function sometimes"),
        ("uper(a) = 'X'", "line 1, column 1.*no function uper.*Did you mean upper"),
        ("casse(a) = 'X'", r"Did you mean ucase, lcase\?$"),
        ("b = 1 OR\n 1 AND a = 2", "'1 AND a = 2' at line 2, column 2.*no condition"),
        ("upper(a, b) = 'X'", "upper takes 1 argument, not 2"),
        ("b = 1 OR\n lpad(a) = 'X'", "line 2, column 2.*lpad takes 2 to 3 arguments, not 1"),
        ("coalesce() = 1", "coalesce takes 1 or more arguments, not 0"),
        ("isnull(a, b)", "isnull takes 1 argument, not 2"),
        ("extract(eon FROM a) = 1", "no field 'eon'"),
        ("date_part(a, b) = 1", "constant string"),
        ("dateadd(eon, 1, a) > b", "no unit of dateadd"),
        ("a > INTERVAL 1 MONTH 2 DAYS", "mix"),
        ("a > INTERVAL 'x'", "no interval"),
        ("a > INTERVAL 1.5 DAY", "whole number of days"),
        ("a > INTERVAL '1:99' HOUR TO MINUTE", "no interval of HOUR TO MINUTE"),
        ("a > INTERVAL '1' DAY TO YEAR", "no interval of DAY TO YEAR"),
        ("CAST(a AS NUMBER) = 1", "no type 'NUMBER'"),
        ("CAST(a AS DECIMAL(39)) = 1", "decimal\\(39,0\\)"),
        ("CASE a END", "WHEN is missing"),
        ("CASE WHEN a THEN b", "too early"),
        ("a BETWEEN 1", "too early"),
        ("a NOT 5", "'5' is not expected"),
        ("a IS NULL IS NULL", "column 11: 'IS'"),
        ("a.* = 1", "after the dot"),
        ("a = 1e999999", "out of the range of doubles"),
        ("a = 200Y", "out of the range of byte"),
        ("a = 9223372036854775808L", "out of the range of long"),
    ],
)
def test_what_parses_and_is_no_condition(sql, message):
    with pytest.raises(InvalidPredicateError, match=message):
        parse_filter(sql)


@pytest.mark.parametrize("number", ["1L", "1S", "1Y", "1BD", "1D", "1"])
def test_a_column_is_compared_with_a_number_of_any_type(number):
    assert parse_filter(f"a = {number}") == (col("a") == 1)


@pytest.mark.parametrize(("depth", "is_read"), [(50, True), (51, False)])
def test_how_deep_cases_nest(depth, is_read):
    text = "CASE WHEN a THEN " * depth + "b" + " END" * depth
    if is_read:
        assert isinstance(parse_filter(f"{text} = 1"), Holds)
        return
    with pytest.raises(InvalidPredicateError, match="nests deeper than 100 levels"):
        parse_filter(f"{text} = 1")


@pytest.mark.parametrize(
    ("sql", "same"),
    [
        ("CASE WHEN a > 1 THEN b > 2 ELSE false END = true", "CASE WHEN a > 1 THEN b > 2 ELSE false END"),
        ("false = CASE WHEN a > 1 THEN b > 2 ELSE false END", "NOT CASE WHEN a > 1 THEN b > 2 ELSE false END"),
        ("coalesce(a > 1, true) <> true", "NOT coalesce(a > 1, true)"),
        ("coalesce(a > 1, true) <=> true", "coalesce(a > 1, true) IS TRUE"),
    ],
)
def test_a_choice_of_conditions_is_compared_with_a_truth_value(sql, same):
    found = parse_filter(sql)
    assert found == parse_filter(same)
    assert not any(isinstance(node, Holds) for node in walk(found))


def test_a_choice_that_computes_stays_a_comparison():
    found = parse_filter("CASE WHEN upper(a) = 'A' THEN b > 2 ELSE false END = true")
    assert str(found) == "(CASE WHEN (upper(a) = 'A') THEN (b > 2) ELSE FALSE END = TRUE)"


def test_floats_that_are_too_great_are_infinite():
    assert parse_filter("a < CAST(1e300 AS FLOAT)") == (col("a") < Literal(float("inf"), primitive("float")))
    assert parse_filter("a < CAST(-1e300 AS FLOAT)") == (col("a") < Literal(float("-inf"), primitive("float")))
