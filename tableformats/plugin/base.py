"""What a format implements, and the columns that it exchanges with the core.

A table's files are a table: a plugin yields :class:`FileBatch` es of Arrow columns, newest first, and the core
reconciles, prunes and plans. A plugin never sees an engine, the core never sees a log or a manifest.

The four classes to implement, top down: :class:`TableFormat` (is there a table?), :class:`FormatTable` (which
snapshots has it?), :class:`FormatSnapshot` (which files, under which schema?) and, for what is costly,
:class:`Statistics` (bounds of the columns that a predicate names, decoded when they are asked for).
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..cache.metadata_cache import MetadataCache
from ..errors import PluginContractError
from ..schema import Field, Schema, Type
from .statistics import Statistics, StatisticsOfRows

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyroaring import BitMap64

    from ..io.storage import Storage
    from ..schema.transforms import Transform
    from .changes import FormatChanges
    from .report import ScanReport

__all__ = [
    "EQUALITY",
    "DeleteFiles",
    "FileBatch",
    "FilePart",
    "FormatSnapshot",
    "FormatTable",
    "Implied",
    "ImpliedBounds",
    "MetadataColumn",
    "NameMapping",
    "OpenOptions",
    "PartitionField",
    "PartitionSpec",
    "ReadRequest",
    "SnapshotSelector",
    "SplitOptions",
    "TableFormat",
    "deletes_type",
    "partition_members",
    "utc_datetime",
]


@dataclass(frozen=True)
class OpenOptions:
    """What the caller of ``open_table`` asked for, beyond the location."""

    relocate: bool | Mapping[str, str] | None = None
    cache: MetadataCache = field(default_factory=MetadataCache)
    """Where the format keeps what it decoded of files that never change; the core keeps there what it made of them."""


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


@dataclass(frozen=True)
class PartitionField:
    """A column of the partition tuple: ``transform`` applied to the column with id ``source_id``.

    ``id`` is unique over all specs of the table (Iceberg: 1000 and up; other formats number likewise).
    """

    id: int
    name: str
    source_id: int
    transform: Transform
    type: Type
    """Type of the partition values, as the transform gives it."""


@dataclass(frozen=True)
class Implied:
    """What partition values say of another column, a row a file.

    ``lower`` and ``upper`` [n] have the Arrow type of that column, inclusive, null = unknown. ``may_value`` and
    ``may_null`` (uint8[n]) are 0 where no row can hold a value, or a NULL. Nothing is said of NaN, so the column is
    no floating-point one.
    """

    lower: pa.Array
    upper: pa.Array
    may_value: np.ndarray
    may_null: np.ndarray


def partition_members(specs: Mapping[int, PartitionSpec]) -> tuple[Field, ...]:
    """The partition fields of all specs, each id once, in order of id, as members of a struct.

    Evolved specs may use a name again: it then gets the id behind it.
    """
    fields = {f.id: f for spec in specs.values() for f in spec.fields}
    members: dict[str, Field] = {}
    for _, f in sorted(fields.items()):
        name = f.name if f.name not in members else f"{f.name}_{f.id}"
        members[name] = Field(f.id, name, f.type)
    return tuple(members.values())


class ImpliedBounds(ABC):
    """Bounds of a column that follow from partition columns which the writers computed from it.

    Attributes
    ----------
    source_id : the column that is bounded
    field_ids : the partition fields whose values say so, one or more
    """

    source_id: int
    field_ids: tuple[int, ...]

    @abstractmethod
    def of(self, values: Sequence[pa.Array], source: Type) -> Implied:
        """What the values of the ``field_ids`` (each [n], in the field's type) say of the column of type ``source``."""


@dataclass(frozen=True)
class PartitionSpec:
    """``fields`` make the partition tuple; ``implied`` is what they say of yet other columns, for pruning alone."""

    id: int
    fields: tuple[PartitionField, ...]
    implied: tuple[ImpliedBounds, ...] = ()


@dataclass(frozen=True)
class NameMapping:
    """How columns are found in a data file.

    ``by`` is ``"name"`` (``Field.stored_name``; nested members too) or ``"id"`` (Parquet ``field_id``). With
    ``"id"``, files that carry no ids fall back to ``names``: {dotted name in the file: field id}, or where that is
    empty to ``undropped``. Source: Iceberg spec, "Column Projection" and "Name Mapping"; Delta PROTOCOL.md, "Column
    Mapping".
    """

    by: str = "name"
    names: Mapping[str, int] = field(default_factory=dict)
    partition_values_first: bool = False
    """True: identity partition values replace what the file holds (Delta: partition columns live in the log alone).
    False: they stand in only for columns that the file lacks (Iceberg)."""
    by_name: frozenset[int] = frozenset()
    """Ids of the columns that are found by name whatever ``by`` says, because files give them no id."""
    undropped: Schema | None = None
    """The snapshot's schema where it has every column that the table ever had, numbered by position from 1 on. Files
    without ids that ``names`` is silent about are numbered by it if their columns stand where it has them; Iceberg's
    reference finds them by position (Parquet) or by name (ORC, Avro), which then is the same."""


@dataclass(frozen=True)
class MetadataColumn:
    """A column of no file's schema, given where a scan names it: a row has it by its file and its place there.

    ``field`` has an id that no column of the schema has: a negative one, or one that the format reserves. A row's
    value is that of the file's own column ``stored_name`` or ``stored_id`` (None: there is none) where that holds one.
    Otherwise it is the file's value in ``per_file`` (None: there is none), and with ``counts_rows`` (then it is a long)
    the row's position in the file on top of it. ``per_file`` is an int64 column of :attr:`FileBatch.files`, or
    ``path`` (absolute), ``spec_id`` or ``partition``, whose members are :func:`partition_members`.
    """

    field: Field
    per_file: str | None
    counts_rows: bool = False
    stored_name: str | None = None
    stored_id: int | None = None
    null_without: str | None = None
    """An int64 column of :attr:`FileBatch.files`: all rows of a file that has NULL there have NULL, whatever the file
    stores. None: a file without a value in ``per_file`` has to store all of its own, or it is damaged."""


@dataclass
class ReadRequest:
    """What the core wants of :meth:`FormatSnapshot.read`.

    ``columns`` are the leaf columns that the predicate names: only their bounds will be asked for.
    """

    columns: tuple[Field, ...]
    report: ScanReport
    manifest_filter: Any = None
    """None, or a :class:`ManifestFilter`; ``decide(spec, ...)`` prunes a group of files at
    once, and says of which columns its files may be asked."""
    read_elsewhere: bool = False
    """Other processes will read the parts that add no keys: what means a look into many files is better done there.
    ``read`` of such parts is pickled, with a snapshot as :meth:`FormatSnapshot.__getstate__` leaves it."""


@dataclass
class FileBatch:
    """Some files of a snapshot, one row a file.

    ``files`` has at least these columns, and may have ``file_format`` (string, lower case; parquet where absent)
    and ``split_offsets`` (list<int64>, bytes of the file at which row groups begin, ascending; empty where unknown):

    ===============  ========  ==================================================================================
    path             string    as stored; :meth:`FormatSnapshot.resolve_paths` makes it absolute, once, for survivors
    size_bytes       int64
    partition        struct    members called by the partition field's id (``"1000"``), typed; empty struct if none
    ===============  ========  ==================================================================================

    ``record_count`` (int64, physical rows; null = unknown) is there where it costs nothing; where statistics would have
    to be read for it, it is left out and :meth:`Statistics.record_counts` gives it,

    and whatever columns the format needs later, in :meth:`FormatSnapshot.attach_deletes` or as columns of
    ``plan.files`` (those named in :attr:`FormatSnapshot.extra_columns`). All rows have one ``spec_id``.

    ``keys`` and ``live`` are for formats whose log must be reconciled: newest batch first, the first row of a key
    decides, and the file is live where that row's ``live`` is true. None: every row is live, no key is looked at.
    """

    files: pa.RecordBatch
    spec_id: int = 0
    statistics: Statistics | None = None
    keys: pa.BinaryArray | None = None
    live: np.ndarray | None = None
    """bool[n_files]; None with ``keys`` set means that all are live."""
    insert_keys: bool = True
    """False: the batch only probes the set of seen keys (a checkpoint: no older batch can hold its keys again)."""
    check_live: Callable[[np.ndarray | None], None] | None = None
    """Called with the rows that turned out to be live (int64, ascending; None: all). Raises CorruptMetadataError where
    one of them is damaged in a way that would not matter if newer batches cancelled it."""
    whole: FileBatch | None = field(default=None, repr=False)
    """The batch of which this is a :meth:`stretch`."""
    first: int = 0
    """The row of ``whole`` with which it begins."""

    @property
    def in_whole(self) -> tuple[FileBatch, int]:
        """The batch of which this is a stretch, or itself, and the row of that with which this begins."""
        return (self, 0) if self.whole is None else (self.whole, self.first)

    def follows(self, other: FileBatch) -> bool:
        """Whether it is the stretch behind ``other`` in the same batch."""
        return self.whole is not None and self.whole is other.whole and self.first == other.first + len(other.files)

    def stretch(self, start: int, stop: int) -> FileBatch:
        """The rows ``start`` to ``stop`` of the files, as the batch of one part among several that were read together:
        what is done with neighbours is done once, with this batch.

        Raises
        ------
        PluginContractError : the batch has keys, or rows that may not be live
        """
        if self.keys is not None or self.live is not None or self.check_live is not None:
            raise PluginContractError("only a batch without keys, whose rows are all live, has stretches", field="keys")
        statistics = None if self.statistics is None else StatisticsOfRows(self.statistics, start, stop)
        files = self.files.slice(start, stop - start)
        return FileBatch(files, self.spec_id, statistics, whole=self, first=start)


@dataclass(frozen=True)
class FilePart:
    """The files that one piece of the metadata lists (a manifest, row groups of a checkpoint, some commits), unread.

    Attributes
    ----------
    key : what tells the piece's content from every other's of the table, such as path, size and time of its file and
        the place in it: what was made of a part serves all parts of equal key. None: nothing of it is kept
    read : the part's batches in order; called again, they are the same. Parts are read on several threads, each with a
        report of its own for what it notices
    n_files : about how many files it lists; None: not known, so that it is read alone
    adds : what of it has keys that decide about later parts, newest first (commits). Such parts are read one by one, in
        order, and before all others, whose batches have ``insert_keys=False`` or no keys
    keys_of : makes the keys of rows of the part's ``FileBatch.files`` again; None where batches have no keys
    size_bytes : about how many bytes are read for it; None: not known
    together : makes of neighbouring parts that have it ones that share the work of being read: of the same keys, with
        the same batches, to be read once each, in order and on one thread. Of columns that the request's filter says no
        file of theirs needs (:meth:`ManifestFilter.decide`) their statistics may know nothing.
        Called on any thread
    own : what the format wants to find again in ``together``
    """

    key: Hashable | None
    read: Callable[[ScanReport], Iterable[FileBatch]]
    n_files: int | None = None
    adds: tuple[Hashable, ...] = ()
    keys_of: Callable[[pa.RecordBatch], pa.BinaryArray] | None = None
    size_bytes: int | None = None
    together: Callable[[Sequence[FilePart]], Sequence[FilePart]] | None = None
    own: Any = None


EQUALITY = "equality"
"""Kind of a delete: rows whose key it names. All other kinds name positions."""


def deletes_type() -> pa.DataType:
    """The Arrow type of the public ``deletes`` column of ``plan.files``."""
    import pyarrow as pa

    reference = [
        ("kind", pa.string()),  # "deletion_vector" | "position" | "equality"
        ("path", pa.string()),  # null: stored inline
        ("offset", pa.int64()),
        ("cardinality", pa.int64()),  # deleted rows; null = unknown
    ]
    return pa.list_(pa.struct(reference))


@dataclass
class DeleteFiles:
    """Deletes of the surviving files of one plan.

    ``files`` is one row a delete file or deletion vector, with at least ``kind``, ``path`` (as stored; null =
    inline), ``offset``, ``cardinality``, ``record_count``, and what the format needs to read it; ``size_bytes`` are the
    bytes that are read of it, where known. ``offsets``
    (int64[n_files + 1]) and ``indices`` (int32) say which rows of ``files`` apply to each surviving file.
    """

    files: pa.Table
    offsets: np.ndarray
    indices: np.ndarray
    read: ScanReport | None = None
    """The metadata that was read to find them, where it is not read with the data files."""
    statistics: Statistics | None = None
    """Bounds and counts over the rows that each of ``files`` deletes, where they are known; asked for once."""

    @classmethod
    def none(cls, n_files: int) -> DeleteFiles:
        """No deletes for ``n_files`` files."""
        import numpy as np
        import pyarrow as pa

        columns = {f.name: pa.nulls(0, f.type) for f in deletes_type().value_type}
        columns["record_count"] = pa.nulls(0, pa.int64())
        return cls(pa.table(columns), np.zeros(n_files + 1, np.int64), np.zeros(0, np.int32))

    def take(self, rows: np.ndarray) -> DeleteFiles:
        """The deletes of the surviving files ``rows`` (int64) alone, in that order."""
        import numpy as np

        from ..columnar import compute as pc
        from ..columnar.arrays import to_arrow

        counts = np.diff(self.offsets)[rows]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)
        chosen = self.indices[np.repeat(self.offsets[rows], counts) + within]
        used, indices = np.unique(chosen, return_inverse=True)
        return DeleteFiles(pc.take(self.files, to_arrow(used)), offsets, indices.astype(np.int32))


