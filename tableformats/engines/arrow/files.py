"""Data files opened for reading: Parquet, Avro, and ORC as far as its values are certain.

A :class:`DataFile` shows its columns as a tree and gives the leaves that are asked for, row group after row group,
never the whole file. What the readers of Arrow throw at damaged bytes leaves here as one of our errors.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import types

from ...errors import CorruptMetadataError, TableFormatsError, UnsupportedFeatureError
from ...io.orc_tail import OrcTail
from ...io.storage import missing_file
from ...limits import Limits
from .calendars import OldCalendars
from .casts import without_views
from .nodes import FileNode, Selection, file_tree, numbered_as

if TYPE_CHECKING:
    from ...io.storage import Storage
    from ...planning.tasks import ScanTask
    from ...plugin.columns import NameMapping

__all__ = ["BATCH_ROWS", "DataFile", "Part", "counted_rows", "empty_rows", "open_data_file", "open_stored", "reading"]

BATCH_ROWS = 131_072
"""Rows of a batch, at most."""


@dataclass(frozen=True)
class Part:
    """The bytes from ``start`` to ``end`` (None: all that follow) of a file, which share it out among tasks."""

    start: int = 0
    end: int | None = None

    def holds(self, place: int) -> bool:
        """Whether what stands at ``place`` belongs to this part: the first one takes what lies before the file, too."""
        return (self.start <= place or self.start == 0) and (self.end is None or place < self.end)


class DataFile(ABC):
    """An open data file.

    Attributes
    ----------
    path : absolute
    root : its columns
    num_rows : physical rows, as its footer counts them
    part : the rows of row groups (stripes, blocks) outside of it are not read
    """

    path: str
    root: FileNode
    num_rows: int
    part: Part = Part()

    def select(self, leaves: frozenset[int]) -> Selection:
        """The selection that holds at least ``leaves``."""
        return Selection(self.root, leaves)

    @abstractmethod
    def rows(self, selection: Selection) -> Iterator[tuple[int, pa.StructArray]]:
        """All physical rows of the part in order, one member for each top-level column of ``selection``; with each
        batch comes the position of its first row in the file.

        Raises
        ------
        CorruptMetadataError : the file is damaged
        UnsupportedFeatureError : it uses what the reader lacks (a codec, encryption)
        """


_OpenFile = Callable[[str, pa.NativeFile, Limits], DataFile]


@contextmanager
def open_data_file(storage: Storage, task: ScanTask, mapping: NameMapping) -> Iterator[DataFile]:
    """The data file of ``task``, or its part, closed afterwards; one without field ids is numbered as the mapping says.

    Raises
    ------
    CorruptMetadataError : the file is missing or damaged
    UnsupportedFeatureError : its format (``field``) is not read
    TableFormatsError : the store refuses it
    """
    from .avro import AvroFile

    kinds: dict[str, _OpenFile] = {"parquet": _Parquet, "orc": _Orc, "avro": AvroFile}
    if task.file_format not in kinds:
        name = f"{task.file_format} data files"
        raise UnsupportedFeatureError(
            f"{name} are not read", path=task.path, field=name, hint="Rewrite the table in Parquet"
        )
    with open_stored(storage, task.path) as source:
        with reading(task.path):
            file = kinds[task.file_format](task.path, source, storage.limits)
        end = task.start + task.length
        file.part = Part(task.start, None if end >= task.size_bytes else end)
        if mapping.by == "id" and not file.root.has_ids:
            file.root = _numbered(file.root, mapping)
        yield file


def _numbered(root: FileNode, mapping: NameMapping) -> FileNode:
    if mapping.names:
        return root.with_ids(mapping.names)
    return root if mapping.undropped is None else numbered_as(root, mapping.undropped) or root


def open_stored(storage: Storage, path: str) -> pa.NativeFile:
    """A data file, unread.

    Raises
    ------
    CorruptMetadataError : it is missing
    TableFormatsError : the store refuses it
    """
    try:
        return storage.open_file(path)
    except FileNotFoundError as error:
        raise missing_file("a data file that the table names", path) from error
    except (OSError, pa.ArrowException) as error:
        raise TableFormatsError(
            f"a data file cannot be opened: {error}", path=path, hint="Check the store and its permissions"
        ) from error


_LACKING = {"encrypt": "encrypted data files", "Logical type": "the file's Parquet logical types"}


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Whatever Arrow raises over the bytes of ``path`` in this block becomes a typed error."""
    try:
        yield
    except TableFormatsError:
        raise
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedFeatureError(
            f"Arrow cannot read the file: {error}", path=path, field=str(error), hint="Rewrite the file"
        ) from error
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError, zlib.error) as error:
        # Arrow has one kind of error for what is damaged and for what it lacks; its words tell them apart.
        lacking = next((feature for words, feature in _LACKING.items() if words in str(error)), None)
        if lacking is not None:
            raise UnsupportedFeatureError(
                f"Arrow does not read {lacking}: {error}", path=path, field=lacking, hint="Rewrite the file"
            ) from error
        raise CorruptMetadataError(
            f"the data file cannot be read: {error}", path=path, hint="Restore the file, or drop it from the table"
        ) from error


