"""Counting rows: from metadata wherever that is exact, by reading only the files where it is not.

A file's live rows are known without opening it when the filter holds for all of them, its physical rows are
counted, and its deletes are one deletion vector that says how many rows it takes. Position deletes are loaded,
which spares the data file; with equality deletes or an undecided filter the file is read.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ...columnar import compute as pc
from ...columnar.arrays import scalar, to_numpy
from ...errors import CorruptMetadataError
from ...expressions import tree as ex
from ...planning.plan import FilePlan
from ...planning.tasks import ScanTask, tasks_of
from ...plugin.deletes import EQUALITY
from .deletes import deleted_positions
from .reader import count_rows

__all__ = ["count"]

_UNKNOWN = scalar(-1, pa.int64())


def count(plan: FilePlan) -> int:
    """The number of rows of ``plan``, at most its limit.

    Raises
    ------
    CorruptMetadataError : deletes take more rows than a file has; as :func:`read_batches` does
    UnsupportedFeatureError : a file that must be read cannot be

    Notes
    -----
    Cost: O(planned files) without any read where metadata says it all.
    """
    live = _rows_by_metadata(plan)
    total = int(live[live >= 0].sum())
    if plan.limit is not None and total >= plan.limit:
        return plan.limit
    return _add_unknown(plan.take(np.flatnonzero(live < 0)), total, plan.limit)


def _rows_by_metadata(plan: FilePlan) -> np.ndarray:
    """int64[n_files]: live rows of each file; -1 where the metadata alone does not say."""
    survivors, deletes = plan.survivors, plan.delete_files
    physical = to_numpy(pc.fill_null(plan.record_counts, _UNKNOWN)).astype(np.int64)
    known = to_numpy(survivors["fully_matched"]) & (physical >= 0)
    offsets = np.asarray(deletes.offsets, np.int64)
    how_many = np.diff(offsets)
    live = np.where(known & (how_many == 0), physical, -1)
    single = np.flatnonzero(known & (how_many == 1))
    if len(single):
        rows = np.asarray(deletes.indices)[offsets[single]]
        taken = _cardinalities(deletes.files)[rows]
        _check_cardinalities(plan, single, physical[single], taken)
        live[single] = np.where(taken >= 0, physical[single] - taken, -1)
    return live


def _cardinalities(deletes: pa.Table) -> np.ndarray:
    """int64[n_deletes]: rows that each deletion vector takes; -1 where it does not say, and for other kinds."""
    exact = pc.equal(deletes["kind"], scalar("deletion_vector", pa.string()))
    cardinality = pc.if_else(exact, pc.cast(deletes["cardinality"], pa.int64()), _UNKNOWN)
    return to_numpy(pc.fill_null(cardinality, _UNKNOWN)).astype(np.int64)


def _check_cardinalities(plan: FilePlan, files: np.ndarray, physical: np.ndarray, taken: np.ndarray) -> None:
    wrong = np.flatnonzero(taken > physical)
    if len(wrong):
        first = int(wrong[0])
        raise CorruptMetadataError(
            f"a deletion vector takes {taken[first]} rows from a file of {physical[first]}",
            path=plan.paths[int(files[first])].as_py(),
            hint="The table's metadata contradicts itself",
        )


def _add_unknown(plan: FilePlan, total: int, limit: int | None) -> int:
    """``total`` and the rows of the files of ``plan``, until ``limit`` is reached."""
    undecided = []
    for task in tasks_of(plan):
        if _is_counted_by_positions(task):
            total += _rows_without_positions(plan, task)
        else:
            undecided.append(task)
    for rows in count_rows(plan, undecided):
        if limit is not None and total >= limit:
            break
        total += rows
    return total if limit is None else min(total, limit)


def _is_counted_by_positions(task: ScanTask) -> bool:
    return (
        task.residual == ex.TRUE
        and task.record_count is not None
        and not pc.any(pc.equal(task.deletes["kind"], EQUALITY)).as_py()
    )


def _rows_without_positions(plan: FilePlan, task: ScanTask) -> int:
    assert task.record_count is not None
    positions = deleted_positions(plan.snapshot.format_snapshot, task, task.record_count)
    return task.record_count - len(positions)
