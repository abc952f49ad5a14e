"""Writes the checkpoint of a version: one Parquet file, or by the V2 spec a manifest with sidecars.

File actions are columns from the first to the last step. The checkpoint is written before anything names it, and one
that is there is not written again: readers may be reading it.
Source: Delta PROTOCOL.md, "Checkpoints", "Checkpoint Specs", "Checkpoint Naming Scheme".
"""

from __future__ import annotations

import contextlib
import hashlib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tableformats.plugin import (
    CheckpointResult,
    MetadataCache,
    PutOutcome,
    TableFormatsError,
    UnsupportedFeatureError,
    current_ms,
    dataclass,
)
from tableformats.plugin import compute as pc

from ..checkpoints.checkpoint_files import CheckpointFile
from ..checkpoints.row_group_reader import member_of
from ..log.listing import Checkpoint
from ..log.names import LOG_DIRECTORY, SIDECAR_DIRECTORY
from ..log.next_commits import local_checkpoint
from ..schema.features import READER_FEATURES, WRITER_FEATURES
from ..schema.intervals import interval_of
from .action_file import ActionFile, action_rows
from .checksum_writer import Totals, checksum_path, write_checksum
from .copied_groups import copied_groups
from .file_columns import AddColumns, RemoveColumns
from .hint import write_hint
from .own_checkpoint import find_own_rows, keep_own_rows
from .replay import OtherActions, Replay
from .stored_statistics import StoredStatistics

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import Field, Storage

    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["write_checkpoint"]

SIDECAR_ACTIONS = 250_000
"""File actions of one sidecar."""
FORGOTTEN = {"stats", "stats_parsed", "partitionValues_parsed", "tags"}
"""Members that the table's properties decide about, and of tombstones those that checkpoints do not have."""
_TOMBSTONES = "interval 1 week"
"""What ``delta.deletedFileRetentionDuration`` is where the table does not say."""


def write_checkpoint(
    storage: Storage, snapshot: DeltaSnapshot, cache: MetadataCache, known: Checkpoint | None = None
) -> CheckpointResult:
    """Write the checkpoint of a version as its properties say, then the hint to it, unless that names a newer one.

    Parameters
    ----------
    snapshot : DeltaSnapshot
        The version.
    cache : MetadataCache
        That of the table: keeps the rows of a small checkpoint for the next one.
    known : Checkpoint, optional
        That of the version which is there.

    Raises
    ------
    UnsupportedFeatureError
        The version needs a feature that this writer does not know, or only its catalog may write checkpoints.
    CorruptMetadataError
        The log is damaged, or a property is wrong.
    StoreError
        As the store fails. OSError if it is local.

    Notes
    -----
    An error leaves no file that nothing names, except where the store fails to write the last file or to delete.

    Memory: one row group of actions, and the bytes of the file that is being written.
    """
    check_writable(snapshot, storage.root)
    if known is not None:
        size = sum(file.size for file in known.files)
        return CheckpointResult(snapshot.version, known.files[0].path, size, is_new=False)
    return _Writing(storage, snapshot, cache).write()


def check_writable(snapshot: DeltaSnapshot, path: str) -> None:
    """Refuse a version whose checkpoint this writer must not write: it may need an action that it does not know."""
    if snapshot.segment.is_of_catalog:
        raise UnsupportedFeatureError(
            "checkpoints of a table whose catalog says which commits count are left to its catalog",
            path=path,
            field="catalogManaged",
        )
    features = snapshot.protocol.get("writerFeatures") or ()
    for name in features:
        if name not in READER_FEATURES and name not in WRITER_FEATURES:
            raise UnsupportedFeatureError(
                f"the table has the writer feature {name!r}, which this writer does not know",
                path=path,
                field=name,
                hint="Its checkpoint may need actions that this writer would leave out; write it with another engine",
            )


@dataclass(frozen=True)
class _Sidecar:
    path: str
    size: int
    rows: int
    time_ms: int

    @property
    def action(self) -> dict[str, Any]:
        return {"path": self.path, "sizeInBytes": self.size, "modificationTime": self.time_ms, "tags": {}}


