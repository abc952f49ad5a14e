"""Count the rows of a plan: from metadata wherever that is exact, otherwise by reading the file.

A file's live rows are known from metadata when the filter holds for all its rows, its record count is known, and it has
no deletes or a single deletion vector with a cardinality. Other positional deletes are loaded, but the data file is not
opened. With equality deletes or an undecided filter the data file is read.
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

__all__ = ["count", "rows_by_metadata"]

_UNKNOWN = scalar(-1, pa.int64())


def count(plan: FilePlan) -> int:
    """The number of rows of ``plan``, at most its limit.

    Raises
    ------
    CorruptMetadataError
        Deletes remove more rows than a file has; or as :func:`read_batches` raises it.
    UnsupportedFeatureError
        A file must be read and cannot be.

    Notes
    -----
    Cost: O(planned files), without any read where the metadata is exact for all files.
    """
    live = rows_by_metadata(plan)
    total = int(live[live >= 0].sum())
    if plan.limit is not None and total >= plan.limit:
        return plan.limit
    return _add_unknown(plan.take(np.flatnonzero(live < 0)), total, plan.limit)


def rows_by_metadata(plan: FilePlan) -> np.ndarray:
    """int64[n_files]: live rows of each file; -1 where the metadata does not give them."""
    survivors, deletes = plan.survivors, plan.delete_files
    physical = to_numpy(pc.fill_null(plan.record_counts, _UNKNOWN)).astype(np.int64)
    known = to_numpy(survivors["fully_matched"]) & (physical >= 0)
    offsets = np.asarray(deletes.offsets, np.int64)
    how_many = np.diff(offsets)
    live = np.where(known & (how_many == 0), physical, -1)
    single = np.flatnonzero(known & (how_many == 1))
    if len(single):
        rows = np.asarray(deletes.indices)[offsets[single]]
        deleted = _cardinalities(deletes.files)[rows]
        _check_cardinalities(plan, single, physical[single], deleted)
        live[single] = np.where(deleted >= 0, physical[single] - deleted, -1)
    return live


def _cardinalities(deletes: pa.Table) -> np.ndarray:
    """int64[n_deletes]: the cardinality of each deletion vector; -1 where it is unknown, and for other kinds."""
    exact = pc.equal(deletes["kind"], scalar("deletion_vector", pa.string()))
    cardinality = pc.if_else(exact, pc.cast(deletes["cardinality"], pa.int64()), _UNKNOWN)
    return to_numpy(pc.fill_null(cardinality, _UNKNOWN)).astype(np.int64)


def _check_cardinalities(plan: FilePlan, files: np.ndarray, physical: np.ndarray, deleted: np.ndarray) -> None:
    wrong = np.flatnonzero(deleted > physical)
    if len(wrong):
        first = int(wrong[0])
        raise CorruptMetadataError(
            f"a deletion vector takes {deleted[first]} rows from a file of {physical[first]}",
            path=plan.paths[int(files[first])].as_py(),
            hint="The table's metadata contradicts itself",
        )


def _add_unknown(plan: FilePlan, total: int, limit: int | None) -> int:
    """``total`` plus the rows of the files of ``plan``; stops at ``limit``."""
    undecided = []
    for task in tasks_of(plan):
        if _has_positional_deletes_only(task):
            total += _rows_without_deleted(plan, task)
        else:
            undecided.append(task)
    for rows in count_rows(plan, undecided):
        if limit is not None and total >= limit:
            break
        total += rows
    return total if limit is None else min(total, limit)


def _has_positional_deletes_only(task: ScanTask) -> bool:
    """Whether the task's record count and positional deletes give its rows, without the data file."""
    return (
        task.residual == ex.TRUE
        and task.record_count is not None
        and not pc.any(pc.equal(task.deletes["kind"], EQUALITY)).as_py()
    )


def _rows_without_deleted(plan: FilePlan, task: ScanTask) -> int:
    assert task.record_count is not None
    positions = deleted_positions(plan.snapshot.format_snapshot, task, task.record_count)
    return task.record_count - len(positions)
