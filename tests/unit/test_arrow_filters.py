"""Arrow's answers are the row model's, on random rows and random predicates."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.arrow.filters import evaluate, keep_matching
from tableformats.binding import bind
from tableformats.errors import InvalidPredicateError
from tableformats.expressions import TRUE, col
from tableformats.schema import Schema
from tests import predicates, rowmodel


@settings(max_examples=300, deadline=None)
@given(predicates.bound(), st.lists(predicates.rows(), min_size=1, max_size=5))
def test_every_row_has_the_truth_value_of_the_row_model(expression, table):
    answer = evaluate(expression, predicates.to_batch(table))
    assert answer.to_pylist() == [rowmodel.evaluate(expression, row) for row in table]


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
    expression = bind(col("a").like("_%" * 2_000_000), Schema.from_arrow(batch.schema))
    with pytest.raises(InvalidPredicateError, match="too long"):
        evaluate(expression, batch)
