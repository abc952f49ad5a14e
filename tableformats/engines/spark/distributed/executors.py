"""Plan on Spark: executors read, reconcile and prune the parts of a table's metadata, and return the surviving files.

A task gets a bin of consecutive parts and prunes them as a thread of the driver would (:func:`prune_parts`), so the
plan is the same. Parts are sent as data and functions by name, so the package must be installed for the executors'
Python. Credentials are sent inside the function, like those in Spark's own closures, and appear in no query plan. Works
with classic sessions and with Spark Connect.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ....dataclass import dataclass
from ....errors import TableFormatsError
from ....planning.jobs import JobResult, NumberedPart, Survivors
from ....planning.planner import prune_parts
from ....planning.record_counts import RecordCounts
from ....plugin.report import ScanReport
from ....runtime.threads import runs
from ....version import __version__
from ..session import check_session
from .job_errors import check_version, job_error, pack_error, unpack_error
from .transport import Access, PackedScan, pack_parts, pack_scan, unpack_parts, unpack_scan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ....planning.request import ScanRequest

__all__ = ["Executors"]

_BIN_BYTES = 16 << 20
_OPEN_BYTES = 1 << 20
"""The cost of opening a part, as bytes, because stores do not answer small requests faster."""
_COUNT = "record_count"
_RESULT_SCHEMA = pa.schema(
    [("order", pa.int32()), ("files", pa.binary()), ("report", pa.string()), ("error", pa.string())]
)
_SPARK_RESULT_SCHEMA = "order int, files binary, report string, error string"


class Executors:
    """The executors of a session as a :class:`tableformats.planning.jobs.PartReader`."""

    name = "spark"

    def __init__(self, spark: SparkSession) -> None:
        check_session(spark)
        self._spark = spark

    def read(
        self, scan: ScanRequest, keys: Sequence[pa.BinaryArray], parts: Sequence[NumberedPart]
    ) -> Iterator[JobResult]:
        """See :class:`tableformats.planning.jobs.PartReader`.

        Raises
        ------
        UnsupportedFeatureError
            The executors' Python lacks the package, or has another version of it; the format's parts cannot be sent.
        TableFormatsError
            The job failed. Errors of the metadata are raised with the type that they had on the executor.
        """
        storage = scan.snapshot.storage
        bins = [zlib.compress(pack_parts(scan, some), 1) for some in runs(parts, _weight, _BIN_BYTES)]
        access = Access(dict(storage.options), storage.allow_paths, storage.limits)
        job = _Job(__version__, pack_scan(scan), access, list(keys), bins)
        frame = self._spark.range(0, len(bins), 1, len(bins)).mapInArrow(partial(_read_bins, job), _SPARK_RESULT_SCHEMA)
        try:
            rows = sorted(frame.collect(), key=lambda row: row.order)
        except Exception as error:
            raise job_error(error, scan.snapshot.location, "read the metadata") from error
        for row in rows:
            if row.error is not None:
                raise unpack_error(row.error)
        return (_job_result(row) for row in rows)


@dataclass(frozen=True)
class _Job:
    """The data that all tasks share; ``bins`` holds the packed parts of each task."""

    version: str
    scan: PackedScan
    access: Access
    keys: list[pa.BinaryArray] = field(repr=False)
    bins: list[bytes] = field(repr=False)


def _weight(part: NumberedPart) -> int:
    return (part[1].size_bytes or 0) + _OPEN_BYTES


# ---- on executors ---------------------------------------------------------------------------------------------------


def _read_bins(job: _Job, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The result rows of the bins whose numbers are in the first column."""
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            try:
                for values in _read_bin(job, job.bins[number]):
                    yield _row(**values)
            except TableFormatsError as error:
                # Returned and not raised: Spark would retry the task, and the driver would get text, not the error.
                yield _row(order=number, error=pack_error(error))


def _read_bin(job: _Job, packed: bytes) -> Iterator[dict[str, Any]]:
    check_version(job.version)
    scan = unpack_scan(job.scan, job.access)
    parts = unpack_parts(scan, zlib.decompress(packed))
    for result in prune_parts(scan, job.keys, parts):
        for survivors in result.survivors:
            yield {"order": survivors.order, "files": _pack_survivors(survivors)}
        yield {"order": parts[0][0], "report": _pack_report(result.report)}


def _row(order: int, files: bytes | None = None, report: str | None = None, error: str | None = None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"order": order, "files": files, "report": report, "error": error}], schema=_RESULT_SCHEMA
    )


def _pack_survivors(survivors: Survivors) -> bytes:
    """The survivors with their record counts, as an Arrow stream."""
    files = survivors.files.append_column(_COUNT, RecordCounts(survivors.counts).array)
    sink = pa.BufferOutputStream()
    codec = "lz4" if pa.Codec.is_available("lz4") else None
    with pa.ipc.new_stream(sink, files.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as stream:
        stream.write_table(files)
    return bytes(sink.getvalue())


def _pack_report(report: ScanReport) -> str:
    return json.dumps({f.name: getattr(report, f.name) for f in fields(report) if not f.name.startswith("count_")})


# ---- on the driver --------------------------------------------------------------------------------------------------


def _job_result(row: Any) -> JobResult:
    if row.report is not None:
        return JobResult(report=ScanReport(**json.loads(row.report)))
    files = pa.ipc.open_stream(pa.py_buffer(row.files)).read_all()
    return JobResult([Survivors(row.order, files.drop_columns([_COUNT]), files[_COUNT].chunks)])
