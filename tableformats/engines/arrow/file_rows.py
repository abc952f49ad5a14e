"""The rows of one data file: exactly the live rows for which the filter is TRUE, as the table's columns.

A batch starts with the file's own columns. Positional deletes, then equality deletes, then the filter remove rows; only
the rows that are left are converted to the table's columns. Columns that only one of these steps needs are read and
not returned. Row groups in which no row can match, by the statistics of the footer, are not read. The columns that the
filter and equality deletes name are read first, and the others of a row group only from its first row that is left on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from ...columnar.arrays import to_numpy
from ...columnar.dropped_rows import rows_where, without_rows
from ...expressions import tree as ex
from ...planning.tasks import ScanTask
from ...plugin.snapshot import FormatSnapshot
from ...plugin.statistics import Bounds
from ...pruning.column_ranges import BoundsRangeSource, ranges_of
from ...pruning.compiled_predicate import NONE, CompiledPredicate
from ...schema import Field, arrow_field
from .deletes import DeleteLoader, deleted_positions, positions_within
from .file_columns import FileColumns, SeenFiles
from .files.column_tree import Selection
from .files.data_file import DataFile, FilePart, typed_errors
from .files.sought_values import sought_values
from .metadata_columns import with_positions
from .row_runs import (
    MatchingRows,
    RowCursor,
    at_positions,
    both_dropped,
    in_blocks,
    in_step,
    joined_runs,
    runs_of,
    without_positions,
)

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["FileRows"]

_AHEAD_ROWS = 1 << 20
"""About so many matching rows are in memory before others of their columns are read."""
_FEWEST_ROWS = 1 << 16
"""Of a batch, where rows of several are put together."""
_MOST_DELETED = 1 << 20
"""Positions of more rows of a row group are not in memory at the same time."""


class FileRows:
    """Reads parts of one open file, on several threads.

    Parameters
    ----------
    file : DataFile
    task : ScanTask
        The file's metadata.
    snapshot : FormatSnapshot
    columns : FileColumns
        What is read of the file.
    seen_files : SeenFiles
        What was seen of files like this one.
    fields : Sequence[Field]
        The columns to return.
    deletes : DeleteLoader
        Of the plan.
    residual : CompiledPredicate, optional
        The task's residual. None: it is TRUE.

    Attributes
    ----------
    selection : Selection
        The leaf columns that are read.
    """

    def __init__(
        self,
        file: DataFile,
        task: ScanTask,
        snapshot: FormatSnapshot,
        columns: FileColumns,
        seen_files: SeenFiles,
        fields: Sequence[Field],
        deletes: DeleteLoader,
        residual: CompiledPredicate | None = None,
    ) -> None:
        self._file, self._task, self._columns, self._fields = file, task, columns, fields
        self._keys = deletes.equality_filters(task, columns.resolver)
        self._positions = deleted_positions(snapshot, task, file.num_rows)
        selected = columns.selected(file, frozenset().union(*(f.projection.leaves for f in self._keys)))
        is_read_at_once = file.is_small and residual is not None and seen_files.mostly_match
        self.selection, self._apart = selected.all, None if is_read_at_once else selected.apart
        self._residual, self._seen_files = residual, seen_files

    def parts(self) -> list[FilePart]:
        """The parts of the file that may hold a matching row, in order. Raises as :meth:`DataFile.parts` does."""
        return self._file.parts(self.selection, self._row_groups_without_match())

    def _row_groups_without_match(self) -> frozenset[int]:
        """The row groups in which no row can make the residual TRUE. Deletes only take rows away."""
        if self._file.is_small and not self._seen_files.dropped.wants_another():
            return frozenset()
        found = self._found_without_match()
        if self._file.is_small:
            self._seen_files.dropped.add(bool(found))
        return found

    def _found_without_match(self) -> frozenset[int]:
        stored = self._columns.stored_values
        found = self._file.row_group_bounds(stored) if self._residual is not None and stored else None
        if found is None:
            return frozenset()
        may_match = self._may_match(*found)
        for field_id, values in sought_values(self._task.residual):
            if field_id in stored:
                field, leaf = stored[field_id]
                may_match[self._file.groups_without(np.flatnonzero(may_match).tolist(), leaf, field, values)] = False
        return frozenset(np.flatnonzero(~may_match).tolist())

    def _may_match(self, bounds: Bounds, num_rows: pa.Array) -> npt.NDArray[np.bool_]:
        """Which parts of a file, of so many rows, may hold a row that makes the residual TRUE, by their bounds."""
        assert self._residual is not None
        ranges = ranges_of(bounds, num_rows, [field for field, _ in self._columns.stored_values.values()])
        return np.asarray(self._residual.decide([BoundsRangeSource(ranges, len(num_rows))]).verdicts != NONE)

    def _page_runs(self, part: FilePart) -> npt.NDArray[np.int64]:
        """The runs of rows of ``part`` (see :mod:`.row_runs`) that may match, by the statistics of its pages."""
        stored, found = self._columns.stored_values, None
        if self._residual is not None and stored and self._seen_files.cut.wants_another():
            found = self._file.page_bounds(part, stored)
        if found is None:
            return np.array([[part.first, part.first + part.num_rows]], np.int64)
        bounds, starts = found
        with typed_errors(self._task.path):
            may_match = self._may_match(bounds, pa.array(np.diff(starts)))
        self._seen_files.cut.add(not may_match.all())
        return joined_runs(starts, may_match)

    def _stored(
        self,
        part: FilePart,
        runs: npt.NDArray[np.int64],
        selection: Selection,
        is_alone: bool,
        batch_rows: int | None = None,
    ) -> Iterator[tuple[int, pa.StructArray]]:
        """The rows of ``part`` in batches, each with its first position; those outside of ``runs`` may be left out."""
        if not len(runs):
            return iter(())
        rows = self._file.run_rows(part, selection, runs)
        if rows is not None:
            return at_positions(runs, rows)
        return self._file.part_rows(part, selection, is_alone, batch_rows)

    def _live(self, part: FilePart, is_alone: bool) -> Iterator[pa.StructArray]:
        """The rows of ``part`` in batches, without those at deleted positions and those of pages without a match."""
        runs = self._page_runs(part)
        if self._columns.metadata.needs_positions:
            return _without(self._positions, with_positions(self._stored(part, runs, self.selection, is_alone)))
        if 0 < self._positions.range_cardinality(part.first, part.first + part.num_rows) <= _MOST_DELETED:
            deleted = _deleted_of(self._positions, part.first, part.num_rows)
            left = without_positions(runs, deleted + part.first)
            rows = self._file.run_rows(part, self.selection, left) if len(left) else iter(())
            if rows is not None:
                return rows
        return _without(self._positions, self._stored(part, runs, self.selection, is_alone))

    def read(self, part: FilePart, is_alone: bool) -> Iterator[pa.RecordBatch]:
        """The rows of ``part``; ``is_alone`` as of :meth:`DataFile.part_rows`. Raises as reading a plan does."""
        has_match = False
        for batch in self._batches(part, is_alone):
            has_match = True
            yield batch
        if self._file.is_small and self._residual is not None:
            self._seen_files.matching.add(has_match)

    def _batches(self, part: FilePart, is_alone: bool) -> Iterator[pa.RecordBatch]:
        if self._apart is not None and self._is_gain(part, self._apart[1]):
            for group in self._file.smallest_parts(part):
                yield from self._filter_first(group, *self._apart, is_alone)
            return
        for rows in self._live(part, is_alone):
            with typed_errors(self._task.path):
                rows, _ = self._without_keys(rows, self.selection, np.empty(0, np.int64))
                if self._task.residual != ex.TRUE:
                    rows = rows.filter(self._columns.filter.matches(rows, self.selection))
                batch = self._converted(rows)
            if batch.num_rows:
                yield batch

    def _without_keys(
        self, rows: pa.StructArray, selection: Selection, dropped: npt.NDArray[np.int64]
    ) -> tuple[pa.StructArray, npt.NDArray[np.int64]]:
        """``rows`` without those whose key is deleted. ``dropped`` are the positions of rows that lack already.

        Returns
        -------
        pa.StructArray, int64[m]
            The second are the positions of all rows that lack.
        """
        for keys in self._keys:
            deleted = keys.deleted(rows, selection)
            rows, dropped = without_rows(rows, deleted), both_dropped(dropped, deleted)
        return rows, dropped

    def _is_gain(self, part: FilePart, others: Selection) -> bool:
        """Whether columns are better read apart. Equality deletes alone leave most rows."""
        return self._task.residual != ex.TRUE or self._file.finds_rows(part, others)

    def _filter_first(
        self, part: FilePart, tested: Selection, others: Selection, is_alone: bool
    ) -> Iterator[pa.RecordBatch]:
        """The matching rows of ``part``. Nothing is read of ``others`` before a row matches.

        Where few rows match, only the pages that hold them are read.
        """
        rest = None
        for ahead in in_blocks(self._matching(part, tested, is_alone), _AHEAD_ROWS):
            pieces = None
            if rest is None:
                pieces = self._file.run_rows(part, others, runs_of(ahead))
            if pieces is None:
                rest = rest or RowCursor(self._file.part_rows(part, others, is_alone))
                pieces = _matching_of(rest, ahead)
            yield from self._beside(_of_many([found.rows for found in ahead]), tested, pieces, others)

    def _matching(self, part: FilePart, tested: Selection, is_alone: bool) -> Iterator[MatchingRows]:
        """The rows of ``part`` that are live and match, by batches."""
        batches = self._without_integers(part, tested)
        if batches is not None:
            for first, count, dropped, left in batches:
                if len(left):
                    yield MatchingRows.without(first, count, dropped, left)
            return
        # Keys are looked up in many rows at once. A filter makes columns of its own, which should stay in the cache.
        batch_rows = _AHEAD_ROWS if self._task.residual == ex.TRUE else None
        for first, rows in self._stored(part, self._page_runs(part), tested, is_alone, batch_rows):
            with typed_errors(self._task.path):
                found = self._matches(first, rows, tested)
            if len(found.rows):
                yield found

    def _without_integers(
        self, part: FilePart, tested: Selection
    ) -> Iterator[tuple[int, int, npt.NDArray[np.int64], pa.StructArray]] | None:
        """As of :meth:`DataFile.rows_without_keys`. None: a filter or other deletes decide, too, which are left."""
        integers = self._keys[0].integers if len(self._keys) == 1 and self._task.residual == ex.TRUE else None
        if integers is None or self._positions.range_cardinality(part.first, part.first + part.num_rows):
            return None
        return self._file.rows_without_keys(part, tested.leaves[0], integers)

    def _beside(
        self,
        left: Sequence[pa.StructArray],
        tested: Selection,
        pieces: Iterable[pa.StructArray],
        others: Selection,
    ) -> Iterator[pa.RecordBatch]:
        """Batches of the rows ``left`` of the columns ``tested`` and the rows ``pieces`` of the columns ``others``."""
        for one, other in in_step(left, pieces):
            with typed_errors(self._task.path):
                batch = self._converted(self._joined(one, tested, other, others))
            yield batch

    def _matches(self, first: int, rows: pa.StructArray, tested: Selection) -> MatchingRows:
        """The rows, from the position ``first`` on, that are live and match. The filter sees no deleted row."""
        deleted = _deleted_of(self._positions, first, len(rows))
        left, dropped = self._without_keys(without_rows(rows, deleted), tested, deleted)
        if self._task.residual == ex.TRUE or not len(left):
            return MatchingRows.without(first, len(rows), dropped, left)
        found = self._columns.filter.matches(left, tested)
        matches = to_numpy(found.fill_null(False))
        if len(dropped):
            is_left = np.ones(len(rows), bool)
            is_left[dropped] = False
            is_left[is_left] = matches
            matches = is_left
        return MatchingRows.of_mask(first, matches, left.filter(found))

    def _joined(
        self, left: pa.StructArray, tested: Selection, right: pa.StructArray, others: Selection
    ) -> pa.StructArray:
        """The columns of both, as :attr:`selection` has them."""
        in_left = set(tested.columns(self._file.root))
        columns, fields = [], []
        for node in self.selection.columns(self._file.root):
            rows, selection = (left, tested) if node in in_left else (right, others)
            columns.append(rows.field(selection.position(node)))
            fields.append(pa.field(node.name, columns[-1].type))
        return pa.StructArray.from_arrays(columns, fields=fields)

    def _converted(self, rows: pa.StructArray) -> pa.RecordBatch:
        """Rows of :attr:`selection` as the table's columns."""
        batch = self._columns.wanted.read(rows, self.selection)
        if self._columns.metadata_columns:
            batch = self._with_metadata(batch, self._columns.metadata.read(rows, self.selection, self._task))
        return batch

    def _with_metadata(self, batch: pa.RecordBatch, values: Sequence[pa.Array]) -> pa.RecordBatch:
        """``batch`` and the metadata columns ``values``, in the order of ``self._fields``."""
        table_columns, by_id = iter(batch.columns), dict(zip(self._columns.metadata_columns, values, strict=True))
        columns = [by_id[f.id] if f.id in by_id else next(table_columns) for f in self._fields]
        return pa.RecordBatch.from_arrays(columns, schema=pa.schema([arrow_field(f) for f in self._fields]))


