"""Reconciliation: which rows of a log's batches are live. The newest reference of a file key decides.

Source: Delta PROTOCOL.md, "Action Reconciliation".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from .._core.filekeys import FileKeySet
from ..columnar import compute as pc
from ..columnar.arrays import text_buffers, to_arrow
from ..plugin.files import FileBatch, MetadataPart
from ..plugin.report import ScanReport

__all__ = ["Reconciler", "key_buffers", "keys_of"]


class Reconciler:
    """Finds the live rows of batches that come newest first: the first row of a key decides.

    Parameters
    ----------
    seed : bytes, optional
        Seed of the hashes of keys, which then may be cached. None: no hashes are given out.
    """

    def __init__(self, seed: bytes | None) -> None:
        self._seed = seed
        self._seen = FileKeySet(seed=seed)
        self._n_added = 0

    @property
    def has_keys(self) -> bool:
        """Whether a key was added, so that the keys of other rows matter."""
        return bool(len(self._seen))

    def catch_up(self, adding: Sequence[MetadataPart]) -> None:
        """Add the keys of those of these parts, the newest first, that were not read."""
        self.add(keys_of(adding[self._n_added :]))
        self._n_added = len(adding)

    def add(self, keys: Iterable[pa.BinaryArray]) -> None:
        """Add keys that decide about all later rows."""
        for some in keys:
            self._seen.add_batch(*key_buffers(some))

    def live(self, batch: FileBatch) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The live rows of the next batch.

        Returns
        -------
        rows : int64[k], ascending; None: all
        hashes : uint64[k], the hashes of their keys; None: not known

        Raises
        ------
        CorruptMetadataError
            A live row is damaged; see :class:`tableformats.plugin.RowErrors`.
        """
        rows, hashes = self._live(batch)
        if batch.row_errors is not None:
            batch.row_errors.raise_if_live(rows)
        return rows, hashes

    def _live(self, batch: FileBatch) -> tuple[np.ndarray | None, np.ndarray | None]:
        if batch.keys is None:
            return None if batch.live is None else np.flatnonzero(batch.live), None
        first, hashes = self._first(batch.keys, batch.insert_keys)
        if batch.live is not None:
            first &= np.asarray(batch.live, bool)
        if first.all():
            return None, hashes
        return np.flatnonzero(first), None if hashes is None else hashes[first]

    def _first(self, keys: pa.BinaryArray, inserts: bool) -> tuple[np.ndarray, np.ndarray | None]:
        """bool[n]: keys that were not seen before; and uint64[n]: their hashes."""
        buffers = key_buffers(keys)
        hashes = None if self._seed is None else self._seen.hash_batch(*buffers)
        if inserts or hashes is None:
            return (self._seen.add_batch if inserts else self._seen.probe_batch)(*buffers).view(bool), hashes
        first = self._seen.probe_hashes(hashes).view(bool)
        unsure = np.flatnonzero(~first)
        first[unsure] = self._seen.probe_batch(*key_buffers(pc.take(keys, to_arrow(unsure)))).view(bool)
        return first, hashes

    def finish(self, part: MetadataPart) -> None:
        """All batches of ``part`` were given to :meth:`live`."""
        self._n_added += bool(part.adds)


def keys_of(parts: Iterable[MetadataPart]) -> Iterator[pa.BinaryArray]:
    """The keys that parts add, batch by batch."""
    for part in parts:
        for batch in part.read(ScanReport()):
            if batch.keys is not None:
                yield batch.keys


def key_buffers(keys: pa.BinaryArray) -> tuple[np.ndarray, np.ndarray]:
    """(offsets, bytes) of keys, as the key set takes them."""
    return text_buffers(pc.cast(keys, pa.binary()))
