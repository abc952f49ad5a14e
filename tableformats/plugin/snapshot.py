"""One version of a table, as a format implements it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import PluginContractError, UnsupportedFeatureError
from ..schema import Field, Schema
from .columns import MetadataColumn, NameMapping
from .deletes import DeleteFiles
from .files import FileBatch, MetadataPart
from .manifest_filter import ManifestFilter
from .partitions import PartitionSpec
from .report import ScanReport

if TYPE_CHECKING:
    import pyarrow as pa
    from pyroaring import BitMap64


__all__ = ["FormatSnapshot", "ReadRequest", "SplitOptions"]


@dataclass
class ReadRequest:
    """What planning needs of a snapshot's metadata.

    Attributes
    ----------
    columns : tuple of Field
        The leaf columns that the predicate names. Bounds of no other columns are asked for.
    report : ScanReport
        Counts the metadata that is read.
    manifest_filter : ManifestFilter, optional
        Prunes a group of files (a manifest) before it is read. None: there is no predicate.
    read_elsewhere : bool
        Other processes read the parts that add no keys, so what needs a look into many files is better done there.
        ``read`` of such parts is pickled, with a snapshot as :meth:`FormatSnapshot.__getstate__` leaves it.
    """

    columns: tuple[Field, ...]
    report: ScanReport
    manifest_filter: ManifestFilter | None = None
    read_elsewhere: bool = False


@dataclass(frozen=True)
class SplitOptions:
    """How a table wants its plans cut and packed; see :meth:`tableformats.ScanPlan.splits`. Sizes are bytes.
    The defaults are Iceberg's. Source: its documentation, "Configuration", "Read properties"."""

    target_size: int = 128 << 20
    open_cost: int = 4 << 20
    lookback: int = 10


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

    def __getstate__(self) -> dict[str, object]:
        """The state that other processes get, to read parts or files that were planned here.

        They need the attributes above, :attr:`MetadataPart.read`, :meth:`resolve_paths`, :meth:`deleted_positions` and
        :meth:`equality_deletes`. Leave out what only the rest of planning needs. Whoever pickles a snapshot replaces
        its :class:`Storage`, which may hold credentials, by one of their own.
        """
        return dict(self.__dict__)

    @property
    def split_options(self) -> SplitOptions:
        """What :meth:`tableformats.ScanPlan.splits` takes where the caller says nothing.

        Raises CorruptMetadataError where the table's properties cannot be used.
        """
        return SplitOptions()

    def parts(self, request: ReadRequest) -> Sequence[MetadataPart]:
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
        return [MetadataPart(None, lambda report: self.read(request), adds=(None,))]

    def read(self, request: ReadRequest) -> Iterator[FileBatch]:
        """The files, newest batch first: those of all :meth:`parts`. Raises as these do."""
        for part in self.parts(request):
            yield from part.read(request.report)

    def verify(self, report: ScanReport) -> None:  # noqa: B027
        """Called once a plan, after the last batch, when ``report`` counts all live files and their bytes.

        Raises CorruptMetadataError where the format recorded other totals for this version.
        """

    @abstractmethod
    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        """The deletes of the surviving files of a plan. Must not read the contents of delete files.

        Parameters
        ----------
        files : pyarrow.Table
            The surviving rows of all batches, with ``spec_id`` added as a column, and with ``partition`` as a struct
            over the partition field ids of all specs.
        request : ReadRequest
            The request that the files were read for; what is read for the deletes is counted in its report.
        """

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

    def equality_deletes(self, delete: Mapping[str, object]) -> pa.Table:
        """The keys of one equality delete file: columns named by field id (``"3"``), in the field's Arrow type.

        Only for formats that have them. Raises UnsupportedFeatureError otherwise.
        """

        raise UnsupportedFeatureError("this format has no equality deletes", field="equality deletes")

    def inspect(self, name: str) -> pa.Table:
        """The metadata table ``name`` of the format's own ("manifests", "entries", "refs", ...).

        Raises UnsupportedFeatureError where the format has no such table.
        """

        raise UnsupportedFeatureError(f"this format has no metadata table {name!r}", field=name)
