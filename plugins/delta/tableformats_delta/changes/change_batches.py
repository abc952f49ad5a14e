"""Row-level changes of a range of versions: batches of files, with the rows of each that changed.

A version with ``cdc`` actions is read from its change data files alone. In any other version the rows of added files
are inserts and those of removed files are deletes. One case differs: for a file that is removed and added with another
deletion vector, only the rows in which the two vectors differ changed. Actions with ``dataChange`` false are ignored.
Source: Delta PROTOCOL.md, "Add CDC File", "Reader Requirements for AddCDCFile", "Add File and Remove File".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tableformats.plugin import (
    DELETE,
    INSERT,
    ChangeBatch,
    DeleteFiles,
    Field,
    FileBatch,
    FormatChanges,
    PartitionField,
    PartitionSpec,
    ReadRequest,
    ScanReport,
    dataclass,
    parse_transform,
)

from ..deletes.descriptors import has_vector
from ..log.file_keys import file_keys, path_keys
from ..log.listing import LogListing
from ..schema.partition_spec import FIRST_PARTITION_ID
from ..schema.partition_values import PartitionValueErrors, partition_struct
from ..snapshot.delta_snapshot import DeltaSnapshot
from ..statistics.log_statistics import LogStatistics, TextStatistics
from .change_log import ChangeCommit, read_change_log
from .layouts import Layout

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tableformats.plugin import Storage

__all__ = ["DeltaChanges"]

_BATCH_ROWS = 65536
_CHANGED = "changed"
"""The column of the deletion vectors that select the changed rows."""


@dataclass
class _ChangedFiles:
    """File actions of one version with the same kind of change.

    Attributes
    ----------
    change_type : str or None
        The type of all changes; None for change data files, which have it per row.
    actions : pyarrow.RecordBatch
        The files to read.
    selecting : pyarrow.RecordBatch or None
        Actions of the same files whose deletion vectors select the changed rows; None: all live rows changed.
    counted : pyarrow.RecordBatch or None
        Other actions of the same files, for record counts that ``actions`` lack.
    data_change : bool[n] or None
        Which files change data, where that is asked for.
    """

    commit: ChangeCommit
    layout: Layout
    change_type: str | None
    actions: pa.RecordBatch
    selecting: pa.RecordBatch | None = None
    counted: pa.RecordBatch | None = None
    data_change: pa.BooleanArray | None = None


class DeltaChanges(FormatChanges):
    """See :class:`tableformats.plugin.FormatChanges`. The constructor reads the commits of the range.

    Parameters
    ----------
    storage : Storage
        The storage of the table.
    listing : LogListing
        The log, which has every commit of the range.
    starting : int
        The first version.
    newest : DeltaSnapshot
        The snapshot of the last version.
    at : callable
        Gives the snapshot of a version.

    Raises
    ------
    CorruptMetadataError, SnapshotNotFoundError, UnsupportedFeatureError
        As :func:`read_change_log`.
    """

    def __init__(
        self,
        storage: Storage,
        listing: LogListing,
        starting: int,
        newest: DeltaSnapshot,
        at: Callable[[int], DeltaSnapshot],
    ) -> None:
        self._storage = storage
        self.starting_version = starting
        self.ending_version = newest.version
        self.snapshot: DeltaSnapshot = newest
        self._commits = read_change_log(storage, listing, starting, newest, at)
        self._end = Layout.of(newest.table_metadata)
        self.specs: dict[int, PartitionSpec] = dict(newest.specs)
        self._partition_ids = {f.source_id: f.id for f in newest.specs[0].fields}
        self._fields: dict[int, dict[int, Field]] = {}
        self._spec_ids: dict[tuple[bool, tuple[int, ...]], int] = {}
        # By the id of the layout, which self._commits keeps alive: layouts hold dicts and have no hash.
        self._specs_of_layouts: dict[int, tuple[int, bool]] = {}
        for layout in (self._end, *(found for c in self._commits for found in (c.before, c.after))):
            if id(layout) not in self._specs_of_layouts:
                self._specs_of_layouts[id(layout)] = self._add_layout(layout)

    def _add_layout(self, layout: Layout) -> tuple[int, bool]:
        """Make the partition spec of a layout. Returns its id, and whether bounds hold for the newest schema.

        Each partition column of older files is a column of the newest schema, so it has one partition field id.
        """
        agrees = layout.agrees_with(self._end)
        columns = layout.partition_columns_in(self._end)
        spec_id = self._spec_ids.setdefault((agrees, tuple(f.id for f in columns)), len(self._spec_ids))
        for f in columns:
            self._partition_ids.setdefault(f.id, FIRST_PARTITION_ID + len(self._partition_ids))
        self._fields[spec_id] = {self._partition_ids[f.id]: f for f in columns}
        identity = parse_transform("identity")
        fields = (PartitionField(i, f.name, f.id, identity, f.type) for i, f in self._fields[spec_id].items())
        self.specs.setdefault(spec_id, PartitionSpec(spec_id, tuple(fields)))
        return spec_id, agrees

    def read(self, request: ReadRequest) -> Iterator[ChangeBatch]:
        """See :meth:`tableformats.plugin.FormatChanges.read`."""
        self._report(request)
        return self._batches((rows for commit in self._commits for rows in self._changes(commit)), request)

    def added_files(self, request: ReadRequest) -> Iterator[ChangeBatch]:
        """See :meth:`tableformats.plugin.FormatChanges.added_files`."""
        self._report(request)
        added = (_ChangedFiles(c, c.after, INSERT, c.adds, data_change=c.data_change) for c in self._commits)
        return self._batches(added, request)

    def _report(self, request: ReadRequest) -> None:
        for commit in self._commits:
            request.report.count_metadata(commit.file.size)
            request.report.log_files_read += 1

    def _changes(self, commit: ChangeCommit) -> Iterator[_ChangedFiles]:
        """The changes of one version, deletes before inserts."""
        from tableformats.plugin import compute as pc

        if commit.cdc.num_rows:
            yield _ChangedFiles(commit, commit.after, None, commit.cdc)
            return
        adds, removes = commit.adds.filter(commit.data_change), commit.removes
        path = commit.file.path
        if not removes.num_rows:
            yield _ChangedFiles(commit, commit.after, INSERT, adds)
            return
        added, removed = path_keys(adds, path), path_keys(removes, path)
        partner = pc.index_in(removed, value_set=added)
        yield _ChangedFiles(commit, commit.before, DELETE, removes.filter(partner.is_null()))
        old, new = removes.filter(partner.is_valid()), adds.take(partner.drop_null())
        differs = pc.not_equal(file_keys(old, self._storage.root, path), file_keys(new, self._storage.root, path))
        old, new = old.filter(differs), new.filter(differs)
        deleting = has_vector(new.column("deletion_vector"))
        restoring = has_vector(old.column("deletion_vector"))
        # Bounds of a file with a vector may cover its live rows alone, so deleted rows need the statistics from before.
        deleted = _as_removed(new, old, commit.before is commit.after)
        yield _ChangedFiles(
            commit, commit.after, DELETE, deleted.filter(deleting), new.filter(deleting), new.filter(deleting)
        )
        yield _ChangedFiles(commit, commit.after, INSERT, adds.filter(pc.invert(pc.is_in(added, value_set=removed))))
        yield _ChangedFiles(commit, commit.after, INSERT, new.filter(restoring), old.filter(restoring))

    def _batches(self, found: Iterable[_ChangedFiles], request: ReadRequest) -> Iterator[ChangeBatch]:
        """Batches of neighbours that are read in the same way: thousands of small commits are few batches."""
        run: list[_ChangedFiles] = []
        files = 0
        for rows in found:
            if not rows.actions.num_rows:
                continue
            if run and (self._group_key(run[0]) != self._group_key(rows) or files >= _BATCH_ROWS):
                yield self._batch(run, request)
                run, files = [], 0
            run.append(rows)
            files += rows.actions.num_rows
        if run:
            yield self._batch(run, request)

    def _group_key(self, rows: _ChangedFiles) -> tuple[int, bool, bool]:
        return (*self._specs_of_layouts[id(rows.layout)], rows.change_type is None)

    def _batch(self, run: Sequence[_ChangedFiles], request: ReadRequest) -> ChangeBatch:
        import numpy as np
        import pyarrow as pa

        from tableformats.plugin import compute as pc

        actions = _concat([rows.actions for rows in run])
        counts = [rows.actions.num_rows for rows in run]
        versions = np.repeat([rows.commit.file.version for rows in run], counts).astype(np.int64)
        spec_id, has_bounds = self._specs_of_layouts[id(run[0].layout)]
        statistics = self._statistics(actions)
        counted = _concat([_or_nulls(rows.counted, rows.actions) for rows in run])
        records = pc.coalesce(statistics.record_counts(), self._statistics(counted).record_counts())
        selecting = _concat([_or_nulls(rows.selecting, rows.actions) for rows in run])
        columns = {
            "path": actions.column("path"),
            "size_bytes": pc.fill_null(actions.column("size"), 0),
            "record_count": records,
            "partition": self._partition(actions, self._fields[spec_id], versions, request.report),
            "modification_time": actions.column("modification_time"),
            "deletion_vector": actions.column("deletion_vector"),
            _CHANGED: selecting.column("deletion_vector"),
        }
        if run[0].data_change is not None:
            columns["data_change"] = pa.concat_arrays([rows.data_change for rows in run])
        types = None
        if run[0].change_type is not None:
            types = pa.array([rows.change_type for rows in run]).take(pa.array(np.repeat(np.arange(len(run)), counts)))
        files = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        return ChangeBatch(
            FileBatch(files, spec_id, statistics if has_bounds else None),
            pa.array(versions),
            pa.array(np.repeat([rows.commit.timestamp_ms for rows in run], counts).astype(np.int64)),
            types,
        )

    def _statistics(self, actions: pa.RecordBatch) -> LogStatistics:
        source = TextStatistics(actions.column("stats"))
        return LogStatistics(self.snapshot.schema, source, has_vector(actions.column("deletion_vector")))

    def _partition(
        self, actions: pa.RecordBatch, fields: Mapping[int, Field], versions: np.ndarray, report: ScanReport
    ) -> pa.StructArray:
        """The partition values of ``actions`` of ``versions`` (int64[n]). Raises CorruptMetadataError."""
        partition, bad = partition_struct(
            actions.column("partition_values"), fields, report, self.snapshot.partition_time_zone
        )
        if bad:
            first = int(bad[0].rows[0])
            paths = {commit.file.version: commit.file.path for commit in self._commits}
            raise PartitionValueErrors(bad, paths[int(versions[first])]).error_of(first)
        return partition

    def attach_deletes(self, files: pa.Table, request: ReadRequest) -> DeleteFiles:
        """See :meth:`tableformats.plugin.FormatChanges.attach_deletes`."""
        import numpy as np
        import pyarrow as pa

        deletes = self.snapshot.attach_deletes(files, request)
        changed = deletes
        if files.num_rows:
            changed = self.snapshot.attach_deletes(pa.table({"deletion_vector": files[_CHANGED]}), request)
        vectors = pa.concat_tables([deletes.files, changed.files])
        selects = np.repeat([False, True], [deletes.files.num_rows, changed.files.num_rows])
        of_file = np.concatenate([np.repeat(np.arange(files.num_rows), np.diff(d.offsets)) for d in (deletes, changed)])
        order = np.argsort(of_file, kind="stable")
        indices = np.concatenate([deletes.indices, changed.indices + deletes.files.num_rows])[order].astype(np.int32)
        return DeleteFiles(
            vectors.append_column("selects", pa.array(selects, pa.bool_())), deletes.offsets + changed.offsets, indices
        )


def _as_removed(added: pa.RecordBatch, removed: pa.RecordBatch, one_layout: bool) -> pa.RecordBatch:
    """The files ``added`` with the deletion vectors that they had when they were removed.

    They get the statistics from then too, unless these are of another layout; then they have none.
    """
    import pyarrow as pa

    for name in ("stats", "deletion_vector"):
        values = removed.column(name) if one_layout or name != "stats" else pa.nulls(len(removed), pa.string())
        added = added.set_column(added.schema.get_field_index(name), name, values)
    return added


def _or_nulls(actions: pa.RecordBatch | None, like: pa.RecordBatch) -> pa.RecordBatch:
    import pyarrow as pa

    if actions is not None:
        return actions
    return pa.RecordBatch.from_arrays([pa.nulls(like.num_rows, f.type) for f in like.schema], schema=like.schema)


def _concat(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    import pyarrow as pa

    # There are rows, so that there is a batch; pa.concat_batches came with pyarrow 19.
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