class FormatSnapshot(ABC):
    """One version of a table: immutable, cheap until it is read."""

    version: int
    """Delta version or Iceberg snapshot id; -1 for a table without snapshots."""
    timestamp_ms: int | None
    schema: Schema
    specs: Mapping[int, PartitionSpec]
    """All partition specs of the table by id; formats with one spec use id 0."""
    default_spec_id: int
    properties: Mapping[str, str]
    name_mapping: NameMapping
    schema_history: Sequence[Schema] = ()
    """The schemas of the table that are still known, oldest first: equality deletes may name a dropped column."""
    schema_history_is_complete: bool = False
    """Whether no live file can have been written with another schema than those of the history. Only then is a name
    that means one field id throughout trusted where an engine matches names inside of files (Spark's filters)."""
    metadata_columns: tuple[MetadataColumn, ...] = ()
    """What a scan may select beside the schema's columns."""
    extra_columns: tuple[str, ...] = ()
    """Columns of ``FileBatch.files`` that appear in ``plan.files`` after the fixed ones."""
    own_metadata_tables: frozenset[str] = frozenset()
    """Which of the metadata tables that every table has (files, history, partitions, snapshots) the format defines
    itself: :meth:`inspect` gives these."""

    def __getstate__(self) -> dict[str, Any]:
        """What other processes need to read parts, or files that were planned here: the attributes above,
        :attr:`FilePart.read`, :meth:`resolve_paths`, :meth:`deleted_positions` and :meth:`equality_deletes`. What only
        the rest of planning needs stays behind. Whoever pickles a snapshot puts a
        :class:`tableformats.io.storage.Storage` of their own in the place of the one that it holds, which may hold
        credentials."""
        return dict(self.__dict__)

    @property
    def split_options(self) -> SplitOptions:
        """What :meth:`tableformats.table.scan.ScanPlan.splits` takes where the caller says nothing.

        Raises CorruptMetadataError where the table's properties cannot be used.
        """
        return SplitOptions()

    def parts(self, request: ReadRequest) -> Sequence[FilePart]:
        """What lists the snapshot's files, newest first; fills the metadata counters of ``request.report``.

        The core reads the parts that it does not know, several at once. A format without a cache, or of small tables,
        implements :meth:`read` instead.

        Raises
        ------
        CorruptMetadataError : the metadata is damaged or incomplete
        UnsupportedFeatureError : it needs what is not built
        """
        if type(self).read is FormatSnapshot.read:
            raise PluginContractError(f"{type(self).__name__} implements neither parts() nor read()", field="parts")
        return [FilePart(None, lambda report: self.read(request), adds=(None,))]

    def read(self, request: ReadRequest) -> Iterator[FileBatch]:
        """The files, newest batch first: those of all :meth:`parts`. Raises as these do."""
        for part in self.parts(request):
            yield from part.read(request.report)

    def verify(self, report: ScanReport) -> None:  # noqa: B027
        """Called once a plan, after the last batch, when ``report`` counts all live files and their bytes.

        Raises CorruptMetadataError where the format recorded other totals for this version.
        """

    @abstractmethod
    def attach_deletes(self, files: pa.Table) -> DeleteFiles:
        """The deletes of ``files`` (the surviving rows of all batches, ``spec_id`` added as a column, ``partition``
        replaced by a struct over all specs' partition field ids).
        Called once a plan, after pruning; must not read the delete files' contents."""

    @abstractmethod
    def resolve_paths(self, paths: pa.Array) -> pa.Array:
        """Stored paths -> absolute, decoded ones (see :meth:`tableformats.io.storage.Storage.resolve`).

        Raises
        ------
        PathNotAllowedError : a path leaves the table's root and was not allowed
        """

    def check_paths(self, paths: pa.Array) -> None:
        """Called for what a plan leaves (string[n], some of them at a time, on any thread; before a limit): raises what
        :meth:`resolve_paths` would, which is called when somebody asks for paths. To be overridden where looking at
        paths costs less than making them."""
        self.resolve_paths(paths)

    @abstractmethod
    def deleted_positions(self, path: str, record_count: int | None, deletes: pa.Table) -> BitMap64:
        """The 0-based positions of the rows that ``deletes`` (rows of :attr:`DeleteFiles.files` of the kinds
        "deletion_vector" and "position", all of one data file) delete from the file stored as ``path``.

        Raises
        ------
        CorruptMetadataError : damaged or contradictory deletion vectors
        """

    def equality_deletes(self, delete: Mapping[str, Any]) -> pa.Table:
        """The keys of one equality delete file: columns named by field id (``"3"``), in the field's Arrow type.

        Only for formats that have them. Raises UnsupportedFeatureError otherwise.
        """
        from ..errors import UnsupportedFeatureError

        raise UnsupportedFeatureError("this format has no equality deletes", field="equality deletes")

    def inspect(self, name: str) -> pa.Table:
        """The metadata table ``name`` of the format's own ("manifests", "entries", "refs", ...).

        Raises UnsupportedFeatureError where the format has no such table.
        """
        from ..errors import UnsupportedFeatureError

        raise UnsupportedFeatureError(f"this format has no metadata table {name!r}", field=name)


