"""The files of a checkpoint, Parquet or JSON: the checkpoint itself, its parts, V2 manifests and sidecars.

Planning decodes statistics on demand only, and never decodes removes. Source: Delta PROTOCOL.md, "Checkpoints",
"Checkpoint Schema", "Sidecar Files".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

from tableformats.plugin import (
    FALSE,
    FOOTER_ITEMS,
    WHOLE_BYTES,
    CorruptMetadataError,
    FileInfo,
    MetadataCache,
    ParquetFile,
    StoreError,
    check_footer,
    check_pages,
    dataclass,
    has_sound_chunks,
    missing_file,
    percent_decoded,
)
from tableformats.plugin import compute as pc

from ..log.actions import Actions, parse_actions
from ..log.file_actions import file_rows
from ..log.listing import Checkpoint, LogFile, read_log_file
from ..log.names import LOG_DIRECTORY, SIDECAR_DIRECTORY
from ..statistics.log_statistics import TextStatistics
from .damage import HINT, damaged_column, guard_parquet
from .row_group_filter import GroupFilter, nulls_of
from .row_group_reader import CheckpointRows, RowGroup, RowGroupReader

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tableformats.plugin import ScanReport, Storage

__all__ = ["CheckpointFile", "CheckpointSplit", "expand", "read_metadata", "reading_ahead", "reading_checkpoint_ahead"]

T = TypeVar("T")
_BUFFER_BYTES = 1 << 16
_FEW_ROWS = 8192
_MOST_WHOLE_BYTES = 28 << 20
"""Of the files of one remote checkpoint that are read whole."""
_COUNTS_REMOVED = "Files in skipped row groups of a checkpoint are counted, also those that newer commits removed"


@dataclass(frozen=True)
class CheckpointSplit:
    """One of several consecutive runs of a file's row groups, so that several processes can share a file.

    Attributes
    ----------
    number : int
        Which run, from 0 on.
    count : int
        The number of runs, which cover all row groups in order.
    """

    number: int
    count: int

    def of(self, items: list[T]) -> list[T]:
        """The items in this run; ``items`` has one per row group."""
        first, last = (len(items) * i // self.count for i in (self.number, self.number + 1))
        return items[first:last]


@dataclass
class CheckpointFile:
    """One file of a checkpoint: the checkpoint itself, a part, a V2 manifest or a sidecar.

    Attributes
    ----------
    path : str
        Absolute.
    size : int
        In bytes.
    mtime_ms : int
        Modification time, milliseconds since the epoch.
    whole : bool
        Whether a small remote file is read whole, when its footer is needed.

    Notes
    -----
    The Parquet footer is read when it is first needed, and cached. A local file that another writer replaces between
    two openings is refused: its rows may have another order, and the columns of both would be taken together.
    """

    storage: Storage
    path: str
    size: int
    mtime_ms: int = 0
    whole: bool = True
    _footer: tuple[pq.FileMetaData, pa.Schema] | None = field(default=None, compare=False, repr=False)
    _sound: bool | None = field(default=None, compare=False, repr=False)
    _stamp: tuple[int, int] | None = field(default=None, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the footer: other processes read it again."""
        return {**self.__dict__, "_footer": None}

    @property
    def key(self) -> tuple[str, int, int]:
        """Identifies the content of the file."""
        return self.path, self.size, self.mtime_ms

    @property
    def is_json(self) -> bool:
        """Whether the file is a JSON manifest."""
        return self.path.endswith(".json")

    def actions(self) -> Actions:
        """The actions of a JSON manifest. Raises CorruptMetadataError, LimitExceededError."""
        if self.storage.is_local or self.size > WHOLE_BYTES:
            text = read_log_file(self.storage, self.path)
        else:
            with self.open_source() as source:
                text = source.read()
        actions = parse_actions(text, self.path)
        count = len(actions.adds) + len(actions.removes) + len(actions.sidecars)
        self.storage.limits.check("entries", count, "actions of a checkpoint file", path=self.path)
        return actions

    def structs(self, name: str) -> Iterator[dict[str, Any]]:
        """The values of :meth:`struct_arrays`, one by one. Raises CorruptMetadataError."""
        for values in self.struct_arrays(name):
            with guard_parquet(self.path):
                rows = values.to_pylist()
            yield from rows

    def struct_arrays(self, name: str) -> Iterator[pa.StructArray]:
        """The top-level struct ``name`` of a Parquet file, without rows where it or each member is null.

        Members that repeat others in the types of the table's columns are left out: Python's dates cannot hold each
        of their values.

        Raises
        ------
        CorruptMetadataError
        """
        import pyarrow as pa

        with guard_parquet(self.path):
            footer, schema = self._read_footer()
            if name not in schema.names:
                return
            if not pa.types.is_struct(schema.field(name).type):
                raise damaged_column(self.path, name)
            leaves = {
                number: path
                for number, path in _leaf_paths(footer, f"{name}.").items()
                if not path.split(".")[1].endswith("_parsed")
            }
            groups = list(range(footer.num_row_groups))
            if self._has_sound_chunks():
                groups = _groups_with_values(footer, leaves)
            if not groups:
                return
            with self._open(encoded=False) as parquet:  # few rows at once: callers often need the first value alone
                for batch in parquet.iter_batches(_FEW_ROWS, groups, columns=[*leaves.values()], use_threads=False):
                    values = pc.drop_null(batch.column(name))
                    if not len(values):
                        continue
                    members = values.flatten()
                    if all(member.null_count for member in members):
                        values = pc.filter(values, reduce(pc.or_, map(pc.is_valid, members), FALSE))
                    yield values

    def needed_groups(
        self, group_filter: GroupFilter, report: ScanReport, has_newer: bool, split: CheckpointSplit | None = None
    ) -> list[tuple[int | None, int | None]]:
        """The row groups that may have a file which the predicate needs; the files of the others are counted.

        Parameters
        ----------
        group_filter : GroupFilter
            Judges row groups by the predicate.
        report : ScanReport
            Counts skipped row groups and their files.
        has_newer : bool
            Whether newer commits have file actions, so that some counted files may be removed ones.
        split : CheckpointSplit, optional
            Consider only its row groups.

        Returns
        -------
        list of (int or None, int or None)
            As :meth:`groups`.

        Raises
        ------
        CorruptMetadataError
            The file is damaged.
        """
        considered = self.groups() if split is None else split.of(self.groups())
        if self.is_json or not group_filter.can_skip:
            return considered
        with guard_parquet(self.path):
            footer, schema = self._read_footer()
            numbers = {number for number, _ in considered} if split is not None else set(range(footer.num_row_groups))
            report.row_groups_total += len(numbers)
            add = schema.field("add").type if "add" in schema.names else None
            if add is None or not group_filter.has_bounds_in(add) or not self._has_sound_chunks():
                return considered
            skipped = [g for g in group_filter.skipped(footer, add) if g.number in numbers]
        report.row_groups_skipped += len(skipped)
        files = sum(group.adds for group in skipped)
        report.files_total += files
        report.files_skipped_with_manifests += files
        report.count_rows(None if files else 0)
        if files and has_newer:
            report.note(_COUNTS_REMOVED)
        skipped_numbers = {group.number for group in skipped}
        return [group for group in considered if group[0] not in skipped_numbers]

    def groups(self) -> list[tuple[int | None, int | None]]:
        """Number and row count of each row group; (None, None) for a JSON file. Raises CorruptMetadataError."""
        if self.is_json:
            return [(None, None)]
        with guard_parquet(self.path):
            footer, schema = self._read_footer()
            numbers = range(footer.num_row_groups if "add" in schema.names else 0)
            return [(i, footer.row_group(i).num_rows) for i in numbers]

    def group(
        self, number: int | None, row_columns: Sequence[str] = (), decode_ahead: bool = False
    ) -> Iterator[CheckpointRows]:
        """The add actions of a row group in batches.

        Parameters
        ----------
        number : int or None
            The row group; None for a JSON file.
        row_columns : sequence of str
            The wanted ones of :data:`.row_tracking.ROW_TRACKING_FIELDS`.
        decode_ahead : bool
            See :class:`RowGroupReader`.

        Raises
        ------
        CorruptMetadataError
            The file is damaged.
        """
        if number is None:
            rows = file_rows(self.actions().adds, "add", self.path)
            return iter([CheckpointRows(rows, TextStatistics(rows.column("stats")))])
        with guard_parquet(self.path):
            footer, schema = self._read_footer()
            n_rows = footer.row_group(number).num_rows
        group = RowGroup(self._open, self.path, number, n_rows, schema.field("add").type)
        return RowGroupReader(group, decode_ahead).batches(row_columns)

    def files(self) -> Iterator[CheckpointRows]:
        """The add actions of all row groups in batches. Raises CorruptMetadataError."""
        for number, _ in self.groups():
            yield from self.group(number)

    def schema(self) -> pa.Schema:
        """The columns of a Parquet file. Raises CorruptMetadataError."""
        with guard_parquet(self.path):
            return self._read_footer()[1]

    def batches(
        self, columns: Sequence[str], n_rows: int, groups: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a Parquet file in batches of at most ``n_rows``, with these columns. Raises CorruptMetadataError.

        Parameters
        ----------
        columns : sequence of str
            Names, or paths of members (``add.path``).
        groups : sequence of int, optional
            The row groups; None: all.
        """
        with guard_parquet(self.path):
            footer = self._read_footer()[0]
            numbers = range(footer.num_row_groups) if groups is None else groups
            with self._open(encoded=False) as parquet:
                yield from parquet.iter_batches(n_rows, list(numbers), columns=list(columns), use_threads=False)

    def pairs(self) -> dict[bytes, bytes]:
        """The key-value metadata of a Parquet file. Raises CorruptMetadataError."""
        with guard_parquet(self.path):
            return self._read_footer()[0].metadata or {}

    def stored_footer(self) -> tuple[bytes, int]:
        """The footer of a Parquet file to its last byte, and the size of the file. Raises CorruptMetadataError."""
        with guard_parquet(self.path), self.open_source() as source:
            total = source.size()
            size = min(self._read_footer()[0].serialized_size + 8, total)
            return bytes(source.read_at(size, total - size)), total

    def open_source(self) -> pa.NativeFile:
        """The bytes of the file. Raises CorruptMetadataError where there is none, or another one than before."""
        try:
            if self.storage.is_local:
                return self._open_local()
            return self.storage.open_immutable(self.path, self.size, self.mtime_ms, self.whole)
        except FileNotFoundError as error:
            raise missing_file("a file of the log", self.path) from error

    def _open_local(self) -> pa.NativeFile:
        """The same file at each opening. Raises CorruptMetadataError where it was replaced."""
        before = self._stamp or self.storage.stamp_of(self.path)
        source = self.storage.open_immutable(self.path, self.size, self.mtime_ms, self.whole)
        if (after := self.storage.stamp_of(self.path)) != before:
            source.close()
            if self._stamp is None:
                return self._open_local()
            raise CorruptMetadataError(
                "another writer replaced a checkpoint file while it was read",
                path=self.path,
                hint="Nothing is lost: open the table again",
            )
        self._stamp = after
        return source

    def _open(self, source: pa.NativeFile | None = None, encoded: bool = True) -> ParquetFile:
        source = self.open_source() if source is None else source
        footer = None if self._footer is None else self._footer[0]
        # Partition columns have few distinct values, which are parsed once each in dictionary form.
        values = _leaf_paths(footer, "add.partitionValues.") if encoded and footer is not None else {}
        is_local = self.storage.is_local
        return ParquetFile(
            source,
            metadata=footer,
            read_dictionary=[*values.values()] or None,
            # A local file is read page by page, a store in few large requests.
            pre_buffer=not is_local,
            buffer_size=_BUFFER_BYTES if is_local else 0,
            thrift_container_size_limit=FOOTER_ITEMS,
            # Nanoseconds overflow outside of 1677 to 2262.
            coerce_int96_timestamp_unit="us",
        )

    def _read_footer(self) -> tuple[pq.FileMetaData, pa.Schema]:
        if self._footer is None:
            source = self.open_source()
            check_footer(source, self.path, self.storage.limits)
            with self._open(source) as parquet:
                self._check_size(parquet.metadata, source)
                self._footer = parquet.metadata, parquet.schema_arrow
        return self._footer

    def _check_size(self, footer: pq.FileMetaData, source: pa.NativeFile) -> None:
        """Refuse a file of more rows, or of greater pages, than the limits allow for its size."""
        limits = self.storage.limits
        rows = max(footer.num_rows, sum(footer.row_group(i).num_rows for i in range(footer.num_row_groups)))
        stored = source.size()
        if rows > limits.within(stored).entries:
            raise limits.exceeded("entries", f"{rows} rows of a checkpoint file", path=self.path, stored=stored)
        check_pages(source, footer, self.path, limits)

    def _has_sound_chunks(self) -> bool:
        """Whether Arrow can safely read the column chunks of the footer; see :func:`has_sound_chunks`."""
        if self._sound is None:
            self._sound = has_sound_chunks(self.stored_footer()[0])
        return self._sound


def expand(storage: Storage, checkpoint: Checkpoint, cache: MetadataCache) -> list[CheckpointFile]:
    """The files that hold the add actions of a checkpoint: its own files, then the sidecars that they name.

    Raises
    ------
    CorruptMetadataError
        The checkpoint is damaged.
    PathNotAllowedError
        A sidecar is in another store.
    """
    files = _files_of(storage, checkpoint, cache)
    named: dict[str, CheckpointFile] = {}  # one that is named twice has no further actions
    for file in files:
        for action in file.actions().sidecars if file.is_json else file.structs("sidecar"):
            sidecar = _sidecar(storage, action, file.path)
            named.setdefault(sidecar.path, sidecar)
    sidecars = list(named.values())
    whole = _are_read_whole(file.size for file in sidecars)
    for sidecar_file in sidecars:
        sidecar_file.whole = whole
    return files + sidecars


def _are_read_whole(sizes: Iterable[int]) -> bool:
    """Whether the files of a remote checkpoint are few enough bytes to be kept in memory while they are needed."""
    return sum(sizes) <= _MOST_WHOLE_BYTES


@contextmanager
def reading_ahead(files: Sequence[CheckpointFile]) -> Iterator[None]:
    """Within this context remote checkpoint files, or the ends of large ones, are being read together."""
    if not files or files[0].storage.is_local:
        yield
        return
    infos = [FileInfo(file.path.rpartition("/")[2], *file.key) for file in files]
    whole = [info for file, info in zip(files, infos, strict=True) if file.whole]
    ends = [info for file, info in zip(files, infos, strict=True) if not file.whole]
    with files[0].storage.reading_ahead((), whole), files[0].storage.reading_ahead((), ends, whole=False):
        yield


@contextmanager
def reading_checkpoint_ahead(
    storage: Storage, checkpoint: Sequence[LogFile], others: Sequence[tuple[str, int]]
) -> Iterator[None]:
    """Within this context the files of a remote checkpoint are being read, beside ``others`` (path, bytes).

    What was read of the checkpoint is kept for the planning that follows.
    """
    files = _checkpoint_files(storage, checkpoint)
    with storage.reading_ahead(others), reading_ahead(files):
        yield
        for file in files:
            with suppress(CorruptMetadataError, StoreError):  # planning says what is wrong, if it needs the file
                file.open_source().close()


def _checkpoint_files(storage: Storage, files: Sequence[LogFile]) -> list[CheckpointFile]:
    whole = _are_read_whole(file.size for file in files)
    return [CheckpointFile(storage, file.path, file.size, file.mtime_ms, whole) for file in files]


def _files_of(storage: Storage, checkpoint: Checkpoint, cache: MetadataCache) -> list[CheckpointFile]:
    """The files of the checkpoint itself. They are cached, so that their footers are read once."""
    return cache.get(
        ("files", checkpoint),
        lambda: _checkpoint_files(storage, checkpoint.files),
        lambda files: 1024 * len(files),
    )


def _sidecar(storage: Storage, action: dict[str, Any], manifest: str) -> CheckpointFile:
    stored, size = action.get("path"), action.get("sizeInBytes")
    if not isinstance(stored, str):
        raise CorruptMetadataError("a sidecar has no path", path=manifest, field="sidecar.path", hint=HINT)
    # Writers usually store the name alone; the file is then in the directory of sidecars.
    relative = stored if "/" in percent_decoded(stored) else f"{LOG_DIRECTORY}/{SIDECAR_DIRECTORY}/{stored}"
    path = storage.resolve_one(relative, encoded=True)
    time = action.get("modificationTime")
    return CheckpointFile(storage, path, size if isinstance(size, int) else 0, time if isinstance(time, int) else 0)


def read_metadata(
    storage: Storage, checkpoint: Checkpoint, cache: MetadataCache
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The ``protocol`` and ``metaData`` actions of a checkpoint; each None where the checkpoint has none.

    Raises
    ------
    CorruptMetadataError
        The checkpoint is damaged.
    """
    protocol: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    for file in _files_of(storage, checkpoint, cache):
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


def _groups_with_values(footer: pq.FileMetaData, leaves: Collection[int]) -> list[int]:
    """The row groups in which one of the leaf columns may have a value: not each of them says that all are NULL."""

    def may_have_values(number: int) -> bool:
        group = footer.row_group(number)
        chunks = (group.column(i) for i in leaves)
        return any(nulls_of(chunk) != chunk.num_values for chunk in chunks)

    return [number for number in range(footer.num_row_groups) if may_have_values(number)]


def _leaf_paths(footer: pq.FileMetaData, prefix: str) -> dict[int, str]:
    """The paths of the leaf columns that start with ``prefix``, by number."""
    paths = ((number, footer.schema.column(number).path) for number in range(footer.num_columns))
    return {number: path for number, path in paths if path.startswith(prefix)}
