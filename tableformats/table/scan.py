"""Scan, ScanPlan and ScanTask: a question to a snapshot, its answer, and the answer's pieces.

A scan is immutable and cheap; planning happens in :meth:`Scan.plan`. A plan holds columns, one row per surviving
file; Python objects per file exist only where :meth:`ScanPlan.tasks` is asked for them. What an engine does with
a plan stands in ``arrow/`` and ``spark/``, imported when called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..expressions import Expression
from ..expressions import tree as ex
from ..runtime.concurrency import cached_property
from ..runtime.pickling import Portable, compact
from ..schema import Schema

if TYPE_CHECKING:
    import numpy as np
    import pandas
    import polars
    import pyarrow as pa
    import pyspark.sql

    from ..planning.planner import PartReader
    from ..planning.record_counts import RecordCounts
    from ..plugin.columns import MetadataColumn
    from ..plugin.deletes import DeleteFiles
    from ..plugin.report import ScanReport
    from .table import Snapshot

__all__ = ["Scan", "ScanPlan", "ScanTask"]


@dataclass(frozen=True)
class Scan(Portable):
    """Rows of one snapshot for which ``filter`` is TRUE, restricted to ``schema``'s columns.

    ``filter`` is bound to the snapshot's schema. Made by ``table.scan`` and ``snapshot.scan``.
    """

    snapshot: Snapshot
    filter: Expression
    schema: Schema
    case_sensitive: bool = False
    limit: int | None = None

    def where(self, filter: Any) -> Scan:
        """The same scan with ``filter`` added by AND. Raises InvalidPredicateError."""
        more = self.snapshot.bind(filter, self.case_sensitive)
        return replace(self, filter=ex.conjunction(self.filter, more))

    def select(self, *columns: str) -> Scan:
        """The same scan with these columns, in this order. Raises InvalidPredicateError for unknown names."""
        return replace(self, schema=self.snapshot.project(columns, self.case_sensitive))

    @property
    def metadata_columns(self) -> list[MetadataColumn]:
        """Those of the scan's columns that no file's schema holds."""
        known = {c.field.id: c for c in self.snapshot.format_snapshot.metadata_columns}
        return [known[f.id] for f in self.schema if f.id in known]

    def plan(self, engine: pyspark.sql.SparkSession | None = None) -> ScanPlan:
        """Decide which files are read.

        Parameters
        ----------
        engine : a Spark session whose executors read and prune the parts of the metadata (manifests, files of
            checkpoints), see :mod:`tableformats.engines.spark.distributed.executors`; None: threads of this process

        Raises
        ------
        CorruptMetadataError, UnsupportedFeatureError, PathNotAllowedError : as the metadata is read
        TableFormatsError : the executors could not do their work
        TypeError : ``engine`` is no session
        """
        from ..planning.planner import plan_scan

        if engine is None:
            return plan_scan(self.reattached())
        from ..engines.spark.distributed.executors import Executors

        return plan_scan(self.reattached(), Executors(engine))

    plan_files = plan

    def reattached(self) -> Scan:
        """This scan, of a snapshot that can plan: see :meth:`tableformats.Snapshot.reattached`."""
        snapshot = self.snapshot.reattached()
        return self if snapshot is self.snapshot else replace(self, snapshot=snapshot)

    def count(self) -> int:
        """The number of rows, from metadata where that is exact, otherwise by reading the files that need it."""
        from ..engines.arrow.counting import count

        return count(self)

    def to_arrow(self) -> pa.Table:
        """The rows as one table, in the order of ``plan.files``."""
        return self.to_arrow_batch_reader().read_all()

    def to_arrow_batch_reader(self) -> pa.RecordBatchReader:
        """The rows as a stream of record batches; files are opened as the stream reaches them."""
        from ..engines.arrow import read_batches

        return read_batches(self.plan())

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """The rows as a pandas DataFrame; ``options`` are those of ``pyarrow.Table.to_pandas``."""
        return self.to_arrow().to_pandas(**options)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars DataFrame (needs polars)."""
        import polars

        return polars.from_arrow(self.to_arrow())

    def to_duckdb(self, name: str, connection: Any = None) -> Any:
        """Register the rows as table ``name`` of a DuckDB connection (a new one if None) and return it."""
        import duckdb

        connection = connection if connection is not None else duckdb.connect()
        connection.register(name, self.to_arrow())
        return connection

    def to_spark(
        self, spark: pyspark.sql.SparkSession, mode: str | None = None, staging: str | None = None
    ) -> pyspark.sql.DataFrame:
        """The rows as a Spark DataFrame; on the native path filters put on it later prune files too.

        Parameters
        ----------
        spark : a classic session (Spark 3.5 or later), or one of Spark Connect (4.0 or later)
        mode : "native" or "portable"; None picks it
        staging : a directory for the portable path, see :func:`tableformats.engines.spark.session.to_spark`

        Raises
        ------
        UnsupportedFeatureError : the session or the table needs what is not built, named
        """
        from ..spark import to_spark

        return to_spark(self, spark, mode, staging)


