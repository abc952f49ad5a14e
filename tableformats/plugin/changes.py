"""What a format implements so that the changes between two versions can be read: which files, and what rows of each.

A plugin yields :class:`ChangeBatch` es of files in the order of their versions; the core adds the columns
``_change_type``, ``_commit_version`` and ``_commit_timestamp``, prunes, and reads with the readers of every scan. Three
kinds of files cover what formats do:

- all live rows of a file were inserted, or deleted (append, copy-on-write);
- the rows of a file that some deletes select, and that others did not delete before (merge-on-read);
- the rows of a file that was written to hold changes, and says in a column of its own what each is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..runtime.boundary import guarded_methods

if TYPE_CHECKING:
    import pyarrow as pa

    from .deletes import DeleteFiles
    from .files import FileBatch
    from .partitions import PartitionSpec
    from .snapshot import FormatSnapshot, ReadRequest

__all__ = ["DELETE", "INSERT", "ChangeBatch", "FormatChanges"]

INSERT = "insert"
DELETE = "delete"


@dataclass
class ChangeBatch:
    """Some files of one or several versions, one row a file, in the order of the versions.

    Attributes
    ----------
    batch : FileBatch
        The files. Its ``keys`` and ``live`` are ignored: every file counts, however often it stands there.
    versions : int64[n_files]
        The version that committed each file's changes.
    timestamps_ms : int64[n_files]
        When, in milliseconds since the epoch, UTC; null means unknown.
    change_types : string[n_files], optional
        :data:`INSERT` or :data:`DELETE`. None: the files have a column ``_change_type``, found by name, with insert,
        delete, update_preimage or update_postimage in every row.
    """

    batch: FileBatch
    versions: pa.Int64Array
    timestamps_ms: pa.Int64Array
    change_types: pa.StringArray | None


class FormatChanges(ABC):
    """The changes that the versions ``starting_version`` to ``ending_version`` made, both included.

    Attributes
    ----------
    starting_version, ending_version : int
    snapshot : FormatSnapshot
        The ending version. Rows of all versions are given by its schema, name mapping and paths.
    specs : mapping of id to PartitionSpec
        Every partition spec that a batch may name; fields have the ids of ``snapshot.schema``.
    """

    starting_version: int
    ending_version: int
    snapshot: FormatSnapshot
    specs: Mapping[int, PartitionSpec]

    def __init_subclass__(cls, **options: object) -> None:
        """What a format raises over damaged bytes becomes CorruptMetadataError."""
        super().__init_subclass__(**options)
        guarded_methods(cls, ("read", "added_files", "attach_deletes"), "the table's changes")

    @abstractmethod
    def read(self, request: ReadRequest) -> Iterator[ChangeBatch]:
        """The files to read for the changes, oldest version first, in each version deletes before inserts.

        Statistics must hold for the rows that changed: those of a file from before a delete, where it deleted rows.

        Raises
        ------
        CorruptMetadataError
            The metadata is damaged or incomplete.
        UnsupportedFeatureError
            The rows of a version cannot be given by the ending version's schema.
        """

    @abstractmethod
    def added_files(self, request: ReadRequest) -> Iterator[ChangeBatch]:
        """All files that the versions added, as they were then, as inserts. ``FileBatch.files`` has a further column
        ``data_change`` (bool): false where the commit only rearranged rows. Raises as :meth:`read` does."""

    @abstractmethod
    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        """The deletes of ``files``, rows of what :meth:`read` gave, as
        :meth:`tableformats.plugin.FormatSnapshot.attach_deletes`. ``DeleteFiles.files`` has a further column
        ``selects`` (bool): where a file has deletes for which it is true, only the rows that these delete changed;
        the rows of the others are left out in any case."""
