"""One snapshot of an Iceberg table: its live files, and the deletes that apply to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from tableformats.plugin import (
    CorruptMetadataError,
    DeleteFiles,
    FileBatch,
    FormatSnapshot,
    MetadataPart,
    ReadRequest,
    ScanReport,
    Schema,
    SplitOptions,
    cached_property,
    thread_count,
    whole_number,
)

from .metadata.metadata_columns import metadata_columns
from .metadata.schema import parse_name_mapping
from .metadata.table_metadata import Snapshot, TableMetadata

if TYPE_CHECKING:
    import pyarrow as pa
    from pyroaring import BitMap64

    from tableformats.plugin import SharedPrefix

    from .deletes.delete_files import DeleteReader
    from .deletes.delete_index import DeleteIndex
    from .files.table_files import TableFiles
    from .manifests.manifest_list import Manifest, ManifestList
    from .manifests.source import ManifestSource

__all__ = ["IcebergSnapshot"]

_NOT_PICKLED = ("snapshot", "manifests", "manifest_list", "delete_index", "_delete_reader")
"""Attributes that only planning needs, and caches that another process can fill again."""

_MOST_DELETES_AHEAD = 16 << 20
"""Bytes of delete manifests that are asked for before it is known which of them the planned files need."""
_SPLIT_PROPERTIES = {"target_size": "target-size", "open_cost": "open-file-cost", "lookback": "planning-lookback"}
"""Properties ``read.split.*``. Source: Iceberg documentation, "Configuration", "Read properties"."""


class IcebergSnapshot(FormatSnapshot):
    """See :class:`tableformats.plugin.FormatSnapshot`.

    Immutable, except for caches: the manifest list, the index of all deletes, and the decoded delete files.

    Parameters
    ----------
    files : TableFiles
    metadata : TableMetadata
    snapshot : Snapshot, optional
        None: the table has no snapshots.
    schema : Schema
        The schema to read the snapshot with.
    """

    extra_columns = ("data_sequence_number", "first_row_id")
    own_metadata_tables = frozenset({"files", "history", "partitions", "snapshots"})

    def __init__(self, files: TableFiles, metadata: TableMetadata, snapshot: Snapshot | None, schema: Schema) -> None:
        self.files = files
        self.metadata = metadata
        self.snapshot = snapshot
        self.version = snapshot.id if snapshot else -1
        self.timestamp_ms = snapshot.timestamp_ms if snapshot else None
        self.schema = schema
        self.schema_history = [metadata.schemas[i] for i in sorted(metadata.schemas)]
        self.schema_history_is_complete = metadata.knows_all_schemas
        self.specs = metadata.specs
        self.default_spec_id = metadata.default_spec_id
        self.properties = metadata.properties
        self.features = (f"format version {metadata.format_version}",)
        undropped = schema if metadata.dropped_nothing_from(schema) else None
        mapping = parse_name_mapping(metadata.properties, metadata.path, files.storage.limits)
        self.name_mapping = replace(mapping, undropped=undropped)
        self.metadata_columns = metadata_columns(metadata.format_version, metadata.specs, schema)

    def __getstate__(self) -> dict[str, object]:
        """See :meth:`tableformats.plugin.FormatSnapshot.__getstate__`."""
        state = {name: value for name, value in self.__dict__.items() if name not in _NOT_PICKLED}
        return {**state, "metadata": self.metadata.without_history()}

    @property
    def split_options(self) -> SplitOptions:
        """See :attr:`tableformats.plugin.FormatSnapshot.split_options`: the properties ``read.split.*``."""
        found = {name: self._number(f"read.split.{key}") for name, key in _SPLIT_PROPERTIES.items()}
        return replace(SplitOptions(), **{name: number for name, number in found.items() if number is not None})

    def _number(self, key: str) -> int | None:
        """A property that is a whole number, and not 0 unless it is a cost. None: it is not set."""
        text = self.properties.get(key)
        number = whole_number(text)
        if text is not None and not (number or (number == 0 and key == "read.split.open-file-cost")):
            raise CorruptMetadataError(
                f"the table's property is no number of bytes or groups: {text[:50]!r}",
                path=self.metadata.path,
                field=key,
                hint="Correct the property, or give the value in the call",
            )
        return number

    # ---- files --------------------------------------------------------------------------------------------------

    @cached_property
    def manifests(self) -> ManifestSource:
        """Reads the snapshot's manifests."""
        from .manifests.source import ManifestSource

        return ManifestSource(self.files, self.specs, self.default_spec_id)

    @cached_property
    def manifest_list(self) -> ManifestList:
        """The manifests of the snapshot. Empty where there is no snapshot."""
        from .manifests.manifest_list import ManifestList, manifest_list_of_paths, parse_manifest_list

        if self.snapshot is None:
            return ManifestList([])
        if self.snapshot.manifest_list is None:
            return manifest_list_of_paths(self.snapshot.manifests)
        data, path = self.files.read(self.snapshot.manifest_list, "manifest list")
        return parse_manifest_list(data, path, self.files.storage.limits)

    def counted_list(self, report: ScanReport) -> ManifestList:
        """The manifest list, counted in ``report`` as read for this plan."""
        if self.manifest_list.size_bytes:
            report.count_metadata(self.manifest_list.size_bytes)
        return self.manifest_list

    def parts(self, request: ReadRequest) -> list[MetadataPart]:
        """See :meth:`tableformats.plugin.FormatSnapshot.parts`: the data manifests."""
        from .manifests.manifest_list import DATA

        report = request.report
        report.count_metadata(self.metadata.size_bytes)
        found = self.counted_list(report).select_with_columns(DATA, self.specs, request.manifest_filter, report)
        manifests = self.manifest_list.manifests
        has_deletes = any(m.content != DATA for m in manifests)
        # Indices count from the end of the list. New manifests come first in it, so the keys of old parts stay valid.
        indices = {id(m): i - len(manifests) for i, m in enumerate(manifests)} if has_deletes else {}
        columns = [f.id for f in request.columns if not f.type.is_nested]
        # If there are fewer manifests than threads, several threads share a manifest.
        threads = 1 if request.read_elsewhere else max(thread_count() // max(len(found), 1), 1)
        return [
            MetadataPart(
                (manifest, indices.get(id(manifest))),
                partial(self._read_part, manifest, indices.get(id(manifest)), columns, threads),
                manifest.live_files or None,
                size_bytes=manifest.length if manifest.length > 0 else None,
                read_many=partial(self._read_many, columns),
                files=self._remote_file(manifest),
                plugin_data=unneeded_columns,
            )
            for manifest, unneeded_columns in found
        ]

    def _remote_file(self, manifest: Manifest) -> tuple[tuple[str, int], ...]:
        """The path and size of a manifest in a remote store."""
        if self.files.storage.is_local:
            return ()
        return ((self.files.locate(manifest.path), max(manifest.length, 0)),)

    def files_of_deletes(self, request: ReadRequest) -> list[tuple[str, int]]:
        """See :meth:`tableformats.plugin.FormatSnapshot.files_of_deletes`: small delete manifests."""
        from .manifests.manifest_list import DELETES

        if self.files.storage.is_local:
            return []
        wanted = self.manifest_list.select(DELETES, self.specs, request.manifest_filter)
        wanted = [manifest for manifest in wanted if not self.manifests.is_cached(manifest)]
        if sum(manifest.length for manifest in wanted) > _MOST_DELETES_AHEAD:
            return []
        return [file for manifest in wanted for file in self._remote_file(manifest)]

    def _read_part(
        self, manifest: Manifest, index: int | None, columns: Sequence[int], threads: int, report: ScanReport
    ) -> Iterator[FileBatch]:
        from .manifests.batch_reader import file_batch

        yield file_batch(self.manifests.read_entries(manifest, columns, report, threads), index)

    def _read_many(self, columns: Sequence[int], parts: Sequence[MetadataPart]) -> list[MetadataPart]:
        """The same parts, decoded together, without the columns that the filter does not need for any of them."""
        from .manifests.batch_reader import ManifestBatchReader

        keys = [cast("tuple[Manifest, int | None]", part.key) for part in parts]
        unneeded = frozenset.intersection(*(cast("frozenset[int]", part.plugin_data) for part in parts))
        reader = ManifestBatchReader(self.manifests, [column for column in columns if column not in unneeded], keys)
        return [replace(part, read=partial(reader.read, number, part.read)) for number, part in enumerate(parts)]

    def resolve_paths(self, paths: pa.Array) -> pa.Array:
        """See :meth:`tableformats.plugin.FormatSnapshot.resolve_paths`. Iceberg stores paths unencoded."""
        return self.files.resolve(paths)

    def check_paths(self, paths: pa.Array) -> SharedPrefix | None:
        """See :meth:`tableformats.plugin.FormatSnapshot.check_paths`."""
        return self.files.check(paths)

    # ---- deletes ------------------------------------------------------------------------------------------------

    @cached_property
    def delete_index(self) -> DeleteIndex:
        """All live deletes of the snapshot."""
        from .deletes.delete_manifests import DeleteManifestReader
        from .manifests.manifest_list import DELETES

        reader = DeleteManifestReader(self.manifests, self.manifest_list.manifests, ScanReport())
        return reader.delete_index(self.manifest_list.select(DELETES, self.specs))

    @cached_property
    def _delete_reader(self) -> DeleteReader:
        from .deletes.delete_files import DeleteReader

        return DeleteReader(self.files, self.metadata.find_field)

    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        """See :meth:`tableformats.plugin.FormatSnapshot.attach_deletes`.

        Reads the delete manifests whose partitions overlap with those of ``files``, and leaves out equality deletes
        whose keys, by their bounds, are in no file.
        """
        from .deletes.delete_manifests import DeleteManifestReader
        from .deletes.delete_pruning import DeleteStatistics, PlannedPaths, needed_manifests, without_disjoint

        manifests = needed_manifests(self.manifest_list, files, self.specs, request.report)
        reader = DeleteManifestReader(self.manifests, self.manifest_list.manifests, request.report)
        # Comparing every delete with the planned paths pays only if the planned files are few.
        are_few = files.num_rows < sum(m.live_files for m in manifests)
        planned = PlannedPaths(files["path"]) if are_few else None
        index = reader.delete_index(manifests, [f.id for f in request.columns], planned)
        pairs = index.pairs(files)
        if index.files is not None:
            pairs = without_disjoint(pairs, files, index.files, self.metadata.find_field, reader.read)
        found = index.attached(pairs, files.num_rows)
        return replace(found, statistics=DeleteStatistics(found.files, reader.read))

    def deleted_positions(self, path: str, record_count: int | None, deletes: pa.Table) -> BitMap64:
        """See :meth:`tableformats.plugin.FormatSnapshot.deleted_positions`."""
        return self._delete_reader.deleted_positions(path, record_count, deletes)

    def equality_deletes(self, delete: Mapping[str, object]) -> pa.Table:
        """See :meth:`tableformats.plugin.FormatSnapshot.equality_deletes`."""
        return self._delete_reader.equality_deletes(delete)

    # ---- metadata tables ----------------------------------------------------------------------------------------

    def inspect(self, name: str) -> pa.Table:
        """Iceberg's metadata tables, see :func:`tableformats_iceberg.inspect.tables.metadata_table`."""
        from .inspect.snapshot_view import SnapshotView
        from .inspect.tables import metadata_table

        return metadata_table(
            name, SnapshotView(self.metadata, self.schema, self.manifests, lambda: self.manifest_list)
        )
