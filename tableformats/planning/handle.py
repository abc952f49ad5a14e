"""What planning and engines hold of a table: one snapshot, and what it takes to read it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import expressions as ex
from ..cache.metadata_cache import MetadataCache
from ..errors import InvalidPredicateError, TableFormatsError, UnsupportedFeatureError
from ..expressions.binding import bind, bound_value
from ..expressions.parse import parse_filter
from ..runtime.pickling import Portable
from ..schema import Schema

if TYPE_CHECKING:
    from ..io.storage import Storage
    from ..plugin.partitions import PartitionField
    from ..plugin.snapshot import FormatSnapshot

__all__ = ["SnapshotHandle"]


class SnapshotHandle(Portable):
    """One version of a table, immutable: the plugin's snapshot, with the storage and the cache of its table.

    Attributes
    ----------
    table_format : str
        The plugin's name for the format.
    location : str
        The absolute root of the table.
    storage : Storage
    cache : MetadataCache
        The cache of the table.
    format_snapshot : FormatSnapshot
    selection : mapping
        The arguments, by name, that selected the snapshot from its table; empty where they are not known.
    opening : (int, int)
        The requests to the store for opening the table and selecting the snapshot, and the bytes of their answers.
    """

    def __init__(
        self,
        table_format: str,
        location: str,
        storage: Storage,
        cache: MetadataCache,
        format_snapshot: FormatSnapshot,
        selection: Mapping[str, Any] | None = None,
    ) -> None:
        self.table_format = table_format
        self.location = location
        self.storage = storage
        self.cache = cache
        self.format_snapshot = format_snapshot
        self.selection = dict(selection or {})
        self.opening = (0, 0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.location!r}, version={self.version})"

    @property
    def version(self) -> int:
        """Delta version, or Iceberg snapshot id (-1: the table has no snapshot yet)."""
        return self.format_snapshot.version

    @property
    def schema(self) -> Schema:
        """The columns of the version."""
        return self.format_snapshot.schema

    @property
    def timestamp(self) -> dt.datetime | None:
        """When the version was committed, in UTC."""
        from ..plugin.format import utc_datetime

        milliseconds = self.format_snapshot.timestamp_ms
        return None if milliseconds is None else utc_datetime(milliseconds)

    @property
    def partition_fields(self) -> list[PartitionField]:
        """The fields of the partition spec that new files get."""
        spec = self.format_snapshot.specs.get(self.format_snapshot.default_spec_id)
        return list(spec.fields) if spec else []

    @property
    def properties(self) -> dict[str, str]:
        """The table's properties (Delta: ``configuration``)."""
        return dict(self.format_snapshot.properties)

    def reattached(self) -> SnapshotHandle:
        """A snapshot of the same version that can be planned; the snapshot itself, unless it was unpickled."""
        return self

    def has_schema_of_version(self) -> bool:
        """Whether the version, selected by its number alone, has the same schema."""
        return True

    def detached(self) -> SnapshotHandle:
        """The same snapshot for other processes: without its table, and with a cache that keeps nothing."""
        return SnapshotHandle(self.table_format, self.location, self.storage, MetadataCache(0), self.format_snapshot)

    def showing(self, format_snapshot: FormatSnapshot) -> SnapshotHandle:
        """A handle of the same table for another snapshot of its plugin."""
        return SnapshotHandle(self.table_format, self.location, self.storage, self.cache, format_snapshot)

    def bind(
        self, filter: Any, case_sensitive: bool = False, ansi: bool = True, now: int | None = None
    ) -> ex.Expression:
        """``filter`` in any accepted form, bound to this snapshot's schema.

        Parameters
        ----------
        ansi : bool
            Whether texts mean what they mean to Spark with ``spark.sql.ansi.enabled``.
        now : int, optional
            The instant of ``now()`` and ``current_date()``, in microseconds since the epoch. None: the present.

        Raises
        ------
        InvalidPredicateError
            The filter does not parse, or names no column. For a filter in SQL the message has line and column.
        UnsupportedFeatureError
            It names a metadata column.

        Examples
        --------
        >>> str(tf.open_table("events").snapshot().bind("ID > 1 AND id > 1"))
        'id > 1'
        """
        parsed = parse_filter(filter, ansi)
        if parsed is None:
            return ex.TRUE
        try:
            self._refuse_metadata_columns(parsed, case_sensitive)
            return bind(parsed, self.schema, case_sensitive, ansi, now)
        except TableFormatsError as error:
            if not isinstance(filter, str):
                raise
            from ..expressions.parse.places import with_place

            raise with_place(
                error, filter, ansi, lambda part: self._bind_part(part, case_sensitive, ansi, now)
            ) from None

    def _bind_part(self, part: ex.Value, case_sensitive: bool, ansi: bool, now: int | None) -> None:
        """Raise the error of binding a part of a filter, a condition or a value, alone."""
        self._refuse_metadata_columns(part, case_sensitive)
        if isinstance(part, ex.Expression):
            bind(part, self.schema, case_sensitive, ansi, now)
        else:
            bound_value(part, self.schema, case_sensitive, ansi)

    def _refuse_metadata_columns(self, parsed: ex.Value, case_sensitive: bool) -> None:
        metadata = Schema(tuple(c.field for c in self.format_snapshot.metadata_columns))
        for column in ex.columns_of(parsed):
            if not isinstance(column, ex.Reference) or self.schema.resolve(column.parts, case_sensitive):
                continue
            name = ".".join(column.parts)
            if metadata.resolve([name], case_sensitive) or metadata.resolve(column.parts, case_sensitive):
                raise UnsupportedFeatureError(
                    f"the metadata column {name!r} can be selected, but no filter names it yet",
                    path=self.location,
                    field=name,
                    hint="Select the column and filter the rows",
                )

    def project(self, columns: Sequence[str], case_sensitive: bool = False) -> Schema:
        """The schema of these top-level and metadata columns. Raises InvalidPredicateError for other names."""
        if isinstance(columns, str):
            columns = [columns]
        metadata = Schema(tuple(c.field for c in self.format_snapshot.metadata_columns))
        fields = []
        for name in columns:
            if not isinstance(name, str):
                raise InvalidPredicateError(f"{name!r} is no column's name", hint="Give names, as text")
            path = self.schema.resolve([name], case_sensitive) or metadata.resolve([name], case_sensitive)
            if path is None:
                near = ", ".join(self.schema.near_names(name)) or ", ".join(self.schema.names[:5])
                raise InvalidPredicateError(
                    f"no column {name!r}", path=self.location, field=name, hint=f"Near names: {near}"
                )
            fields.append(path[0])
        return Schema(tuple(fields), self.schema.id)
