"""The tree itself: building, printing, walking."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.errors import InvalidPredicateError
from tableformats.expressions import (
    TRUE,
    And,
    Comparison,
    IsNull,
    Literal,
    Not,
    Or,
    Reference,
    col,
    columns_of,
    conjunction,
    depth,
    like_parts,
    split_name,
    walk,
)
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.schema import Field, Schema, primitive
from tests.support import predicates
from tests.support.examples import examples


@settings(max_examples=examples(300), deadline=None)
@given(predicates.bound())
def test_printed_predicates_parse_and_bind_to_themselves(expression):
    assert bind(parse_filter(str(expression)), predicates.SCHEMA) == expression


@given(st.text(min_size=1, max_size=8).filter(lambda name: name.isprintable()))
def test_printed_names_parse_to_themselves(name):
    assert parse_filter(f"{Reference((name, name))} IS NULL") == IsNull(Reference((name, name)))
    assert split_name(str(Reference((name, "b")))) == (name, "b")


@pytest.mark.parametrize(
    "word", ["end", "in", "any", "comment", "list", "range", "map", "date", "order", "values", "div"]
)
def test_words_of_sql_print_as_names(word):
    for form in (
        "{} = 1",
        "{} IS NULL",
        "a = {}",
        "startswith({}, 'x')",
        "{} IN (1, 2)",
        "NOT ({} < 1)",
        "{} LIKE '%a'",
    ):
        expression = parse_filter(form.format(f"`{word}`"))
        assert parse_filter(str(expression)) == expression


def test_chains_of_operators_stay_flat():
    expression = col("a") == 0
    for i in range(1, 5000):
        expression = expression & (col("a") != i)
    assert isinstance(expression, And) and len(expression.children) == 5000 and depth(expression) == 2
    assert len(list(walk(expression))) == 5001
    either = (col("a") == 1) | (col("b") == 2) | (col("c") == 3)
    assert isinstance(either, Or) and len(either.children) == 3
    assert ~~either == either


def test_what_is_no_predicate_is_refused():
    with pytest.raises(InvalidPredicateError, match="parentheses"):
        (col("a") == 1) & col("b")
    with pytest.raises(InvalidPredicateError):
        (col("a") == 1) | True
    with pytest.raises(TypeError, match="truth value"):
        bool(1 < col("a") < 3)


def test_columns_build_predicates():
    a = Reference(("a",))
    assert (col("a") > 1) == Comparison(">", a, Literal(1))
    assert col("a").between(1, 2) == And((Comparison(">=", a, Literal(1)), Comparison("<=", a, Literal(2))))
    assert col("a").is_not_null() == Not(IsNull(a))
    assert col("s")["x"].is_null() == col("s.x").is_null() == IsNull(Reference(("s", "x")))
    assert col("`s.x`").is_null() == IsNull(Reference(("s.x",)))
    assert col("a").isin([1, 2]) == col("a").isin(1, 2)
    assert (col("a") == col("b")) == Comparison("=", a, Reference(("b",)))


def test_columns_are_listed_once_in_order():
    expression = (col("b") > 1) & ((col("a") == col("c")) | ~col("b").is_null())
    assert [str(c) for c in columns_of(expression)] == ["b", "a", "c"]


def test_conjunction_leaves_out_what_says_nothing():
    one, two = col("a") == 1, col("b") == 2
    assert conjunction() == conjunction(None, TRUE) == TRUE
    assert conjunction(None, one) == one
    assert conjunction(one & two, None, two) == And((one, two, two))


def test_like_patterns_resolve_escapes():
    assert like_parts("a%_\\%\\\\") == [("a", False), ("%", True), ("_", True), ("%", False), ("\\", False)]
    for malformed in ("\\", "a\\b"):
        with pytest.raises(InvalidPredicateError, match="escape"):
            like_parts(malformed)


def test_python_values_print_as_sql():
    zone = dt.timezone(dt.timedelta(hours=2))
    values = [
        True,
        1,
        1.5,
        "it's",
        b"\x00\xff",
        dt.date(2024, 1, 31),
        dt.datetime(2024, 1, 31, 12),
        dt.datetime(2024, 1, 31, 12, tzinfo=zone),
        dt.time(12, 30),
        float("nan"),
    ]
    kinds = ["boolean", "long", "double", "string", "binary", "date", "timestamp_ntz", "timestamp", "time", "double"]
    for value, kind in zip(values, kinds, strict=True):
        schema = Schema((Field(1, "a", primitive(kind)),))
        written = bind(col("a") == value, schema)
        assert bind(parse_filter(str(col("a") == value)), schema) == written
        assert bind(parse_filter(str(written)), schema) == written
