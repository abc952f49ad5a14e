"""Files that a condition takes rows from: which ones, and the rows that stay. Copy-on-write, by Arrow.

A file of which every row matches goes without being read. Of the others, those without a matching row stay; only the
columns of the condition are read to know that. The rest is read once more, without the rows that match. A row for which
the condition is NULL stays.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from ....columnar.arrays import to_numpy
from ....dataclass import dataclass
from ....expressions import tree as ex
from ....planning.plan import FilePlan
from ....planning.tasks import tasks_of
from ....schema import Field
from ..counting import rows_by_metadata
from ..reader import count_rows, read_batches

__all__ = ["Removal", "removal_of"]


@dataclass(frozen=True)
class Removal:
    """The files of a plan that go.

    Attributes
    ----------
    removed : FilePlan
        The plan of these files alone. Its filter is the condition.
    rewritten : int64[k]
        The positions in ``removed`` of the files that have rows which stay, or may have some.
    deleted_rows : int or None
        How many rows match. None: the metadata does not say how many rows a file has that goes unread.
    """

    removed: FilePlan
    rewritten: np.ndarray
    deleted_rows: int | None

    def __len__(self) -> int:
        return len(self.removed)

    def kept_rows(self, carried: tuple[Field, ...] = ()) -> pa.RecordBatchReader | None:
        """The rows that stay, with all columns, and metadata columns behind them; None: no file has any."""
        return _rows(self.removed.take(self.rewritten), ex.Not(ex.IsTrue(self.removed.scan.filter)), carried)

    def deleted(self) -> pa.RecordBatchReader | None:
        """The rows that go, with all columns; None: there are none."""
        return _rows(self.removed, self.removed.scan.filter)


def removal_of(plan: FilePlan) -> Removal:
    """The files that have rows for which the filter of ``plan`` is TRUE.

    Parameters
    ----------
    plan : FilePlan
        Of all columns, without a limit.

    Raises
    ------
    CorruptMetadataError, UnsupportedFeatureError
        As files are read.
    """
    matched = to_numpy(plan.survivors["fully_matched"])
    found = np.zeros(len(plan), np.int64)
    undecided = np.flatnonzero(~matched)
    for position, task in zip(undecided, tasks_of(plan.take(undecided)), strict=True):
        found[position] = sum(count_rows(plan, [task]))
    goes = np.flatnonzero(matched | (found > 0))
    live = rows_by_metadata(plan)[matched]
    total = None if (live < 0).any() else int(live.sum() + found.sum())
    return Removal(plan.take(goes), np.flatnonzero(~matched[goes]), total)


def _rows(plan: FilePlan, condition: ex.Expression, carried: tuple[Field, ...] = ()) -> pa.RecordBatchReader | None:
    if not len(plan):
        return None
    at = plan.survivors.column_names.index("fully_matched")
    nowhere = pa.chunked_array([pa.repeat(pa.scalar(condition == ex.TRUE), len(plan))])
    survivors = plan.survivors.set_column(at, "fully_matched", nowhere)
    schema = replace(plan.scan.schema, fields=(*plan.scan.schema.fields, *carried))
    scan = replace(plan.scan, filter=condition, schema=schema)
    return read_batches(FilePlan(scan, survivors, plan.delete_files, plan.report, plan.counts))
