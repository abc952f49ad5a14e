"""What batch reads and streams of the data source share: groups of planned files, and the reader that executors get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from ..engines.spark.distributed.transport import Access, PackedScan, pack_scan, unpack_scan
from ..engines.spark.portable.worker_batches import SparkBatches, spark_schema_json
from ..errors import UnsupportedFeatureError
from .options import ReadOptions
from .worker_errors import one_line_errors

if TYPE_CHECKING:
    import pyarrow as pa

    from ..planning.tasks import ScanTask
    from ..table.scan import Scan, ScanPlan

__all__ = ["FileGroup", "TaskReader", "check_schema", "file_groups", "spark_schema"]


def spark_schema(scan: Scan) -> StructType:
    """The columns of ``scan`` as PySpark's type. Raises UnsupportedFeatureError for a type that Spark lacks."""
    return StructType.fromJson(spark_schema_json(scan.schema))


def check_schema(scan: Scan, schema: StructType) -> None:
    """Raise UnsupportedFeatureError unless ``schema`` is that of the rows of ``scan``."""
    found = spark_schema(scan)
    if found != schema:
        raise UnsupportedFeatureError(
            f"the rows have the columns {found.simpleString()}, not {schema.simpleString()}",
            field="schema",
            path=scan.snapshot.location,
            hint="Give no schema. If the table's schema has just changed, read or start the query again",
        )


class FileGroup(InputPartition):
    """Files, or byte ranges of them, that one Spark task reads."""

    def __init__(self, scan: PackedScan, tasks: Sequence[ScanTask]) -> None:
        super().__init__(None)
        self.scan = scan
        self.tasks = list(tasks)

    def __repr__(self) -> str:
        return f"FileGroup({len(self.tasks)} files)"


def file_groups(plan: ScanPlan, options: ReadOptions) -> list[InputPartition]:
    """The files of ``plan`` in groups of the size that the options and the table ask for."""
    sizes = {"target_size": options.size("split-size"), "open_cost": options.size("file-open-cost")}
    given = {name: size for name, size in sizes.items() if size is not None}
    scan = pack_scan(plan.scan)
    return [FileGroup(scan, tasks) for tasks in plan.splits(**given)]


class TaskReader:
    """Reads groups of planned files on executors. It is what they unpickle a reader of the driver to."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The rows of a group's files; none for any other partition, which Spark makes up where there is no group."""
        from ..engines.arrow import read_tasks

        if not isinstance(partition, FileGroup):
            return
        with one_line_errors():
            scan = unpack_scan(partition.scan, self._access)
            batches = SparkBatches(scan.schema)
            yield from map(batches.convert, read_tasks(scan, partition.tasks))