class FormatTable(ABC):
    """A table that was found and opened; holds no snapshot."""

    format: str
    location: str

    @abstractmethod
    def snapshot(self, selector: SnapshotSelector) -> FormatSnapshot:
        """The selected snapshot.

        Raises
        ------
        SnapshotNotFoundError : no such version, timestamp, branch or tag (the message lists what there is)
        CorruptMetadataError, UnsupportedFeatureError : as found while reading the metadata
        """

    def update(self, snapshot: FormatSnapshot) -> FormatSnapshot:
        """The newest version, given an older ``snapshot`` of this table; ``snapshot`` itself where nothing is new.

        A format that can read only what is new does so; by default the newest version is opened. Without snapshots
        (version -1) nothing says whether anything is new, and it always is. Raises as :meth:`snapshot` does.
        """
        newest = self.snapshot(SnapshotSelector())
        return snapshot if newest.version == snapshot.version != -1 else newest

    @abstractmethod
    def history(self, limit: int | None = None) -> pa.Table:
        """Versions, newest first: at least ``version`` int64, ``timestamp`` timestamp[ms, UTC], ``operation``
        string; what the format adds follows."""

    def versions_after(self, version: int | None) -> list[int]:
        """The versions behind ``version`` (None: all) up to the current one, oldest first: by lineage, where there is
        one. By default what :meth:`history` lists.

        Raises
        ------
        SnapshotNotFoundError : the current version did not come from ``version``, or what lies between is gone
        """
        from ..errors import SnapshotNotFoundError

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
        SnapshotNotFoundError : a version is not there, or its changes are not any more (the hint says which are);
            the ending version is before the starting one
        UnsupportedFeatureError : the format does not offer changes, or the range cannot be read
        CorruptMetadataError : as found while reading the metadata
        """
        from ..errors import UnsupportedFeatureError

        raise UnsupportedFeatureError(
            f"changes between versions are not read from {self.format} tables",
            path=self.location,
            field="changes",
            hint="Compare two snapshots instead",
        )

    def appends(self, exclusive: int | None = None, inclusive: int | None = None) -> FormatSnapshot:
        """The files that appends behind the version ``exclusive`` and up to ``inclusive`` added, as a snapshot under
        the schema of the latter: see :meth:`tableformats.Table.incremental_append_scan`.

        Raises
        ------
        SnapshotNotFoundError : a version is not there, or does not lie behind the other
        UnsupportedFeatureError : the format does not offer this
        """
        from ..errors import UnsupportedFeatureError

        raise UnsupportedFeatureError(
            f"appends alone are not read from {self.format} tables",
            path=self.location,
            field="incremental_append_scan",
            hint="table.changes(starting, ending) gives what every version inserted and deleted",
        )


class TableFormat(ABC):
    """A format: finds out whether a location holds one of its tables, and opens it."""

    name: str

    @abstractmethod
    def detect(self, storage: Storage, options: OpenOptions) -> bool:
        """Whether ``storage.root`` (a directory or a file) is a table of this format. One or two cheap look-ups."""

    @abstractmethod
    def open(self, storage: Storage, options: OpenOptions) -> FormatTable:
        """Open the table at ``storage.root``.

        Raises
        ------
        TableNotFoundError : there is none
        CorruptMetadataError, UnsupportedFeatureError : there is one that cannot be read
        """


@dataclass(frozen=True)
class SplitOptions:
    """How a table wants its plans cut and packed; see :meth:`tableformats.table.scan.ScanPlan.splits`. Sizes are bytes.
    The defaults are Iceberg's. Source: its documentation, "Configuration", "Read properties"."""

    target_size: int = 128 << 20
    open_cost: int = 4 << 20
    lookback: int = 10


def utc_datetime(timestamp_ms: int) -> dt.datetime:
    """Milliseconds since the epoch as an aware datetime in UTC. Raises OverflowError outside of the years 1 to 9999."""
    return dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(milliseconds=timestamp_ms)
