"""What is left of a predicate for each file of a plan, once the file's partition values have decided what they can.

Leaves that partition values decide become constants, and what constants decide falls away. Only whether the predicate
is TRUE matters, so NULL counts as FALSE there, and as TRUE below a NOT. Files whose values leave the same share one
residual. Source: Iceberg's ResidualEvaluator, by the same rules as pruning.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._core.masks import MAY_ANY, MAY_FALSE, MAY_TRUE
from ..columnar import compute as pc
from ..columnar.arrays import distinct, to_arrow, to_numpy
from ..expressions import Expression
from ..expressions import tree as ex
from ..pruning.compiled_predicate import CompiledPredicate
from .plan import FilePlan

__all__ = ["residuals"]


def residuals(plan: FilePlan, part: Expression | None = None) -> list[Expression]:
    """The residual of each file of ``plan``, over the same columns as its filter; TRUE where every row matches.

    Cost: O(files x leaves), and one tree for each distinct set of outcomes.

    Parameters
    ----------
    plan : FilePlan
    part : Expression, optional
        A condition of the plan's filter, of which alone the residual is. None: the filter.
    """
    survivors, predicate = plan.survivors, plan.scan.filter if part is None else part
    found = np.full(len(plan), 0, np.int64)
    trees: dict[Expression, int] = {ex.TRUE: 0}
    undecided = np.flatnonzero(~to_numpy(survivors["fully_matched"]))
    if len(undecided):
        spec_ids = to_numpy(survivors["spec_id"])
        partition = survivors["partition"].combine_chunks()
        program = CompiledPredicate(predicate)
        for spec_id in distinct(spec_ids[undecided]):
            rows = undecided[spec_ids[undecided] == spec_id]
            spec = plan.snapshot.format_snapshot.specs.get(spec_id)
            outcomes = {} if spec is None else program.partition_outcomes(spec, pc.take(partition, to_arrow(rows)))
            kinds, of_row = _distinct(list(outcomes.values()), len(rows))
            numbers = []
            for kind in kinds:
                tree = residual(predicate, dict(zip(outcomes, kind.tolist(), strict=True)))
                numbers.append(trees.setdefault(tree, len(trees)))
            found[rows] = np.array(numbers, np.int64)[of_row]
    each = list(trees)
    return [each[i] for i in found.tolist()]


def residual(predicate: Expression, outcomes: Mapping[Expression, int], wanted: bool = True) -> Expression:
    """An expression that is ``wanted`` for just those rows for which ``predicate`` is.

    Parameters
    ----------
    outcomes : what leaves can be, as masks (see ``_core/masks.py``); a leaf that is missing can be anything
    wanted : TRUE, or FALSE below an odd number of NOTs; where it cannot be met the constant of the other is returned
    """
    if isinstance(predicate, ex.Not):
        child = residual(predicate.child, outcomes, not wanted)
        return ex.Constant(not child.value) if isinstance(child, ex.Constant) else ex.Not(child)
    if isinstance(predicate, ex.IsTrue):
        child = residual(predicate.child, outcomes)
        # The child's residual is TRUE for just the rows for which the child is; for others it may be FALSE or NULL.
        return child if wanted or isinstance(child, ex.Constant) else ex.IsTrue(child)
    if isinstance(predicate, (ex.And, ex.Or)):
        decides = isinstance(predicate, ex.Or)
        children = []
        for term in predicate.children:
            child = residual(term, outcomes, wanted)
            if not isinstance(child, ex.Constant):
                children.append(child)
            elif child.value is decides:
                return child
        if len(children) < 2:
            return children[0] if children else ex.Constant(not decides)
        return type(predicate)(tuple(children))
    mask = outcomes.get(predicate, MAY_ANY)
    if isinstance(predicate, ex.Constant):
        return ex.Constant(wanted if predicate.value is wanted else not wanted)
    bit = MAY_TRUE if wanted else MAY_FALSE
    if not mask & bit:
        return ex.Constant(not wanted)
    return ex.Constant(wanted) if mask == bit else predicate


def _distinct(masks: list[np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of a table of ``n`` rows with these columns, and which of them each row is."""
    table = np.stack(masks, axis=1) if masks else np.zeros((n, 0), np.uint8)
    # As one value a row: np.unique over an axis compares column by column.
    keys = np.ascontiguousarray(table).view(np.dtype((np.void, max(table.shape[1], 1)))) if masks else np.zeros(n)
    _, first, of_row = np.unique(keys.reshape(n), return_index=True, return_inverse=True)
    return table[first], of_row.reshape(n)
