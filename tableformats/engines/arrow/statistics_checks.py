"""Compare what metadata say of files with the files, each by its footer or by its rows, several files at a time.

Footers of Parquet have bounds and counts of each row group, so no row has to be read. Where a footer contradicts the
metadata and does not prove it (a text may be cut, a row may be deleted), the columns are read, and the rows decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ...columnar import compute as pc
from ...dataclass import dataclass
from ...errors import StoreError, TableFormatsError
from ...expressions import BoundColumn
from ...io.local_reads import local_stats
from ...planning.plan import FilePlan
from ...planning.tasks import ScanTask, tasks_of
from ...plugin.statistics import Bounds
from ...pruning.column_ranges import Range
from ...runtime.threads import in_order, thread_count
from .file_columns import identity_values
from .files.data_file import typed_errors
from .files.opening import missing_data_file, open_data_file
from .projection import Resolver
from .row_checks import Difference, FileFacts, differences, row_facts

__all__ = ["BY_FOOTER", "BY_ROWS", "UNREADABLE", "FileCheck", "check_files"]

_Ranges = Mapping[str, Mapping[int, Sequence[Range]]]
BY_FOOTER, BY_ROWS, UNREADABLE = "footer", "rows", "nothing"
_STORE_THREADS = 32
"""For a store: they mostly wait for it."""


@dataclass(frozen=True)
class FileCheck:
    """What came of comparing one file.

    Attributes
    ----------
    path : str
        Absolute.
    read : str
        What decided: ``footer``, ``rows``, or ``nothing`` where the file cannot be read.
    not_compared : tuple of str
        Columns of which the metadata say something and the footer does not.
    differences : tuple of Difference
    """

    path: str
    read: str
    not_compared: tuple[str, ...]
    differences: tuple[Difference, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found = [
            {
                "rule": one.rule,
                "column": None if one.column is None else str(one.column),
                "what": one.what,
                "filter": one.filter,
            }
            for one in self.differences
        ]
        return {"path": self.path, "read": self.read, "not_compared": list(self.not_compared), "found": found}


def check_files(
    plan: FilePlan,
    columns: Sequence[BoundColumn],
    expected: Callable[[], _Ranges],
    deep: bool,
    is_known: Callable[[str], bool] = lambda path: False,
) -> Iterator[FileCheck]:
    """Compare the files of a plan, in its order. No thread waits for a local file that is missing.

    Parameters
    ----------
    plan : FilePlan
        All rows.
    columns : sequence of BoundColumn
        What is compared.
    expected : callable
        Gives, by absolute path and field id, the ranges of one file each. It is called if there is a file to compare.
    deep : bool
        Read the rows of every file.
    is_known : callable
        Files with these paths are left out.

    Raises
    ------
    StoreError
        As the store fails.
    """
    is_local = plan.snapshot.storage.is_local
    threads = thread_count() if is_local or deep else _STORE_THREADS
    paths = plan.paths.to_pylist()
    wanted = [row for row, path in enumerate(paths) if not is_known(path)]
    # Of a file that may not be looked at, opening it says more.
    looked_at = local_stats(paths[row] for row in wanted) if is_local else ()
    missing = {row for row, found in zip(wanted, looked_at, strict=False) if isinstance(found, FileNotFoundError)}
    rows = [row for row in wanted if row not in missing]
    checks: Iterator[FileCheck] = iter(())
    if rows:
        work = partial(_checked, plan, columns, expected(), deep)
        checks = in_order(work, tasks_of(plan if len(rows) == len(plan) else plan.take(np.array(rows))), threads)
    absent = (_unreadable(missing_data_file("")),)
    for row in wanted:
        yield FileCheck(paths[row], UNREADABLE, (), absent) if row in missing else next(checks)


def _unreadable(error: TableFormatsError) -> Difference:
    return Difference("unreadable-file", error.message)


def _checked(
    plan: FilePlan, columns: Sequence[BoundColumn], expected: _Ranges, deep: bool, task: ScanTask
) -> FileCheck:
    known = expected.get(task.path, {})
    told = [column for column in columns if any(map(_says_something, known.get(column.id, ())))]
    try:
        if deep:
            return FileCheck(task.path, BY_ROWS, (), tuple(differences(task, row_facts(plan, task, told), known, told)))
        facts = footer_facts(plan, task, told)
        found = list(differences(task, facts, known, told))
        without = tuple(str(column) for column in told if not facts.covers(column))
        doubted = list({d.column.id: d.column for d in found if d.column and not d.is_proven}.values())
        if not doubted:
            return FileCheck(task.path, BY_FOOTER, without, tuple(found))
        by_rows = differences(task, row_facts(plan, task, doubted), known, doubted)
        proven = [d for d in found if d.is_proven and d.column not in doubted]
        settled = [*proven, *(d for d in by_rows if d.column is not None)]
        return FileCheck(task.path, BY_ROWS, without, tuple(settled))
    except StoreError:
        raise
    except TableFormatsError as error:
        return FileCheck(task.path, UNREADABLE, (), (_unreadable(error),))


def _says_something(range_: Range) -> bool:
    """Whether a range of one file could drop it."""
    has_bounds = range_.lower[0].is_valid or range_.upper[0].is_valid
    return has_bounds or not (range_.may_null[0] and range_.may_value[0] and range_.may_nan[0])


def footer_facts(plan: FilePlan, task: ScanTask, columns: Sequence[BoundColumn]) -> FileFacts:
    """What the footer of a file says of columns. Raises as opening a data file does."""
    snapshot, wanted = plan.snapshot, {column.id for column in columns}
    mapping = snapshot.format_snapshot.name_mapping
    with open_data_file(snapshot.storage, task, mapping) as file:
        facts = FileFacts(file.num_rows, is_footer=True)
        fields = list({column.path[0].id: column.path[0] for column in columns}.values())
        constants = identity_values(snapshot.format_snapshot, task)
        with typed_errors(task.path):
            projection = Resolver(file.root, mapping, constants).project(fields)
        for id, value in projection.constant_values().items():
            facts.nulls[id] = 0 if value.is_valid else file.num_rows
            if value.is_valid:
                facts.least[id] = facts.greatest[id] = value
        stored = {id: leaf for id, leaf in projection.stored_values().items() if id in wanted and id not in constants}
        groups = file.row_group_bounds(stored) if stored else None
    if groups is not None:
        bounds, num_rows = groups
        for id in stored:
            _take(facts, id, bounds, num_rows)
    return facts


def _take(facts: FileFacts, id: int, bounds: Bounds, num_rows: pa.Array) -> None:
    """Add what the row groups say of one column, where all of them say it."""
    nulls = bounds.null_count[id]
    if nulls.null_count:
        return
    facts.nulls[id] = int(pc.sum(nulls).as_py() or 0)
    if id not in bounds.lower:
        return
    has_values = pc.less(nulls, num_rows)
    lower, upper = bounds.lower[id].filter(has_values), bounds.upper[id].filter(has_values)
    if not len(lower) or lower.null_count or upper.null_count:
        return
    try:
        least, greatest = pc.min_max(lower)["min"], pc.min_max(upper)["max"]
    except pa.ArrowNotImplementedError:
        return
    if not pa.types.is_floating(lower.type) or not (_has_nan(lower) or _has_nan(upper)):
        facts.least[id], facts.greatest[id] = least, greatest


def _has_nan(values: pa.Array) -> bool:
    return bool(pc.any(pc.is_nan(values)).as_py())
