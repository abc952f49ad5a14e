"""The files of a snapshot, as a plugin gives them: batches of columns, and the parts of the metadata that list them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..errors import CorruptMetadataError, PluginContractError
from .report import ScanReport
from .statistics import Statistics, StatisticsSlice

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["FileBatch", "MetadataPart", "RowErrors"]


class RowErrors(ABC):
    """Damaged rows of a batch: an error only where such a row turns out to be live.

    Attributes
    ----------
    rows : int64[k]
        The damaged rows of the batch, ascending; a row may stand here more than once.
    """

    rows: np.ndarray

    @abstractmethod
    def error_of(self, row: int) -> CorruptMetadataError:
        """What is wrong with ``row``, one of :attr:`rows`."""

    def raise_if_live(self, live: np.ndarray | None) -> None:
        """Raise CorruptMetadataError if one of the rows ``live`` (int64[n], ascending; None: all) is damaged."""
        import numpy as np

        wrong = self.rows if live is None else self.rows[np.isin(self.rows, live)]
        if len(wrong):
            raise self.error_of(int(wrong[0]))


@dataclass
class FileBatch:
    """Some files of a snapshot, one row a file.

    ``files`` has at least these columns:

    ===============  ========  ==================================================================================
    path             string    as stored; :meth:`FormatSnapshot.resolve_paths` makes it absolute, for survivors
    size_bytes       int64
    partition        struct    members called by the partition field's id (``"1000"``), typed; empty struct if none
    ===============  ========  ==================================================================================

    It may have ``file_format`` (string, lower case; ``parquet`` where absent), ``split_offsets`` (list<int64>, the
    bytes at which row groups begin, ascending; empty where unknown) and ``record_count`` (int64, physical rows; null
    where unknown). Leave ``record_count`` out where statistics would have to be decoded for it:
    :meth:`Statistics.record_counts` gives it then. Other columns are those that the format needs later, in
    :meth:`FormatSnapshot.attach_deletes`, or that it shows in ``plan.files`` (:attr:`FormatSnapshot.extra_columns`).

    ``keys`` and ``live`` are for formats whose log must be reconciled. Batches come newest first, the first row of a
    key decides, and the file is live where ``live`` of that row is true. Without keys every row is live.

    Attributes
    ----------
    files : pyarrow.RecordBatch
    spec_id : int
        The partition spec of all rows.
    statistics : Statistics, optional
    keys : binary[n_files], optional
    live : bool[n_files], optional
        None with ``keys`` set means that all rows are live.
    insert_keys : bool
        False: the batch only probes the set of seen keys, because no older batch can hold its keys again (a
        checkpoint).
    row_errors : RowErrors, optional
        Rows that are damaged in a way that does not matter if newer batches cancel them.
    parent, offset : FileBatch and int
        The batch of which this one is a :meth:`slice`, and the row of it with which this one begins.
    """

    files: pa.RecordBatch
    spec_id: int = 0
    statistics: Statistics | None = None
    keys: pa.BinaryArray | None = None
    live: np.ndarray | None = None
    insert_keys: bool = True
    row_errors: RowErrors | None = None
    parent: FileBatch | None = field(default=None, repr=False)
    offset: int = 0

    @property
    def in_parent(self) -> tuple[FileBatch, int]:
        """The batch of which this one is a slice and the row where it begins there; (self, 0) where it is none."""
        return (self, 0) if self.parent is None else (self.parent, self.offset)

    def follows(self, other: FileBatch) -> bool:
        """Whether this is the slice directly behind ``other`` of the same parent."""
        if self.parent is None or self.parent is not other.parent:
            return False
        return self.offset == other.offset + len(other.files)

    def slice(self, start: int, stop: int) -> FileBatch:
        """The rows from ``start`` to before ``stop``, as the batch of one part of several that were read together.

        The core evaluates neighbouring slices of one parent in one step.

        Raises
        ------
        PluginContractError
            The batch has keys, or rows that may not be live.
        """
        if self.keys is not None or self.live is not None or self.row_errors is not None:
            raise PluginContractError("only a batch without keys, whose rows are all live, has slices", field="keys")
        statistics = None if self.statistics is None else StatisticsSlice(self.statistics, start, stop)
        return FileBatch(self.files.slice(start, stop - start), self.spec_id, statistics, parent=self, offset=start)


@dataclass(frozen=True)
class MetadataPart:
    """The files that one piece of the metadata lists (a manifest, row groups of a checkpoint, some commits), unread.

    Attributes
    ----------
    key : hashable, optional
        Identifies the content of the piece among all pieces of the table, for example by the path, size and time of
        its file and the place in it. What the core makes of a part is cached under the key. None: nothing is cached.
    read : callable
        Gives the batches of the part, in order; the same ones when it is called again. Called on any thread, with a
        report that counts what was read.
    n_files : int, optional
        About how many files the part lists. None: unknown, and the part is read alone.
    adds : tuple
        What of the part has keys that decide about later parts (commits), newest first. Such parts are read one by
        one, in order, before all others, whose batches have ``insert_keys=False`` or no keys.
    keys_of : callable, optional
        Makes the keys of rows of the part's ``FileBatch.files`` again. None: batches have no keys.
    size_bytes : int, optional
        About how many bytes are read for the part. None: unknown.
    read_many : callable, optional
        Gets neighbouring parts that have it and returns parts of the same keys, with the same batches, that share the
        work of reading. Each is read once, in order, on one thread. Their statistics need not know the columns that
        the request's filter does not need (:meth:`ManifestFilter.decide`). Called on any thread.
    files : tuple of (str, int)
        Absolute paths of the remote files that are read whole for the part, and about their bytes. They are asked for
        before the part is read, together with those of other parts. Empty for local files.
    plugin_data : object
        What the format wants to find again in ``read_many``.
    """

    key: Hashable | None
    read: Callable[[ScanReport], Iterable[FileBatch]]
    n_files: int | None = None
    adds: tuple[Hashable, ...] = ()
    keys_of: Callable[[pa.RecordBatch], pa.BinaryArray] | None = None
    size_bytes: int | None = None
    read_many: Callable[[Sequence[MetadataPart]], Sequence[MetadataPart]] | None = None
    files: tuple[tuple[str, int], ...] = ()
    plugin_data: object = None
