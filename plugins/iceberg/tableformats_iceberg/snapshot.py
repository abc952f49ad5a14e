"""One snapshot of an Iceberg table: which files it has, and the deletes that apply to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

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
    in_order,
    thread_count,
)

from .metadata.metadata_columns import metadata_columns
from .metadata.schema import parse_name_mapping
from .metadata.table_metadata import Snapshot, TableMetadata

if TYPE_CHECKING:
    import pyarrow as pa
    from pyroaring import BitMap64

    from .deletes.delete_files import DeleteReader
    from .deletes.deletes import DeleteIndex
    from .manifests.entries import Entries
    from .manifests.manifest_list import Manifest, ManifestList
    from .metadata.files import TableFiles

__all__ = ["IcebergSnapshot"]

_OF_PLANNING = ("snapshot", "manifest_list", "delete_index", "_delete_reader", "_appends")
"""Attributes that only planning needs, or that are made again."""


class IcebergSnapshot(FormatSnapshot):
    """See :class:`tableformats.plugin.FormatSnapshot`. ``snapshot`` is None for a table without snapshots."""

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
        undropped = schema if metadata.dropped_nothing_from(schema) else None
        mapping = parse_name_mapping(metadata.properties, metadata.path, files.storage.limits)
        self.name_mapping = replace(mapping, undropped=undropped)
        self.metadata_columns = metadata_columns(metadata.format_version, metadata.specs, schema)

    def __getstate__(self) -> dict[str, Any]:
        """See :meth:`tableformats.plugin.FormatSnapshot.__getstate__`."""
        kept = {k: v for k, v in self.__dict__.items() if k not in _OF_PLANNING}
        return {**kept, "metadata": self.metadata.without_history()}

    @property
    def split_options(self) -> SplitOptions:
        """See :attr:`tableformats.plugin.FormatSnapshot.split_options`: the properties ``read.split.*``."""
        names = {"target_size": "target-size", "open_cost": "open-file-cost", "lookback": "planning-lookback"}
        given = {name: self._number(f"read.split.{key}") for name, key in names.items()}
        return replace(SplitOptions(), **{name: number for name, number in given.items() if number is not None})

    def _number(self, key: str) -> int | None:
        text = self.properties.get(key)
        number = text is not None and text.isascii() and text.isdigit() and len(text) < 19
        if text is not None and not (number and (int(text) or key == "read.split.open-file-cost")):
            raise CorruptMetadataError(
                f"the table's property is no number of bytes or groups: {text[:50]!r}",
                path=self.metadata.path,
                field=key,
                hint="Correct the property, or give the value in the call",
            )
        return None if text is None else int(text)

    # ---- files --------------------------------------------------------------------------------------------------

    @cached_property
    def manifest_list(self) -> ManifestList:
        """The manifests of the snapshot; none where there is no snapshot."""
        from .manifests.manifest_list import ManifestList, manifest_list_of_paths, parse_manifest_list

        if self.snapshot is None:
            return ManifestList([])
        if self.snapshot.manifest_list is None:
            return manifest_list_of_paths(self.snapshot.manifests)
        data, path = self.files.read(self.snapshot.manifest_list, "manifest list")
        return parse_manifest_list(data, path, self.files.storage.limits)

    def counted_list(self, report: ScanReport) -> ManifestList:
        """The manifest list, counted as read for this plan."""
        if self.manifest_list.size_bytes:
            report.count_metadata(self.manifest_list.size_bytes)
        return self.manifest_list

    def entries(self, manifest: Manifest, columns: Sequence[int], report: ScanReport | None = None) -> Entries:
        """The live entries of a manifest, from the cache where it has them."""
        known, found = self.files.cache.find(("entries", manifest)) or (frozenset(), None)
        if found is None or not known.issuperset(columns):
            found = self._read_entries(manifest, columns, report)
            self.keep_entries(manifest, columns, found)
        return found

    def has_entries(self, manifest: Manifest) -> bool:
        """Whether the cache has entries of it, with the statistics of whichever columns."""
        return self.files.cache.find(("entries", manifest)) is not None

    def keep_entries(self, manifest: Manifest, columns: Sequence[int], entries: Entries) -> None:
        """Put the live entries of a manifest, with statistics of ``columns``, into the cache."""
        self.files.cache.keep(("entries", manifest), (frozenset(columns), entries), entries.nbytes)

    def _read_entries(
        self, manifest: Manifest, columns: Sequence[int], report: ScanReport | None, threads: int = 1
    ) -> Entries:
        return self.entries_in(*self.files.read(manifest.path, "manifest"), manifest, columns, report, threads)

    def entries_in(
        self,
        data: bytes | memoryview,
        path: str,
        manifest: Manifest,
        columns: Sequence[int],
        report: ScanReport | None,
        threads: int = 1,
    ) -> Entries:
        """The live entries of a manifest whose bytes are there. Raises CorruptMetadataError, LimitExceededError."""
        from .manifests.entries import read_entries

        if report is not None:
            report.count_metadata(len(data))
        return read_entries(
            data,
            path,
            manifest,
            self.specs,
            self.default_spec_id,
            columns,
            report,
            limits=self.files.storage.limits,
            threads=threads,
        )

    def parts(self, request: ReadRequest) -> list[MetadataPart]:
        """See :meth:`tableformats.plugin.FormatSnapshot.parts`: the data manifests."""
        from .manifests.manifest_list import DATA

        report = request.report
        report.count_metadata(self.metadata.size_bytes)
        chosen = self.counted_list(report).chosen(DATA, self.specs, request.manifest_filter, report)
        manifests = self.manifest_list.manifests
        has_deletes = any(m.content != DATA for m in manifests)
        # Counted from the end, where the oldest stand: new manifests leave the places of others as they are.
        places = {id(m): i - len(manifests) for i, m in enumerate(manifests)} if has_deletes else {}
        columns = [f.id for f in request.columns if not f.type.is_nested]
        # Few manifests leave threads idle.
        threads = 1 if request.read_elsewhere else max(thread_count() // max(len(chosen), 1), 1)
        return [self._part(manifest, places.get(id(manifest)), columns, idle, threads) for manifest, idle in chosen]

    def _part(
        self, manifest: Manifest, place: int | None, columns: Sequence[int], idle: frozenset[int], threads: int
    ) -> MetadataPart:
        read = partial(self._read_part, manifest, place, columns, threads)
        size, read_many = manifest.length if manifest.length > 0 else None, partial(self._read_many, columns)
        n_files = manifest.live_files or None
        return MetadataPart((manifest, place), read, n_files, size_bytes=size, read_many=read_many, plugin_data=idle)

    def _read_many(self, columns: Sequence[int], parts: Sequence[MetadataPart]) -> list[MetadataPart]:
        """Parts that are decoded together, without the columns that none of their files needs."""
        from .manifests.batch_reader import ManifestBatchReader

        keys: list[Any] = [part.key for part in parts]
        idle = frozenset.intersection(*(cast("frozenset[int]", part.plugin_data) for part in parts))
        shared = ManifestBatchReader(self, [column for column in columns if column not in idle], keys)
        return [replace(part, read=partial(shared.read, i, part.read)) for i, part in enumerate(parts)]

    def _read_part(
        self, manifest: Manifest, place: int | None, columns: Sequence[int], threads: int, report: ScanReport
    ) -> Iterator[FileBatch]:
        yield _batch(self._read_entries(manifest, columns, report, threads), place)

    def batch_in(
        self,
        data: bytes | memoryview,
        path: str,
        manifest: Manifest,
        place: int | None,
        columns: Sequence[int],
        report: ScanReport,
    ) -> FileBatch:
        """The batch of a part, of a manifest whose bytes are there. Raises CorruptMetadataError, LimitExceededError."""
        return _batch(self.entries_in(data, path, manifest, columns, report), place)

    def entries_of(self, manifests: Sequence[Manifest], request: ReadRequest) -> Iterator[Entries]:
        """The live entries of ``manifests`` in their order, with the statistics that ``request`` needs."""
        columns = [f.id for f in request.columns if not f.type.is_nested]

        for entries, read in in_order(lambda m: self.counted_entries(m, columns), manifests):
            request.report.add(read)
            yield entries

    def counted_entries(self, manifest: Manifest, columns: Sequence[int]) -> tuple[Entries, ScanReport]:
        """The live entries of a manifest, and what was read for them."""
        read = ScanReport()
        return self.entries(manifest, columns, read), read

    def resolve_paths(self, paths: pa.Array) -> pa.Array:
        """See :meth:`tableformats.plugin.FormatSnapshot.resolve_paths`. Iceberg stores paths unencoded."""
        return self.files.resolve(paths)

    def check_paths(self, paths: pa.Array) -> None:
        """See :meth:`tableformats.plugin.FormatSnapshot.check_paths`."""
        self.files.check(paths)

    # ---- deletes ------------------------------------------------------------------------------------------------

    @cached_property
    def delete_index(self) -> DeleteIndex:
        """The snapshot's live deletes."""
        from .manifests.manifest_list import DELETES
        from .manifests.manifest_reader import ManifestReader

        return ManifestReader(self, ScanReport()).delete_index(self.manifest_list.kept(DELETES, self.specs, None, None))

    @cached_property
    def _delete_reader(self) -> DeleteReader:
        from .deletes.delete_files import DeleteReader

        return DeleteReader(self.files, self.metadata.find_field)

    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        """See :meth:`tableformats.plugin.FormatSnapshot.attach_deletes`: reads the delete manifests whose partitions
        meet those of ``files``, and what bounds say of the keys of equality deletes."""
        from .deletes.delete_pruning import DeleteStatistics, PlannedPaths, needed_manifests, without_disjoint
        from .manifests.manifest_reader import ManifestReader

        manifests, total = needed_manifests(self.manifest_list, files, self.specs)
        report = request.report
        report.delete_manifests_total += total
        report.delete_manifests_skipped += total - len(manifests)
        reader = ManifestReader(self, report)
        # Looking for all planned files in each manifest would cost more than it saves where they are many.
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

    def equality_deletes(self, delete: Mapping[str, Any]) -> pa.Table:
        """See :meth:`tableformats.plugin.FormatSnapshot.equality_deletes`."""
        return self._delete_reader.equality_deletes(delete)

    # ---- metadata tables ----------------------------------------------------------------------------------------

    def inspect(self, name: str) -> pa.Table:
        """Iceberg's metadata tables, see :func:`tableformats_iceberg.inspect.tables.metadata_table`."""
        from .inspect.tables import metadata_table

        return metadata_table(name, self)


def _batch(entries: Entries, place: int | None) -> FileBatch:
    from .manifests.entries import with_places

    files = entries.files
    if place is not None:
        files = with_places(files, [place], [files.num_rows])
    return FileBatch(files, entries.spec_id, entries.statistics)
