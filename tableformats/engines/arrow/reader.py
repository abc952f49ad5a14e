"""Read the rows of a plan: exactly the live rows for which the filter is TRUE, batch by batch, on several threads.

Files, and row groups of one file, are read at the same time, ahead of the consumer and within a budget of bytes
(:mod:`tableformats.runtime.streams`). Where more than one is read, Arrow's own threads are not used, so threads do not
multiply. :mod:`file_rows` reads the rows of one file.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TypeVar

import pyarrow as pa

from ...dataclass import dataclass
from ...expressions import Expression
from ...expressions.tree import TRUE, top_columns
from ...planning.plan import FilePlan
from ...planning.request import ScanRequest
from ...planning.tasks import ScanTask, tasks_of
from ...plugin.snapshot import FormatSnapshot
from ...pruning.compiled_predicate import CompiledPredicate
from ...runtime.streams import OpenedSource, StreamPart, merged_streams
from ...runtime.threads import thread_count
from ...schema import Field
from .deletes import DeleteLoader
from .file_columns import FileColumns, SeenFiles, identity_values
from .file_rows import FileRows
from .files.data_file import DataFile, typed_errors
from .files.opening import open_data_file

__all__ = ["ReadOptions", "count_rows", "read_batches", "read_tasks"]

MEMORY_BYTES = 512 << 20
_STORE_THREADS = 32
"""The fewest threads for a store: they mostly wait for it."""
_MOST_KINDS = 64
"""So many kinds of files are known at the same time: those of one partition mostly follow each other."""
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True)
class ReadOptions:
    """How rows are read.

    Attributes
    ----------
    memory_bytes : int
        About how much memory the reader may hold. Half of it is for batches that wait for the consumer and for column
        chunks that are being decoded; the rest is left for what decoders need, and for one batch of each thread.
    ordered : bool
        False: batches in the order in which they are made, so that a slow file holds nobody up.
    """

    memory_bytes: int = MEMORY_BYTES
    ordered: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.memory_bytes, bool) or not isinstance(self.memory_bytes, int) or self.memory_bytes < 1:
            raise ValueError(f"memory_bytes is a positive number of bytes, not {self.memory_bytes!r}")


DEFAULT_OPTIONS = ReadOptions()


def read_batches(
    plan: FilePlan, tasks: Iterable[ScanTask] | None = None, options: ReadOptions = DEFAULT_OPTIONS
) -> pa.RecordBatchReader:
    """The rows of a plan as a stream. Files are opened somewhat ahead of it.

    Parameters
    ----------
    plan : FilePlan
        The plan.
    tasks : Iterable[ScanTask], optional
        Tasks of the plan, read in this order. None: all, in the order of ``plan.files``.
    options : ReadOptions

    Returns
    -------
    pa.RecordBatchReader
        At most ``plan.limit`` rows, with the schema ``plan.schema.to_arrow()``.

    Raises
    ------
    UnsupportedFeatureError
        A file's format, or how it stores a selected column, is not read (``field`` names it).
    CorruptMetadataError
        While the stream is read: a file is missing or damaged, or contradicts the metadata.
    TypeError
        An item of ``tasks`` is no task.
    """
    batches = _Reader(plan.scan, plan.schema.fields, options).batches(tasks_of(plan) if tasks is None else tasks)
    if plan.limit is not None:
        batches = _first_rows(batches, plan.limit)
    return pa.RecordBatchReader.from_batches(plan.schema.to_arrow(), batches)


def read_tasks(scan: ScanRequest, tasks: Iterable[ScanTask]) -> Iterator[pa.RecordBatch]:
    """The rows of tasks that were planned elsewhere; the snapshot of ``scan`` need not be able to plan.

    Raises as :func:`read_batches` does.
    """
    return _Reader(scan, scan.schema.fields).batches(tasks)


def count_rows(plan: FilePlan, tasks: Iterable[ScanTask]) -> Iterator[int]:
    """The number of rows of each batch that :func:`read_batches` would give for ``tasks`` of the plan.

    Only the columns that the filter and the deletes need are read. Raises as :func:`read_batches` does.
    """
    return (batch.num_rows for batch in _Reader(plan.scan, ()).batches(tasks))


class _Reader:
    """Reads tasks of ``scan`` once, as batches of the columns ``fields``."""

    def __init__(self, scan: ScanRequest, fields: Sequence[Field], options: ReadOptions = DEFAULT_OPTIONS) -> None:
        self._fields = fields
        self._scan = scan
        self._options = options
        self._deletes = DeleteLoader(scan.snapshot.format_snapshot, scan.snapshot.schema)
        self._columns: dict[tuple[Hashable, ...], FileColumns] = {}
        self._seen_files: dict[tuple[Hashable, ...], SeenFiles] = {}
        self._residuals: dict[Expression, CompiledPredicate] = {}
        self._read_columns: dict[Expression, set[int]] = {}

    def batches(self, tasks: Iterable[ScanTask]) -> Iterator[pa.RecordBatch]:
        threads = thread_count() if self._scan.snapshot.storage.is_local else max(thread_count(), _STORE_THREADS)
        return merged_streams(
            map(self._source, tasks),
            lambda batch: batch.nbytes,
            threads=threads,
            budget_bytes=self._options.memory_bytes // 2,
            ordered=self._options.ordered,
        )

    def _source(self, task: ScanTask) -> Callable[[], OpenedSource[pa.RecordBatch]]:
        if not isinstance(task, ScanTask):
            raise TypeError(f"tasks are those of plan.tasks() or of a group of plan.splits(), not {task!r}")
        return partial(self._open, task)

    def _open(self, task: ScanTask) -> OpenedSource[pa.RecordBatch]:
        """Open a file and load its deletes."""
        snapshot = self._scan.snapshot
        with ExitStack() as stack:
            mapping = snapshot.format_snapshot.name_mapping
            file = stack.enter_context(open_data_file(snapshot.storage, task, mapping, snapshot.cache))
            with typed_errors(task.path):
                rows = self._rows_of(file, task)
                found = rows.parts()
            parts = [StreamPart(partial(rows.read, part), part.weight) for part in found]
            return OpenedSource(parts, stack.pop_all().close)

    def _rows_of(self, file: DataFile, task: ScanTask) -> FileRows:
        snapshot, residual = self._scan.snapshot.format_snapshot, task.residual
        constants = self._constants(snapshot, task)
        kind = (file.root, residual)
        key = (*kind, *((id, *_identity_of(value)) for id, value in constants.items()))
        columns = _kept(self._columns, key, lambda: FileColumns(file, self._scan, self._fields, residual, constants))
        seen_files = _kept(self._seen_files, kind, SeenFiles)
        compiled = self._compiled(residual)
        return FileRows(file, task, snapshot, columns, seen_files, self._fields, self._deletes, compiled)

    def _constants(self, snapshot: FormatSnapshot, task: ScanTask) -> dict[int, pa.Scalar]:
        """The partition values that a column may take that is read of the file of ``task``.

        Files that differ in others alone are read alike. Equality deletes may read any column.
        """
        constants = identity_values(snapshot, task)
        if not constants or task.deletes.num_rows:
            return constants
        if task.residual not in self._read_columns:
            self._read_columns[task.residual] = {f.id for f in self._fields} | top_columns(task.residual)
        read = self._read_columns[task.residual]
        return {id: value for id, value in constants.items() if self._is_part_of(id, read)}

    def _is_part_of(self, field_id: int, columns: set[int]) -> bool:
        """Whether a field is one of ``columns``, or may be within one."""
        try:
            return self._scan.snapshot.schema.path_of(field_id)[0].id in columns
        except KeyError:  # it was dropped
            return True

    def _compiled(self, residual: Expression) -> CompiledPredicate | None:
        """Tasks share residuals, so each is compiled once; twice where two threads need it first."""
        if residual == TRUE:
            return None
        if residual not in self._residuals:
            self._residuals[residual] = CompiledPredicate(residual)
        return self._residuals[residual]


def _kept(known: dict[Key, Value], key: Key, make: Callable[[], Value]) -> Value:
    """What is known of a kind of files; made once, and twice where two threads need it first."""
    found = known.get(key)
    if found is None:
        if len(known) >= _MOST_KINDS:
            known.clear()
        found = known.setdefault(key, make())
    return found


def _identity_of(value: pa.Scalar) -> tuple[Hashable, ...]:
    """Equal for equal values alone: -0.0 is another one than 0.0, though they compare as equal."""
    return (value, str(value)) if pa.types.is_floating(value.type) else (value,)


def _first_rows(batches: Iterable[pa.RecordBatch], limit: int) -> Iterator[pa.RecordBatch]:
    if limit <= 0:
        return
    for batch in batches:
        yield batch.slice(0, limit)
        limit -= batch.num_rows
        if limit <= 0:
            return
