"""Footers of Parquet files, decoded, and their cache: a second query of the same files reads none.

A cached footer serves as long as the file is the same. A local file is, if it has the size and the time of modification
that it had. Of a file in a store the ETag is compared with that of each range that is read later, so another file is
refused; where a store gives no ETags, nothing is cached.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import pyarrow as pa
import pyarrow.parquet as pq

from ....dataclass import dataclass
from ....errors import CorruptMetadataError
from ....io.parquet.chunks import RowGroups, check_footer
from ....io.stores.base import Tail
from ....io.stores.remote_source import RemoteSource
from ....limits import FOOTER_ITEMS, Limits
from ..values.calendars import OldCalendars
from .column_tree import FileNode, file_tree

if TYPE_CHECKING:
    from ....cache.metadata_cache import MetadataCache
    from ....io.storage import Storage

__all__ = ["CachedFooters", "ParquetFooter", "open_parquet"]

_EXPANSION = 8
"""About how many bytes Arrow makes of a byte of a footer."""
_LEAF_BYTES = 1_000
"""About what a leaf column takes in the tree of columns."""
_TREES: WeakValueDictionary[bytes, FileNode] = WeakValueDictionary()
"""By their serialized Arrow schemas, whose fields have ids."""


@dataclass(frozen=True)
class ParquetFooter:
    """What the footer of a file says: Arrow's form of it, the column chunks, and the tree of columns."""

    metadata: Any
    groups: RowGroups
    root: FileNode

    @classmethod
    def read(cls, source: pa.NativeFile, path: str, limits: Limits) -> ParquetFooter:
        """Read the footer of a file.

        Raises
        ------
        CorruptMetadataError
            It is damaged, or contradicts itself.
        LimitExceededError
            It becomes more than the limit ``expansion`` allows.
        """
        check_footer(source, path, limits)
        file = open_parquet(source)
        metadata, columns = file.metadata, file.schema
        root = file_tree(file.schema_arrow, b"PARQUET:field_id", path, limits)
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        if any(group.num_columns != len(columns) for group in groups):
            raise CorruptMetadataError(
                "a row group of the file does not have the columns of its schema", path=path, hint="Restore the file"
            )
        chunks = RowGroups(source, metadata, path)
        if root.leaves.stop != len(columns):
            raise CorruptMetadataError(
                "the Arrow schema in the file does not describe its columns", path=path, hint="Rewrite the file"
            )
        old = OldCalendars.of(metadata.metadata)
        if old is not None and root.children:
            root = root.with_calendars(lambda i, kind: old.of_column(columns.column(i).physical_type, kind))
        else:
            root = _shared_tree(root, file.schema_arrow)
        return cls(metadata, chunks, root)

    @property
    def nbytes(self) -> int:
        """About how many bytes of memory it takes."""
        return int(self.metadata.serialized_size) * _EXPANSION + self.root.leaves.stop * _LEAF_BYTES


def _shared_tree(root: FileNode, schema: pa.Schema) -> FileNode:
    """The tree that files with equal schemas share, so that what follows from it is made once for all of them."""
    return _TREES.setdefault(schema.remove_metadata().serialize().to_pybytes(), root)


class CachedFooters:
    """The footer of one data file in a cache.

    Parameters
    ----------
    storage : Storage
    cache : MetadataCache
        Of the table.
    path : str
    size : int
        The bytes of the file, as the metadata say.
    """

    def __init__(self, storage: Storage, cache: MetadataCache, path: str, size: int) -> None:
        self._storage, self._cache, self._path = storage, cache, path
        self._key: Hashable = ("footer", path, size)
        found: tuple[Hashable, ParquetFooter | None] = cache.find(self._key) or (None, None)
        self._identity, self._footer = found
        self._before = self._stamp()

    @property
    def tail(self) -> Tail | None:
        """What opens the file in a store without a request. None: its footer is read, or it is local."""
        return self._identity if isinstance(self._identity, Tail) else None

    def footer_of(self, source: pa.NativeFile) -> ParquetFooter | None:
        """The cached footer of the file, which was opened meanwhile; None: it is read."""
        return self._footer if self._identity_of(source) == self._identity else None

    def keep(self, source: pa.NativeFile, footer: ParquetFooter) -> None:
        """Cache the footer of ``source``, if it was read."""
        if footer is self._footer:
            return
        identity = self._identity_of(source)
        if identity is not None:
            self._cache.keep(self._key, (identity, footer), footer.nbytes)

    def _identity_of(self, source: pa.NativeFile) -> Hashable:
        """What is equal for equal files alone. None: nobody can say."""
        if isinstance(source, RemoteSource):
            return source.identity
        return self._before if self._before == self._stamp() else None

    def _stamp(self) -> Hashable:
        try:
            return self._storage.stamp_of(self._path)
        except (OSError, ValueError):  # in a store, or not there
            return None


def open_parquet(
    source: pa.NativeFile,
    metadata: Any = None,
    piece: int = 0,
    read_dictionary: Sequence[str] = (),
) -> pq.ParquetFile:
    """Open a file; without reading its footer, if that is given.

    Parameters
    ----------
    piece : int
        Read columns in pieces of so many bytes; 0: whole.
    read_dictionary : sequence of str
        The paths of columns that are read as dictionary arrays.
    """
    # int96 values as nanoseconds would wrap around outside of the years 1677 to 2262.
    return pq.ParquetFile(
        source,
        metadata=metadata,
        coerce_int96_timestamp_unit="us",
        thrift_container_size_limit=FOOTER_ITEMS,
        buffer_size=piece,
        read_dictionary=read_dictionary,
    )
