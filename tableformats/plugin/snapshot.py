"""One version of a table, as a format implements it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..errors import PluginContractError, UnsupportedFeatureError
from ..runtime.boundary import guarded_methods
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

    from ..io.path_policy import SharedPrefix

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
    """How the plans of a table are split where the caller does not say; see :meth:`tableformats.ScanPlan.splits`.

    The defaults are Iceberg's. Source: Iceberg documentation, "Configuration", "Read properties".

    Attributes
    ----------
    target_size, open_cost : int
        Bytes.
    lookback : int
        Open groups.
    """

    target_size: int = 128 << 20
    open_cost: int = 4 << 20
    lookback: int = 10


_READING = (
    "parts",
    "read",
    "files_of_deletes",
    "verify",
    "attach_deletes",
    "resolve_paths",
    "check_paths",
    "deleted_positions",
    "equality_deletes",
    "inspect",
)
"""The methods of a snapshot that read a table's bytes."""


class FormatSnapshot(ABC):
    """One version of a table: immutable, and cheap until it is read.

    Attributes
    ----------
    version : int
        Delta version or Iceberg snapshot id; -1 for a table without snapshots.
    timestamp_ms : int, optional
        When the version was committed, in milliseconds since the epoch, UTC.
    schema : Schema
    specs : mapping of id to PartitionSpec
        All partition specs of the table; formats with one spec use id 0.
    default_spec_id : int
        The spec of new files.
    properties : mapping of str to str
    name_mapping : NameMapping
    schema_history : sequence of Schema
        The schemas of the table that are still known, oldest first: equality deletes may name a dropped column.
    schema_history_is_complete : bool
        Whether every live file was written with one of the schemas of the history. Only then does an engine that finds
        columns by name inside of files (Spark's filters) trust a name that always meant one field id.
    metadata_columns : tuple of MetadataColumn
        What a scan may select beside the schema's columns.
    extra_columns : tuple of str
        Columns of ``FileBatch.files`` that ``plan.files`` shows after the fixed ones.
    features : tuple of str
        What the format says of its own version and of the features that a reader or a writer needs, for people, like
        ``reader version 3`` and ``deletionVectors``.
    own_metadata_tables : frozenset of str
        Those of the metadata tables files, history, partitions and snapshots that the format defines itself;
        :meth:`inspect` gives them.
    """

    version: int
    timestamp_ms: int | None
    schema: Schema
    specs: Mapping[int, PartitionSpec]
    default_spec_id: int
    properties: Mapping[str, str]
    name_mapping: NameMapping
    schema_history: Sequence[Schema] = ()
    schema_history_is_complete: bool = False
    metadata_columns: tuple[MetadataColumn, ...] = ()
    extra_columns: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    own_metadata_tables: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(version={self.version})"

    def __init_subclass__(cls, **options: object) -> None:
        """What a format raises over damaged bytes becomes CorruptMetadataError."""
        super().__init_subclass__(**options)
        guarded_methods(cls, _READING, "the snapshot's metadata")

    def __getstate__(self) -> dict[str, object]:
        """The state that other processes get, to read parts or files that were planned here.

        They need the attributes above, :attr:`MetadataPart.read`, :meth:`resolve_paths`, :meth:`deleted_positions` and
        :meth:`equality_deletes`. Leave out what only the rest of planning needs. Whoever pickles a snapshot replaces
        its :class:`Storage`, which may hold credentials, by one of their own.
        """
        return dict(self.__dict__)

    @property
    def split_options(self) -> SplitOptions:
        """What :meth:`tableformats.ScanPlan.splits` uses where the caller does not say.

        Raises
        ------
        CorruptMetadataError
            The table's properties are no numbers.
        """
        return SplitOptions()

    def parts(self, request: ReadRequest) -> Sequence[MetadataPart]:
        """The parts of the metadata that list the snapshot's files, newest first.

        Counts the metadata that is read in ``request.report``. The core reads the parts that it has not cached, several
        at once. A format of small tables may implement :meth:`read` instead.

        Raises
        ------
        CorruptMetadataError
            The metadata is damaged or incomplete.
        UnsupportedFeatureError
            It needs a feature that is not built.
        """
        if type(self).read is FormatSnapshot.read:
            raise PluginContractError(f"{type(self).__name__} implements neither parts() nor read()", field="parts")
        return [MetadataPart(None, lambda report: self.read(request), adds=(None,))]

    def read(self, request: ReadRequest) -> Iterator[FileBatch]:
        """The files, newest batch first: those of all :meth:`parts`. Raises as these do."""
        for part in self.parts(request):
            yield from part.read(request.report)

    def files_of_deletes(self, request: ReadRequest) -> Sequence[tuple[str, int]]:
        """Remote files that :meth:`attach_deletes` is likely to read whole: absolute paths, and about their bytes.

        They are asked for together with :attr:`MetadataPart.files`. By default none are.
        """
        return ()

    def verify(self, report: ScanReport) -> None:  # noqa: B027
        """Compare ``report``, which counts all live files and their bytes, with totals that the format recorded.

        Called once a plan, after the last batch. By default there are no totals.

        Raises
        ------
        CorruptMetadataError
            The format recorded other totals for this version.
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
        """Absolute, decoded paths for stored ones (string[n]); see :meth:`Storage.resolve`.

        Raises
        ------
        PathNotAllowedError
            A path leaves the table's store and was not allowed.
        """

    def check_paths(self, paths: pa.Array) -> SharedPrefix | None:
        """Raise what :meth:`resolve_paths` would raise for stored paths (string[n]).

        Called while a table is planned, on any thread, for the surviving files. Override it where checking paths costs
        less than making them.

        Returns
        -------
        SharedPrefix or None
            What all of the paths begin with, and what :meth:`resolve_paths` puts in place of it; it is not called then.
            None: it is called. :meth:`Storage.check` gives this.
        """
        self.resolve_paths(paths)
        return None

    @abstractmethod
    def deleted_positions(self, path: str, record_count: int | None, deletes: pa.Table) -> BitMap64:
        """The positions, from 0 on, of the deleted rows of one data file.

        Called on any thread, for several data files at a time, as is :meth:`equality_deletes` for one at a time.

        Parameters
        ----------
        path : str
            The data file, as stored.
        record_count : int, optional
            Its physical rows, where known.
        deletes : pyarrow.Table
            Those rows of :attr:`DeleteFiles.files`, of the kinds "deletion_vector" and "position", that apply to it.

        Raises
        ------
        CorruptMetadataError
            Damaged or contradictory deletion vectors.
        """

    def equality_deletes(self, delete: Mapping[str, object]) -> pa.Table:
        """The keys of one equality delete file: columns named by field id (``"3"``), in the field's Arrow type.

        Raises
        ------
        UnsupportedFeatureError
            The format has no equality deletes, which is the default.
        """
        raise UnsupportedFeatureError("this format has no equality deletes", field="equality deletes")

    def inspect(self, name: str) -> pa.Table:
        """A metadata table of the format's own ("manifests", "entries", "refs", ...).

        Raises
        ------
        UnsupportedFeatureError
            The format has no table ``name``.
        """
        raise UnsupportedFeatureError(f"this format has no metadata table {name!r}", field=name)
