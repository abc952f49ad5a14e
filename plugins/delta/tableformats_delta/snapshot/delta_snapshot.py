"""One version of a Delta table: its schema, and its files as metadata parts, newest first.

Reconciliation compares file keys: the actions of commits insert theirs, and those of the checkpoint, the oldest part,
are only looked up. Source: Delta PROTOCOL.md, "Action Reconciliation".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from tableformats.plugin import (
    ZERO,
    DeleteFiles,
    FileBatch,
    FormatSnapshot,
    MetadataCache,
    MetadataPart,
    ReadRequest,
    ScanReport,
    runs,
    scalar,
    strings,
    thread_count,
    to_numpy,
)

from ..checkpoints.checkpoint_files import CheckpointFile, CheckpointSplit, expand, reading_ahead
from ..checkpoints.row_group_filter import GroupFilter
from ..checkpoints.row_group_reader import CheckpointRows
from ..deletes.deletion_vectors import read_deletion_vector, stored_path
from ..deletes.descriptors import has_vector, vectors_of
from ..log.commits import Commit
from ..log.file_actions import empty_rows, file_rows
from ..log.file_keys import file_keys
from ..log.listing import LogSegment
from ..schema.char_types import char_lengths
from ..schema.column_mapping import name_mapping
from ..schema.features import feature_texts
from ..schema.partition_values import PartitionValueErrors, partition_struct
from ..schema.row_tracking import POSITION_COLUMNS, row_tracking_columns, row_tracking_fields
from ..statistics.log_statistics import LogStatistics, TextStatistics
from .table_state import TableState

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyroaring import BitMap64

    from tableformats.plugin import SharedPrefix, Storage

__all__ = ["DeltaSnapshot"]

_RUN_ROWS = 16_384
"""The greatest number of file actions in one part of several commits."""
_SPLIT_BYTES = 16 << 20
"""Where other processes read a checkpoint file, each split has about this size."""


class DeltaSnapshot(FormatSnapshot):
    """See :class:`tableformats.plugin.FormatSnapshot`.

    Parameters
    ----------
    storage : Storage
        The storage of the table.
    segment : LogSegment
        The files that make the version.
    state : TableState
        What the commits of ``segment`` say.
    timestamp_ms : int or None
        The time of the version, milliseconds since the epoch; None = unknown.
    cache : MetadataCache
        Keeps the list of checkpoint files.
    """

    extra_columns = ("modification_time",)

    def __init__(
        self,
        storage: Storage,
        segment: LogSegment,
        state: TableState,
        timestamp_ms: int | None,
        cache: MetadataCache,
        partition_time_zone: str | None = None,
    ) -> None:
        self._storage = storage
        self.partition_time_zone = partition_time_zone
        self._cache = cache
        self.segment = segment
        self.state = state
        self.version = segment.version
        self.timestamp_ms = timestamp_ms
        self.protocol = state.protocol
        self.features = feature_texts(state.protocol)
        self.table_metadata = metadata = state.table_metadata
        self.properties = metadata.properties
        self.schema = metadata.schema
        spec = metadata.spec
        self._partition_fields = {p.id: f for p, f in zip(spec.fields, metadata.partition_columns, strict=True)}
        self.specs = {spec.id: spec}
        self.default_spec_id = spec.id
        self.name_mapping = name_mapping(metadata.mapping_mode)
        self.metadata_columns = (*POSITION_COLUMNS, *row_tracking_columns(self.properties))
        self._row_columns = row_tracking_fields(self.properties, state.protocol)
        # What is decoded of a part depends on these, beside the types of the columns.
        self._key = (*self._row_columns, *char_lengths(self.schema.fields), f"zone {partition_time_zone}")

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
        groups = GroupFilter(self.schema, self.specs[self.default_spec_id], request)
        has_newer = any(commit.adds.num_rows or commit.removes.num_rows for commit in self.state.commits)
        needed: list[tuple[CheckpointFile, int | None, int | None]] = []
        files = self.checkpoint_files()
        with reading_ahead([] if request.read_elsewhere else files):
            for file in files:
                report.count_metadata(file.size)
                report.checkpoint_files_read += 1
                if request.read_elsewhere:
                    parts += self._split_parts(file, groups, has_newer)
                else:
                    needed += [(file, *group) for group in file.needed_groups(groups, report, has_newer)]
        decode_ahead = len(needed) < thread_count()
        return parts + [self._group_part(*group, has_newer, decode_ahead) for group in needed]

    def checkpoint_files(self) -> list[CheckpointFile]:
        checkpoint = self.segment.checkpoint
        if checkpoint is None:
            return []
        cache = self._cache
        return cache.get(checkpoint, lambda: expand(self._storage, checkpoint, cache), lambda files: 1024 * len(files))

    def verify(self, report: ScanReport) -> None:
        """See :meth:`tableformats.plugin.FormatSnapshot.verify`: the counts of the version's checksum file."""
        checksum = self.state.checksum
        if checksum is not None and report.is_all_listed:
            checksum.check("numFiles", report.files_total)
            checksum.check("tableSizeBytes", report.bytes_listed)

    def _commit_part(self, commits: Sequence[Commit]) -> MetadataPart:
        def read(report: ScanReport) -> Iterator[FileBatch]:
            rows, stats, live = _actions(commits)
            path = commits[0].file.path
            batch = self._batch(CheckpointRows(rows, TextStatistics(stats)), path, report)
            batch.keys, batch.live = file_keys(rows, self._storage.root, path), live
            yield batch

        files = tuple(commit.file for commit in commits)
        n_files = sum(commit.adds.num_rows for commit in commits)
        keys_of = partial(self._file_keys, commits[0].file.path)
        return MetadataPart((files, self._key), read, n_files, adds=files, keys_of=keys_of)

    def _group_part(
        self, file: CheckpointFile, group: int | None, n_rows: int | None, has_newer: bool, decode_ahead: bool
    ) -> MetadataPart:
        def read(report: ScanReport) -> Iterator[FileBatch]:
            return self._read_group(file, group, has_newer, report, decode_ahead)

        key = file.key, group, self._key
        return MetadataPart(key, read, n_rows, keys_of=partial(self._file_keys, file.path))

    def _read_group(
        self, file: CheckpointFile, group: int | None, has_newer: bool, report: ScanReport, decode_ahead: bool = False
    ) -> Iterator[FileBatch]:
        for rows in file.group(group, self._row_columns, decode_ahead):
            batch = self._batch(rows, file.path, report)
            batch.insert_keys = False
            batch.keys = self._file_keys(file.path, rows.rows) if has_newer else None
            yield batch

    def _split_parts(self, file: CheckpointFile, groups: GroupFilter, has_newer: bool) -> list[MetadataPart]:
        """The parts of a file for other processes, which read its footer themselves."""
        count = max(1, file.size // _SPLIT_BYTES)
        keys_of = partial(self._file_keys, file.path)
        return [
            MetadataPart(
                (file.key, split, self._key),
                partial(self._read_split, file, split, groups, has_newer),
                keys_of=keys_of,
                size_bytes=file.size // count,
            )
            for split in (CheckpointSplit(i, count) for i in range(count))
        ]

    def _read_split(
        self, file: CheckpointFile, split: CheckpointSplit, groups: GroupFilter, has_newer: bool, report: ScanReport
    ) -> Iterator[FileBatch]:
        for number, _ in file.needed_groups(groups, report, has_newer, split):
            yield from self._read_group(file, number, has_newer, report)

    def _file_keys(self, path: str, rows: pa.RecordBatch) -> pa.BinaryArray:
        return file_keys(rows, self._storage.root, path)

    def _batch(self, rows: CheckpointRows, path: str, report: ScanReport) -> FileBatch:
        import pyarrow as pa

        from tableformats.plugin import compute as pc

        actions = rows.rows
        partitioned = [field.id for field in self._partition_fields.values()]
        with_vector = has_vector(actions.column("deletion_vector"))
        statistics = LogStatistics(self.schema, rows.statistics, with_vector, partitioned)
        partition, bad = partition_struct(
            actions.column("partition_values"), self._partition_fields, report, self.partition_time_zone
        )
        columns = {
            "path": actions.column("path"),
            "size_bytes": pc.fill_null(actions.column("size"), ZERO),
            "partition": partition,
            "modification_time": actions.column("modification_time"),
            **{name: actions.column(name) for name in ("deletion_vector", *self._row_columns)},
        }
        files = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        return FileBatch(files, statistics=statistics, row_errors=PartitionValueErrors(bad, path) if bad else None)

    def added_files(self, adds: Sequence[tuple[dict[str, Any], int]], path: str) -> FileBatch | None:
        """The ``add`` actions of another commit to this table, which ``path`` holds, as a batch; None: there are none.

        Raises CorruptMetadataError where an action lacks a field.
        """
        import pyarrow as pa

        if not adds:
            return None
        rows = file_rows(adds, "add", path)
        report = ScanReport(format="delta", version=self.version)
        text = TextStatistics(pa.chunked_array([rows.column("stats")]))
        return self._batch(CheckpointRows(rows, text), path, report)

    def add_actions(self) -> Iterator[pa.RecordBatch]:
        """All add actions in the log of this version, also those that newer actions cancel; newest commit first."""
        yield from (commit.adds for commit in self.state.commits)
        for file in self.checkpoint_files():
            yield from (rows.rows for rows in file.files())

    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        """See :meth:`tableformats.plugin.FormatSnapshot.attach_deletes`."""
        import numpy as np

        offsets = np.zeros(files.num_rows + 1, np.int64)
        if files.num_rows:  # a table without rows may lack the column
            column = files.column("deletion_vector")
            np.cumsum(to_numpy(has_vector(column)), out=offsets[1:])
        table = _delete_files(vectors_of(column)) if offsets[-1] else _no_delete_files()
        return DeleteFiles(table, offsets, np.arange(table.num_rows, dtype=np.int32))

    def resolve_paths(self, paths: pa.Array) -> pa.Array:
        """See :meth:`tableformats.plugin.FormatSnapshot.resolve_paths`."""
        return self._storage.resolve(paths, encoded=True)

    def check_paths(self, paths: pa.Array) -> SharedPrefix | None:
        """See :meth:`tableformats.plugin.FormatSnapshot.check_paths`."""
        return self._storage.check(paths, encoded=True)

    def deleted_positions(self, path: str, record_count: int | None, deletes: pa.Table) -> BitMap64:
        """See :meth:`tableformats.plugin.FormatSnapshot.deleted_positions`."""
        from pyroaring import BitMap64

        positions = BitMap64()
        for vector in deletes.to_pylist():
            positions |= read_deletion_vector(self._storage, vector, record_count)
        return positions

    def inspect(self, name: str) -> pa.Table:
        """See :func:`tableformats_delta.snapshot.metadata_tables.metadata_table`."""
        from .metadata_tables import metadata_table

        return metadata_table(name, self._storage, self.segment, self.checkpoint_files())


def _delete_files(vectors: pa.RecordBatch) -> pa.Table:
    """Deletion vectors as :class:`DeleteFiles` has them."""
    import pyarrow as pa

    paths, inline = _vector_paths(vectors)
    cardinality = vectors.column("cardinality")
    return pa.table(
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


@cache
def _no_delete_files() -> pa.Table:
    """The same without vectors, as most tables have it."""
    return _delete_files(vectors_of(empty_rows().column("deletion_vector")))


def _vector_paths(vectors: pa.RecordBatch) -> tuple[pa.StringArray, pa.StringArray]:
    """The stored path and the inline text of each deletion vector; one of the two is null.

    Vectors are encoded as a dictionary first, as many of them share a file.
    """
    import pyarrow as pa

    from tableformats.plugin import compute as pc

    storage, stored_text = vectors.column("storageType"), vectors.column("pathOrInlineDv")
    joined = pc.dictionary_encode(pc.binary_join_element_wise(storage, stored_text, scalar("\0", pa.string())))
    stored = [text.partition("\0")[::2] for text in joined.dictionary.to_pylist()]
    paths = strings([stored_path(kind, text) for kind, text in stored])
    inline = strings([text if kind == "i" else None for kind, text in stored])
    return pc.take(paths, joined.indices), pc.take(inline, joined.indices)


def _actions(commits: Sequence[Commit]) -> tuple[pa.RecordBatch, pa.ChunkedArray, np.ndarray]:
    """The file actions of commits, newest first.

    Returns
    -------
    rows : pyarrow.RecordBatch
        The actions as :func:`file_schema` without ``stats``.
    stats : pyarrow.ChunkedArray
        Their ``stats``, in chunks: they are most of the bytes, so they are not copied.
    live : bool[n]
        True for adds, False for removes.
    """
    import numpy as np
    import pyarrow as pa

    parts = [(kind, rows) for commit in commits for kind, rows in ((True, commit.adds), (False, commit.removes))]
    parts = [part for part in parts if part[1].num_rows] or parts
    live = np.repeat([kind for kind, _ in parts], [rows.num_rows for _, rows in parts])
    table = pa.Table.from_batches([rows for _, rows in parts])
    stats = table.column("stats")
    rows = table.drop_columns(["stats"]).combine_chunks().to_batches()
    return rows[0] if rows else empty_rows(), stats, live


def _runs(commits: Sequence[Commit]) -> list[list[Commit]]:
    """Runs of commits with at most :data:`_RUN_ROWS` actions, newest first: thousands of small commits are few batches.

    Runs are formed from the oldest commit on, so that a new commit changes the newest run alone.
    """
    oldest_first = runs(reversed(commits), lambda c: c.adds.num_rows + c.removes.num_rows, _RUN_ROWS)
    return [run[::-1] for run in oldest_first][::-1]
