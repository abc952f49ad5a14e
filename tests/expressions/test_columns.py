"""``tf.col``: what Python's operators build, and what they refuse."""

from __future__ import annotations

import operator
from typing import Any

import pytest

import tableformats as tf
from tableformats.errors import InvalidPredicateError
from tableformats.expressions import col
from tableformats.expressions.parse import parse_filter


@pytest.mark.parametrize(
    ("built", "sql"),
    [
        (col("a") + 1 > 5, "a + 1 > 5"),
        (1 - col("a") < col("b"), "1 - a < b"),
        (2 * col("a") / col("b") % 3 == 0, "2 * a / b % 3 = 0"),
        (6 / col("a") != 7 % col("b"), "6 / a != 7 % b"),
        (col("b") > col("a") - 1, "b > a - 1"),
        (-col("a") >= 1, "-a >= 1"),
        (1 + col("s")["m"] <= 1, "1 + s.m <= 1"),
        ((col("a") + 1).isin(1, 2), "a + 1 IN (1, 2)"),
        ((col("a") + 1).between(1, 2), "a + 1 BETWEEN 1 AND 2"),
        ((col("a") + 1).is_null(), "a + 1 IS NULL"),
        ((col("a") + 1).is_not_null(), "a + 1 IS NOT NULL"),
        ((col("a") / 2).is_nan(), "isnan(a / 2)"),
        ((col("a") + 1).eq_null_safe(None), "a + 1 <=> NULL"),
        (col("a").eq_null_safe(None), "a <=> NULL"),
        (col("s").contains("x"), "contains(s, 'x')"),
        (col("s").endswith("x"), "endswith(s, 'x')"),
        (col("s").startswith("x"), "startswith(s, 'x')"),
        (col("s").ilike("x%"), "s ILIKE 'x%'"),
        (col("s").rlike("^x"), "s RLIKE '^x'"),
    ],
)
def test_operators_build_what_sql_says(built: Any, sql: str) -> None:
    assert built == parse_filter(sql)


@pytest.mark.parametrize("compare", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
def test_a_comparison_with_none_says_what_to_write(compare: Any) -> None:
    for column in (col("a"), col("a") + 1):
        with pytest.raises(InvalidPredicateError) as refusal:
            compare(column, None)
        test = ".is_not_null()" if compare is operator.ne else ".is_null()"
        assert test in str(refusal.value) and ".eq_null_safe(None)" in str(refusal.value)


def test_a_computed_column_has_no_members_and_no_truth() -> None:
    with pytest.raises(TypeError, match="computed"):
        (tf.col("a") + 1)["b"]
    with pytest.raises(TypeError, match="no truth value"):
        bool(tf.col("a") + 1)