class _Parquet(DataFile):
    def __init__(self, path: str, source: pa.NativeFile, limits: Limits) -> None:
        import pyarrow.parquet as pq

        self.path = path
        # int96 as nanoseconds wraps around outside of 1677 to 2262.
        self._file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us", pre_buffer=True)
        self.root = file_tree(self._file.schema_arrow, b"PARQUET:field_id", path, limits)
        self.num_rows = self._file.metadata.num_rows
        if self.root.leaves.stop != len(self._file.schema):
            raise CorruptMetadataError(
                "the Arrow schema in the file does not describe its columns", path=path, hint="Rewrite the file"
            )
        old, columns = OldCalendars.of(self._file.metadata.metadata), self._file.schema
        if old is not None and self.root.children:
            self.root = self.root.with_calendars(lambda i, kind: old.of_column(columns.column(i).physical_type, kind))

    def rows(self, selection: Selection) -> Iterator[tuple[int, pa.StructArray]]:
        first, metadata = 0, self._file.metadata
        for group in range(metadata.num_row_groups):
            with reading(self.path):
                described = metadata.row_group(group)
                chosen = self.part == Part() or self.part.holds(_middle(described))
            if chosen:
                yield from counted_rows(self._group(group, selection), first, described.num_rows, self.path)
            first += described.num_rows
        if first != self.num_rows:
            raise CorruptMetadataError(
                f"the file holds {first} rows where its footer counts {self.num_rows}",
                path=self.path,
                hint="Restore the file",
            )

    def _group(self, group: int, selection: Selection) -> Iterator[pa.StructArray]:
        # One row group after the other, so that buffered column chunks of only one are held.
        batches = self._file.reader.iter_batches(
            BATCH_ROWS, row_groups=[group], column_indices=selection.leaves, use_threads=True
        )
        yield from _guarded((without_views(batch.to_struct_array()) for batch in batches), self.path)


def _middle(group: Any) -> int:
    """Where the middle of a Parquet row group lies in its file, as parquet-java computes it. Whatever a damaged footer
    says, the answer is the same for every part."""
    if not group.num_columns:
        return 0
    columns = [group.column(i) for i in range(group.num_columns)]
    first = columns[0]
    start = first.data_page_offset
    if first.dictionary_page_offset is not None and 0 < first.dictionary_page_offset < start:
        start = first.dictionary_page_offset
    return int(start + sum(column.total_compressed_size for column in columns) // 2)


class _Orc(DataFile):
    def __init__(self, path: str, source: pa.NativeFile, limits: Limits) -> None:
        from pyarrow import orc

        self.path = path
        self._source = source
        self._file = orc.ORCFile(source)
        self.root = file_tree(self._file.schema, b"iceberg.id", path, limits)
        self.num_rows = self._file.nrows

    def select(self, leaves: frozenset[int]) -> Selection:
        """Top-level columns are read whole.

        Raises
        ------
        UnsupportedFeatureError : for timestamps that may not be what Arrow makes of them, see :class:`OrcTail`
        """
        columns = Selection(self.root, leaves).columns(self.root)
        self._check_timestamps({c.name for c in columns if any(types.is_timestamp(node.type) for node in c.walk())})
        return Selection(self.root, (leaf for column in columns for leaf in column.leaves))

    def rows(self, selection: Selection) -> Iterator[tuple[int, pa.StructArray]]:
        names = [column.name for column in selection.columns(self.root)]
        stripes = None if self.part == Part() else self._stripes()
        if stripes is None:
            # Where the stripes lie is not needed, or not known: then the first part is the whole file.
            if self.part.start == 0:
                yield from counted_rows(self._batches(names), 0, self.num_rows, self.path)
            return
        first = 0
        for i, (offset, count) in enumerate(stripes):
            if self.part.holds(offset):
                rows = self._batches(names, i) if names else empty_rows(count)
                yield from counted_rows(rows, first, count, self.path)
            first += count

    def _batches(self, names: list[str], *stripes: int) -> Iterator[pa.StructArray]:
        """The rows of some stripes; of all where none is named."""
        if not names:
            return empty_rows(self.num_rows)
        return _guarded((self._stripe(i, names) for i in stripes or range(self._file.nstripes)), self.path)

    def _stripes(self) -> list[tuple[int, int]] | None:
        with reading(self.path):
            found = OrcTail(self._source).stripes()
        return found if found is None or sum(count for _, count in found) == self.num_rows else None

    def _check_timestamps(self, names: set[str]) -> None:
        if not names:
            return
        with reading(self.path):
            doubt = OrcTail(self._source).timestamp_problem(self._file.schema, names)
        if doubt is not None:
            raise UnsupportedFeatureError(
                f"timestamps of an ORC data file are not read: {doubt}",
                path=self.path,
                field="ORC timestamps",
                hint="Select the other columns, or rewrite the file",
            )

    def _stripe(self, index: int, names: list[str]) -> pa.StructArray:
        batch = self._file.read_stripe(index, columns=names)
        if batch.schema.names != names:
            # Arrow selects by dotted names, which may mean something else.
            raise UnsupportedFeatureError(
                "these column names cannot be told apart in ORC files",
                path=self.path,
                field=", ".join(names),
                hint="Rename the columns, or rewrite the file",
            )
        return batch.to_struct_array()


def empty_rows(num_rows: int) -> Iterator[pa.StructArray]:
    """So many rows without columns."""
    for start in range(0, num_rows, BATCH_ROWS):
        yield pa.Array.from_buffers(pa.struct([]), min(BATCH_ROWS, num_rows - start), [None], children=[])


def counted_rows(
    rows: Iterator[pa.StructArray], first: int, count: int, path: str
) -> Iterator[tuple[int, pa.StructArray]]:
    """The same rows, each batch with the position of its first row; ``first`` is that of the first batch.

    Raises CorruptMetadataError where they are not as many as the file's footer counts.
    """
    read = 0
    for batch in rows:
        yield first + read, batch
        read += len(batch)
    if read != count:
        raise CorruptMetadataError(
            f"the file holds {read} rows where its footer counts {count}", path=path, hint="Restore the file"
        )


def _guarded(items: Iterator[Any], path: str) -> Iterator[Any]:
    """The same items; what is raised while the next one is made leaves as a typed error."""
    while True:
        with reading(path):
            item = next(items, None)
        if item is None:
            return
        yield item
