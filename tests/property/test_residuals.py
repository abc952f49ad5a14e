"""Residuals: for the rows of a file, what is left of a predicate is TRUE just where the predicate is.

The row model (``tests/support/rowmodel.py``) decides both; it knows nothing of partitions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tableformats._core.masks import MAY_ANY, MAY_FALSE, MAY_NULL, MAY_TRUE
from tableformats.expressions import tree as ex
from tableformats.planning.residuals import _distinct, residual
from tableformats.pruning.compiled_predicate import NONE, CompiledPredicate
from tests.support.examples import examples
from tests.support.predicates import bound, rows
from tests.support.rowmodel import evaluate
from tests.support.strategies import ModelTable, partition_array, tables_and_predicates

MASKS = {True: MAY_TRUE, False: MAY_FALSE, None: MAY_NULL}


def leaves(predicate: ex.Expression) -> list[ex.Expression]:
    return [n for n in ex.walk(predicate) if not isinstance(n, (ex.And, ex.Or, ex.Not, ex.IsTrue, ex.Constant))]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(400))
@given(tables_and_predicates())
def test_a_residual_is_true_where_the_predicate_is(case: tuple[ModelTable, ex.Expression]) -> None:
    table, predicate = case
    partition = partition_array(table)
    program = CompiledPredicate(predicate)
    outcomes = program.partition_outcomes(table.spec, partition)
    verdicts = program.decide(program.range_sources(table.spec, partition)).verdicts
    for i, file in enumerate(table.files):
        left = residual(predicate, {leaf: int(masks[i]) for leaf, masks in outcomes.items()})
        event(f"shorter {left != predicate}")
        for row in file.rows:
            assert (evaluate(left, row) is True) == (evaluate(predicate, row) is True), str(left)
        columns = [c.id for leaf in leaves(predicate) for c in ex.columns_of(leaf)]
        if verdicts[i] == NONE and len(set(columns)) == len(columns):  # verdicts combine leaves of one column
            assert left == ex.FALSE


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=examples(400))
@given(bound(), st.lists(rows(), min_size=1, max_size=4), st.lists(st.sampled_from([0, 0, MAY_TRUE, MAY_NULL])))
def test_any_outcomes_that_hold_the_true_ones(predicate: ex.Expression, model: list[Any], more: list[int]) -> None:
    """Leaves that the rows decide are constants afterwards, whatever stands above them."""
    outcomes: dict[ex.Expression, int] = {}
    for i, leaf in enumerate(leaves(predicate)):
        occurring = sum({MASKS[evaluate(leaf, row)] for row in model})
        outcomes[leaf] = occurring | (more[i] if i < len(more) else 0)
    left = residual(predicate, outcomes)
    for row in model:
        assert (evaluate(left, row) is True) == (evaluate(predicate, row) is True), str(left)
    assert not any(outcomes[leaf] in (MAY_TRUE, MAY_FALSE, MAY_NULL) for leaf in leaves(left))
    assert left == ex.FALSE or ex.Constant(None) not in list(ex.walk(left))
    event(f"constant {isinstance(left, ex.Constant)}")


@given(st.lists(st.tuples(*[st.sampled_from([1, 2, MAY_ANY])] * 3)))
def test_equal_outcomes_are_one_kind(table: list[tuple[int, ...]]) -> None:
    columns = [np.array([row[i] for row in table], np.uint8) for i in range(3)]
    kinds, of_row = _distinct(columns, len(table))
    assert [tuple(kinds[i].tolist()) for i in of_row] == table
    assert len(kinds) == len(set(table))
    assert _distinct([], 2)[0].shape == (1, 0)