class _Writing:
    """The writing of one checkpoint."""

    def __init__(self, storage: Storage, snapshot: DeltaSnapshot, cache: MetadataCache) -> None:
        self._storage = storage
        self._snapshot = snapshot
        self._cache = cache
        self._now_ms = current_ms()
        properties, metadata = snapshot.properties, snapshot.table_metadata
        own = find_own_rows(storage, snapshot.segment.checkpoint, cache)
        self._older = old = snapshot.checkpoint_files() if own is None else own
        partition = {p.id: f for p, f in zip(metadata.spec.fields, metadata.partition_columns, strict=True)}
        statistics = StoredStatistics.of(snapshot.schema, {f.id for f in partition.values()}, properties)
        self._layout = _layout_of(partition.values(), statistics, snapshot.partition_time_zone)
        known = AddColumns(partition, statistics)
        self._adds = AddColumns(
            partition, statistics, snapshot.partition_time_zone, _unknown(old, known.name, known.type)
        )
        self._removes = RemoveColumns(_unknown(old, "remove", RemoveColumns().type))
        retention = interval_of(properties, "delta.deletedFileRetentionDuration", _TOMBSTONES, storage.root)
        assert retention is not None
        self._replay = Replay(storage, snapshot, self._adds, self._removes, self._now_ms - retention, old)
        self._n_adds, self._size = 0, 0
        self._sidecar_paths: list[str] = []

    @property
    def _is_v2(self) -> bool:
        features = self._snapshot.protocol.get("writerFeatures") or ()
        wanted = self._snapshot.properties.get("delta.checkpointPolicy", "classic").strip().lower()
        return wanted == "v2" and "v2Checkpoint" in features

    def write(self) -> CheckpointResult:
        """Write the checkpoint and the hint to it."""
        version = self._snapshot.version
        if not self._is_v2:
            file = self._file(self._head())
            return self._written(f"{version:020d}.checkpoint.parquet", file, self._filled(file), None)
        try:
            sidecars = list(self._sidecars())
            file = self._file(self._head(sidecars))
            data = memoryview(file.finish())
        except BaseException:
            self._discard_sidecars()
            raise
        return self._written(f"{version:020d}.checkpoint.{uuid.uuid4()}.parquet", file, data, sidecars)

    def _filled(self, file: ActionFile) -> memoryview:
        """The bytes of a checkpoint of one file: ``file`` with all file actions."""
        for name, actions in self._counted(self._replay.of_commits()):
            file.write(name, actions)
        copied = copied_groups(self._older, self._replay, self._layout, file.frame)
        for name, actions in self._counted(self._replay.of_checkpoint(copied.numbers if copied else ())):
            file.write(name, actions)
        if copied:
            self._n_adds += copied.files
            self._size += copied.size_bytes
        return file.finish_upon(copied, self._layout)

    def _discard_sidecars(self) -> None:
        """Delete the sidecars, which no manifest names: nothing has begun to write it."""
        for path in self._sidecar_paths:
            # The error that led here is told, not that a file stays.
            with contextlib.suppress(TableFormatsError, OSError):
                self._storage.delete(path)

    def _written(
        self, name: str, file: ActionFile, data: memoryview, sidecars: list[_Sidecar] | None
    ) -> CheckpointResult:
        path = self._storage.join(LOG_DIRECTORY, name)
        # Never written over: a reader may have read the footer of what another writer of this version has put there.
        if self._storage.put_if_absent(path, data) is not PutOutcome.WON:
            return CheckpointResult(
                self._snapshot.version, path, self._storage.size_of(path) or len(data), is_new=False
            )
        size = len(data) + sum(sidecar.size for sidecar in sidecars or ())
        actions = file.rows + sum(sidecar.rows for sidecar in sidecars or ())
        version = self._snapshot.version
        content: dict[str, Any] = {"version": version, "size": actions, "sizeInBytes": size}
        content["numOfAddFiles"] = self._n_adds
        if sidecars is not None:
            manifest = {"path": name, "sizeInBytes": len(data), "modificationTime": self._now_ms}
            content["v2Checkpoint"] = {**manifest, "sidecarFiles": [sidecar.action for sidecar in sidecars]}
        if sidecars is None:
            self._keep_rows(file)
        write_hint(self._storage, content)
        self._checksum()
        return CheckpointResult(version, path, size, True, self._n_adds, actions)

    def _keep_rows(self, file: ActionFile) -> None:
        written = local_checkpoint(self._storage, self._snapshot.version)
        if written is not None and file.in_memory is not None:
            keep_own_rows(written, file.in_memory, self._cache)

    def _checksum(self) -> None:
        """The files were counted, so a version without a checksum file gets one. That it fails is no failure."""
        snapshot = self._snapshot
        info = {"inCommitTimestamp": snapshot.timestamp_ms}
        with contextlib.suppress(TableFormatsError, OSError):
            if self._storage.size_of(checksum_path(self._storage, snapshot.version)) is not None:
                return
            totals = Totals(self._n_adds, self._size, {})
            write_checksum(self._storage, snapshot.version, totals, snapshot.protocol, snapshot.state.metadata, info)

    def _head(self, sidecars: Sequence[_Sidecar] | None = None) -> dict[str, pa.StructArray]:
        """The actions that are no file actions, by name."""
        others = OtherActions.of(self._snapshot, self._older)
        expired = interval_of(
            self._snapshot.properties, "delta.setTransactionRetentionDuration", None, self._storage.root
        )
        oldest = None if expired is None else self._now_ms - expired
        actions = {
            "protocol": [self._snapshot.protocol],
            "metaData": [self._snapshot.state.metadata],
            "txn": [action for action in others.transactions.values() if _is_kept(action, oldest)],
            "domainMetadata": [a for a in others.domains.values() if a.get("removed") is not True],
        }
        if sidecars is not None:
            actions["checkpointMetadata"] = [{"version": self._snapshot.version, "tags": {}}]
            actions["sidecar"] = [sidecar.action for sidecar in sidecars]
        return action_rows(actions, self._storage.root)

    def _file(self, head: dict[str, pa.StructArray]) -> ActionFile:
        """A file that begins with ``head``. A manifest has the columns of files, too: delta-spark asks for them."""
        files = {"add": self._adds.type, "remove": self._removes.type}
        file = ActionFile({**{name: rows.type for name, rows in head.items()}, **files})
        for name, rows in head.items():
            file.write(name, rows)
        return file

    def _sidecars(self) -> Iterator[_Sidecar]:
        file: ActionFile | None = None
        for name, actions in self._counted(self._replay.files()):
            if file is None:
                file = ActionFile({"add": self._adds.type, "remove": self._removes.type})
            file.write(name, actions)
            if file.rows >= SIDECAR_ACTIONS:
                yield self._sidecar(file)
                file = None
        if file is not None:
            yield self._sidecar(file)

    def _sidecar(self, file: ActionFile) -> _Sidecar:
        data, name = file.finish(), f"{uuid.uuid4()}.parquet"
        self._sidecar_paths.append(self._storage.join(LOG_DIRECTORY, SIDECAR_DIRECTORY, name))
        self._storage.put(self._sidecar_paths[-1], memoryview(data))
        return _Sidecar(name, data.size, file.rows, self._now_ms)

    def _counted(self, files: Iterator[tuple[str, pa.StructArray]]) -> Iterator[tuple[str, pa.StructArray]]:
        for name, actions in files:
            if name == "add":
                self._n_adds += len(actions)
                self._size += pc.sum(member_of(actions, "size")).as_py()
            yield name, actions


