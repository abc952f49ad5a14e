"""What one commit does to a table, in columns and in words of no format: :class:`TableChange`.

The core makes a change from what a verb wrote and read. A format turns it into its own metadata. What other writers
committed in the meantime comes back as :class:`CommittedChange`, so that the core can decide whether it is in conflict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING

from ...dataclass import dataclass
from ...expressions.tree import TRUE, Expression
from ...schema import Schema
from ..files import FileBatch
from ..partitions import PartitionSpec

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CommittedChange", "ConflictCheck", "CreateRequest", "MetadataChange", "ReferenceChange", "TableChange"]


@dataclass(frozen=True)
class CreateRequest:
    """A table to be created.

    Attributes
    ----------
    schema : Schema
        Numbered from 1; the format may number it anew.
    partition_by : sequence of str
        Names of columns, or transforms of them in the format's spelling (``"bucket(16, id)"``).
    sort_by : sequence of str
        Names of columns by which the rows of files are sorted, each with ``" desc"`` behind it where they descend.
    properties : mapping of str to str
    replace : bool
        A table that is there gets this definition by the commit; without it the commit loses.
    """

    schema: Schema
    partition_by: Sequence[str] = ()
    sort_by: Sequence[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    replace: bool = False


@dataclass(frozen=True)
class ReferenceChange:
    """What a branch or tag becomes.

    Attributes
    ----------
    kind : str
        "branch" or "tag".
    version : int, optional
        Where it will be. None: where it is, or, if it is new, at the current version.
    must_exist : bool, optional
        Whether it has to be there, or must not be there. None: either.
    max_age_ms : int, optional
        How long it is kept, in milliseconds. None: as it was.
    min_versions, max_version_age_ms : int, optional
        How many versions of a branch are kept at least, and how long each. None: as it was.
    only_forward : bool
        Whether its version has to be an ancestor of the new one.
    is_removed : bool
        It is removed.
    """

    kind: str
    version: int | None = None
    must_exist: bool | None = None
    max_age_ms: int | None = None
    min_versions: int | None = None
    max_version_age_ms: int | None = None
    only_forward: bool = False
    is_removed: bool = False


@dataclass(frozen=True)
class MetadataChange:
    """How a commit changes the metadata of a table; None: as it was.

    Attributes
    ----------
    schema : Schema, optional
        The new columns. Those that keep an id are the same columns; those with the id 0 are new.
    partition_by, sort_by : sequence of str, optional
        As in :class:`CreateRequest`.
    references : mapping of str to ReferenceChange
        Branches and tags by their names.
    defaults : mapping of tuple of str to str or None
        By columns, each by the names from the top-level one down: what they are in new rows that lack them, in SQL;
        None: NULL again.
    properties : mapping of str to str or None
        Set, or with None removed.
    constraints : mapping of str to str or None
        Conditions of rows by their names: SQL, or with None dropped.
    create : CreateRequest, optional
        The commit creates the table, or replaces its definition.
    plugin_data : object
        What the format's own verbs have to say beyond this.
    """

    schema: Schema | None = None
    partition_by: Sequence[str] | None = None
    sort_by: Sequence[str] | None = None
    defaults: Mapping[tuple[str, ...], str | None] = field(default_factory=dict)
    properties: Mapping[str, str | None] = field(default_factory=dict)
    constraints: Mapping[str, str | None] = field(default_factory=dict)
    references: Mapping[str, ReferenceChange] = field(default_factory=dict)
    create: CreateRequest | None = None
    plugin_data: object = None


@dataclass(frozen=True)
class TableChange:
    """What one commit does.

    Attributes
    ----------
    operation : str
        "append", "overwrite", "delete", "update", "rewrite", "alter" or "create".
    added : pyarrow.Table, optional
        New data files, as :func:`tableformats.plugin.added_files_schema` says.
    removed : pyarrow.Table, optional
        The files that go: rows of the planned snapshot, with the columns of ``FileBatch.files`` that the format gave
        (``path`` as stored) and their ``partition``. With ``removed_counts``, the rows of each.
    removed_counts : int64[n], optional
        The physical rows of the removed files; null where unknown.
    deleted_rows, copied_rows : int, optional
        How many rows of the removed files go, and how many of them are among ``added`` again, for the history.
    read : Expression, optional
        What was read of the table: a condition, bound to the schema of the version it was read at. The outcome depends
        on all rows for which it is TRUE. None: nothing was read (a blind append). TRUE: all rows.
    read_files : pyarrow.Table, optional
        The files whose rows were read, as ``removed``. Their removal by a winner is a conflict.
    metadata : MetadataChange, optional
    application : (str, int), optional
        The name of an application and the number of its transaction. A number is committed once.
    properties : mapping of str to str
        What the user says of the commit.
    parameters : mapping of str to object
        What the verb was asked for, for the history: ``mode``, ``predicate``, ...
    isolation : str, optional
        None: as the table's properties say.
    data_change : bool
        False: the rows of the table stay what they were (a rewrite).
    changed_rows : pyarrow.Table, optional
        Files of a change data feed that the verb wrote.
    """

    operation: str
    added: pa.Table | None = None
    removed: pa.Table | None = None
    removed_counts: pa.Int64Array | None = None
    deleted_rows: int | None = None
    copied_rows: int | None = None
    read: Expression | None = None
    read_files: pa.Table | None = None
    metadata: MetadataChange | None = None
    application: tuple[str, int] | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)
    isolation: str | None = None
    data_change: bool = True
    changed_rows: pa.Table | None = None

    @property
    def is_blind_append(self) -> bool:
        """Whether the outcome depends on no row of the table."""
        return self.read is None and not any(t is not None and t.num_rows for t in (self.removed, self.read_files))

    @property
    def reads_all(self) -> bool:
        """Whether the outcome depends on every row of the table."""
        return self.read == TRUE

    def __bool__(self) -> bool:
        """Whether there is anything to commit."""
        has_files = any(t is not None and t.num_rows for t in (self.added, self.removed, self.changed_rows))
        return has_files or self.metadata is not None


@dataclass(frozen=True)
class CommittedChange:
    """What another writer committed.

    Attributes
    ----------
    version : int
    added : sequence of FileBatch
        The data files that it added, with their statistics. Files that it only gave other deletes are not among them.
    specs : mapping of int to PartitionSpec
        The partition specs of ``added``.
    touched : string[n]
        Absolute paths of the data files that it removed, or of which it changed the deletes.
    metadata_changed, protocol_changed : bool
        Whether columns, partitioning or properties, or what readers and writers need, are other ones.
    domains : frozenset of str
        The domains of metadata that it changed.
    applications : mapping of str to int
        The transactions of applications that it recorded.
    is_blind_append : bool
        Whether it depends on no row of the table.
    data_change : bool
        False: it only rewrote rows (``rewrite``).
    """

    version: int
    added: Sequence[FileBatch] = ()
    specs: Mapping[int, PartitionSpec] = field(default_factory=dict)
    touched: pa.StringArray | None = None
    metadata_changed: bool = False
    protocol_changed: bool = False
    domains: frozenset[str] = frozenset()
    applications: Mapping[str, int] = field(default_factory=dict)
    is_blind_append: bool = False
    data_change: bool = True


class ConflictCheck(Enum):
    """What about a winner can be a conflict. A format names the checks of each of its isolation levels."""

    ADDED = "it added rows that match what was read"
    """Files of any winner that changed data."""
    ADDED_AFTER_READING = "it added rows that match what was read, depending on the table itself"
    """As :attr:`ADDED`, but blind appends count as if they came later."""
    TOUCHED = "it removed files that were read or are removed, or changed their deletes"
    METADATA = "it changed the table's metadata"
    PROTOCOL = "it changed what readers and writers of the table need"
    DOMAINS = "it changed domains of the table's metadata"
