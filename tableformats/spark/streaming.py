"""Streaming reads: every row that a version of the table appended, once, in the order of versions.

An offset is a version and a number of its files that were read. So a query that restarts from its checkpoint reads the
same files for the same offsets. A stream starts with the rows of the current version, unless the options say otherwise.
Versions that delete or change rows end the query with an error, unless options say to skip them.
Source of the options' meaning: Delta Lake documentation, "Table streaming reads and writes"; Iceberg documentation,
"Spark Structured Streaming".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from ..dataclass import dataclass
from ..errors import UnsupportedFeatureError
from ..plugin.format import utc_datetime
from ..table.opening import epoch_ms
from .file_groups import TaskReader, file_groups
from .options import STREAM, ReadOptions
from .stream_files import ALL, AppendedFiles, InitialFiles, StreamFiles
from .worker_errors import one_line_errors

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from ..table.table import Table

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles, SupportsTriggerAvailableNow
except ImportError:  # before Spark 4.2

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        pass

    class ReadAllAvailable:  # type: ignore[no-redef]
        pass


__all__ = ["Offset", "StreamReader"]

DEFAULT_MAX_FILES = 1000
"""Files of a micro-batch if no limit is given; Delta has the same default."""
_UNLIMITED = 1 << 62


@dataclass(frozen=True)
class Offset:
    """A position in a stream.

    Attributes
    ----------
    version : int
        The version whose files are being read.
    index : int
        How many of its files were read, in the order of :class:`StreamFiles`; :data:`ALL`: all.
    initial : bool
        Whether the files are all files of the version, with which the stream starts, and not those that it appended.
    """

    version: int
    index: int
    initial: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Offset:
        """The offset from the form in which Spark stores it."""
        return cls(values["version"], values["index"], values["initial"])

    @property
    def has_more_files(self) -> bool:
        """Whether files of ``version`` may still have to be read."""
        return self.index != ALL


@dataclass(frozen=True)
class _VersionFiles:
    """The sizes of the files of a version, by number."""

    version: int
    initial: bool
    sizes: list[int]


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans the micro-batches of one query, see docs/spark.md. For executors it is pickled as a :class:`TaskReader`.

    Raises
    ------
    UnsupportedFeatureError
        A version deleted or changed rows; the table's columns have changed.
    SnapshotNotFoundError
        Versions that were not read yet are gone.
    """

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        options.check(STREAM, "a streaming read")
        self._options = options
        self._schema = schema
        self._unread: list[_VersionFiles] = []
        self._appended: tuple[list[int], AppendedFiles] | None = None
        self._end: Offset | None = None
        self._last_version: int | None = None

    def __reduce__(self) -> Any:
        return TaskReader, (self._options.access,)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return TaskReader(self._options.access).read(partition)

    # ---- the start of a stream ----------------------------------------------------------------------------------

    @one_line_errors()
    def initialOffset(self) -> dict[str, Any]:
        """The start of a query that has no checkpoint."""
        self._end = self._first_offset(self._options.open_table())
        return asdict(self._end)

    def _first_offset(self, table: Table) -> Offset:
        version, timestamp = self._options.version("startingVersion"), self._options.version("startingTimestamp")
        if version is not None and timestamp is not None:
            raise UnsupportedFeatureError(
                "startingVersion and startingTimestamp were given", field="startingTimestamp", hint="Leave one out"
            )
        current = table.snapshot().version
        if timestamp is not None:
            since = _first_since(table, epoch_ms(timestamp) or 0)
            return Offset(current, ALL) if since is None else Offset(since, 0)
        if version is None:
            return Offset(current, 0, initial=True) if current != -1 else Offset(-1, ALL)
        return Offset(current, ALL) if version == "latest" else Offset(table.snapshot(version).version, 0)

    # ---- the end of a micro-batch -------------------------------------------------------------------------------

    @one_line_errors()
    def getDefaultReadLimit(self) -> Any:
        """The limit of files of a micro-batch; a limit of bytes is applied in :meth:`latestOffset`."""
        return ReadMaxFiles(self._max_files)

    @property
    def _max_files(self) -> int:
        found = self._options.number("maxFilesPerTrigger")
        if found is not None:
            return found
        return DEFAULT_MAX_FILES if self._options.size("maxBytesPerTrigger") is None else _UNLIMITED

    @one_line_errors()
    def prepareForTriggerAvailableNow(self) -> None:
        """Read no version that is newer than the current one from now on."""
        self._last_version = self._options.open_table().snapshot().version

    @one_line_errors()
    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, Any]:
        """The end of the micro-batch that starts at ``start``; ``start`` itself if there are no new files.

        Spark before 4.2 passes no start. Then it is the end of the last micro-batch. That is unknown for the first one
        after a restart, which has no limit.
        """
        begin = self._end if start is None else Offset.of(start)
        if begin is None:
            self._end = Offset(self._options.open_table().snapshot().version, ALL)
        else:
            self._end = self._batch_end(begin, isinstance(limit, ReadAllAvailable))
        return asdict(self._end)

    def _batch_end(self, begin: Offset, read_all: bool) -> Offset:
        max_files = _UNLIMITED if read_all else self._max_files
        max_bytes = (None if read_all else self._options.size("maxBytesPerTrigger")) or _UNLIMITED
        end, files, size = begin, 0, 0
        for unread in self._files_after(begin):
            is_first = (unread.version, unread.initial) == (begin.version, begin.initial)
            for number in range(begin.index if is_first else 0, len(unread.sizes)):
                # The first file is always read, however large it is, so that the stream advances.
                if files and (files >= max_files or size + unread.sizes[number] > max_bytes):
                    return Offset(unread.version, number, unread.initial) if number else end
                files, size = files + 1, size + unread.sizes[number]
            end = Offset(unread.version, ALL, unread.initial)
        return end

    def _files_after(self, begin: Offset) -> list[_VersionFiles]:
        """The files from ``begin`` on. The table is opened again when all known files are read."""
        known = self._unread
        while known and (known[0].version, known[0].initial) != (begin.version, begin.initial):
            known = known[1:]
        if known and not begin.has_more_files:
            known = known[1:]
        self._unread = known or list(self._find_files(self._options.open_table(), begin))
        return self._unread

    def _find_files(self, table: Table, begin: Offset) -> Iterator[_VersionFiles]:
        if begin.initial and begin.has_more_files:
            yield _VersionFiles(begin.version, True, self._initial(table, begin.version).sizes(begin.version))
        versions = _versions_from(table, begin)
        if self._last_version is not None:
            versions = _up_to(versions, self._last_version)
        for version in versions:
            try:
                sizes = self._appended_in(table, versions).sizes(version)
            except UnsupportedFeatureError:
                # Versions before the one that ends the query are read first.
                if version != versions[0]:
                    return
                raise
            yield _VersionFiles(version, False, sizes)

    # ---- the files of a micro-batch -----------------------------------------------------------------------------

    @one_line_errors()
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The files between two offsets."""
        begin, stop = Offset.of(start), Offset.of(end)
        self._end = stop
        if begin == stop:
            return []
        table = self._options.open_table()
        groups: list[InputPartition] = []
        if begin.initial and begin.has_more_files:
            last = stop.index if stop.initial else ALL
            plan = self._initial(table, begin.version).plan({begin.version: (begin.index, last)})
            groups += file_groups(plan, self._options)
        versions = [] if stop.initial else _up_to(_versions_from(table, begin), stop.version)
        if versions:
            appended = self._appended_in(table, versions)
            ranges = {version: (0, ALL) for version in versions if appended.sizes(version)}
            if begin.version in ranges:
                ranges[begin.version] = (begin.index, ALL)
            if stop.version in ranges:
                ranges[stop.version] = (ranges[stop.version][0], stop.index)
            groups += file_groups(appended.plan(ranges), self._options)
        return groups

    def _initial(self, table: Table, version: int) -> StreamFiles:
        return InitialFiles(table, version, self._options, self._schema)

    def _appended_in(self, table: Table, versions: list[int]) -> AppendedFiles:
        """The files that ``versions`` appended. The last result is cached, because every micro-batch asks twice."""
        if self._appended is None or not set(versions) <= set(self._appended[0]):
            self._appended = (versions, AppendedFiles(table, versions[0], self._options, self._schema))
        return self._appended[1]


def _versions_from(table: Table, begin: Offset) -> list[int]:
    """The versions with appended files that are not read yet at ``begin``, oldest first."""
    newer = table.versions_after(None if begin.version == -1 else begin.version)
    return [begin.version, *newer] if begin.has_more_files and not begin.initial else newer


def _up_to(versions: list[int], last: int) -> list[int]:
    return versions[: versions.index(last) + 1] if last in versions else []


def _first_since(table: Table, timestamp_ms: int) -> int | None:
    """The oldest version that was committed at that time or later."""
    since = utc_datetime(timestamp_ms)
    found = [
        row["version"]
        for row in table.history().to_pylist()
        if row["timestamp"] >= since and row.get("is_current_ancestor", True)
    ]
    return found[-1] if found else None
