"""Scan and ScanPlan: a question to a snapshot and its answer, with the verbs that run them on an engine.

A scan is immutable and cheap; planning happens in :meth:`Scan.plan`. Planning and engines use their data alone,
:class:`ScanRequest` and :class:`FilePlan`. What a verb alone needs, engines above all, is imported when it is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..dataclass import dataclass
from ..expressions import conjunction
from ..habits import WithHabits
from ..planning.plan import FilePlan
from ..planning.planner import plan_scan
from ..planning.request import ScanRequest
from ..runtime.concurrency import cached_property
from ..runtime.optional import required

if TYPE_CHECKING:
    import numpy as np
    import pandas
    import polars
    import pyarrow as pa
    import pyarrow.dataset
    import pyspark.sql
    from matplotlib.axes import Axes

    from ..inspect.diagnose import Diagnosis
    from ..planning.attribution import Attribution, FileVerdict
    from ..planning.tasks import ScanTask

__all__ = ["Scan", "ScanPlan"]

AnyScan = TypeVar("AnyScan", bound="Scan")


@dataclass(frozen=True, repr=False)
class Scan(WithHabits, ScanRequest):
    """The rows of one snapshot for which ``filter`` is TRUE, restricted to the columns of ``schema``.

    Made by :meth:`Table.scan` and :meth:`Snapshot.scan`; ``filter`` is bound to the snapshot's schema.

    >>> tf.open_table("events").scan("day = 2", limit=2).schema.names
    ['id', 'day']
    """

    def _repr_html_(self) -> str:
        from ..inspect.html import scan_html

        return scan_html(self)

    def where(self: AnyScan, filter: Any) -> AnyScan:
        """The same scan with ``filter`` added by AND. Raises InvalidPredicateError.

        >>> import tableformats as tf
        >>> tf.open_table("events").scan("day = 1").where(tf.col("id") > 1).count()
        1
        """
        more = self.snapshot.bind(filter, self.case_sensitive, self.ansi, self.now)
        return replace(self, filter=conjunction(self.filter, more))

    def select(self: AnyScan, *columns: str) -> AnyScan:
        """The same scan with these columns, in this order. Raises InvalidPredicateError for unknown names.

        >>> tf.open_table("events").scan().select("day").to_arrow().column_names
        ['day']
        """
        return replace(self, schema=self.snapshot.project(columns, self.case_sensitive))

    def plan(self, engine: pyspark.sql.SparkSession | None = None) -> ScanPlan:
        """Decide which files are read.

        Parameters
        ----------
        engine : pyspark.sql.SparkSession, optional
            A session whose executors read and prune the parts of the metadata (manifests, files of checkpoints), see
            :mod:`tableformats.engines.spark.distributed`. None: threads of this process.

        Raises
        ------
        CorruptMetadataError, UnsupportedFeatureError, PathNotAllowedError
            As the metadata is read.
        TableFormatsError
            The executors failed.
        TypeError
            ``engine`` is no session.

        Examples
        --------
        >>> tf.open_table("events").scan("id = 4").plan()
        ScanPlan(1 of 2 files, filter='id = 4')
        """
        request = self.reattached()
        if engine is None:
            return ScanPlan.of(plan_scan(request))
        from ..engines.spark.distributed.executors import Executors

        return ScanPlan.of(plan_scan(request, Executors(engine)))

    plan_files = plan

    def diagnose(self) -> Diagnosis:
        """What would make this query read fewer or better files, with evidence: columns without statistics, files that
        overlap, partitioning that the filter does not use, small files, deletes. Empty where nothing can be gained.

        No data file is opened. Raises as planning does.

        >>> import tableformats as tf
        >>> tf.open_table("events").scan("day = 1 AND id = 1").diagnose()
        []
        """
        from ..inspect.diagnose import diagnose

        return diagnose(self.plan())

    def count(self) -> int:
        """The number of rows, from metadata where that is exact, otherwise by reading the files that need it.

        >>> tf.open_table("events").scan("day = 2").count()
        3
        """
        from ..engines.arrow.counting import count

        return count(self.plan())

    def to_arrow(self) -> pa.Table:
        """The rows as one table, in the order of ``plan.files``.

        >>> tf.open_table("events").scan("id = 4").to_arrow().to_pylist()
        [{'id': 4, 'day': 2}]
        """
        return self.plan().to_arrow()

    def to_arrow_batch_reader(self, *, ordered: bool = True, memory_bytes: int | None = None) -> pa.RecordBatchReader:
        """The rows as a stream of record batches, see :meth:`ScanPlan.to_arrow_batch_reader`.

        >>> with tf.open_table("events").scan().to_arrow_batch_reader() as batches:
        ...     sum(batch.num_rows for batch in batches)
        6
        """
        return self.plan().to_arrow_batch_reader(ordered=ordered, memory_bytes=memory_bytes)

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """The rows as a pandas DataFrame; ``options`` are those of ``pyarrow.Table.to_pandas``.

        >>> tf.open_table("events").scan("id > 3").to_pandas()["id"].tolist()
        [4, 5]
        """
        required("pandas", "to_pandas", "'tableformats[pandas]'")
        return self.to_arrow().to_pandas(**options)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow stream, for libraries that take any object with one."""
        return self.to_arrow_batch_reader().__arrow_c_stream__(requested_schema)

    def to_arrow_dataset(self) -> pyarrow.dataset.Dataset:
        """The rows as a pyarrow Dataset, which reads them when it is asked: filters and columns of DuckDB, polars and
        others prune files and row groups.

        Raises UnsupportedFeatureError if the scan has a limit.

        >>> tf.open_table("events").scan().to_arrow_dataset().count_rows(filter=pa.compute.field("id") > 3)
        2
        """
        from ..engines.arrow.dataset import ScanDataset

        return ScanDataset(self)

    def to_polars(self, lazy: bool = False) -> polars.DataFrame | polars.LazyFrame:
        """The rows as a polars DataFrame (needs polars).

        Parameters
        ----------
        lazy : bool
            A LazyFrame instead, which plans and reads when it is collected. Filters and columns of the query reach
            planning, and polars reads data files itself where they hold the table's values as they are. What travels
            to another process (``serialize``) needs cloudpickle, as all sources of polars that are plugins.

        Raises
        ------
        MissingExtraError
            polars is not installed.

        Examples
        --------
        >>> tf.open_table("events").scan().to_polars(lazy=True).collect().height
        6
        """
        polars = required("polars", "to_polars", "'tableformats[polars]'")
        if lazy:
            from ..engines.polars import lazy_frame

            return lazy_frame(self)
        return polars.from_arrow(self.to_arrow())  # type: ignore[no-any-return]

    def to_duckdb(self, name: str, connection: Any = None) -> Any:
        """Register the rows as table ``name`` of a DuckDB connection (a new one if None) and return it.

        Queries of the table read what they need, each anew. The rows of a scan with a limit are read now, once.

        >>> tf.open_table("events").scan().to_duckdb("e").sql("SELECT max(id) FROM e").fetchone()
        (5,)
        """
        duckdb = required("duckdb", "to_duckdb", "'tableformats[duckdb]'")
        connection = connection if connection is not None else duckdb.connect()
        connection.register(name, self.to_arrow_dataset() if self.limit is None else self.to_arrow())
        return connection

    def to_spark(
        self, spark: pyspark.sql.SparkSession, mode: str | None = None, staging: str | None = None
    ) -> pyspark.sql.DataFrame:
        """The rows as a Spark DataFrame; on the native path filters put on it later prune files too.

        Parameters
        ----------
        spark : pyspark.sql.SparkSession
            A classic session (Spark 3.5 or later), or one of Spark Connect (4.0 or later).
        mode : {"native", "portable"}, optional
            None picks it.
        staging : str, optional
            A directory for the portable path, see :func:`tableformats.spark.to_spark`.

        Raises
        ------
        UnsupportedFeatureError
            The session or the table needs what is not built; the message names it.

        Examples
        --------
        >>> tf.open_table("events").scan("day = 2").to_spark(spark).count()  # doctest: +SKIP
        3
        """
        from ..engines.spark.session import to_spark

        return to_spark(self, spark, mode, staging)