def _is_kept(transaction: dict[str, Any], oldest_ms: int | None) -> bool:
    """Whether a transaction is newer than the table keeps them; one without a time is kept."""
    time_ms = transaction.get("lastUpdated")
    return oldest_ms is None or not isinstance(time_ms, int) or time_ms > oldest_ms


def _layout_of(partition: Iterable[Field], statistics: StoredStatistics, zone: str | None) -> str:
    """Identifies what the values of an add depend on beside its action, in few characters."""
    columns = [(field.stored_name, str(field.type)) for field in partition]
    leaves = None if statistics.columns is None else [(one.path, str(one.leaf)) for one in statistics.columns]
    return hashlib.sha256(repr((columns, statistics.as_json, leaves, zone)).encode()).hexdigest()


def _unknown(files: Sequence[CheckpointFile], name: str, known: pa.StructType) -> list[pa.Field]:
    """The members of a column of an older checkpoint that the protocol does not know, of one type in all its files."""
    import pyarrow as pa

    found: dict[str, pa.Field] = {}
    unsure: set[str] = set()
    names = {member.name for member in known} | FORGOTTEN
    for file in files:
        schema = None if file.is_json else file.schema()
        if schema is None or name not in schema.names or not pa.types.is_struct(schema.field(name).type):
            continue
        for member in schema.field(name).type:
            if member.name not in names and found.setdefault(member.name, member).type != member.type:
                unsure.add(member.name)
    return [pa.field(member.name, member.type) for member in found.values() if member.name not in unsure]
