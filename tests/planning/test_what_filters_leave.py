"""What is left of a condition once partition values have decided some of its leaves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tableformats._core.masks import MAY_ANY, MAY_FALSE, MAY_NULL, MAY_TRUE
from tableformats.expressions import tree as ex
from tableformats.planning.residuals import _distinct, residual, residuals
from tableformats.schema import Field, primitive
from tests.planning.test_blocks import BY_P, BY_Q

A, B = (
    ex.Comparison("=", ex.BoundColumn((Field(i, name, primitive("int")),)), ex.Literal(1, primitive("int")))
    for i, name in enumerate("ab", 1)
)
TRUE, FALSE, NULL = ex.TRUE, ex.FALSE, ex.Constant(None)
T, F, N, OPEN = MAY_TRUE, MAY_FALSE, MAY_NULL, MAY_ANY


@pytest.mark.parametrize(
    ("predicate", "a", "b", "wanted"),
    [
        (A, T, OPEN, TRUE),
        (A, F, OPEN, FALSE),
        (A, N, OPEN, FALSE),
        (A, F | N, OPEN, FALSE),
        (A, T | F, OPEN, A),
        (A, T | N, OPEN, A),
        (A, None, None, A),
        (ex.Not(A), T, OPEN, FALSE),
        (ex.Not(A), F, OPEN, TRUE),
        (ex.Not(A), N, OPEN, FALSE),
        (ex.Not(A), T | N, OPEN, FALSE),
        (ex.Not(A), F | N, OPEN, ex.Not(A)),
        (ex.Not(ex.Not(A)), T, OPEN, TRUE),
        (ex.Not(ex.Not(A)), OPEN, OPEN, ex.Not(ex.Not(A))),
        (ex.And((A, B)), T, OPEN, B),
        (ex.And((A, B)), F, OPEN, FALSE),
        (ex.And((A, B)), N, OPEN, FALSE),
        (ex.And((A, B)), T, T, TRUE),
        (ex.And((A, B)), OPEN, OPEN, ex.And((A, B))),
        (ex.Or((A, B)), T, OPEN, TRUE),
        (ex.Or((A, B)), F, OPEN, B),
        (ex.Or((A, B)), N, OPEN, B),
        (ex.Or((A, B)), F, N, FALSE),
        (ex.Or((A, B)), OPEN, OPEN, ex.Or((A, B))),
        (ex.Not(ex.And((A, B))), F, OPEN, TRUE),
        (ex.Not(ex.And((A, B))), T, OPEN, ex.Not(B)),
        (ex.Not(ex.And((A, B))), N, OPEN, ex.Not(B)),
        (ex.Not(ex.Or((A, B))), N, OPEN, FALSE),
        (ex.Not(ex.Or((A, B))), F, OPEN, ex.Not(B)),
        (ex.IsTrue(A), N, OPEN, FALSE),
        (ex.IsTrue(A), T, OPEN, TRUE),
        (ex.IsTrue(A), OPEN, OPEN, A),
        (ex.Not(ex.IsTrue(A)), N, OPEN, TRUE),
        (ex.Not(ex.IsTrue(A)), T, OPEN, FALSE),
        (ex.Not(ex.IsTrue(A)), OPEN, OPEN, ex.Not(ex.IsTrue(A))),
        (TRUE, OPEN, OPEN, TRUE),
        (FALSE, OPEN, OPEN, FALSE),
        (NULL, OPEN, OPEN, FALSE),
        (ex.Not(NULL), OPEN, OPEN, FALSE),
        (ex.Not(FALSE), OPEN, OPEN, TRUE),
        (ex.Not(TRUE), OPEN, OPEN, FALSE),
        (ex.Or((A, NULL)), OPEN, OPEN, A),
        (ex.And((A, NULL)), OPEN, OPEN, FALSE),
    ],
    ids=str,
)
def test_leaves_that_are_decided(predicate: ex.Expression, a: int | None, b: int | None, wanted: ex.Expression) -> None:
    outcomes = {leaf: mask for leaf, mask in ((A, a), (B, b)) if mask is not None}
    found = residual(predicate, outcomes)
    assert found == wanted and str(found) == str(wanted)


@pytest.mark.parametrize(
    ("columns", "n", "rows"),
    [
        ([[1, 2, 1, 2], [5, 5, 5, 6]], 4, [(1, 5), (2, 5), (1, 5), (2, 6)]),
        ([[7, 7]], 2, [(7,), (7,)]),
        ([], 3, [(), (), ()]),
    ],
)
def test_distinct_outcomes_of_all_leaves(columns: list[list[int]], n: int, rows: list[tuple[int, ...]]) -> None:
    kinds, of_row = _distinct([np.array(column, np.uint8) for column in columns], n)
    assert [tuple(kinds[i].tolist()) for i in of_row.tolist()] == rows
    assert len(kinds) == len(set(rows))


class Plan:
    """A plan of files with these values of the partition field 1000, and with these specs."""

    def __init__(self, filter: ex.Expression, files: list[tuple[int | None, int, bool]]) -> None:
        values, spec_ids, matched = zip(*files, strict=True)
        member = pa.array(values, pa.int64())
        partition = pa.StructArray.from_arrays([member, pa.nulls(len(files), pa.int32())], ["1000", "1001"])
        columns = {"partition": partition, "spec_id": pa.array(spec_ids, pa.int32()), "fully_matched": list(matched)}
        self.survivors = pa.table(columns)
        self.scan = SimpleNamespace(filter=filter)
        self.snapshot = SimpleNamespace(format_snapshot=SimpleNamespace(specs={0: BY_P, 1: BY_Q}))

    def __len__(self) -> int:
        return self.survivors.num_rows


P = ex.Comparison("=", ex.BoundColumn((Field(1, "p", primitive("long")),)), ex.Literal(1, primitive("long")))
C = ex.Comparison("=", ex.BoundColumn((Field(9, "c", primitive("int")),)), ex.Literal(1, primitive("int")))


@pytest.mark.parametrize(
    ("filter", "files", "left"),
    [
        (P, [(1, 0, True), (1, 0, True)], [TRUE, TRUE]),
        (ex.And((P, C)), [(1, 0, False), (2, 0, False), (None, 0, False)], [C, FALSE, FALSE]),
        (ex.Or((P, C)), [(1, 0, True), (2, 0, False), (None, 0, False), (1, 0, False)], [TRUE, C, C, TRUE]),
        (ex.And((P, C)), [(None, 1, False), (1, 0, False)], [ex.And((P, C)), C]),  # another spec
        (ex.And((P, C)), [(1, 7, False), (1, 0, False)], [ex.And((P, C)), C]),  # one that nobody knows
        (C, [(1, 0, False), (1, 0, True)], [C, TRUE]),
    ],
)
def test_what_is_left_for_each_file(filter: ex.Expression, files: list[Any], left: list[ex.Expression]) -> None:
    plan: Any = Plan(filter, files)
    assert residuals(plan) == left


def test_what_is_left_of_a_part() -> None:
    plan: Any = Plan(ex.And((P, C)), [(1, 0, False), (2, 0, False), (1, 0, True)])
    assert residuals(plan, P) == [TRUE, FALSE, TRUE] and residuals(plan, C) == [C, C, TRUE]
