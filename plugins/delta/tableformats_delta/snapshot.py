"""One version of a Delta table: its schema, and its files as batches, newest commit first.

Commits add and cancel keys; the checkpoint below them only probes. Source: Delta PROTOCOL.md, "Action
Reconciliation".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tableformats.errors import CorruptMetadataError
from tableformats.plugin import DeleteFiles, FileBatch, FormatSnapshot, ReadRequest
from tableformats.schema import Field

from .actions import empty_rows
from .cache import MetadataCache
from .checkpoints import CheckpointFile, CheckpointRows, expand
from .commits import Commit
from .deletion_vectors import read_deletion_vector, stored_path
from .file_keys import file_keys
from .inspection import inspect_snapshot
from .log import LogSegment
from .partition_values import partition_struct
from .replay import TableState
from .row_groups import GroupFilter
from .row_tracking import row_columns
from .schema import FIRST_PARTITION_ID, mapping_mode, name_mapping, parse_schema, partition_spec
from .statistics import LogStatistics

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyroaring import BitMap64

    from tableformats.report import ScanReport
    from tableformats.storage import Storage

__all__ = ["DeltaSnapshot", "configuration"]

_BATCH_ROWS = 65536
_ROW_COLUMNS = ("base_row_id", "row_commit_version")
_VECTOR_COLUMNS = ("dv_storage", "dv_path", "dv_offset", "dv_size", "dv_cardinality")


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
        self.properties = configuration(state.metadata, state.path)
        mode = mapping_mode(self.properties, state.path)
        self.schema = parse_schema(state.metadata.get("schemaString"), mode, state.path)
        columns = state.metadata.get("partitionColumns")
        spec, fields = partition_spec([] if columns is None else columns, self.schema, state.path)
        self._partition_fields = {FIRST_PARTITION_ID + i: f for i, f in enumerate(fields)}
        self.specs = {0: spec}
        self.default_spec_id = 0
        self.name_mapping = name_mapping(mode)
        self.metadata_columns = row_columns(self.properties)

    def __getstate__(self) -> dict[str, Any]:
        """See :meth:`tableformats.plugin.FormatSnapshot.__getstate__`."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_cache", "segment", "state")}

    def read(self, request: ReadRequest) -> Iterator[FileBatch]:
        """See :meth:`tableformats.plugin.FormatSnapshot.read`."""
        seen = _SeenKeys()
        report = request.report
        for note in self.state.notes:
            report.note(note)
        for commit in self.state.commits:
            report.count_metadata(commit.file.size)
            report.log_files_read += 1
        for commits in _in_batches(self.state.commits):
            yield self._commit_batch(commits, request, seen)
        groups = GroupFilter(self.schema, self.specs[0], request)
        for file in self._checkpoint_files():
            report.count_metadata(file.size)
            report.checkpoint_files_read += 1
            skipped = _skipped_groups(file, groups, report, bool(seen))
            for rows in file.files(skipped):
                yield self._checkpoint_batch(rows, file.path, request, seen)

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

    def _commit_batch(self, commits: Sequence[Commit], request: ReadRequest, seen: _SeenKeys) -> FileBatch:
        import numpy as np
        import pyarrow as pa

        parts = [part for commit in commits for part in (commit.adds, commit.removes)]
        live = np.repeat([True, False] * len(commits), [part.num_rows for part in parts])
        rows = pa.Table.from_batches(parts).combine_chunks().to_batches()
        merged = rows[0] if rows else parts[0]
        path = commits[0].file.path
        keys = file_keys(merged, self._storage.root, path)
        batch = self._batch(CheckpointRows(merged), _Source(path, keys, live, seen), request)
        seen.add(keys)
        batch.keys, batch.live = keys, live
        return batch

    def _checkpoint_batch(
        self, rows: CheckpointRows, path: str, request: ReadRequest, seen: _SeenKeys
    ) -> FileBatch:
        keys = file_keys(rows.rows, self._storage.root, path)
        batch = self._batch(rows, _Source(path, keys, None, seen), request)
        batch.insert_keys = False
        if seen:
            batch.keys = keys
        return batch

    def _batch(self, rows: CheckpointRows, source: _Source, request: ReadRequest) -> FileBatch:
        import pyarrow as pa
        import pyarrow.compute as pc

        actions = rows.rows
        has_vector = pc.is_valid(actions.column("dv_storage"))
        partitioned = [field.id for field in self._partition_fields.values()]
        statistics = LogStatistics(self.schema, actions.column("stats"), rows.parsed, has_vector, partitioned)
        columns = {
            "path": actions.column("path"),
            "size_bytes": pc.fill_null(actions.column("size"), 0),
            "partition": partition_struct(
                actions.column("partition_values"), self._partition_fields, source.refuse_live, request.report
            ),
            "modification_time": actions.column("modification_time"),
            **{name: actions.column(name) for name in (*_ROW_COLUMNS, *_VECTOR_COLUMNS)},
        }
        files = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        return FileBatch(files, statistics=statistics)

    def add_actions(self) -> Iterator[pa.RecordBatch]:
        """All add actions that stand in the version's log, cancelled ones too, as rows of :func:`file_schema`."""
        yield from (commit.adds for commit in self.state.commits)
        for file in self._checkpoint_files():
            yield from (rows.rows for rows in file.files())

    def attach_deletes(self, files: pa.Table) -> DeleteFiles:
        """See :meth:`tableformats.plugin.FormatSnapshot.attach_deletes`."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        if not files.num_rows:  # then no batch gave its columns
            files = pa.Table.from_batches([empty_rows()])
        has_vector = pc.is_valid(files.column("dv_storage"))
        offsets = np.zeros(files.num_rows + 1, np.int64)
        np.cumsum(has_vector.to_numpy(), out=offsets[1:])
        vectors = files.filter(has_vector)
        storage = vectors.column("dv_storage").to_pylist()
        stored = vectors.column("dv_path").to_pylist()
        paths = [stored_path(kind, text) for kind, text in zip(storage, stored, strict=True)]
        inline = [text if kind == "i" else None for kind, text in zip(storage, stored, strict=True)]
        cardinality = vectors.column("dv_cardinality")
        table = pa.table(
            {
                "kind": pa.array(["deletion_vector"] * len(paths), pa.string()),
                "path": pa.array(paths, pa.string()),
                "offset": vectors.column("dv_offset"),
                "cardinality": cardinality,
                "record_count": cardinality,
                "size_bytes": vectors.column("dv_size"),
                "inline": pa.array(inline, pa.string()),
            }
        )
        return DeleteFiles(table, offsets, np.arange(len(paths), dtype=np.int32))

    def resolve_paths(self, paths: pa.Array) -> pa.Array:
        """See :meth:`tableformats.plugin.FormatSnapshot.resolve_paths`."""
        return self._storage.resolve(paths, encoded=True)

    def deleted_positions(self, path: str, record_count: int | None, deletes: pa.Table) -> BitMap64:
        """See :meth:`tableformats.plugin.FormatSnapshot.deleted_positions`."""
        from pyroaring import BitMap64

        positions = BitMap64()
        for vector in deletes.to_pylist():
            positions |= read_deletion_vector(self._storage, vector, record_count)
        return positions

    def inspect(self, name: str) -> pa.Table:
        """See :func:`tableformats_delta.inspection.inspect_snapshot`."""
        return inspect_snapshot(name, self._storage, self.segment, self._checkpoint_files())


class _SeenKeys:
    """The keys of the newer batches, kept as they are; looked into only where a live file may be at fault."""

    def __init__(self) -> None:
        self._arrays: list[pa.BinaryArray] = []

    def __bool__(self) -> bool:
        return bool(self._arrays)

    def add(self, keys: pa.BinaryArray) -> None:
        if len(keys):
            self._arrays.append(keys)

    def as_set(self) -> set[bytes]:
        return {key for array in self._arrays for key in array.to_pylist()}


@dataclass
class _Source:
    """Where a batch came from."""

    path: str
    keys: pa.BinaryArray
    live: np.ndarray | None
    seen: _SeenKeys

    def refuse_live(self, rows: np.ndarray, texts: pa.StringArray | None, field: Field) -> None:
        """Raise CorruptMetadataError if one of ``rows``, whose partition value is no such value, is live.

        ``texts`` None: the rows have no partition values at all.
        """
        wrong = set((rows if self.live is None else rows[self.live[rows]]).tolist())
        if not wrong:
            return
        seen = self.seen.as_set()
        for row, key in enumerate(self.keys.to_pylist()):
            if row in wrong and key not in seen:
                what = "a file has no partition values"
                if texts is not None:
                    what = f"the partition value {texts[row].as_py()!r} is no {field.type}"
                raise CorruptMetadataError(what, path=self.path, field=field.name)
            seen.add(key)


def _skipped_groups(file: CheckpointFile, groups: GroupFilter, report: ScanReport, has_newer: bool) -> set[int]:
    """Numbers of the row groups that are not read, counted with their files; ``has_newer``: newer commits have keys."""
    if not groups.can_skip:
        return set()
    total, skipped = file.judge(groups)
    report.row_groups_total += total
    report.row_groups_skipped += len(skipped)
    files = sum(group.adds for group in skipped)
    report.files_total += files
    report.files_skipped_with_manifests += files
    if files and has_newer:
        report.note("Files in skipped row groups of a checkpoint are counted, also those that newer commits removed")
    return {group.number for group in skipped}


def _in_batches(commits: Sequence[Commit]) -> Iterator[list[Commit]]:
    """Runs of commits, newest first, of about ``_BATCH_ROWS`` actions: thousands of small commits are few batches."""
    run: list[Commit] = []
    rows = 0
    for commit in commits:
        run.append(commit)
        rows += commit.adds.num_rows + commit.removes.num_rows
        if rows >= _BATCH_ROWS:
            yield run
            run, rows = [], 0
    if run:
        yield run


def configuration(metadata: Mapping[str, Any], path: str) -> dict[str, str]:
    """The table properties of a ``metaData`` action. Raises CorruptMetadataError."""
    found = metadata.get("configuration")
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise CorruptMetadataError("the configuration is no object", path=path, field="metaData.configuration")
    return {str(key): str(value) for key, value in found.items() if value is not None}