def _matching_of(rest: RowCursor, matching: Sequence[MatchingRows]) -> Iterator[pa.StructArray]:
    """The rows of ``rest`` that match."""
    for found in matching:
        for start, piece in rest.between(found.first, found.stop):
            yield rows_where(piece, found.matches_of(start, len(piece)))


def _of_many(pieces: Sequence[pa.StructArray]) -> Sequence[pa.StructArray]:
    """The rows of all pieces, in one piece if they have few rows each."""
    return pieces if sum(map(len, pieces)) >= len(pieces) * _FEWEST_ROWS else [pa.concat_arrays(pieces)]


def _deleted_of(positions: BitMap64, first: int, count: int) -> npt.NDArray[np.int64]:
    """int64[n]: which of ``count`` rows from the position ``first`` on are deleted, ascending."""
    if not positions or not positions.range_cardinality(first, first + count):
        return np.empty(0, np.int64)
    return (positions_within(positions, first, first + count) - np.uint64(first)).astype(np.int64)


def _without(positions: BitMap64, batches: Iterable[tuple[int, pa.StructArray]]) -> Iterator[pa.StructArray]:
    """The rows of a file without those at ``positions``; each batch comes with the position of its first row."""
    for first, rows in batches:
        deleted = _deleted_of(positions, first, len(rows))
        if len(deleted) < len(rows):
            yield without_rows(rows, deleted)
