"""Checkpoints: classic, multi-part and V2 ones, Parquet or JSON: the files that they consist of, and what those hold.

Only what planning needs is decoded: statistics when they are asked for, removes never. Source: Delta PROTOCOL.md,
"Checkpoints", "Checkpoint Schema", "Sidecar Files".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from tableformats.plugin import CorruptMetadataError, MetadataCache, missing_file
from tableformats.plugin import compute as pc

from ..log.actions import Actions, parse_actions
from ..log.file_actions import file_rows
from ..log.listing import Checkpoint, read_log_file
from ..log.names import LOG_DIRECTORY
from ..statistics.log_statistics import TextStatistics
from .damage import HINT, damaged_column, guard
from .parquet_footers import has_sound_chunks
from .row_group_filter import GroupFilter
from .row_group_reader import CheckpointRows, RowGroupReader

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tableformats.plugin import ScanReport, Storage

__all__ = ["CheckpointFile", "CheckpointSplit", "expand", "read_metadata"]

T = TypeVar("T")
_BUFFER_BYTES = 1 << 16
_SMALL_ROWS = 8192
_ALL_COUNTED = "Files in skipped row groups of a checkpoint are counted, also those that newer commits removed"


@dataclass(frozen=True)
class CheckpointSplit:
    """The ``number``-th of ``count`` runs of a file's row groups, which together are all of them, in order."""

    number: int
    count: int

    def of(self, items: list[T]) -> list[T]:
        """Those of the items that lie in the share."""
        first, last = (len(items) * i // self.count for i in (self.number, self.number + 1))
        return items[first:last]


@dataclass
class CheckpointFile:
    """One file of a checkpoint: the checkpoint itself, a part, a V2 manifest or a sidecar."""

    storage: Storage
    path: str
    size: int
    mtime_ms: int = 0
    cache: MetadataCache = field(default_factory=lambda: MetadataCache(0))
    _footer: tuple[pq.FileMetaData, pa.Schema] | None = None
    _sound: bool | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Other processes read the footer themselves."""
        return {**self.__dict__, "_footer": None}

    @property
    def key(self) -> tuple[str, int, int]:
        """What tells the file's content from every other."""
        return self.path, self.size, self.mtime_ms

    @property
    def is_json(self) -> bool:
        return self.path.endswith(".json")

    def actions(self) -> Actions:
        """A JSON manifest's actions. Raises CorruptMetadataError, LimitExceededError."""
        actions = parse_actions(read_log_file(self.storage, self.path), self.path)
        count = len(actions.adds) + len(actions.removes) + len(actions.sidecars)
        self.storage.limits.check("entries", count, "actions of a checkpoint file", path=self.path)
        return actions

    def structs(self, name: str) -> Iterator[dict[str, Any]]:
        """The non-null values of the top-level struct ``name`` of a Parquet file. Raises CorruptMetadataError."""
        import pyarrow as pa

        with guard(self.path):
            schema = self._read_footer()[1]
            if name not in schema.names:
                return
            if not pa.types.is_struct(schema.field(name).type):
                raise damaged_column(self.path, name)
            with self._open() as parquet:  # in small pieces, for who looks for the first value alone
                for batch in parquet.iter_batches(_SMALL_ROWS, columns=[name], use_threads=False):
                    for value in pc.drop_null(batch.column(name)).to_pylist():
                        if any(part is not None for part in value.values()):
                            yield value

    def needed_groups(
        self, groups: GroupFilter, report: ScanReport, has_newer: bool, share: CheckpointSplit | None = None
    ) -> list[tuple[int | None, int | None]]:
        """Those of :meth:`groups` (of a ``share``: that lie in it) that may hold a file which is needed; the others
        are counted with their files. ``has_newer``: newer commits have keys. Raises CorruptMetadataError."""
        every = self.groups()
        own = every if share is None else share.of(every)
        if self.is_json or not groups.can_skip:
            return own
        with guard(self.path):
            footer, schema = self._read_footer()
            numbers = {number for number, _ in own} if share is not None else set(range(footer.num_row_groups))
            report.row_groups_total += len(numbers)
            add = schema.field("add").type if "add" in schema.names else None
            if add is None or not groups.can_skip_of(add) or not self._has_sound_chunks():
                return own
            skipped = [g for g in groups.skipped(footer, add) if g.number in numbers]
        report.row_groups_skipped += len(skipped)
        files = sum(group.adds for group in skipped)
        report.files_total += files
        report.files_skipped_with_manifests += files
        if files and has_newer:
            report.note(_ALL_COUNTED)
        gone = {group.number for group in skipped}
        return [group for group in own if group[0] not in gone]

    def groups(self) -> list[tuple[int | None, int | None]]:
        """(number, rows) of the file's row groups; of a JSON file both are None. Raises CorruptMetadataError."""
        if self.is_json:
            return [(None, None)]
        with guard(self.path):
            footer, schema = self._read_footer()
            numbers = range(footer.num_row_groups if "add" in schema.names else 0)
            return [(i, footer.row_group(i).num_rows) for i in numbers]

    def group(
        self, number: int | None, row_columns: Sequence[str] = (), decode_ahead: bool = False
    ) -> Iterator[CheckpointRows]:
        """The add actions of a row group in batches, with these of :data:`.row_tracking.ROW_TRACKING_FIELDS`. Raises
        CorruptMetadataError. See :class:`RowGroupReader`."""
        if number is None:
            rows = file_rows(self.actions().adds, "add", self.path)
            return iter([CheckpointRows(rows, TextStatistics(rows.column("stats")))])
        with guard(self.path):
            footer, schema = self._read_footer()
            n_rows = footer.row_group(number).num_rows
        kind = schema.field("add").type
        return RowGroupReader(self._open, self.path, number, n_rows, kind, decode_ahead).batches(row_columns)

    def files(self) -> Iterator[CheckpointRows]:
        """The add actions of all row groups in batches. Raises CorruptMetadataError."""
        for number, _ in self.groups():
            yield from self.group(number)

    def _open(self) -> pq.ParquetFile:
        import pyarrow.parquet as pq

        try:
            source = self.storage.open_file(self.path)
        except FileNotFoundError as error:
            raise missing_file("a file of the log", self.path) from error
        footer = None if self._footer is None else self._footer[0]
        is_local = self.storage.is_local
        return pq.ParquetFile(
            source,
            metadata=footer,
            # The few values of partition columns come encoded, and are best parsed so.
            read_dictionary=None if footer is None else _below(footer, "add.partitionValues."),
            # A disk is read as pages are decoded, a store in few large requests.
            pre_buffer=not is_local,
            buffer_size=_BUFFER_BYTES if is_local else 0,
            # int96 as nanoseconds wraps around outside of 1677 to 2262.
            coerce_int96_timestamp_unit="us",
        )

    def _read_footer(self) -> tuple[pq.FileMetaData, pa.Schema]:
        if self._footer is None:
            with self._open() as parquet:
                rows = parquet.metadata.num_rows
                self.storage.limits.check("entries", rows, "rows of a checkpoint file", path=self.path)
                self._footer = parquet.metadata, parquet.schema_arrow
        return self._footer

    def _has_sound_chunks(self) -> bool:
        """Whether Arrow may be asked what the footer says of column chunks: see :mod:`.parquet_footers`."""
        if self._sound is None:
            with self.storage.open_file(self.path) as source:
                size = min(self._read_footer()[0].serialized_size + 8, source.size())
                self._sound = has_sound_chunks(bytes(source.read_at(size, source.size() - size)))
        return self._sound


def expand(storage: Storage, checkpoint: Checkpoint, cache: MetadataCache) -> list[CheckpointFile]:
    """The files that hold the checkpoint's add actions: its own, then the sidecars that it names.

    Raises
    ------
    CorruptMetadataError : it is damaged
    PathNotAllowedError : a sidecar of another store
    """
    own = _own_files(storage, checkpoint, cache)
    sidecars: list[CheckpointFile] = []
    for file in own:
        named = file.actions().sidecars if file.is_json else file.structs("sidecar")
        for sidecar in named:
            sidecars.append(_sidecar(storage, sidecar, file.path, cache))
    return own + sidecars


def _own_files(storage: Storage, checkpoint: Checkpoint, cache: MetadataCache) -> list[CheckpointFile]:
    """The files of the checkpoint itself, which know their footers once somebody asked for these."""
    return cache.get(
        ("files", checkpoint),
        lambda: [CheckpointFile(storage, file.path, file.size, file.mtime_ms, cache) for file in checkpoint.files],
        lambda files: 1024 * len(files),
    )


def _sidecar(storage: Storage, action: dict[str, Any], manifest: str, cache: MetadataCache) -> CheckpointFile:
    stored, size = action.get("path"), action.get("sizeInBytes")
    if not isinstance(stored, str):
        raise CorruptMetadataError("a sidecar has no path", path=manifest, field="sidecar.path", hint=HINT)
    # Only the name is usual: sidecars live in _delta_log/_sidecars and nowhere else.
    named = stored if "/" in unquote(stored) else f"{LOG_DIRECTORY}/_sidecars/{stored}"
    path = storage.resolve_one(named, encoded=True)
    time = action.get("modificationTime")
    return CheckpointFile(
        storage, path, size if isinstance(size, int) else 0, time if isinstance(time, int) else 0, cache
    )


def read_metadata(
    storage: Storage, checkpoint: Checkpoint, cache: MetadataCache
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """(protocol, metaData) of a checkpoint; each None where it has none.

    Raises
    ------
    CorruptMetadataError : it is damaged
    """
    protocol: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    for file in _own_files(storage, checkpoint, cache):
        if file.is_json:
            actions = file.actions()
            protocol, metadata = protocol or actions.protocol, metadata or actions.metadata
            continue
        protocol = protocol or next(file.structs("protocol"), None)
        if metadata is None and (found := next(file.structs("metaData"), None)) is not None:
            metadata = found
            metadata["configuration"] = dict(metadata.get("configuration") or ())
        if protocol and metadata:
            break
    return protocol, metadata


def _below(footer: pq.FileMetaData, prefix: str) -> list[str]:
    """The paths of the leaf columns that begin with ``prefix``."""
    paths = (footer.schema.column(i).path for i in range(footer.num_columns))
    return [path for path in paths if path.startswith(prefix)]
