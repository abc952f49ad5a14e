"""The cache of file columns that blocks do not hold: paths and what else a format gives for each file.

Of a batch the cache keeps the files of the snapshot, or the survivors alone where they are few; the whole batch once
other files are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ...cache.metadata_cache import MetadataCache
from ...columnar import compute as pc
from ...columnar.arrays import to_arrow
from ...columnar.sparse_rows import SparseRows
from ...dataclass import dataclass
from ...plugin.files import FileBatch
from ..blocks import BatchOf, BatchRows

__all__ = ["CachedFiles", "FileColumns"]

_FEW = 8
"""Survivors are cached without other files where they are fewer than one in so many of the snapshot's."""
_IN_BLOCKS = ("partition", "record_count")
"""Columns of files that blocks hold already."""


@dataclass
class CachedFiles:
    """Columns of some files of a batch: ``present`` says which."""

    files: pa.RecordBatch
    present: SparseRows

    @property
    def nbytes(self) -> int:
        """Memory of the columns that these files need."""
        return int(self.files.nbytes) + self.present.nbytes

    def only(self, rows: np.ndarray) -> CachedFiles:
        """These rows alone (int64), where all files of the batch are present."""
        return CachedFiles(pc.take(self.files, to_arrow(rows)), SparseRows(rows))

    def copied(self) -> CachedFiles:
        """The same in memory of its own, where most of the memory that it holds belongs to other files."""
        if self.files.get_total_buffer_size() <= 2 * self.files.nbytes:
            return self
        return CachedFiles(pc.take(self.files, to_arrow(np.arange(self.files.num_rows))), self.present)

    def take(self, rows: np.ndarray) -> pa.RecordBatch | None:
        """The files in these rows of the batch (int64, ascending); None where some are not present."""
        try:
            positions = self.present.find(rows)
        except LookupError:
            return None
        if positions is None or len(positions) == self.files.num_rows:
            return self.files
        return pc.take(self.files, to_arrow(positions))


class _FewFiles(NamedTuple):
    """The files ``rows`` (int64, ascending) of a batch, which begins at row ``offset`` of ``parent``."""

    batch: BatchRows
    rows: np.ndarray
    parent: FileBatch
    offset: int


class FileColumns:
    """Takes the columns of survivors, from the cache of a table where it has them."""

    def __init__(self, cache: MetadataCache) -> None:
        self._cache = cache

    def take(
        self, wanted: Iterable[tuple[BatchRows, np.ndarray]], batch_of: BatchOf, are_most: bool = False
    ) -> list[pa.RecordBatch]:
        """The columns of files of a block, in their order, without those that blocks hold.

        Parameters
        ----------
        wanted : pairs of BatchRows and int64[k]
            The rows of the block that belong to each batch.
        batch_of : callable
            Gives a batch that is not cached.
        are_most : bool
            Whether most of the files of neighbouring batches are taken too, whose memory a batch may share.
        """
        found: list[pa.RecordBatch | list[_FewFiles]] = []
        for batch_rows, rows in wanted:
            own = batch_rows.in_batch(rows)
            cached = self._find(batch_rows)
            files = None if cached is None else cached.take(own)
            if files is not None:
                found.append(files)
                continue
            batch = batch_of(batch_rows)
            if cached is not None or _FEW * len(rows) >= batch_rows.stop - batch_rows.start:
                found.append(self._take_all(batch_rows, own, batch, are_most, cached is None))
                continue
            parent, offset = batch.in_parent
            if not (found and isinstance(found[-1], list) and found[-1][0].parent is parent):
                found.append([])
            found[-1].append(_FewFiles(batch_rows, own, parent, offset))
        return [self._take_few(files) if isinstance(files, list) else files for files in found]

    def _find(self, batch: BatchRows) -> CachedFiles | None:
        found: CachedFiles | None = None
        if batch.key is not None:
            found = self._cache.find(("files", batch.key, batch.number))
        return found

    def _put(self, batch: BatchRows, files: CachedFiles, nbytes: int) -> None:
        if batch.key is not None:
            self._cache.keep(("files", batch.key, batch.number), files, nbytes)

    def _take_few(self, few: Sequence[_FewFiles]) -> pa.RecordBatch:
        """Some files of slices of one batch, cached without the others: one step for all slices."""
        rows = np.concatenate([some.rows + some.offset for some in few])
        files = pc.take(_uncached_columns(few[0].parent), to_arrow(rows))
        nbytes, start = int(files.nbytes), 0
        for some in few:
            share = nbytes * len(some.rows) // len(rows)
            own = CachedFiles(files.slice(start, len(some.rows)), SparseRows(some.rows))
            self._put(some.batch, own, share + some.rows.nbytes)
            start += len(some.rows)
        return files

    def _take_all(
        self, batch_rows: BatchRows, rows: np.ndarray, batch: FileBatch, are_most: bool, is_new: bool
    ) -> pa.RecordBatch:
        """The files in ``rows`` of a batch. All of its files are cached, or those of the snapshot if it ``is_new``."""
        files = CachedFiles(_uncached_columns(batch), SparseRows())
        if is_new and batch_rows.rows is not None:
            files = files.only(batch_rows.rows)
        elif batch_rows.key is not None and not are_most:
            files = files.copied()
        self._put(batch_rows, files, files.nbytes)
        found = files.take(rows)
        assert found is not None, "what is asked for was cached just now"
        return found


def _uncached_columns(batch: FileBatch) -> pa.RecordBatch:
    """The columns of the files that blocks do not hold."""
    return batch.files.select([name for name in batch.files.schema.names if name not in _IN_BLOCKS])
