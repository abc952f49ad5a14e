"""One version of a Delta table: its schema, and its files as batches, newest commit first.

Commits add and cancel keys; the checkpoint below them only probes. Source: Delta PROTOCOL.md, "Action
Reconciliation".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tableformats.plugin import (
    ZERO,
    DeleteFiles,
    FileBatch,
    FormatSnapshot,
    MetadataCache,
    MetadataPart,
    ReadRequest,
    runs,
    scalar,
    strings,
    thread_count,
    to_numpy,
)

from ..checkpoints.checkpoint_files import CheckpointFile, CheckpointSplit, expand
from ..checkpoints.row_group_filter import GroupFilter
from ..checkpoints.row_group_reader import CheckpointRows
from ..deletes.deletion_vectors import read_deletion_vector, stored_path
from ..deletes.descriptors import has_vector, vectors_of
from ..log.commits import Commit
from ..log.file_actions import empty_rows
from ..log.file_keys import file_keys
from ..log.listing import LogSegment
from ..schema.column_mapping import name_mapping
from ..schema.partition_values import PartitionValueErrors, partition_struct
from ..schema.row_tracking import POSITION_COLUMNS, ROW_TRACKING_FIELDS, row_tracking_columns
from ..statistics.log_statistics import LogStatistics, TextStatistics
from .table_state import TableState

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyroaring import BitMap64

    from tableformats.plugin import ScanReport, Storage

__all__ = ["DeltaSnapshot"]

_RUN_ROWS = 16_384
_SHARE_BYTES = 16 << 20
"""A checkpoint's file is read in shares of about this size, where other processes read it."""