class ScanPlan(WithHabits, FilePlan):
    """The files that a scan needs. See :class:`tableformats.planning.plan.FilePlan` for its columns.

    Attributes
    ----------
    scan : ScanRequest
        What was planned.
    report : ScanReport
        The funnel: files, bytes, rows and manifests at every stage, and the time of each.
    residual : Expression
        The bound predicate that an engine still has to apply to rows; TRUE where pruning decided all of it.

    Examples
    --------
    >>> plan = tf.open_table("events").plan("day = 2 AND id > 3")
    >>> len(plan), str(plan.residual), plan.report.files_dropped_by_partition
    (1, 'day = 2 AND id > 3', 1)
    """

    @staticmethod
    def of(plan: FilePlan) -> ScanPlan:
        """The same plan, with the verbs of users."""
        files, deletes, local = plan.survivors, plan.delete_files, (plan.reader, plan.prefix, plan.evidence)
        return ScanPlan(plan.scan, files, deletes, plan.report, plan.counts, *local)

    @cached_property
    def files(self) -> pa.Table:
        """One row per surviving file.

        Columns: ``path`` (absolute, decoded), ``size_bytes``, ``record_count`` (physical rows, null = unknown),
        ``spec_id``, ``partition`` (struct by name), ``deletes`` (list<struct<kind, path, offset, cardinality>>),
        ``fully_matched``, then the format's own (Iceberg: ``file_format``, ``data_sequence_number``, ...).

        >>> tf.open_table("events").plan().files.select(["record_count", "fully_matched"]).to_pylist()[0]
        {'record_count': 3, 'fully_matched': True}
        """
        from ..planning.public_files import public_files

        return public_files(self)

    def file_uris(self) -> list[str]:
        """The paths of :attr:`files` as a list.

        >>> [uri.rpartition("/")[2] for uri in tf.open_table("events").plan("day = 2").file_uris()]
        ['f2']
        """
        uris: list[str] = []
        is_known = self.prefix is None or "path_chunks" in self.__dict__
        for paths in self.path_chunks if is_known else self.survivors["path"].chunks:
            uris += paths.to_pylist() if self.prefix is None or is_known else self.prefix.texts(paths)
        return uris

    def keep_mask(self, filter: Any) -> np.ndarray:
        """bool[n]: which of this plan's files a further ``filter`` would keep. Raises InvalidPredicateError.

        >>> tf.open_table("events").plan().keep_mask("id = 4").tolist()
        [True, False]
        """
        from ..planning.narrowing import keep_mask

        return keep_mask(self, filter)

    def tasks(self) -> Iterator[ScanTask]:
        """The files as Python values, one by one, in the order of :attr:`files`.

        >>> [(task.record_count, str(task.residual)) for task in tf.open_table("events").plan("id > 3").tasks()]
        [(3, 'id > 3')]
        """
        from ..planning.tasks import tasks_of

        return tasks_of(self)

    def splits(
        self, target_size: str | int | None = None, open_cost: str | int | None = None, lookback: int | None = None
    ) -> list[list[ScanTask]]:
        """The files in parts, packed into groups of about one size; together they give every row once.

        Neighbouring parts of a file in one group are one task. A part that is greater than the target has a group of
        its own.

        Parameters
        ----------
        target_size : int or str, optional
            Bytes of a group, as a number or like "128MB".
        open_cost : int or str, optional
            Bytes that opening a file counts for, at least, and each of its delete files.
        lookback : int, optional
            How many groups are open at a time.

            Where one of the three is None, the table's properties decide, otherwise 128 MB, 4 MB and 10.

        Raises
        ------
        ValueError
            No size, or a number that is too small.
        LimitExceededError
            A file has more parts of the target size than the limit ``file_parts``.
        CorruptMetadataError
            The table's properties are no numbers.

        Examples
        --------
        >>> [len(group) for group in tf.open_table("events").plan().splits("128MB")]
        [2]
        """
        from ..planning.splits import splits

        return splits(self, target_size, open_cost, lookback)

    def to_arrow(self, tasks: Iterable[ScanTask] | None = None) -> pa.Table:
        """The rows of some of :meth:`tasks` or :meth:`splits` as one table, in their order; None: of all files.

        >>> plan = tf.open_table("events").plan()
        >>> [plan.to_arrow(group).num_rows for group in plan.splits()]
        [6]
        """
        from ..runtime.allocator import quick_allocator

        with quick_allocator():  # the columns are large and many, as a plan's are
            return self.to_arrow_batch_reader(tasks).read_all()

    def to_arrow_batch_reader(
        self, tasks: Iterable[ScanTask] | None = None, *, ordered: bool = True, memory_bytes: int | None = None
    ) -> pa.RecordBatchReader:
        """As :meth:`to_arrow`, as a stream of record batches. No stream has more rows than the scan's limit.

        Files and row groups are read at the same time, ahead of the stream. Closing the stream, or an error, ends that.

        Parameters
        ----------
        tasks : iterable of ScanTask, optional
        ordered : bool
            False: batches in the order in which they are made.
        memory_bytes : int, optional
            About how much memory the stream may hold; None: 512 MB.

        Raises
        ------
        ValueError
            ``memory_bytes`` is no positive number.

        Examples
        --------
        >>> tf.open_table("events").plan().to_arrow_batch_reader(memory_bytes=64 << 20).read_all().num_rows
        6
        """
        from ..engines.arrow import ReadOptions, read_batches

        options = ReadOptions(ordered=ordered)
        if memory_bytes is not None:
            options = ReadOptions(memory_bytes, ordered)
        return read_batches(self, tasks, options)

    def explain(self, why: bool = True) -> str:
        """The funnel as text: what was read, what was dropped and why, what is planned.

        Parameters
        ----------
        why : bool
            Whether to say what each part of the filter dropped and why it kept the rest, see :attr:`attribution`.
            False: the counters of the report alone, which cost nothing. Rows are counted where planning knows them, and
            in tables of few files; else ask ``plan.report``.

        Raises
        ------
        CorruptMetadataError, UnsupportedFeatureError
            As the metadata is read again.

        Examples
        --------
        >>> print(tf.open_table("events").plan("id > 3").explain())  # doctest: +ELLIPSIS
        Table   ...
        Filter  id > 3
        ...
        """
        from ..inspect.explain import explain

        return explain(self, self.attribution if why else None)

    @cached_property
    def attribution(self) -> Attribution:
        """What each part of the filter (what its outermost AND joins) dropped, and why it kept the other files.

        Each part is judged over the bounds that planning looked at, in less than a tenth of the time of a first plan.
        A plan of many files is made again for that from the cache; where nothing is cached, the metadata is read again.
        Raises as planning does.

        >>> tf.open_table("events").plan("day = 2 AND id > 3").attribution.parts
        [PartCounts('day = 2' drops 1, keeps 1 all_rows_match), PartCounts('id > 3' drops 1, keeps 1 within_bounds)]
        """
        from ..planning.attribution import attribute

        return attribute(self)

    def why(self, file: str) -> FileVerdict:
        """Why one file is planned or dropped: the verdict of each part of the filter, with the bounds that decided.

        Parameters
        ----------
        file : str
            The path of a data file, or the end of it: its name is enough if no other file has it.

        Raises
        ------
        InvalidPredicateError
            The snapshot has no such file, or several.

        Examples
        --------
        >>> tf.open_table("events").plan("id > 3").why("f1").verdict
        'dropped by bounds'
        """
        from ..planning.attribution import verdict_of

        return verdict_of(self.scan.reattached(), file)

    def verdicts(self) -> pa.Table:
        """One row for each file of the snapshot, by path: ``path``, ``verdict`` (``planned``, ``dropped by partition``,
        ``dropped by bounds``) and ``dropped_by``, the parts of the filter that drop it, each alone. A limit is ignored.

        >>> tf.open_table("events").plan("id > 3").verdicts()["verdict"].to_pylist()
        ['dropped by bounds', 'planned']
        """
        from ..planning.attribution import file_verdicts

        return file_verdicts(self.scan.reattached())

    def plot(self, ax: Axes | None = None) -> Axes:
        """The funnel as a picture: a bar for the files of each stage, from all files to the planned ones.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            What to draw on. None: a new figure.

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.

        Examples
        --------
        >>> [int(bar.get_width()) for bar in tf.open_table("events").plan("day = 2").plot().patches]
        [2, 1, 0, 1]
        """
        from ..inspect.pictures.plots import plot_plan

        return plot_plan(self, ax)

    def _repr_html_(self) -> str:
        from ..inspect.html import plan_html

        return plan_html(self)
