"""Forms of SQL filters that are easily read in two ways: operators in a row, words that may be columns, signs."""

from __future__ import annotations

import pytest

from tableformats.errors import InvalidPredicateError, TableFormatsError
from tableformats.expressions.parse.sql import parse_sql


@pytest.mark.parametrize(
    ("sql", "printed"),
    [
        ("a - b - c > 0", "(((a - b) - c) > 0)"),
        ("a - (b - c) > 0", "((a - (b - c)) > 0)"),
        ("a / b * c > 0", "(((a / b) * c) > 0)"),
        ("a + b * c - d > 0", "(((a + (b * c)) - d) > 0)"),
        ("a & b | c ^ d = 1", "(((a & b) | (c ^ d)) = 1)"),
        ("a || b || c = 'x'", "(concat(a, b, c) = 'x')"),
        ("(a || b) || c = 'x'", "(concat(a, b, c) = 'x')"),
        ("a || upper(b) || c = 'x'", "(concat(a, upper(b), c) = 'x')"),
        ("upper(a) || b = 'x'", "(concat(upper(a), b) = 'x')"),
        ("- - a > 1", "((-(-a)) > 1)"),
        ("-a > 1", "((-a) > 1)"),
        ("+a = 1", "a = 1"),
        ("-+a > 1", "((-a) > 1)"),
        ("~a = 1", "((~a) = 1)"),
        ("-~a = 1", "((-(~a)) = 1)"),
        ("a = -5", "a = -5"),
        ("a = - -5", "a = 5"),
        ("a -1 > 0", "((a - 1) > 0)"),
        ("a = -9223372036854775808", "a = -9223372036854775808"),
        ("NOT a > 1 AND b > 1", "NOT (a > 1) AND b > 1"),
        ("NOT NOT a > 1", "NOT (NOT (a > 1))"),
        ("a > 1 OR b > 1 AND c > 1", "a > 1 OR (b > 1 AND c > 1)"),
    ],
)
def test_operators_in_a_row(sql: str, printed: str) -> None:
    assert str(parse_sql(sql)) == printed


WORDS = ["date", "timestamp", "interval", "x", "case", "show", "insert", "with", "values"]
RESTS = {"= 1": "{} = 1", "> 5": "{} > 5", "IS NULL": "{} IS NULL", "IN (1, 2)": "{} IN (1, 2)"}
RESTS |= {"+ 1 > 2": "(({} + 1) > 2)", "- 1 > 2": "(({} - 1) > 2)"}
REFUSED = {
    ("interval", "+ 1 > 2"): "a unit is missing",
    ("interval", "- 1 > 2"): "a unit is missing",
    ("case", "IS NULL"): "'IS' is not e",
    ("case", "IN (1, 2)"): "'IN' is not e",
}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("rest", RESTS)
def test_words_that_are_columns_before_operators(word: str, rest: str) -> None:
    if (why := REFUSED.get((word, rest))) is not None:
        with pytest.raises(InvalidPredicateError, match=why):
            parse_sql(f"{word} {rest}")
        return
    quoted = f"`{word}`" if word in ("case", "insert", "with", "values") else word
    assert str(parse_sql(f"{word} {rest}")) == RESTS[rest].format(quoted)


@pytest.mark.parametrize("rest", RESTS)
def test_a_word_that_is_no_column(rest: str) -> None:
    with pytest.raises(InvalidPredicateError, match="column 1: 'select' is n"):
        parse_sql(f"select {rest}")


@pytest.mark.parametrize(
    ("sql", "printed"),
    [
        ("date '2020-01-01' < d", "d > DATE '2020-01-01'"),
        ("DATE = 1", "DATE = 1"),
        ("x = X'0aFF'", "x = X'0AFF'"),
        ("`a b`.c = 1", "`a b`.c = 1"),
        ("`` `` = 1", None),
        ("TRUE", "TRUE"),
        ("a = TRUE", "a = TRUE"),
        ("a = NULL", "a = NULL"),
    ],
)
def test_constants_and_names(sql: str, printed: str | None) -> None:
    if printed is None:
        with pytest.raises(InvalidPredicateError):
            parse_sql(sql)
        return
    assert str(parse_sql(sql)) == printed


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t",
        "a IN (SELECT b FROM t)",
        "EXISTS (SELECT 1)",
        "a = (SELECT max(b) FROM t)",
        "DELETE FROM t",
        "SHOW TABLES",
    ],
)
def test_statements_and_queries_are_told_from_filters(sql: str) -> None:
    with pytest.raises(TableFormatsError):
        parse_sql(sql)


@pytest.mark.parametrize("sql", ["", "   ", "-- nothing", "/* nothing */"])
def test_no_filter(sql: str) -> None:
    with pytest.raises(InvalidPredicateError, match="the filter is empty"):
        parse_sql(sql)
