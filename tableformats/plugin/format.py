"""What a format implements to find and open its tables."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from ..cache.metadata_cache import MetadataCache
from ..dataclass import dataclass
from ..errors import SnapshotNotFoundError, UnsupportedFeatureError
from ..io.storage import Storage
from ..lazy_pattern import lazy_pattern
from ..runtime.boundary import guarded_methods
from .changes import FormatChanges
from .snapshot import FormatSnapshot

if TYPE_CHECKING:
    import pyarrow as pa

    from ..io.catalog_commits import CatalogCommits, CatalogWriter, StagedTable
    from .upkeep import CheckpointResult, KeptFiles
    from .verification import Violation
    from .writing.table_change import CreateRequest, MetadataChange
    from .writing.transaction import FormatTransaction


__all__ = ["FormatTable", "OpenOptions", "SnapshotSelector", "TableFormat", "utc_datetime", "whole_number"]

_WHOLE = lazy_pattern(r"[0-9]{1,20}")


@dataclass(frozen=True)
class OpenOptions:
    """What the caller of ``open_table`` asked for, beyond the location.

    Attributes
    ----------
    relocate : bool or mapping of old prefix to new prefix, optional
        The metadata names other locations: the table was moved or copied.
    cache : MetadataCache
        Where the format caches what it decoded of files that never change.
    format_options : mapping
        Options of the format's own. The core has refused those that are not in :attr:`TableFormat.option_names`.
    catalog_commits : callable, optional
        Asks the table's catalog which commits count. None: the files say it, as those of most tables do.
    catalog_writer : CatalogWriter, optional
        Commits to the table through its catalog. None: it is opened by its location.
    staged : StagedTable, optional
        Where the catalog wants a new table to be.
    """

    relocate: bool | Mapping[str, str] | None = None
    cache: MetadataCache = field(default_factory=MetadataCache)
    format_options: Mapping[str, object] = field(default_factory=dict)
    catalog_commits: Callable[[], CatalogCommits] | None = None
    catalog_writer: CatalogWriter | None = None
    staged: StagedTable | None = None


@dataclass(frozen=True)
class SnapshotSelector:
    """Which snapshot; at most one is set, none means the current one.

    ``timestamp_ms`` is milliseconds since the epoch, UTC, in the years 1 to 9999: the snapshot that was current at that
    instant.
    """

    version: int | str | None = None
    timestamp_ms: int | None = None
    branch: str | None = None
    tag: str | None = None


_READING = ("snapshot", "update", "history", "versions_after", "changes", "appends")


class FormatTable(ABC):
    """A table that was found and opened; holds no snapshot."""

    format: str
    location: str
    commits_to_catalog: bool = False
    """Whether what :meth:`begin` begins is committed through the table's catalog."""

    def __init_subclass__(cls, **options: object) -> None:
        """What a format raises over damaged bytes becomes CorruptMetadataError."""
        super().__init_subclass__(**options)
        guarded_methods(
            cls,
            (
                "snapshot",
                "update",
                "history",
                "versions_after",
                "changes",
                "appends",
                "checkpoint",
                "compact_log",
                "kept_files",
                "verify",
            ),
            "the table's metadata",
        )

    @property
    def directory(self) -> str:
        """The directory of the table's files, absolute: its location, unless that is a file."""
        return self.location

    @abstractmethod
    def snapshot(self, selector: SnapshotSelector) -> FormatSnapshot:
        """The selected snapshot.

        Raises
        ------
        SnapshotNotFoundError
            No such version, timestamp, branch or tag; the message lists what there is.
        CorruptMetadataError, UnsupportedFeatureError
            As found while reading the metadata.
        """

    def update(self, snapshot: FormatSnapshot) -> FormatSnapshot:
        """The newest version, given an older ``snapshot`` of this table; ``snapshot`` itself where nothing is new.

        A format that can read only what is new overrides this; by default the newest version is opened. A table without
        snapshots (version -1) cannot say whether anything is new: it is opened anew. Raises as :meth:`snapshot` does.
        """
        newest = self.snapshot(SnapshotSelector())
        return snapshot if newest.version == snapshot.version != -1 else newest

    @abstractmethod
    def history(self, limit: int | None = None) -> pa.Table:
        """The versions, newest first; ``limit`` of them at most.

        Columns: ``version`` (int64), ``timestamp`` (timestamp[ms, UTC]), ``operation`` (string), then the format's own.
        ``user`` (string), ``added_rows``, ``deleted_rows`` and ``updated_rows`` (int64) mean the same in every format
        that has them.
        """

    def versions_after(self, version: int | None) -> list[int]:
        """The versions after ``version`` (None: all) up to the current one, oldest first.

        Where versions have a lineage, these are the ones of the lineage. By default they are those of :meth:`history`.

        Raises
        ------
        SnapshotNotFoundError
            The current version did not come from ``version``, or versions in between are gone.
        """
        known = self.history()["version"].to_pylist()
        if version is None:
            return list(reversed(known))
        if version not in known:
            raise SnapshotNotFoundError(
                f"there is no version {version}", path=self.location, hint="Start at one that table.history() lists"
            )
        return list(reversed(known[: known.index(version)]))

    def changes(self, starting_version: int | str, ending_version: int | str | None = None) -> FormatChanges:
        """The changes that these versions made, both included; None is the current one.

        Raises
        ------
        SnapshotNotFoundError
            A version does not exist, or its changes do not exist any more (the hint says which do); the ending version
            is before the starting one.
        UnsupportedFeatureError
            The format has no changes, which is the default, or the range cannot be read.
        CorruptMetadataError
            As found while reading the metadata.
        """
        raise UnsupportedFeatureError(
            f"changes between versions are not read from {self.format} tables",
            path=self.location,
            field="changes",
            hint="Compare two snapshots instead",
        )

    def appends(self, exclusive: int | None = None, inclusive: int | None = None) -> FormatSnapshot:
        """The files that appends after the version ``exclusive`` and up to ``inclusive`` added, as a snapshot.

        It has the schema of the version ``inclusive``. See :meth:`tableformats.Table.incremental_append_scan`.

        Raises
        ------
        SnapshotNotFoundError
            A version does not exist, or does not lie after the other.
        UnsupportedFeatureError
            The format does not offer this, which is the default.
        """
        raise UnsupportedFeatureError(
            f"appends alone are not read from {self.format} tables",
            path=self.location,
            field="incremental_append_scan",
            hint="table.changes(starting, ending) gives what every version inserted and deleted",
        )

    def definition_differs(self, partition_by: Sequence[str] | None, properties: Mapping[str, str]) -> str | None:
        """What of a definition (:class:`CreateRequest`) the table does not have: ``partition_by``, or a property.

        None: it has all. ``partition_by`` None: any.
        """
        snapshot = self.snapshot(SnapshotSelector())
        if partition_by is not None:
            fields = snapshot.specs[snapshot.default_spec_id].fields
            if [name.lower() for name in partition_by] != [f.name.lower() for f in fields]:
                return "partition_by"
        return next((name for name, value in properties.items() if snapshot.properties.get(name) != value), None)

    def restoring(self, version: int) -> MetadataChange:
        """The change of metadata that makes an older version the current one.

        Raises
        ------
        UnsupportedFeatureError
            The format has no such change, which is the default.
        """
        raise UnsupportedFeatureError(
            f"{self.format} tables are not set back to an older version here",
            path=self.location,
            field="restore",
            hint="Read the older version, and overwrite the table with its rows",
        )

    def picking(self, version: int | None, staged_id: str | None) -> MetadataChange:
        """The change that takes a version, which no branch has or another one has, into the branch of a transaction.

        Parameters
        ----------
        version : int, optional
        staged_id : str, optional
            What the commit of the version was called, in place of ``version``.

        Raises
        ------
        UnsupportedFeatureError
            The format has no such change, which is the default.
        """
        raise UnsupportedFeatureError(
            f"{self.format} tables have no versions beside the current ones", path=self.location, field="cherry_pick"
        )

    def begin(self, branch: str | None = None) -> FormatTransaction:
        """A transaction upon the current version. A format that is only read does not override this.

        Parameters
        ----------
        branch : str, optional
            Commit to this branch, where the format has branches. None: to the main one.

        Raises
        ------
        UnsupportedFeatureError
            The format is only read, which is the default, or has no branches (``field``).
        SnapshotNotFoundError
            There is no such branch.
        """
        raise _only_read(self.format, self.location, "write")

    def checkpoint(self, version: int | str | None = None) -> CheckpointResult:
        """Write what lets readers open a version without the metadata from before it; nothing that they see changes.

        Parameters
        ----------
        version : int or str, optional
            None: the current version.

        Raises
        ------
        UnsupportedFeatureError
            The format has no checkpoints, which is the default; or the version has a feature that is not honoured.
        """
        raise UnsupportedFeatureError(
            f"{self.format} tables have no checkpoints", path=self.location, field="checkpoint", hint="None is needed"
        )

    def compact_log(self, starting_version: int, ending_version: int) -> str:
        """Write one file that readers may read in the place of several commits, and give its absolute path.

        Raises
        ------
        UnsupportedFeatureError
            The format has no log, which is the default.
        SnapshotNotFoundError
            A commit is not there, or the range has fewer than two.
        """
        raise UnsupportedFeatureError(f"{self.format} tables have no log", path=self.location, field="compact_log")

    def kept_files(self) -> KeptFiles:
        """The files that the table, as it is now, keeps. All others below :attr:`directory` are left over.

        Raises
        ------
        UnsupportedFeatureError
            The format does not say it, which is the default; or the table shares its files with others.
        CorruptMetadataError
            Metadata is damaged, so that nobody knows what it names.
        """
        raise UnsupportedFeatureError(
            f"the files that {self.format} tables keep are not known", path=self.location, field="orphan_files"
        )

    def verify(self, version: int | str | None = None, deep: bool = False) -> Iterable[Violation]:
        """The rules of the format's specification that the table breaks, as strictly as it puts them.

        Unlike a reader it does not stop at what it can do without: damage is a violation, and the rest is looked at.
        The core itself compares statistics with rows where ``deep`` is asked for.

        Parameters
        ----------
        version : int or str, optional
            Look at this version and the metadata that belongs to it. None: at all that the table has.
        deep : bool
            Also open the delete files.

        Raises
        ------
        UnsupportedFeatureError
            The format has no verifier, which is the default.
        SnapshotNotFoundError
            There is no such version.
        """
        raise UnsupportedFeatureError(f"{self.format} tables have no verifier", path=self.location, field="verify")


