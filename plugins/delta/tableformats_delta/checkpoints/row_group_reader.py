"""Reads the add actions of one row group of a Parquet checkpoint, and their statistics on demand.

Columns are decoded in pieces of bounded size, so that a row group of any size needs little memory. The text of
statistics is not kept; only the decoded columns are. Absent columns are null. Source: Delta PROTOCOL.md, "Checkpoint
Schema".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from tableformats.plugin import (
    FALSE,
    ParquetFile,
    ahead,
    dataclass,
    free_after_fork,
    to_arrow,
    to_numpy,
)
from tableformats.plugin import compute as pc

from ..deletes.descriptors import vector_column, vector_type
from ..log.file_actions import file_schema
from ..schema.row_tracking import ROW_TRACKING_FIELDS
from ..statistics.stats_json import PIECE_ROWS, Leaf, RawStatistics, scan
from .damage import damaged_column, guard_parquet

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from ..statistics.log_statistics import StatisticsSource

__all__ = ["CheckpointRows", "RowGroup", "RowGroupReader", "member_of", "typed", "vector_lists"]

_BATCH_ROWS = 32_768
_PIECES_AHEAD = 4
_MEMBERS = {
    "path": "path",
    "partition_values": "partitionValues",
    "size": "size",
    "modification_time": "modificationTime",
    "deletion_vector": "deletionVector",
    "base_row_id": "baseRowId",
    "row_commit_version": "defaultRowCommitVersion",
}

Open = Callable[[], ParquetFile]


@dataclass
class CheckpointRows:
    """One batch of add actions.

    Attributes
    ----------
    rows : pyarrow.RecordBatch
        The columns of :func:`file_schema` without ``stats`` and without the fields of row tracking that are not wanted.
        Partition values may be dictionary-encoded.
    statistics : StatisticsSource
        The statistics of these rows.
    """

    rows: pa.RecordBatch
    statistics: StatisticsSource


@dataclass(frozen=True)
class RowGroup:
    """A row group of a Parquet checkpoint.

    Attributes
    ----------
    open_file : callable
        Opens the Parquet file.
    path : str
        The path of the file, for errors.
    number : int
        The index of the row group in the file.
    n_rows : int
        Its number of rows.
    add_type : pyarrow.DataType
        The type of the column ``add``.
    """

    open_file: Open
    path: str
    number: int
    n_rows: int
    add_type: pa.DataType


class RowGroupReader:
    """Reads one row group.

    Parameters
    ----------
    group : RowGroup
        The row group.
    decode_ahead : bool
        Decode the next columns on another thread while a caller works on the last ones. It pays where there are more
        threads than row groups.

    Attributes
    ----------
    path : str
        The path of the file, for errors.

    Notes
    -----
    Batches decode their statistics after each other, so the reader caches one cursor per set of columns.
    """

    def __init__(self, group: RowGroup, decode_ahead: bool = False) -> None:
        self._group = group
        self._open = group.open_file
        self.path = group.path
        self._decode_ahead = decode_ahead and group.n_rows > _BATCH_ROWS
        self._last_batch = max(group.n_rows - 1, 0) // _BATCH_ROWS * _BATCH_ROWS
        self._cursors: dict[tuple[str, ...], ForwardCursor] = {}
        self._lock = Lock()
        free_after_fork(self)

    def after_fork(self) -> None:
        """Drop the cursors: the parent process may be using them."""
        self._cursors = {}

    def batches(self, row_columns: Sequence[str] = ()) -> Iterator[CheckpointRows]:
        """The add actions; ``row_columns`` are the wanted ones of :data:`.row_tracking.ROW_TRACKING_FIELDS`.

        Raises
        ------
        CorruptMetadataError
            The file is damaged.
        """
        left_out = {"stats", *ROW_TRACKING_FIELDS}.difference(row_columns)
        wanted = [f for f in file_schema() if f.name not in left_out]
        columns = [f"add.{_MEMBERS[f.name]}" for f in wanted]
        with guard_parquet(self.path), self._open() as parquet:
            start = 0
            # Not the row group at once: Arrow has no strings of more than 2 GiB in a struct.
            batches = parquet.iter_batches(_BATCH_ROWS, [self._group.number], columns, use_threads=False)
            for batch in ahead(batches, 1) if self._decode_ahead else batches:
                column = batch.column("add")
                mask = _is_action(column, self.path)
                first, last = _ends(mask)  # writers put adds together, so a slice without a copy usually has them all
                add, mask = column.slice(first, last - first), mask.slice(first, last - first)
                source = _GroupStatistics(self, start + first, mask)
                start += len(column)
                rows = _columns(add if source.has_all_rows else pc.filter(add, mask), wanted, self.path)
                yield CheckpointRows(rows, source)

    def pieces(
        self, columns: Sequence[str], start: int, stop: int, n_rows: int
    ) -> Iterator[tuple[int, pa.StructArray]]:
        """Read ``add`` of the rows ``start`` to ``stop``, piece by piece.

        Continues with the cached cursor of the same columns, unless that has passed ``start``.

        Parameters
        ----------
        columns : sequence of str
            Paths of the wanted members.
        n_rows : int
            The greatest size of a piece.

        Returns
        -------
        iterator of (int, pyarrow.StructArray)
            The position of the first row of each piece in the row group, and the piece.

        Raises
        ------
        CorruptMetadataError
            The file is damaged.
        """
        key = tuple(columns)
        with self._lock:
            cursor = self._cursors.pop(key, None)
        if cursor is None or cursor.position > start:
            cursor = ForwardCursor(self._open, self._group.number, columns, n_rows, self._decode_ahead)
        with guard_parquet(self.path):
            yield from cursor.pieces(start, stop)
        if cursor.position <= self._last_batch:  # after the last batch no caller needs the cursor
            with self._lock:
                self._cursors[key] = cursor

    def has(self, name: str) -> bool:
        """Whether ``add`` has this member."""
        import pyarrow as pa

        kind = self._group.add_type
        return pa.types.is_struct(kind) and kind.get_field_index(name) >= 0


class ForwardCursor:
    """Reads columns of a row group forwards only.

    Attributes
    ----------
    position : int
        The first row of the row group that was not read yet.
    """

    def __init__(self, open_file: Open, number: int, columns: Sequence[str], n_rows: int, decode_ahead: bool) -> None:
        self._parquet = open_file()
        self._left = self._parquet.metadata.row_group(number).num_rows
        batches = self._parquet.iter_batches(n_rows, [number], list(columns), use_threads=False)
        self._batches = ahead(batches, _PIECES_AHEAD) if decode_ahead else batches
        self._rest: pa.StructArray | None = None
        self.position = 0

    @property
    def is_at_end(self) -> bool:
        """Whether all rows were read."""
        return self._left == 0 and self._rest is None

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, pa.StructArray]]:
        """``add`` of the rows ``start`` to ``stop`` in pieces, each with the position of its first row."""
        while self.position < stop and not self.is_at_end:
            add = self._rest if self._rest is not None else self._next()
            if add is None:
                return
            skipped, taken = max(start - self.position, 0), min(stop - self.position, len(add))
            self._rest = add.slice(taken) if taken < len(add) else None
            self.position += taken
            if skipped < taken:
                yield self.position - taken + skipped, add.slice(skipped, taken - skipped)

    def _next(self) -> pa.StructArray | None:
        batch = next(self._batches, None)
        self._left = 0 if batch is None else max(self._left - batch.num_rows, 0)
        if not self._left:
            self._parquet.close()
        return None if batch is None or "add" not in batch.schema.names else batch.column("add")


class _GroupStatistics:
    """The statistics of a batch that starts at row ``start`` of a row group; see :class:`StatisticsSource`.

    ``mask`` (bool[n]) says which rows are add actions; ``rows`` of the methods count these alone.
    """

    def __init__(self, group: RowGroupReader, start: int, mask: pa.BooleanArray) -> None:
        self._group = group
        self._start = start
        self._size = len(mask)
        self._mask = None if mask.true_count == len(mask) else mask

    @property
    def has_all_rows(self) -> bool:
        """Whether every row of the batch is an add action."""
        return self._mask is None

    def scan(self, leaves: Sequence[Leaf], rows: np.ndarray | None) -> RawStatistics:
        """See :meth:`StatisticsSource.scan`."""
        places = self._wanted(rows)
        count = self._size if places is None else len(places)
        if not self._group.has("stats"):
            return RawStatistics.unknown(count, leaves)
        return scan(self._texts(places), leaves, count)

    def _texts(self, places: np.ndarray | None) -> Iterator[tuple[pa.StringArray, np.ndarray | None]]:
        """The texts of each piece that has one of ``places`` (None: all), with the indices of those in the piece."""
        import numpy as np
        import pyarrow as pa

        for place, add in self._pieces(["add.stats"], places, PIECE_ROWS):
            text = typed(member_of(add, "stats"), len(add), pa.string(), "add.stats", self._group.path)
            chosen = None
            if places is not None:
                first, last = np.searchsorted(places, (place, place + len(add)))
                if first == last:
                    continue
                chosen = None if last - first == len(add) else places[first:last] - place
            yield text, chosen

    def parsed(self, leaves: Sequence[Sequence[str]], rows: np.ndarray | None) -> pa.StructArray | None:
        """See :meth:`StatisticsSource.parsed`."""
        import numpy as np
        import pyarrow as pa

        if not self._group.has("stats_parsed"):
            return None
        places = self._wanted(rows)
        columns = [".".join(("add", "stats_parsed", *leaf)) for leaf in leaves]
        found = []
        for place, add in self._pieces(columns, places, _BATCH_ROWS):
            member = member_of(add, "stats_parsed")
            if member is None:
                return None
            if places is not None:
                first, last = np.searchsorted(places, (place, place + len(add)))
                member = pc.take(member, to_arrow(places[first:last] - place), boundscheck=False)
            found.append(member)
        if len(found) == 1:
            return found[0]
        return pa.concat_arrays(found) if found else None

    def _wanted(self, rows: np.ndarray | None) -> np.ndarray | None:
        """Add actions ``rows`` as rows of the batch; None: all rows."""
        import numpy as np

        if self._mask is None:
            return rows
        places = np.flatnonzero(to_numpy(self._mask))
        return places if rows is None else places[rows]

    def _pieces(
        self, columns: list[str], places: np.ndarray | None, n_rows: int
    ) -> Iterator[tuple[int, pa.StructArray]]:
        """Pieces up to the last of ``places``; positions count from the start of the batch."""
        stop = self._size if places is None else int(places[-1]) + 1 if len(places) else 0
        for place, add in self._group.pieces(columns, self._start, self._start + stop, n_rows):
            yield place - self._start, add


def _is_action(add: pa.StructArray, file: str) -> pa.BooleanArray:
    """Which rows are add actions: those whose struct and path are not null."""
    path, size = (member_of(add, name) for name in ("path", "size"))
    if path is None:
        raise damaged_column(file, "add.path")
    if size is not None and pc.any(pc.and_(pc.is_null(path), pc.is_valid(size))).as_py():
        raise damaged_column(file, "add.path")
    return pc.is_valid(path)


def _ends(mask: pa.BooleanArray) -> tuple[int, int]:
    """The index of the first true value, and the one after the last; (0, 0) where none is true."""
    import numpy as np

    if mask.true_count == len(mask):
        return 0, len(mask)
    places = np.flatnonzero(to_numpy(mask))
    return (int(places[0]), int(places[-1]) + 1) if len(places) else (0, 0)


def _columns(add: pa.StructArray, wanted: Sequence[pa.Field], file: str) -> pa.RecordBatch:
    """The members of ``add`` as columns of :func:`file_schema`."""
    import pyarrow as pa

    arrays = []
    for field in wanted:
        member = _MEMBERS[field.name]
        if field.name == "deletion_vector":
            arrays.append(vector_lists(add, member, file))
        else:
            arrays.append(typed(member_of(add, member), len(add), field.type, f"add.{member}", file))
    rows = pa.RecordBatch.from_arrays(arrays, names=[field.name for field in wanted])
    rows.validate(full=True)  # strings of damaged pages need not be UTF-8
    if rows.column("size").null_count:
        raise damaged_column(file, "add.size")
    return rows


def vector_lists(add: pa.StructArray, name: str, file: str) -> pa.ListArray:
    """The member ``name`` of ``add`` as descriptors; a struct without a storage type is no descriptor."""
    import pyarrow as pa

    vector = member_of(add, name)
    storage = None if vector is None else member_of(vector, "storageType")
    if vector is None or storage is None or storage.null_count == len(add):
        return vector_column(pa.repeat(FALSE, len(add)), {})
    has_vector = pc.is_valid(storage)
    vector = pc.filter(vector, has_vector)
    members = {
        f.name: typed(member_of(vector, f.name), len(vector), f.type, f"add.{name}.{f.name}", file)
        for f in vector_type().value_type
    }
    if members["pathOrInlineDv"].null_count:
        raise damaged_column(file, f"add.{name}.pathOrInlineDv")
    return vector_column(has_vector, members)


def typed(found: pa.Array | None, length: int, wanted: pa.DataType, name: str, file: str) -> pa.Array:
    """A column cast to ``wanted``; all null where it is absent. Raises CorruptMetadataError."""
    import pyarrow as pa

    if found is None:
        return pa.nulls(length, wanted)
    if found.type == wanted or _is_encoded(found.type, wanted):
        return found
    try:
        if pa.types.is_string(wanted) and pa.types.is_primitive(found.type):
            raise pa.ArrowTypeError("a number is no string")
        return pc.cast(found, wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise damaged_column(file, name) from error


def _is_encoded(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether ``found`` is the map ``wanted`` with dictionary-encoded keys or values."""
    import pyarrow as pa

    if not pa.types.is_map(wanted) or not pa.types.is_map(found):
        return False
    kinds = [(found.key_type, wanted.key_type), (found.item_type, wanted.item_type)]
    return all(have == want or (pa.types.is_dictionary(have) and have.value_type == want) for have, want in kinds)


def member_of(array: pa.Array, name: str) -> pa.Array | None:
    """The member ``name`` of a struct column, null where the struct is null; None where there is no such member."""
    import pyarrow as pa

    index = array.type.get_field_index(name) if pa.types.is_struct(array.type) else -1
    return None if index < 0 else pc.struct_field(array, [index])
