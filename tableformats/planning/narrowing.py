"""Narrowing of a plan by a further predicate, without planning its deletes again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..columnar import compute as pc
from ..columnar.arrays import to_numpy
from .plan import FilePlan
from .planner import surviving_paths

__all__ = ["keep_mask"]


def keep_mask(plan: FilePlan, filter: Any) -> np.ndarray:
    """bool[n]: which files of ``plan`` a further ``filter`` would keep.

    Raises
    ------
    InvalidPredicateError
        The filter does not parse, or names no column.
    """
    paths = surviving_paths(plan.scan.reattached().narrowed(filter), plan.reader)
    return to_numpy(pc.is_in(plan.survivors["path"], value_set=paths))
