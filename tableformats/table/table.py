"""Table and Snapshot: what ``open_table`` returns, and one version of it.

Both are thin: the format's plugin answers, planning decides. Names are those of Delta, Iceberg, deltalake and
PyIceberg where they agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from ..errors import SnapshotNotFoundError, TableNotFoundError
from ..expressions import tree as ex
from ..limits import DEFAULT_LIMITS, Limits
from ..planning.handle import SnapshotHandle
from ..runtime.collector import importing
from ..runtime.pickling import Portable
from ..schema.datetimes import current_us
from .checks import SnapshotChecks
from .opening import Timestamp, check_limit, check_types, epoch_ms, frozen, location_of
from .upkeep_verbs import ScanVerbs, UpkeepVerbs
from .write_verbs import WriteVerbs

if TYPE_CHECKING:
    import pyarrow as pa

    from ..cache.metadata_cache import MetadataCache
    from ..inspect.tables import Inspector
    from ..io.storage import Storage
    from ..plugin.format import FormatTable
    from ..plugin.snapshot import FormatSnapshot
    from ..schema import Schema
    from .changes import Changes
    from .origin import CatalogOrigin
    from .scan import Scan
    from .transactions import Transaction

__all__ = ["Snapshot", "Table", "open_table"]


def open_table(
    location: Any,
    *,
    format: str | None = None,
    catalog: Any = None,
    storage_options: Mapping[str, Any] | None = None,
    relocate: bool | Mapping[str, str] | None = None,
    allow_paths: str | Sequence[str] | None = None,
    cache: bool | MetadataCache = True,
    limits: Limits = DEFAULT_LIMITS,
    format_options: Mapping[str, Any] | None = None,
) -> Table:
    """Open a Delta or Iceberg table, or one of any installed format.

    Parameters
    ----------
    location : str, path or table of another library
        A directory, an Iceberg ``metadata.json``, or, with ``catalog``, an identifier: ``"db.table"``, or the tuple
        ``("db", "table")``. Or a ``deltalake.DeltaTable`` or a PyIceberg ``Table``: what is at their ``table_uri`` or
        ``metadata_location`` is opened. Their credentials and selected version are not taken over.
    format : str, optional
        "delta", "iceberg", ...; None finds out. Needed where one directory holds two formats (UniForm).
    catalog : PyIceberg catalog, str or mapping, optional
        A catalog, the name of one that PyIceberg's configuration knows, or its properties; see docs/catalogs.md.
    storage_options : mapping, optional
        Options of the store, in any spelling of docs/stores.md. ``filesystem``: a file system of fsspec or pyarrow.
        None: those that the catalog has or vends for the table.
    relocate : bool or mapping of old prefix to new prefix, optional
        The metadata names other locations: the table was moved or copied.
    allow_paths : str or sequence of str, optional
        Prefixes of further stores whose paths the table's metadata may name.
    cache : bool or MetadataCache
        Cache decoded metadata between plans: True in a cache of the table's own, or in one that several tables share.
    limits : Limits
        What the table's bytes may cost at most.
    format_options : mapping, optional
        Options of the format's own. Delta has ``partition_time_zone``: the time zone of the sessions that wrote the
        table, such as ``"Europe/Berlin"``, for partition values that are timestamps without a zone. Without it they are
        read as UTC, with a note in the report. Iceberg has none.

    Raises
    ------
    TableNotFoundError
        Nothing is at the location; the catalog has no such table, or no such namespace (NamespaceNotFoundError).
    CatalogError
        The catalog is not configured, cannot be reached, refuses the credentials, or gives no answer.
    MissingExtraError
        The catalog needs a library that is not installed.
    TableFormatsError
        The file system of the store cannot be used.
    UnknownFormatError
        No installed format claims the location.
    AmbiguousFormatError
        Several formats claim it, and ``format`` is None.
    PluginLoadError
        The plugin of ``format`` is broken.
    CorruptMetadataError, UnsupportedFeatureError
        There is a table that cannot be read.
    LimitExceededError
        What the metadata claims passes one of ``limits``; later calls may raise it too.
    TypeError
        An argument is of another type than it says; the format has no such option.
    ValueError
        The value of an option is wrong, such as a time zone that does not exist.

    Examples
    --------
    >>> import tableformats as tf
    >>> tf.open_table("events").scan("day = 2", columns=["id"]).to_arrow()["id"].to_pylist()
    [3, 4, 5]
    """
    with importing():
        from ..cache.directory import telling_options
        from ..cache.metadata_cache import MetadataCache
        from ..io.storage import Storage
        from ..plugin.format import OpenOptions
        from ..plugin.registry import host

    check_types(relocate=relocate, cache=cache, limits=limits, format_options=format_options)
    origin, commits, writer = None, None, None
    if catalog is None:
        storage = Storage(location_of(location), storage_options, allow_paths, limits)
    else:
        from .origin import CatalogOrigin

        origin = CatalogOrigin.of(catalog, location, storage_options, allow_paths, limits)
        storage, named = origin.ask()
        format = format or named.format
        commits = origin.commits if named.holds_commits else None
        writer = origin.writer() if named.names_version else None
    if isinstance(cache, bool):
        own_cache = MetadataCache() if cache else MetadataCache(0)
    else:
        told = telling_options(storage_options or {}), telling_options(format_options or {})
        table_key = repr((storage.root, told, frozen(relocate), limits))
        digests = cache.digest(storage_options), cache.digest(format_options)
        own_cache = cache.scoped(storage.root, *digests, frozen(relocate), limits, table_key=table_key)
    options = OpenOptions(relocate, own_cache, dict(format_options or {}), commits, writer)
    with storage.remembering():
        if format is None:
            found = host().detect(storage, options)
        else:
            found = host().get(format)
            if storage.is_local:
                storage.require_root()
        found.check_options(options.format_options)
        try:
            opened = found.open(storage, options)
        except TableNotFoundError as error:
            if format is not None and origin is None:
                raise host().not_found(found, storage, options, error) from None
            storage.require_root()
            raise
    if origin is not None:
        origin.open = partial(found.open, options=options)
    return Table(opened, storage, own_cache, origin)


class Table(Portable, WriteVerbs, UpkeepVerbs, SnapshotChecks):
    """An opened table. ``format`` is the plugin's name for it, ``location`` its absolute root.

    >>> import tableformats as tf
    >>> table = tf.open_table("events")
    >>> table.format, table.schema.names
    ('delta', ['id', 'day'])
    >>> len(table.plan("day = 1"))
    1
    """

    def __init__(
        self,
        opened: FormatTable,
        storage: Storage,
        cache: MetadataCache | None = None,
        origin: CatalogOrigin | None = None,
    ) -> None:
        from ..cache.metadata_cache import MetadataCache

        self._opened = opened
        self._origin = origin
        self.storage = storage
        self.cache = MetadataCache() if cache is None else cache
        self._opening = storage.meter.now()

    def __repr__(self) -> str:
        return f"Table({self.location!r}, format={self.format!r})"

    def _repr_html_(self) -> str:
        from ..inspect.html import snapshot_html

        return snapshot_html(self.snapshot(), "Table")

    @property
    def schema(self) -> Schema:
        """The columns of the current version. Raises as :meth:`snapshot` does."""
        return self.snapshot().schema

    @property
    def format(self) -> str:
        return self._opened.format

    @property
    def location(self) -> str:
        return self._opened.location

    def history(self, limit: int | None = None) -> pa.Table:
        """Versions, newest first: ``version``, ``timestamp``, ``operation``, then what the format adds.

        >>> tf.open_table("events").history(limit=1)["version"].to_pylist()
        [2]

        Raises
        ------
        ValueError : ``limit`` is no number of versions
        CorruptMetadataError : as the metadata is read
        """
        check_limit(limit, "versions")
        return self._opened.history(limit)

    def snapshot(
        self,
        version: int | str | None = None,
        *,
        timestamp: Timestamp | None = None,
        branch: str | None = None,
        tag: str | None = None,
    ) -> Snapshot:
        """One version; without arguments the current one.

        Parameters
        ----------
        version : Delta version, Iceberg snapshot id, or a ref's name
        timestamp : the version current at that time: datetime, ISO 8601 text or epoch milliseconds; naive is UTC
        branch, tag : an Iceberg ref

        Raises
        ------
        SnapshotNotFoundError : there is no such version
        """
        from ..plugin.format import SnapshotSelector

        given = [
            name
            for name, v in [("version", version), ("timestamp", timestamp), ("branch", branch), ("tag", tag)]
            if v is not None
        ]
        if len(given) > 1:
            raise TypeError(f"{' and '.join(given)} were given; a snapshot is selected by one of them")
        selector = SnapshotSelector(version, epoch_ms(timestamp), branch, tag)
        asked = {"version": version, "timestamp": selector.timestamp_ms, "branch": branch, "tag": tag}
        before = self.storage.meter.now()
        selected = self._opened.snapshot(selector)
        found = Snapshot(self, selected, {k: v for k, v in asked.items() if v is not None})
        found.opening = self.storage.meter.since(before, self._opening)
        return found

    def scan(
        self,
        filter: Any = None,
        *,
        columns: Sequence[str] | None = None,
        version: int | str | None = None,
        timestamp: Timestamp | None = None,
        branch: str | None = None,
        tag: str | None = None,
        case_sensitive: bool = False,
        limit: int | None = None,
        nan: Literal["absent"] | None = None,
        ansi: bool = True,
    ) -> Scan:
        """The rows for which ``filter`` is TRUE; see :meth:`snapshot` for the selection, :meth:`Snapshot.scan`."""
        snapshot = self.snapshot(version, timestamp=timestamp, branch=branch, tag=tag)
        return snapshot.scan(filter, columns=columns, case_sensitive=case_sensitive, limit=limit, nan=nan, ansi=ansi)

    def changes(self, starting_version: int | str, ending_version: int | str | None = None) -> Changes:
        """The rows that these versions inserted, deleted and updated: a scan with the columns ``_change_type``,
        ``_commit_version`` and ``_commit_timestamp`` behind those of the table.

        A version that recorded its changes (Delta's change data feed) gives them as recorded. Of others, rows of
        added files are inserts and rows of removed files deletes, so that a row of a rewritten file is both. Where
        versions are snapshots (Iceberg), the range is the lineage of the ending one back to the starting one, and
        snapshots that only rewrote files (``replace``) give nothing.

        >>> tf.open_table("events").changes(2).to_arrow()["_change_type"].to_pylist()
        ['insert', 'insert', 'insert']

        Parameters
        ----------
        starting_version, ending_version : both included; None is the current version. Iceberg: ids, or names of refs

        Raises
        ------
        SnapshotNotFoundError : a version is not there, or its changes are not any more (the hint says which are);
            the ending version is before the starting one
        UnsupportedFeatureError : the format does not offer changes, or the schema changed so that older rows cannot
            be given by the ending version's schema (``field`` names the column)
        """
        from .changes import Changes
        from .changes_snapshot import ChangesSnapshot

        found = self._opened.changes(starting_version, ending_version)
        selection = {"starting_version": found.starting_version, "ending_version": found.ending_version}
        snapshot = Snapshot(self, ChangesSnapshot(found, self.storage), selection)
        return Changes(snapshot, ex.TRUE, snapshot.schema)

    def incremental_append_scan(
        self,
        from_snapshot_id_exclusive: int | None = None,
        to_snapshot_id_inclusive: int | None = None,
        filter: Any = None,
        *,
        columns: Sequence[str] | None = None,
        case_sensitive: bool = False,
        limit: int | None = None,
        nan: Literal["absent"] | None = None,
        ansi: bool = True,
    ) -> Scan:
        """The rows that append snapshots of a range brought, as they were appended: other snapshots of the range, and
        what they deleted, are left out. The columns are the table's at the last snapshot (Iceberg).

        For streaming readers: give the snapshot that was read last, and remember ``scan.snapshot.version`` for the next
        time; nothing new is no rows.

        Parameters
        ----------
        from_snapshot_id_exclusive : an ancestor of the last snapshot; None means from the table's beginning
        to_snapshot_id_inclusive : None is the current snapshot
        filter, columns, case_sensitive, limit, nan, ansi : as for :meth:`Snapshot.scan`

        Raises
        ------
        SnapshotNotFoundError : a snapshot is not there, or the first is no ancestor of the last
        UnsupportedFeatureError : the format does not offer this (``table.changes`` may)
        """
        snapshot = self._appends(from_snapshot_id_exclusive, to_snapshot_id_inclusive)
        return snapshot.scan(filter, columns=columns, case_sensitive=case_sensitive, limit=limit, nan=nan, ansi=ansi)

    def _appends(
        self, from_snapshot_id_exclusive: int | None = None, to_snapshot_id_inclusive: int | None = None
    ) -> Snapshot:
        found = self._opened.appends(from_snapshot_id_exclusive, to_snapshot_id_inclusive)
        asked = {"from_snapshot_id_exclusive": from_snapshot_id_exclusive, "to_snapshot_id_inclusive": found.version}
        return Snapshot(self, found, {k: v for k, v in asked.items() if v is not None})

    def versions_after(self, version: int | None) -> list[int]:
        """The versions behind ``version`` (None: all that there are) up to the current one, oldest first; of Iceberg
        tables the snapshots of its lineage.

        >>> tf.open_table("events").versions_after(0)
        [1, 2]

        Raises
        ------
        SnapshotNotFoundError : the current version did not come from ``version``, or what lies between is gone
        """
        return self._opened.versions_after(version)

    def refresh(self) -> Table:
        """Move on to the newest version, through the catalog if the table was opened by one; the table itself.

        :meth:`snapshot` and the other methods then see it. Delta tables, whose log says what is newest, see it without
        this. An Iceberg table that was opened at a metadata file stays at that file.

        >>> tf.open_table("orders").refresh().scan().count()
        6

        Raises
        ------
        TableNotFoundError
            The catalog has the table no more.
        CatalogError, StoreError
            The catalog or the store gives no answer; the table stays as it was.
        CorruptMetadataError, UnsupportedFeatureError
            As found in what is new.
        """
        self.updated(self.snapshot().format_snapshot)
        return self

    def updated(self, snapshot: FormatSnapshot) -> FormatSnapshot:
        """See :meth:`tableformats.plugin.FormatTable.update`; :meth:`Snapshot.update` is for users."""
        from ..plugin.format import SnapshotSelector

        newer = None if self._origin is None else self._origin.newer_than(self.storage)
        if newer is None:
            return self._opened.update(snapshot)
        found = newer[0].snapshot(SnapshotSelector())  # what cannot be read leaves the table as it was
        self._opened, self.storage = newer
        return found

    def _checked_snapshot(self) -> Snapshot:
        return self.snapshot()

    def _checked_history(self) -> pa.Table:
        return self.history()

    def transaction(
        self,
        *,
        isolation: str | None = None,
        application: tuple[str, int] | None = None,
        branch: str | None = None,
        properties: Mapping[str, str] | None = None,
        sort_by: Sequence[str] = (),
        tries: int = 100,
        timeout: float = 120.0,
    ) -> Transaction:
        """Several verbs, one commit: ``with table.transaction() as txn: txn.delete(...); txn.append(...)``.

        >>> with tf.open_table("events").transaction() as txn:
        ...     _ = txn.delete("day = 1"), txn.append(pa.table({"id": [7], "day": [1]}))
        >>> tf.open_table("events").scan("day = 1").to_arrow()["id"].to_pylist()
        [7]

        Parameters
        ----------
        isolation : what of other writers is a conflict: ``"serializable"``, or a weaker level that the format has.
            None: as the table's properties say
        application : (name, number) of a transaction of an application, which is committed once: if the table
            has this number of the name, or a later one, nothing is done and ``attempts`` is 0
        branch : commit to this branch (Iceberg)
        properties : what is said of the commit in the history
        sort_by : the order of new rows in their files: names of columns, ``"name desc"``
        tries : how often the commit is tried where other writers win the race for the next version
        timeout : seconds after which no further try is begun

        Raises
        ------
        UnsupportedFeatureError : the format is only read, or the table has a feature that is not written
        ValueError : the format has no such isolation level, or an option is no number
        """
        from ..write.commit_loop import CommitOptions, errors_say_nothing_done
        from .transactions import Transaction

        options = CommitOptions(tries, timeout)
        with errors_say_nothing_done():
            if self._origin is not None:
                self._origin.check_writable(self._opened.commits_to_catalog)
            begun = self._opened.begin(branch)
        snapshot = None if begun.snapshot is None else Snapshot(self, begun.snapshot)
        known = dict(properties or {})
        return Transaction(
            begun,
            snapshot,
            self.storage,
            options,
            isolation=isolation,
            application=application,
            properties=known,
            sort_by=(sort_by,) if isinstance(sort_by, str) else sort_by,
        )

    @property
    def inspect(self) -> Inspector:
        """Metadata tables: ``table.inspect.files()``, ``.snapshots()``, ``.manifests()``, ...

        >>> tf.open_table("orders").inspect.snapshots().num_rows
        2
        """
        from ..inspect.tables import Inspector

        return Inspector(self)


class Snapshot(SnapshotHandle, ScanVerbs, SnapshotChecks):
    """One version of a table: immutable.

    A pickled one reads the files of plans that were made elsewhere; asked for a plan, it is selected again.

    Attributes
    ----------
    table : Table
    selection : dict
        The arguments, by name, of the method of :class:`Table` that gave it: :meth:`Table.snapshot`,
        :meth:`Table.changes` or :meth:`Table.incremental_append_scan`.

    >>> tf.open_table("events").snapshot(1).count()
    3
    """

    def __init__(
        self, table: Table, format_snapshot: FormatSnapshot, selection: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(table.format, table.location, table.storage, table.cache, format_snapshot, selection)
        self.table = table
        self._is_unpickled = False

    def _repr_html_(self) -> str:
        from ..inspect.html import snapshot_html

        return snapshot_html(self)

    def _state(self) -> dict[str, Any]:
        return {**self.__dict__, "_is_unpickled": True}

    def reattached(self) -> Snapshot:
        """This snapshot; if it was unpickled, the same one selected again, for what planning needs was not pickled.

        Raises
        ------
        SnapshotNotFoundError
            It does not exist any more, or is read by another schema now.
        """
        if not self._is_unpickled:
            return self
        found = self._selected_again()
        if (found.version, found.schema) != (self.version, self.schema):
            raise SnapshotNotFoundError(
                f"version {self.version} is read by another schema now",
                path=self.location,
                hint="Open the table again",
            )
        return found

    def _selected_again(self) -> Snapshot:
        if "starting_version" in self.selection:
            changes = self.table.changes(**self.selection)
            return Snapshot(self.table, changes.snapshot.format_snapshot, self.selection)
        if "to_snapshot_id_inclusive" in self.selection:
            return self.table._appends(**self.selection)
        found = self.table.snapshot(**self.selection)
        return found if found.version == self.version else self.table.snapshot(self.version)

    def _checked_snapshot(self) -> Snapshot:
        return self

    def _checked_history(self) -> pa.Table:
        return self.table.history()

    def has_schema_of_version(self) -> bool:
        """See :meth:`SnapshotHandle.has_schema_of_version`: the current schema may be newer than the version's."""
        return self.table.snapshot(self.version).schema == self.schema

    def update(self) -> Snapshot:
        """The newest version of the table, reading only what is new; this very snapshot where nothing is.

        An Iceberg table that was opened at its directory moves on to the newest metadata file there, and one that was
        opened through a catalog to the file that the catalog names now. So do :meth:`Table.snapshot` and the other
        methods of ``table``. One that was opened at a metadata file stays at that file.

        Raises
        ------
        CatalogError, TableNotFoundError
            The catalog gives no answer, or has the table no more.
        CorruptMetadataError, UnsupportedFeatureError
            As found in what is new.
        """
        newest = self.table.updated(self.format_snapshot)
        return self if newest is self.format_snapshot else Snapshot(self.table, newest)

    def scan(
        self,
        filter: Any = None,
        *,
        columns: Sequence[str] | None = None,
        case_sensitive: bool = False,
        limit: int | None = None,
        nan: Literal["absent"] | None = None,
        ansi: bool = True,
    ) -> Scan:
        """The rows for which ``filter`` is TRUE.

        Parameters
        ----------
        filter : str, Expression, list of tuples, PyIceberg expression, optional
            SQL text in Spark's dialect, ``tf.col("a") > 1``, or DNF tuples ``[("a", ">", 1)]``.
        columns : sequence of str, optional
            Names of top-level columns, in the order wanted, and of metadata columns where the table has them (Delta
            with row tracking: ``_metadata.row_id``, ``_metadata.row_commit_version``; Iceberg: ``_file`` as in
            ``plan.files``, ``_pos``, ``_spec_id``, ``_partition``, and in version 3 ``_row_id`` and
            ``_last_updated_sequence_number``). None means all but the metadata columns.
        case_sensitive : bool
            Whether names in ``filter`` and ``columns`` must match in case.
        limit : int, optional
            At most so many rows.
        nan : {"absent"}, optional
            ``"absent"``: no NaN of the table matches the filter, so that files which only a NaN could make match are
            left out, unless their counts say that they have a NaN. None: a float column of which NaNs are not counted
            may hold them. ``plan.report.files_kept_for_nan`` counts the files that this keeps.
        ansi : bool
            Whether filters, those of :meth:`Scan.where` included, mean what they mean to Spark with
            ``spark.sql.ansi.enabled``, the default of Spark 4: what cannot be cast or computed is an error. False: it
            is NULL, and a text that is compared with a column becomes a value of the column's type.

        Raises
        ------
        InvalidPredicateError
            The filter does not parse, or names no column (the message lists near names).
        ValueError
            ``limit`` is no number of rows, or ``nan`` is something else.
        """
        with importing():
            from .scan import Scan

        check_limit(limit, "rows")
        if nan not in (None, "absent"):
            raise ValueError(f"nan must be 'absent' or None, not {nan!r}")
        schema = self.schema if columns is None else self.project(columns, case_sensitive)
        bound = self.bind(filter, case_sensitive, ansi, now := current_us())
        return Scan(self, bound, schema, case_sensitive, limit, nan, ansi, now)
