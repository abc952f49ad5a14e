"""Streaming reads of tables that are appended to: every row that a version appended, once, in the order of versions.

An offset is a version and how many of its files were read, so a query that starts again from its checkpoint reads the
same files for the same offsets. A stream begins with the rows of the current version, unless told another start.
Versions that delete or change rows end the query with an error, unless options say to pass over them.
Source of the options' meaning: Delta Lake documentation, "Table streaming reads and writes"; Iceberg documentation,
"Spark Structured Streaming".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from ..errors import UnsupportedFeatureError
from ..plugin.format import utc_datetime
from ..table.table import epoch_ms
from .file_groups import TaskReader, file_groups
from .options import STREAM, ReadOptions
from .stream_files import ALL, AppendedFiles, InitialFiles, StreamFiles

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
"""Files of a micro-batch where no limit is given, as Delta has it."""
_UNLIMITED = 1 << 62


@dataclass(frozen=True)
class Offset:
    """Where a stream stands: behind the first ``index`` files (:data:`ALL`: behind all) that ``version`` appended, in
    the order of :class:`StreamFiles`; ``initial``: of the files that the version has, with which the stream began."""

    version: int
    index: int
    initial: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Offset:
        return cls(values["version"], values["index"], values["initial"])

    @property
    def is_within(self) -> bool:
        """Whether files of ``version`` may lie ahead."""
        return self.index != ALL


@dataclass(frozen=True)
class _Ahead:
    """Files that lie ahead: those of ``version``, by number."""

    version: int
    initial: bool
    sizes: list[int]


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans the micro-batches of one query; see docs/spark.md. Executors get a :class:`TaskReader`.

    Raises
    ------
    UnsupportedFeatureError : a version deleted or changed rows; the table's columns have changed
    SnapshotNotFoundError : versions that were not read yet are not there any more
    """

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        options.check(STREAM, "a streaming read")
        self._options = options
        self._schema = schema
        self._ahead: list[_Ahead] = []
        self._appended: tuple[list[int], AppendedFiles] | None = None
        self._reached: Offset | None = None
        self._last_version: int | None = None

    def __reduce__(self) -> Any:
        return TaskReader, (self._options.access,)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return TaskReader(self._options.access).read(partition)

    # ---- where a stream begins ----------------------------------------------------------------------------------

    def initialOffset(self) -> dict[str, Any]:
        """Where a query begins that has no checkpoint."""
        self._reached = self._beginning(self._options.open_table())
        return asdict(self._reached)

    def _beginning(self, table: Table) -> Offset:
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

    # ---- how far a micro-batch goes -----------------------------------------------------------------------------

    def getDefaultReadLimit(self) -> Any:
        """That there is a limit; the options say which."""
        return ReadMaxFiles(self._max_files)

    @property
    def _max_files(self) -> int:
        found = self._options.number("maxFilesPerTrigger")
        if found is not None:
            return found
        return DEFAULT_MAX_FILES if self._options.size("maxBytesPerTrigger") is None else _UNLIMITED

    def prepareForTriggerAvailableNow(self) -> None:
        """Nothing is read from now on that is newer than the current version."""
        self._last_version = self._options.open_table().snapshot().version

    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, Any]:
        """The end of the micro-batch that begins at ``start``; ``start`` itself where nothing is new.

        Before Spark 4.2 no start is given. The reader knows where it left off, but not for the first micro-batch after
        a restart: that one has no limit.
        """
        begun = self._reached if start is None else Offset.of(start)
        if begun is None:
            self._reached = Offset(self._options.open_table().snapshot().version, ALL)
        else:
            self._reached = self._end(begun, isinstance(limit, ReadAllAvailable))
        return asdict(self._reached)

    def _end(self, begun: Offset, read_all: bool) -> Offset:
        max_files = _UNLIMITED if read_all else self._max_files
        max_bytes = (None if read_all else self._options.size("maxBytesPerTrigger")) or _UNLIMITED
        reached, files, size = begun, 0, 0
        for ahead in self._files_ahead(begun):
            is_begun = (ahead.version, ahead.initial) == (begun.version, begun.initial)
            for number in range(begun.index if is_begun else 0, len(ahead.sizes)):
                # However large the first file is, it is read: a stream must go on.
                if files and (files >= max_files or size + ahead.sizes[number] > max_bytes):
                    return Offset(ahead.version, number, ahead.initial) if number else reached
                files, size = files + 1, size + ahead.sizes[number]
            reached = Offset(ahead.version, ALL, ahead.initial)
        return reached

    def _files_ahead(self, begun: Offset) -> list[_Ahead]:
        """What lies ahead of ``begun``; the table is looked at again when what was found before is used up."""
        known = self._ahead
        while known and (known[0].version, known[0].initial) != (begun.version, begun.initial):
            known = known[1:]
        if known and not begun.is_within:
            known = known[1:]
        self._ahead = known or list(self._look(self._options.open_table(), begun))
        return self._ahead

    def _look(self, table: Table, begun: Offset) -> Iterator[_Ahead]:
        if begun.initial and begun.is_within:
            yield _Ahead(begun.version, True, self._initial(table, begun.version).sizes(begun.version))
        versions = _versions_from(table, begun)
        if self._last_version is not None:
            versions = _up_to(versions, self._last_version)
        for version in versions:
            try:
                sizes = self._appended_in(table, versions).sizes(version)
            except UnsupportedFeatureError:
                # What lies before a version that ends the query is read first.
                if version != versions[0]:
                    return
                raise
            yield _Ahead(version, False, sizes)

    # ---- what a micro-batch reads -------------------------------------------------------------------------------

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The files between two offsets."""
        begun, ended = Offset.of(start), Offset.of(end)
        self._reached = ended
        if begun == ended:
            return []
        table = self._options.open_table()
        groups: list[InputPartition] = []
        if begun.initial and begun.is_within:
            last = ended.index if ended.initial else ALL
            plan = self._initial(table, begun.version).plan({begun.version: (begun.index, last)})
            groups += file_groups(plan, self._options)
        versions = [] if ended.initial else _up_to(_versions_from(table, begun), ended.version)
        if versions:
            appended = self._appended_in(table, versions)
            ranges = {version: (0, ALL) for version in versions if appended.sizes(version)}
            if begun.version in ranges:
                ranges[begun.version] = (begun.index, ALL)
            if ended.version in ranges:
                ranges[ended.version] = (ranges[ended.version][0], ended.index)
            groups += file_groups(appended.plan(ranges), self._options)
        return groups

    def _initial(self, table: Table, version: int) -> StreamFiles:
        return InitialFiles(table, version, self._options, self._schema)

    def _appended_in(self, table: Table, versions: list[int]) -> AppendedFiles:
        """A listing that has ``versions``; the last one is kept, for every micro-batch looks twice."""
        if self._appended is None or not set(versions) <= set(self._appended[0]):
            self._appended = (versions, AppendedFiles(table, versions[0], self._options, self._schema))
        return self._appended[1]


def _versions_from(table: Table, begun: Offset) -> list[int]:
    """The versions of which appended files may lie ahead, oldest first."""
    newer = table.versions_after(None if begun.version == -1 else begun.version)
    return [begun.version, *newer] if begun.is_within and not begun.initial else newer


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