class DeltaSnapshot(FormatSnapshot):
    """See :class:`tableformats.plugin.FormatSnapshot`."""

    extra_columns = ("modification_time",)

    def __init__(
        self,
        storage: Storage,
        segment: LogSegment,
        state: TableState,
        timestamp_ms: int | None,
        cache: MetadataCache | None = None,
    ) -> None:
        self._storage = storage
        self._cache = cache or MetadataCache(0)
        self.segment = segment
        self.state = state
        self.version = segment.version
        self.timestamp_ms = timestamp_ms
        self.protocol = state.protocol
        self.table_metadata = metadata = state.table_metadata
        self.properties = metadata.properties
        self.schema = metadata.schema
        spec = metadata.spec
        self._partition_fields = {p.id: f for p, f in zip(spec.fields, metadata.partition_columns, strict=True)}
        self.specs = {spec.id: spec}
        self.default_spec_id = spec.id
        self.name_mapping = name_mapping(metadata.mapping_mode)
        tracked = row_tracking_columns(self.properties)
        self.metadata_columns = (*POSITION_COLUMNS, *tracked)
        self._row_columns = ROW_TRACKING_FIELDS if tracked else ()

    def __getstate__(self) -> dict[str, Any]:
        """See :meth:`tableformats.plugin.FormatSnapshot.__getstate__`."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_cache", "segment", "state")}

    def parts(self, request: ReadRequest) -> list[MetadataPart]:
        """See :meth:`tableformats.plugin.FormatSnapshot.parts`: runs of commits, then row groups of the checkpoint."""
        report = request.report
        for note in self.state.notes:
            report.note(note)
        for commit in self.state.commits:
            report.count_metadata(commit.file.size)
            report.log_files_read += 1
        parts = [self._commit_part(commits) for commits in _runs(self.state.commits)]
        groups = GroupFilter(self.schema, self.specs[0], request)
        has_newer = any(commit.adds.num_rows or commit.removes.num_rows for commit in self.state.commits)
        needed: list[tuple[CheckpointFile, int | None, int | None]] = []
        for file in self._checkpoint_files():
            report.count_metadata(file.size)
            report.checkpoint_files_read += 1
            if request.read_elsewhere:
                parts += self._shares(file, groups, has_newer)
            else:
                needed += [(file, *group) for group in file.needed_groups(groups, report, has_newer)]
        decode_ahead = len(needed) < thread_count()
        return parts + [self._group_part(*group, has_newer, decode_ahead) for group in needed]

    def _checkpoint_files(self) -> list[CheckpointFile]:
        checkpoint = self.segment.checkpoint
        if checkpoint is None:
            return []
        cache = self._cache
        return cache.get(checkpoint, lambda: expand(self._storage, checkpoint, cache), lambda files: 1024 * len(files))

    def verify(self, report: ScanReport) -> None:
        """See :meth:`tableformats.plugin.FormatSnapshot.verify`: the counts of the version's checksum file."""
        checksum = self.state.checksum
        if checksum is not None and not report.files_skipped_with_manifests:
            checksum.check("numFiles", report.files_total)
            checksum.check("tableSizeBytes", report.bytes_total)

    def _commit_part(self, commits: Sequence[Commit]) -> MetadataPart:
        def read(report: ScanReport) -> Iterator[FileBatch]:
            rows, texts, live = _actions(commits)
            path = commits[0].file.path
            batch = self._batch(CheckpointRows(rows, TextStatistics(texts)), path, report)
            batch.keys, batch.live = file_keys(rows, self._storage.root, path), live
            yield batch

        files = tuple(commit.file for commit in commits)
        n_files = sum(commit.adds.num_rows for commit in commits)
        keys_of = partial(self._file_keys, commits[0].file.path)
        return MetadataPart((files, self._row_columns), read, n_files, adds=files, keys_of=keys_of)

    def _group_part(
        self, file: CheckpointFile, group: int | None, n_rows: int | None, has_newer: bool, decode_ahead: bool
    ) -> MetadataPart:
        def read(report: ScanReport) -> Iterator[FileBatch]:
            return self._group(file, group, has_newer, report, decode_ahead)

        key = file.key, group, self._row_columns
        return MetadataPart(key, read, n_rows, keys_of=partial(self._file_keys, file.path))

    def _group(
        self, file: CheckpointFile, group: int | None, has_newer: bool, report: ScanReport, decode_ahead: bool = False
    ) -> Iterator[FileBatch]:
        for rows in file.group(group, self._row_columns, decode_ahead):
            batch = self._batch(rows, file.path, report)
            batch.insert_keys = False
            batch.keys = self._file_keys(file.path, rows.rows) if has_newer else None
            yield batch

    def _shares(self, file: CheckpointFile, groups: GroupFilter, has_newer: bool) -> list[MetadataPart]:
        """Parts that other processes read, who look at the file's footer themselves."""
        count = max(1, file.size // _SHARE_BYTES)
        keys_of = partial(self._file_keys, file.path)
        return [
            MetadataPart(
                (file.key, share, self._row_columns),
                partial(self._share, file, share, groups, has_newer),
                keys_of=keys_of,
                size_bytes=file.size // count,
            )
            for share in (CheckpointSplit(i, count) for i in range(count))
        ]

    def _share(
        self, file: CheckpointFile, share: CheckpointSplit, groups: GroupFilter, has_newer: bool, report: ScanReport
    ) -> Iterator[FileBatch]:
        for number, _ in file.needed_groups(groups, report, has_newer, share):
            yield from self._group(file, number, has_newer, report)

    def _file_keys(self, path: str, rows: pa.RecordBatch) -> pa.BinaryArray:
        return file_keys(rows, self._storage.root, path)

    def _batch(self, rows: CheckpointRows, path: str, report: ScanReport) -> FileBatch:
        import pyarrow as pa

        from tableformats.plugin import compute as pc

        actions = rows.rows
        partitioned = [field.id for field in self._partition_fields.values()]
        with_vector = has_vector(actions.column("deletion_vector"))
        statistics = LogStatistics(self.schema, rows.statistics, with_vector, partitioned)
        partition, bad = partition_struct(actions.column("partition_values"), self._partition_fields, report)
        columns = {
            "path": actions.column("path"),
            "size_bytes": pc.fill_null(actions.column("size"), ZERO),
            "partition": partition,
            "modification_time": actions.column("modification_time"),
            **{name: actions.column(name) for name in ("deletion_vector", *self._row_columns)},
        }
        files = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        return FileBatch(files, statistics=statistics, row_errors=PartitionValueErrors(bad, path) if bad else None)

    def add_actions(self) -> Iterator[pa.RecordBatch]:
        """All add actions that stand in the version's log, cancelled ones too, as rows of :func:`file_schema`."""
        yield from (commit.adds for commit in self.state.commits)
        for file in self._checkpoint_files():
            yield from (rows.rows for rows in file.files())

    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        """See :meth:`tableformats.plugin.FormatSnapshot.attach_deletes`."""
        import numpy as np
        import pyarrow as pa

        if not files.num_rows:  # then no batch gave its columns
            files = pa.Table.from_batches([empty_rows()])
        column = files.column("deletion_vector")
        offsets = np.zeros(files.num_rows + 1, np.int64)
        np.cumsum(to_numpy(has_vector(column)), out=offsets[1:])
        vectors = vectors_of(column)
        paths, inline = _vector_paths(vectors)
        cardinality = vectors.column("cardinality")
        table = pa.table(
            {
                "kind": pa.repeat(scalar("deletion_vector", pa.string()), len(paths)),
                "path": paths,
                "offset": vectors.column("offset"),
                "cardinality": cardinality,
                "record_count": cardinality,
                "size_bytes": vectors.column("sizeInBytes"),
                "inline": inline,
            }
        )
        return DeleteFiles(table, offsets, np.arange(len(paths), dtype=np.int32))

    def resolve_paths(self, paths: pa.Array) -> pa.Array:
        """See :meth:`tableformats.plugin.FormatSnapshot.resolve_paths`."""
        return self._storage.resolve(paths, encoded=True)

    def check_paths(self, paths: pa.Array) -> None:
        """See :meth:`tableformats.plugin.FormatSnapshot.check_paths`."""
        self._storage.check(paths, encoded=True)

    def deleted_positions(self, path: str, record_count: int | None, deletes: pa.Table) -> BitMap64:
        """See :meth:`tableformats.plugin.FormatSnapshot.deleted_positions`."""
        from pyroaring import BitMap64

        positions = BitMap64()
        for vector in deletes.to_pylist():
            positions |= read_deletion_vector(self._storage, vector, record_count)
        return positions

    def inspect(self, name: str) -> pa.Table:
        """See :func:`tableformats_delta.log.inspection.inspect_snapshot`."""
        from .metadata_tables import inspect_snapshot

        return inspect_snapshot(name, self._storage, self.segment, self._checkpoint_files())


def _vector_paths(vectors: pa.RecordBatch) -> tuple[pa.StringArray, pa.StringArray]:
    """(path as stored, inline text), one of them null, of deletion vectors; many of them share a file."""
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    kind_and_place = vectors.column("storageType"), vectors.column("pathOrInlineDv")
    spelled = pc.binary_join_element_wise(*kind_and_place, scalar("\0", pa.string()))
    spelled = pc.dictionary_encode(spelled)
    stored = [text.partition("\0")[::2] for text in spelled.dictionary.to_pylist()]
    paths = strings([stored_path(kind, text) for kind, text in stored])
    inline = strings([text if kind == "i" else None for kind, text in stored])
    return pc.take(paths, spelled.indices), pc.take(inline, spelled.indices)


def _actions(commits: Sequence[Commit]) -> tuple[pa.RecordBatch, pa.ChunkedArray, np.ndarray]:
    """The file actions of commits, the newest first; their statistics, most of the bytes, which are not copied; and
    which of the actions are live where no newer one says otherwise."""
    import numpy as np
    import pyarrow as pa

    parts = [part for commit in commits for part in (commit.adds, commit.removes)]
    live = np.repeat([True, False] * len(commits), [part.num_rows for part in parts])
    table = pa.Table.from_batches(parts)
    texts = table.column("stats")
    rows = table.drop_columns(["stats"]).combine_chunks().to_batches()
    return rows[0] if rows else empty_rows(), texts, live


def _runs(commits: Sequence[Commit]) -> list[list[Commit]]:
    """Runs of commits, newest first, of ``_RUN_ROWS`` actions at most: thousands of small commits are few batches.

    They are counted from the oldest commit on, so that a newer one changes the newest run alone.
    """
    oldest_first = runs(reversed(commits), lambda c: c.adds.num_rows + c.removes.num_rows, _RUN_ROWS)
    return [run[::-1] for run in oldest_first][::-1]
