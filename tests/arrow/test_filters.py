"""Arrow's answers are the row model's, on random rows and random predicates."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.engines.arrow.filters import evaluate, keep_matching
from tableformats.errors import InvalidPredicateError
from tableformats.expressions import COMPARISONS, TRUE, Comparison, In, Like, Literal, col
from tableformats.expressions.binding import bind
from tableformats.schema import DecimalType, Schema
from tests.support import predicates, rowmodel
from tests.support.examples import examples


@settings(max_examples=examples(300), deadline=None)
@given(predicates.bound(), st.lists(predicates.rows(), min_size=1, max_size=5))
def test_every_row_has_the_truth_value_of_the_row_model(expression, table):
    answer = evaluate(expression, predicates.to_batch(table))
    assert answer.to_pylist() == [rowmodel.evaluate(expression, row) for row in table]


@pytest.mark.parametrize("column", predicates.COLUMNS, ids=str)
def test_every_comparison_at_the_edges_of_every_type(column):
    blank = dict.fromkeys([100, *(c.id for c in predicates.COLUMNS)])
    edges = predicates.edges(column.type)
    table = [{**blank, 100: True, column.id: value} for value in edges]
    literals = [Literal(value, column.type) for value in edges if value is not None]
    leaves = [bind(Comparison(op, column, literal), predicates.SCHEMA) for op in COMPARISONS for literal in literals]
    leaves += [bind(In(column, pair), predicates.SCHEMA) for pair in itertools.combinations(literals, 2)]
    if str(column.type) == "string":
        leaves += [
            bind(Like(column, pattern), predicates.SCHEMA) for pattern in ("a%b", "_", "%b", "a_b", "\\\\", "\\%")
        ]
    batch = predicates.to_batch(table)
    for leaf in leaves:
        assert evaluate(leaf, batch).to_pylist() == [rowmodel.evaluate(leaf, row) for row in table], str(leaf)


@pytest.mark.parametrize("left", predicates.COLUMNS, ids=str)
def test_every_two_columns_at_the_edges_of_their_types(left):
    blank = dict.fromkeys([100, *(c.id for c in predicates.COLUMNS)])
    for right in (c for c in predicates.COLUMNS if predicates.comparable(left, c)):
        pairs = itertools.product(predicates.edges(left.type), predicates.edges(right.type))
        table = [{**blank, 100: True, right.id: b, left.id: a} for a, b in pairs]
        batch = predicates.to_batch(table)
        for op in COMPARISONS:
            leaf = Comparison(op, left, right)
            assert evaluate(leaf, batch).to_pylist() == [rowmodel.evaluate(leaf, row) for row in table], str(leaf)


@given(st.lists(predicates.values(DecimalType(38, 10)), min_size=20, max_size=40))
def test_decimals_meet_doubles_at_the_nearest_double(decimals):
    batch = pa.record_batch({"a": pa.array(decimals, pa.decimal128(38, 10)), "b": list(map(float, decimals))})
    expression = bind(col("a") == col("b"), Schema.from_arrow(batch.schema))
    assert evaluate(expression, batch).to_pylist() == [True] * len(decimals)


def test_only_rows_that_are_true_are_kept():
    batch = pa.record_batch({"a": [1, None, 3]})
    schema = Schema.from_arrow(batch.schema)
    assert keep_matching(bind(col("a") < 3, schema), batch).to_pylist() == [{"a": 1}]
    assert keep_matching(bind(~(col("a") < 3), schema), batch).to_pylist() == [{"a": 3}]
    assert keep_matching(TRUE, batch).num_rows == 3


def test_empty_batches_have_empty_answers():
    expression = bind((col("i") > 1) & (col("st.x") == 2), predicates.SCHEMA)
    assert evaluate(expression, predicates.to_batch([])).to_pylist() == []


def test_sliced_batches_answer_for_their_own_rows():
    batch = pa.record_batch({"a": pa.array([{"x": 1}, None, {"x": None}, {"x": 4}])}).slice(1, 3)
    expression = bind(col("a.x") >= 4, Schema.from_arrow(batch.schema))
    assert evaluate(expression, batch).to_pylist() == [None, None, True]


def test_a_pattern_beyond_the_engine_is_a_typed_error():
    batch = pa.record_batch({"a": ["x"]})
    expression = bind(col("a").like("_%" * 400_000), Schema.from_arrow(batch.schema))
    with pytest.raises(InvalidPredicateError, match="too long"):
        evaluate(expression, batch)