@dataclass(frozen=True)
class ScanTask(Portable):
    """One file of a plan, or a part of it, as Python values.

    A task stands for the row groups (stripes, blocks) that lie in the ``length`` bytes from ``start`` on: a Parquet
    row group by its middle, others by where they begin. One that reaches the end (by ``size_bytes``) takes all that
    follows.

    ``path`` is absolute, ``stored_path`` as the metadata spells it. ``partition`` maps partition field ids to
    ``pyarrow.Scalar``. ``deletes`` are the rows of :attr:`DeleteFiles.files` that apply. ``residual`` is what is
    left to check on its rows (TRUE if all match). ``file_values`` are what its metadata columns start from.
    """

    index: int
    path: str
    stored_path: str
    size_bytes: int
    start: int
    length: int
    record_count: int | None
    file_format: str
    spec_id: int
    partition: dict[int, pa.Scalar]
    deletes: pa.Table
    residual: Expression
    data_sequence_number: int | None = None
    first_row_id: int | None = None
    file_values: Mapping[str, int | None] = field(default_factory=dict)


class ScanPlan(Portable):
    """The files that a scan needs.

    Attributes
    ----------
    scan : the question
    report : the funnel, as :class:`tableformats.plugin.report.ScanReport`
    residual : the bound predicate that an engine still has to apply to rows; TRUE where pruning decided it all
    survivors : pyarrow.Table in any number of chunks, one row a file, as the format gave it: ``path`` (stored),
        ``size_bytes``, ``spec_id``, ``partition`` (members called by partition field id, over all specs),
        ``fully_matched``, ``file_format``, and the format's own columns
    delete_files : :class:`tableformats.plugin.DeleteFiles` for the survivors
    """

    def __init__(
        self,
        scan: Scan,
        survivors: pa.Table,
        delete_files: DeleteFiles,
        report: ScanReport,
        counts: RecordCounts,
        reader: PartReader | None = None,
    ) -> None:
        self.scan = scan
        self.survivors = survivors
        self.delete_files = delete_files
        self.report = report
        self._counts = counts
        self._reader = reader

    def _state(self) -> dict[str, Any]:
        # Bounds of deletes are read from manifests, and planning has looked at them.
        deletes = replace(self.delete_files, files=compact(self.delete_files.files), statistics=None)
        kept = {name: getattr(self, name) for name in ("scan", "report", "_counts")}
        return {**kept, "survivors": compact(self.survivors), "delete_files": deletes, "_reader": None}

    def __len__(self) -> int:
        return int(self.survivors.num_rows)

    def __repr__(self) -> str:
        return f"ScanPlan({len(self)} of {self.report.files_total} files, filter={self.report.filter!r})"

    @property
    def snapshot(self) -> Snapshot:
        return self.scan.snapshot

    @property
    def schema(self) -> Schema:
        """The columns of the scan's rows."""
        return self.scan.schema

    @property
    def metadata_columns(self) -> list[MetadataColumn]:
        """See :attr:`Scan.metadata_columns`."""
        return self.scan.metadata_columns

    @property
    def limit(self) -> int | None:
        return self.scan.limit

    @cached_property
    def residual(self) -> Expression:
        from ..columnar import compute as pc

        decided = pc.all(self.survivors["fully_matched"]).as_py()
        return ex.TRUE if decided or not len(self) else self.scan.filter

    @cached_property
    def files(self) -> pa.Table:
        """One row per surviving file.

        Columns: ``path`` (absolute, decoded), ``size_bytes``, ``record_count`` (physical rows, null = unknown),
        ``spec_id``, ``partition`` (struct by name), ``deletes`` (list<struct<kind, path, offset, cardinality>>),
        ``fully_matched``, then the format's own (Iceberg: ``file_format``, ``data_sequence_number``, ...).
        """
        from ..planning.plan_files import public_files

        return public_files(self)

    def file_uris(self) -> list[str]:
        """The paths of :attr:`files` as a list."""
        return list(self.paths.to_pylist())

    @cached_property
    def paths(self) -> pa.StringArray:
        """string[n]: absolute paths of the survivors, which planning has checked."""
        import pyarrow as pa

        from ..columnar.arrays import flat

        resolve = self.snapshot.format_snapshot.resolve_paths
        return flat(pa.chunked_array([resolve(paths) for paths in self.survivors["path"].chunks], pa.string()))

    @property
    def record_counts(self) -> pa.Int64Array:
        """int64[n]: physical rows of the survivors, null = unknown; where statistics must be read for them, now.

        Raises
        ------
        CorruptMetadataError : as the statistics are read
        """
        return self._counts.array

    def keep_mask(self, filter: Any) -> np.ndarray:
        """bool[n]: which of this plan's files a further ``filter`` would keep. Raises InvalidPredicateError."""
        from ..columnar import compute as pc
        from ..columnar.arrays import to_numpy
        from ..planning.planner import surviving_paths

        narrower = surviving_paths(replace(self.scan.reattached().where(filter), limit=None), self._reader)
        return to_numpy(pc.is_in(self.survivors["path"], value_set=narrower))

    def take(self, rows: np.ndarray) -> ScanPlan:
        """The plan of the files ``rows`` (int64, places in :attr:`files`) alone, in that order; the report stays.

        Raises
        ------
        IndexError : there is no such place
        """
        from ..columnar import compute as pc
        from ..columnar.arrays import to_arrow
        from ..planning.record_counts import RecordCounts

        places = to_arrow(rows)
        counts = RecordCounts([pc.take(self.record_counts, places)])
        deletes = self.delete_files.take(rows)
        return ScanPlan(self.scan, pc.take(self.survivors, places), deletes, self.report, counts, self._reader)

    def tasks(self) -> Iterator[ScanTask]:
        """The files as Python values, one by one, in the order of :attr:`files`."""
        from ..planning.tasks import tasks_of

        return tasks_of(self)

    def splits(
        self, target_size: str | int | None = None, open_cost: str | int | None = None, lookback: int | None = None
    ) -> list[list[ScanTask]]:
        """The files in parts, packed into groups of about one size; together they give every row once.

        Parameters
        ----------
        target_size : bytes of a group, as a number or like "128MB"
        open_cost : bytes that opening a file counts for, at least, and each of its delete files
        lookback : how many groups are open at a time

        None: what the table's properties say, otherwise 128 MB, 4 MB and 10. Neighbouring parts of a file in one group
        are one task; a part that is greater than the target has a group of its own.

        Raises
        ------
        ValueError : no size, or a number that is too small
        LimitExceededError : a file has more parts of the target size than the limit ``file_parts``
        CorruptMetadataError : the table's properties are no numbers
        """
        from ..planning.splits import splits

        return splits(self, target_size, open_cost, lookback)

    def to_arrow(self, tasks: Iterable[ScanTask] | None = None) -> pa.Table:
        """The rows of some of :meth:`tasks` or :meth:`splits` as one table, in their order; None: of all files."""
        return self.to_arrow_batch_reader(tasks).read_all()

    def to_arrow_batch_reader(self, tasks: Iterable[ScanTask] | None = None) -> pa.RecordBatchReader:
        """As :meth:`to_arrow`, as a stream of record batches. No stream has more rows than the scan's limit."""
        from ..engines.arrow import read_batches

        return read_batches(self, tasks)

    def explain(self) -> str:
        """The funnel as text: what was read, what was dropped and why, what is planned."""
        from ..inspect.explain import explain

        return explain(self)

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.explain())}</pre>"
