"""What the metadata say of the values of some columns in every file of a snapshot, in columns.

These are the ranges that pruning uses, of all files: no predicate drops any here. Checks of a table are made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..errors import InvalidPredicateError
from ..expressions import BoundColumn, columns_of, conjunction
from ..expressions.tree import IsNull

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from ..expressions import Expression
    from ..planning.block_pruning import BlockContext
    from ..planning.handle import SnapshotHandle
    from ..pruning.column_ranges import Range

__all__ = ["STATISTICS", "RangedFiles", "bounded_columns", "columns_named", "columns_of_filter", "ranged_files"]

STATISTICS, PARTITION = "statistics", "partition"
_NO_BOUNDS = ("void", "variant")


@dataclass(frozen=True)
class RangedFiles:
    """Some files of a snapshot, in no special order.

    Attributes
    ----------
    n : int
    files : pyarrow.Table, optional
        What the metadata say of each file, with paths as stored; None where nobody asked for it.
    ranges : dict
        By field id the ranges of a column, each with its source: ``statistics`` or ``partition``. Several hold
        independently of each other.
    """

    n: int
    files: pa.Table | None
    ranges: dict[int, list[tuple[str, Range]]]


def bounded_columns(snapshot: SnapshotHandle) -> list[BoundColumn]:
    """The columns that may have bounds: all leaves that are in no list and no map."""
    return [BoundColumn(path) for path in snapshot.schema.leaves() if str(path[-1].type) not in _NO_BOUNDS]


def columns_named(snapshot: SnapshotHandle, names: str | Sequence[str]) -> list[BoundColumn]:
    """The columns of these (dotted) names.

    Raises
    ------
    InvalidPredicateError
        There is no such column, or it can have no bounds.
    """
    known, found = {column.id: column for column in bounded_columns(snapshot)}, []
    for name in [names] if isinstance(names, str) else names:
        path = snapshot.schema.resolve([name]) or snapshot.schema.resolve(name.split("."))
        if path is None:
            near = ", ".join(snapshot.schema.near_names(name)) or ", ".join(snapshot.schema.names[:5])
            raise InvalidPredicateError(
                f"no column {name!r}", path=snapshot.location, field=name, hint=f"Near names: {near}"
            )
        if path[-1].id not in known:
            raise InvalidPredicateError(
                f"{name!r} is a {path[-1].type}, which has no bounds", field=name, hint="Name a column of single values"
            )
        found.append(known[path[-1].id])
    return list(dict.fromkeys(found))


def columns_of_filter(filter: Expression) -> list[BoundColumn]:
    """The columns of a bound filter that may have bounds."""
    return [c for c in columns_of(filter) if isinstance(c, BoundColumn) and not c.type.is_nested]


def ranged_files(
    snapshot: SnapshotHandle, columns: Iterable[BoundColumn], with_files: bool = False
) -> list[RangedFiles]:
    """All files of ``snapshot`` with the ranges of ``columns``. Raises the errors of planning."""
    from ..planning.planner import visit_blocks
    from ..planning.request import ScanRequest

    wanted = list(columns)
    collector = _Collector(wanted, with_files)
    reattached = snapshot.reattached()
    asking = conjunction(*(IsNull(column) for column in wanted))  # planning asks for the columns of its filter
    visit_blocks(ScanRequest(reattached, asking, reattached.schema), collector.add)
    return collector.found


class _Collector:
    """Collects the ranges of blocks, which come on any thread."""

    def __init__(self, columns: Sequence[BoundColumn], with_files: bool) -> None:
        self._columns = columns
        self._with_files = with_files
        self._lock = Lock()
        self.found: list[RangedFiles] = []

    def add(self, context: BlockContext, files: Callable[[np.ndarray], pa.Table]) -> None:
        """Add the live files of one block."""
        from ..planning.block_pruning import block_ranges
        from ..planning.blocks import take_rows
        from ..pruning.column_ranges import ImpliedRangeSource, partition_range_source

        rows = context.live_rows()
        if not len(rows):
            return
        partition, fields = take_rows(context.block.partition, rows), [column.field for column in self._columns]
        sources = [partition_range_source(context.spec, partition), ImpliedRangeSource(context.spec, partition)]
        known = dict(context.block.ranges)  # a copy: another thread may meanwhile replace a range
        stored = block_ranges(context, known, fields, frozenset(), rows)[0] if fields else {}
        ranges: dict[int, list[tuple[str, Range]]] = {column.id: [] for column in self._columns}
        for column in self._columns:
            if column.id in stored:
                ranges[column.id].append((STATISTICS, stored[column.id]))
            implied = [range_.of_files() for source in sources for range_ in source.ranges(column)]
            ranges[column.id] += [(PARTITION, range_) for range_ in implied]
        found = RangedFiles(len(rows), files(rows) if self._with_files else None, ranges)
        with self._lock:
            self.found.append(found)