class TableFormat(ABC):
    """A format: finds out whether a location holds one of its tables, and opens it.

    Attributes
    ----------
    name : str
        What users write in ``open_table(..., format=...)``.
    option_names : frozenset of str
        The options of the format's own that ``open_table(..., format_options=...)`` may have.
    """

    name: str
    option_names: frozenset[str] = frozenset()

    def __init_subclass__(cls, **options: object) -> None:
        """What a format raises over damaged bytes becomes CorruptMetadataError."""
        super().__init_subclass__(**options)
        guarded_methods(cls, ("open",), "the table's metadata")

    def check_options(self, options: Mapping[str, object]) -> None:
        """Raise TypeError, with near names, for an option that is not in :attr:`option_names`."""
        for option in options:
            if option not in self.option_names:
                from difflib import get_close_matches

                near = get_close_matches(str(option), self.option_names, 3) or sorted(self.option_names)
                known = f"near names: {', '.join(near)}" if near else "it has none"
                raise TypeError(f"format {self.name!r} has no option {option!r}; {known}")

    def table_above(self, path: str) -> str | None:
        """The directory of the table that a file of this path is metadata of, by its name alone; None: it is none.

        ``path`` is relative, and the directory may be empty. By default no file is known to be metadata.
        """
        return None

    @abstractmethod
    def detect(self, storage: Storage, options: OpenOptions) -> bool:
        """Whether ``storage.root`` (a directory or a file) is a table of this format, by one or two requests."""

    @abstractmethod
    def open(self, storage: Storage, options: OpenOptions) -> FormatTable:
        """Open the table at ``storage.root``.

        Raises
        ------
        TableNotFoundError
            There is no table.
        CorruptMetadataError, UnsupportedFeatureError
            There is a table that cannot be read.
        """

    def create(self, storage: Storage, options: OpenOptions, request: CreateRequest) -> FormatTransaction:
        """A transaction that creates a table at ``storage.root`` when it is committed. Nothing is written before.

        If another writer creates a table first, the commit is in conflict. With ``request.replace``, and a table at
        ``storage.root``, the transaction is upon that table: the commit removes all rows that it has then, and gives
        it the definition of the request. Its older versions stay. Else its version is -1. A format that creates no
        tables does not override this.

        Raises
        ------
        UnsupportedFeatureError
            The format is only read, which is the default; or a type, a transform or a property is not written
            (``field``).
        ConstraintViolationError
            The request contradicts itself, such as a partition column that is no column.
        """
        raise _only_read(self.name, storage.root, "create")

    def definition(self, request: CreateRequest) -> Mapping[str, object]:
        """The table of a request as a catalog is told it, before it says where the table goes.

        In the JSON of the REST catalog of Iceberg, ``CreateTableRequest``. A format whose tables catalogs do not create
        does not override this. Raises as :meth:`create`.
        """
        raise UnsupportedFeatureError(
            f"{self.name} tables are not created in catalogs",
            field="catalog",
            hint="Nothing was written; create the table at a location, and register it in the catalog",
        )


def _only_read(name: str, path: str, field: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{name} tables are only read",
        path=path,
        field=field,
        hint="Nothing was written; write the table with another library",
    )


def utc_datetime(timestamp_ms: int) -> dt.datetime:
    """Milliseconds since the epoch as an aware datetime in UTC. Raises OverflowError outside of the years 1 to 9999."""
    return dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(milliseconds=timestamp_ms)


def whole_number(text: object) -> int | None:
    """The number below 2**63 that a text of at most 20 digits (ASCII, no sign) stands for; None for anything else."""
    number = int(text) if isinstance(text, str) and _WHOLE.fullmatch(text) else None
    return number if number is not None and number < 2**63 else None
