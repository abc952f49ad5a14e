"""Parquet data files: parts are row groups, which are read at the same time."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types

from ....errors import CorruptMetadataError
from ....io.stores.remote_source import RemoteSource
from ....limits import Limits
from ....plugin.statistics import Bounds
from ....runtime.concurrency import cached_property
from ....runtime.threads import runs
from ....schema import Field
from ..values.casts import without_views
from .column_tree import Selection
from .data_file import BATCH_ROWS, WHOLE_FILE, DataFile, FilePart, counted_rows, typed_errors, with_typed_errors
from .footers import ParquetFooter, open_parquet
from .page_reads import PageReader
from .row_group_statistics import row_group_bounds
from .sought_values import groups_without
from .stored_chunks import StoredChunks

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..key_sets import IntegerSet

__all__ = ["ParquetFile"]


_MOST_BUFFERED = 128 << 20
"""Of a part with more compressed bytes than these, only pieces are in memory at a time."""
_PIECES = 64 << 20
"""The bytes of these pieces, of all columns together."""
_FEWEST_BOUNDED = 100_000
"""Rows of a file whose statistics are always looked at."""
_FEWEST_CODED = 1 << 13
"""Texts of fewer rows are not worth a choice of how to read them."""
_CODED_BYTES = 3
"""A text that is a code of a dictionary takes so many bytes at most, before compression. By itself it takes four more
than its length."""
_TEXTS = (pa.string(), pa.binary())
_BATCH_BYTES = 32 << 20
"""About how many bytes a batch has at most; rows of many or of long values make batches of fewer rows."""


class ParquetFile(DataFile):
    """A Parquet file. Only the selected leaf columns are read."""

    reads_columns_apart = True

    def __init__(self, path: str, source: pa.NativeFile, limits: Limits, footer: ParquetFooter | None = None) -> None:
        self.path = path
        self._source = source
        self.footer = footer or ParquetFooter.read(source, path, limits)
        self._metadata, self._groups, self.root = self.footer.metadata, self.footer.groups, self.footer.root
        self.num_rows = self._metadata.num_rows

    @property
    def is_small(self) -> bool:
        """A local file of one row group that has few rows."""
        is_one = self._metadata.num_row_groups == 1 and self.num_rows < _FEWEST_BOUNDED
        return is_one and not isinstance(self._source, RemoteSource)

    def row_group_bounds(self, leaves: Mapping[int, tuple[Field, int]]) -> tuple[Bounds, pa.Array] | None:
        """See :meth:`DataFile.row_group_bounds`."""
        if not self._groups.is_sound:
            return None
        with typed_errors(self.path):
            return row_group_bounds(self._metadata, self._metadata.schema, leaves)

    def parts(self, selection: Selection, skipped: Container[int] = ()) -> list[FilePart]:
        """Row groups; small neighbours are one part."""
        first, found = 0, []
        with typed_errors(self.path):
            for number in range(self._metadata.num_row_groups):
                group = self._metadata.row_group(number)
                chunk_of = self._groups.chunk_of(number)
                is_ours = self.byte_range == WHOLE_FILE or self.byte_range.contains(
                    _middle(group.num_columns, chunk_of)
                )
                if is_ours and number not in skipped:
                    weight = sum(chunk_of(leaf).total_compressed_size for leaf in selection.leaves)
                    found.append(FilePart(first, group.num_rows, max(weight, 0), (number,)))
                first += group.num_rows
        if first != self.num_rows:
            raise CorruptMetadataError(
                f"the file holds {first} rows where its footer counts {self.num_rows}",
                path=self.path,
                hint="Restore the file",
            )
        return [_joined(run) for span in _spans(found) for run in runs(span, lambda part: part.num_rows, BATCH_ROWS)]

    def smallest_parts(self, part: FilePart) -> list[FilePart]:
        """The row groups of ``part``."""
        first, found = part.first, []
        for number in part.row_groups:
            found.append(FilePart(first, self._metadata.row_group(number).num_rows, part.weight, (number,)))
            first += found[-1].num_rows
        return found

    def rows(self, selection: Selection) -> Iterator[tuple[int, pa.StructArray]]:
        for part in self.parts(selection):
            yield from self.part_rows(part, selection)

    def part_rows(
        self, part: FilePart, selection: Selection, is_alone: bool = True, batch_rows: int | None = None
    ) -> Iterator[tuple[int, pa.StructArray]]:
        piece = max(_PIECES // max(len(selection.leaves), 1), 1 << 16) if part.weight > _MOST_BUFFERED else 0
        with ExitStack() as stack:
            with typed_errors(self.path):
                coded = self._coded_texts(part, selection)
                source = self._source
                if isinstance(source, RemoteSource) and not piece:
                    source = stack.enter_context(source.with_ranges(self._chunks(part, selection)))
                # A reader of its own: Arrow's are not made for several threads.
                open_file = partial(open_parquet, source, self._metadata, piece, coded)
            yield from self._rows_of(open_file, part, selection, coded, is_alone, batch_rows)

    @cached_property
    def _stored(self) -> StoredChunks | None:
        return StoredChunks(self._source, self._metadata) if self._groups.is_sound else None

    @cached_property
    def _pages(self) -> PageReader | None:
        if self._stored is None:
            return None
        return PageReader(self._stored, {node.leaves.start: node.type for node in self.root.children})

    def groups_without(self, groups: Sequence[int], leaf: int, field: Field, values: Sequence[Any]) -> list[int]:
        """See :meth:`DataFile.groups_without`."""
        return [] if self._stored is None else groups_without(self._stored, groups, leaf, field, values)

    def page_bounds(
        self, part: FilePart, leaves: Mapping[int, tuple[Field, int]]
    ) -> tuple[Bounds, npt.NDArray[np.int64]] | None:
        """See :meth:`DataFile.page_bounds`."""
        if self._pages is None or len(part.row_groups) != 1:
            return None
        with typed_errors(self.path):
            found = self._pages.bounds(part.row_groups[0], leaves)
        return None if found is None else (found[0], found[1] + part.first)

    def run_rows(
        self, part: FilePart, selection: Selection, runs: npt.NDArray[np.int64]
    ) -> Iterator[pa.StructArray] | None:
        """See :meth:`DataFile.run_rows`."""
        if self._pages is None or len(part.row_groups) != 1:
            return None
        with typed_errors(self.path):
            coded = self._coded_texts(part, selection)
            found = self._pages.rows(part.row_groups[0], selection.leaves, coded, runs - part.first)
        if found is None:
            return None
        pieces = (piece for rows in found for piece in _of_short_texts(without_views(rows)))
        return with_typed_errors(pieces, self.path)

    def rows_without_keys(
        self, part: FilePart, leaf: int, keys: IntegerSet
    ) -> Iterator[tuple[int, int, npt.NDArray[np.int64], pa.StructArray]] | None:
        """See :meth:`DataFile.rows_without_keys`."""
        if self._pages is None or len(part.row_groups) != 1:
            return None
        with typed_errors(self.path):
            found = self._pages.rows_without_keys(part.row_groups[0], leaf, keys)
        if found is None:
            return None
        batches = ((part.first + first, *batch) for first, *batch in found)
        return with_typed_errors(batches, self.path)

    def finds_rows(self, part: FilePart, selection: Selection) -> bool:
        """See :meth:`DataFile.finds_rows`."""
        if self._pages is None or len(part.row_groups) != 1:
            return False
        with typed_errors(self.path):
            return self._pages.finds_rows(part.row_groups[0], selection.leaves)

    @cached_property
    def _texts(self) -> dict[int, tuple[str, pa.DataType]]:
        """The path and the type of each leaf that is a top-level column of texts or bytes."""
        tops = [(node.leaves.start, node.type) for node in self.root.children if node.type in _TEXTS]
        return {leaf: (self._metadata.schema.column(leaf).path, kind) for leaf, kind in tops}

    def _coded_texts(self, part: FilePart, selection: Selection) -> list[str]:
        """The columns to read as dictionary arrays: in the file their values are codes of a dictionary.

        Otherwise Arrow makes a text of each code, also for rows that a filter removes, and takes thrice as long for it.
        """
        if part.num_rows < _FEWEST_CODED:
            return []
        groups = [(self._groups.chunk_of(i), self._metadata.row_group(i).num_rows) for i in part.row_groups]
        return [
            self._texts[leaf][0]
            for leaf in selection.leaves
            if leaf in self._texts and all(_is_coded(chunk_of(leaf), count) for chunk_of, count in groups)
        ]

    def _rows_of(
        self,
        open_file: Callable[[], pq.ParquetFile],
        part: FilePart,
        selection: Selection,
        coded: Sequence[str],
        is_alone: bool,
        batch_rows: int | None,
    ) -> Iterator[tuple[int, pa.StructArray]]:
        first, file = part.first, None
        for number in part.row_groups:
            count = self._metadata.row_group(number).num_rows
            with typed_errors(self.path):
                pages = self._pages
                rows = None if pages is None else pages.all_rows(number, selection.leaves, coded, batch_rows)
                if rows is None:
                    file = file or open_file()
                    rows = self._by_arrow(file, number, selection, is_alone)
            read = (piece for found in rows for piece in _of_short_texts(without_views(found)))
            yield from counted_rows(with_typed_errors(read, self.path), first, count, self.path)
            first += count

    def _by_arrow(
        self, file: pq.ParquetFile, number: int, selection: Selection, is_alone: bool
    ) -> Iterator[pa.StructArray]:
        """The rows of one row group: Arrow then buffers the column chunks of only one."""
        batches = file.reader.iter_batches(
            self._batch_rows(number, selection),
            row_groups=[number],
            column_indices=selection.leaves,
            use_threads=is_alone,
        )
        return (batch.to_struct_array() for batch in batches)

    def _chunks(self, part: FilePart, selection: Selection) -> Iterator[tuple[int, int]]:
        """The offset and length of the column chunks of a part."""
        for number in part.row_groups:
            for column in map(self._groups.chunk_of(number), selection.leaves):
                offsets = (column.dictionary_page_offset, column.data_page_offset)
                yield min((offset for offset in offsets if offset), default=-1), column.total_compressed_size

    def _batch_rows(self, number: int, selection: Selection) -> int:
        """The rows of a batch, by the bytes that the row group's values have before compression."""
        num_rows, chunk_of = self._metadata.row_group(number).num_rows, self._groups.chunk_of(number)
        size = sum(chunk_of(leaf).total_uncompressed_size for leaf in selection.leaves)
        if size <= _BATCH_BYTES or num_rows <= 0:
            return BATCH_ROWS
        return max(1, min(BATCH_ROWS, num_rows * _BATCH_BYTES // size))


def _is_coded(chunk: Any, num_rows: int) -> bool:
    """Whether the texts of a column chunk are codes of its dictionary: a writer may begin with codes and give up."""
    if chunk.dictionary_page_offset is None:
        return False
    dictionary = chunk.data_page_offset - chunk.dictionary_page_offset  # compressed, so not too many
    return bool(chunk.total_uncompressed_size - dictionary <= _CODED_BYTES * num_rows)


def _of_short_texts(rows: pa.StructArray) -> Iterator[pa.StructArray]:
    """The rows in pieces whose codes become texts of ``_BATCH_BYTES`` at most: a few codes may stand for long texts."""
    coded = [c for c in rows.flatten() if types.is_dictionary(c.type) and c.type.value_type in _TEXTS]
    lengths = [pc.binary_length(column.dictionary) for column in coded]
    longest = sum(pc.max(found).as_py() or 0 for found in lengths)
    if longest * len(rows) <= _BATCH_BYTES:
        yield rows
        return
    sizes = (pc.take(found, c.indices).fill_null(0).to_numpy() for found, c in zip(lengths, coded, strict=True))
    stops = np.cumsum(sum(sizes, start=np.zeros(len(rows), np.int64))) // _BATCH_BYTES
    starts = [0, *(np.flatnonzero(np.diff(stops)) + 1).tolist(), len(rows)]
    for start, stop in pairwise(starts):
        yield rows.slice(start, stop - start)


def _spans(parts: list[FilePart]) -> Iterator[list[FilePart]]:
    """Lists of parts whose rows follow each other."""
    found: list[FilePart] = []
    for part in parts:
        if found and found[-1].first + found[-1].num_rows != part.first:
            yield found
            found = []
        found.append(part)
    if found:
        yield found


def _joined(run: list[FilePart]) -> FilePart:
    if len(run) == 1:
        return run[0]
    numbers = tuple(number for part in run for number in part.row_groups)
    weight = max(part.weight for part in run)
    return FilePart(run[0].first, sum(part.num_rows for part in run), weight, numbers)


def _middle(num_columns: int, chunk_of: Callable[[int], Any]) -> int:
    """The offset of the middle of a Parquet row group, as parquet-java computes it.

    A damaged footer gives every task of the file the same answer, so each row group still belongs to one task.
    """
    if not num_columns:
        return 0
    columns = [chunk_of(i) for i in range(num_columns)]
    first = columns[0]
    start = first.data_page_offset
    if first.dictionary_page_offset is not None and 0 < first.dictionary_page_offset < start:
        start = first.dictionary_page_offset
    return int(start + sum(column.total_compressed_size for column in columns) // 2)
