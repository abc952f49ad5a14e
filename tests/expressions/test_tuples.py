"""DNF tuples as pyarrow and deltalake users write them."""

from __future__ import annotations

import datetime as dt

import pytest

from tableformats.errors import InvalidPredicateError
from tableformats.expressions import Comparison, Literal, Reference, col
from tableformats.expressions.parse import parse_filter


@pytest.mark.parametrize(
    ("filter", "expression"),
    [
        ([("a", ">", 1)], col("a") > 1),
        (("a", ">", 1), col("a") > 1),
        ([("a", ">", 1), ("b", "==", "x")], (col("a") > 1) & (col("b") == "x")),
        ([[("a", ">", 1), ("b", "<=", 2)], [("c", "!=", 3)]], ((col("a") > 1) & (col("b") <= 2)) | (col("c") != 3)),
        ([[("a", "<", 1)]], col("a") < 1),
        ([("a", "in", [1, 2])], col("a").isin(1, 2)),
        ([("a", "in", range(2))], col("a").isin(0, 1)),
        ([("a", "not  IN", (1, None))], ~col("a").isin(1, None)),
        ([("a", "is null")], col("a").is_null()),
        ([("a", "is not null", None)], col("a").is_not_null()),
        ([("a", "is", None)], col("a").is_null()),
        ([("a", "is not", None)], col("a").is_not_null()),
        ([("a", "<>", 1)], col("a") != 1),
        ([("a", "<=>", None)], col("a").eq_null_safe(None)),
        ([("s.x", ">=", dt.date(2024, 1, 1))], col("s.x") >= dt.date(2024, 1, 1)),
        ([("`s.x`", "=", 1)], col("`s.x`") == 1),
        ([(("s", "x"), "=", 1)], col("s.x") == 1),
        (([("a", "=", 1)], [("b", "=", 2)]), (col("a") == 1) | (col("b") == 2)),
        ([("a", "=", 1), col("b") < 2], (col("a") == 1) & (col("b") < 2)),
        ([], None),
    ],
)
def test_tuples_become_predicates(filter, expression):
    assert parse_filter(filter) == expression


@pytest.mark.parametrize(
    ("filter", "where"),
    [
        # A tuple is one condition; what is joined by AND or OR is a list.
        ((("a", ">", 1),), r"filter is \(\('a', '>', 1\),\), no condition"),
        ((("a", ">", 1), ("b", "==", "x")), r"filter names no column: \('a', '>', 1\)"),
        (((("s", "x"), "=", 1), ("b", "=", 2)), r"filter names no column: \(\('s', 'x'\), '=', 1\)"),
        ([(("a", ">", 1),), (("b", "==", "x"),)], r"filter\[0\] is \(\('a', '>', 1\),\), no condition"),
        ([("a", ">")], r"filter\[0\] has no operator '>'"),
        ([("a", ">", 1), ("b",)], r"filter\[1\] is \('b',\), no condition"),
        ([[("a", ">", 1)], [("b", "~", 2)]], r"filter\[1\]\[0\] has no operator '~'"),
        ([[("a", ">", 1)], []], r"filter\[1\] is an empty list"),
        ([("a", "in", "xyz")], r"filter\[0\] needs a list"),
        ([("a", "=", [1])], r"filter\[0\] compares with \[1\]"),
        ([("a", "is", 1)], r"filter\[0\] compares by 'is' with 1"),
        ([(1, "=", 1)], r"filter\[0\] names no column: 1"),
        ([("", "=", 1)], r"filter\[0\] names no column: ''"),
        ([("a", 5, 1)], r"filter\[0\] has no operator 5"),
        (["a > 1"], r"filter\[0\] is 'a > 1', no condition"),
        ([["a", "=", "x"]], r"filter\[0\]\[0\] is 'a', no condition"),
        ([5], r"filter\[0\] is 5, no condition"),
        ([[5]], r"filter\[0\]\[0\] is 5, no condition"),
        ([("a", "=", 1, 2)], r"filter\[0\] is \('a', '=', 1, 2\), no condition"),
        ([("a", [], 1)], r"filter\[0\] has no operator \[\]"),
    ],
)
def test_bad_shapes_name_their_place(filter, where):
    with pytest.raises(InvalidPredicateError, match=where):
        parse_filter(filter)


@pytest.mark.parametrize("filter", [True, 1, {"a": 1}, object(), b"a = 1", col("a")])
def test_what_is_no_filter_is_refused(filter):
    with pytest.raises(InvalidPredicateError):
        parse_filter(filter)


def test_expressions_pass_as_they_are():
    expression = Comparison("=", Reference(("a",)), Literal(1))
    assert parse_filter(expression) is expression
    assert parse_filter(None) is None
