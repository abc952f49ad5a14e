"""Plan on Spark: executors read, reconcile and prune the parts of a table's metadata, and survivors come back as Arrow.

A task has a bin of neighbouring parts and does with them what threads of the driver would
(:func:`prune_parts`), so the plan is the same. Parts travel as data, functions by their names: the
package must be installed for the Python of the executors. Credentials travel with the function, as Spark's own
closures do, and stand in no plan. Works with classic sessions and with Spark Connect.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .... import errors
from ....errors import TableFormatsError, UnsupportedFeatureError
from ....planning.jobs import JobResult, NumberedPart, Survivors
from ....planning.planner import prune_parts
from ....planning.record_counts import RecordCounts
from ....plugin.report import ScanReport
from ....runtime.threads import runs
from ..session import check_session
from .transport import Access, PackedScan, pack_parts, pack_scan, unpack_parts, unpack_scan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ....planning.request import ScanRequest

__all__ = ["Executors"]

_BIN_BYTES = 16 << 20
_OPEN_BYTES = 1 << 20
"""What opening a part counts for: stores answer small requests no faster."""
_COUNT = "record_count"
_ANSWER = pa.schema([("place", pa.int32()), ("files", pa.binary()), ("report", pa.string()), ("error", pa.string())])
_SPARK_ANSWER = "place int, files binary, report string, error string"


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
        UnsupportedFeatureError : the executors' Python lacks the package, or has another version of it; the format's
            parts cannot be sent
        TableFormatsError : what the executors say; errors of the metadata are those that they met, typed
        """
        storage = scan.snapshot.storage
        bins = [zlib.compress(pack_parts(scan, some), 1) for some in runs(parts, _weight, _BIN_BYTES)]
        access = Access(dict(storage.options), storage.allow_paths, storage.limits)
        job = _Job(_version(), pack_scan(scan), access, list(keys), bins)
        frame = self._spark.range(0, len(bins), 1, len(bins)).mapInArrow(partial(_read_bins, job), _SPARK_ANSWER)
        try:
            answers = sorted(frame.collect(), key=lambda row: row.place)
        except Exception as error:
            raise _failed(error, scan) from error
        for answer in answers:
            if answer.error is not None:
                raise _error_of(answer.error)
        return (_result_of(answer) for answer in answers)


@dataclass(frozen=True)
class _Job:
    """What all tasks know; ``bins`` are the parts of each, packed."""

    version: str
    scan: PackedScan
    access: Access
    keys: list[pa.BinaryArray] = field(repr=False)
    bins: list[bytes] = field(repr=False)


def _version() -> str:
    from .... import __version__

    return __version__


def _weight(part: NumberedPart) -> int:
    return (part[1].size_bytes or 0) + _OPEN_BYTES


# ---- on executors ---------------------------------------------------------------------------------------------------


def _read_bins(job: _Job, numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The answers for the bins whose numbers stand in the first column."""
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            try:
                for answer in _read_bin(job, job.bins[number]):
                    yield _row(**answer)
            except TableFormatsError as error:
                # Not raised: Spark would try again, and show text where the driver wants the error.
                yield _row(place=number, error=_text_of(error))


def _read_bin(job: _Job, packed: bytes) -> Iterator[dict[str, Any]]:
    if job.version != _version():
        raise UnsupportedFeatureError(
            f"the executors have version {_version()} of tableformats, and the driver has {job.version}",
            field="engine",
            hint="Install the same version for the Python of the executors",
        )
    scan = unpack_scan(job.scan, job.access)
    parts = unpack_parts(scan, zlib.decompress(packed))
    for result in prune_parts(scan, job.keys, parts):
        for survivors in result.survivors:
            yield {"place": survivors.order, "files": _stream_of(survivors)}
        yield {"place": parts[0][0], "report": _report_text(result.report)}


def _row(place: int, files: bytes | None = None, report: str | None = None, error: str | None = None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"place": place, "files": files, "report": report, "error": error}], schema=_ANSWER
    )


def _stream_of(survivors: Survivors) -> bytes:
    """The survivors with their record counts, as an Arrow stream."""
    files = survivors.files.append_column(_COUNT, RecordCounts(survivors.counts).array)
    sink = pa.BufferOutputStream()
    codec = "lz4" if pa.Codec.is_available("lz4") else None
    with pa.ipc.new_stream(sink, files.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as stream:
        stream.write_table(files)
    return bytes(sink.getvalue())


def _report_text(report: ScanReport) -> str:
    return json.dumps({f.name: getattr(report, f.name) for f in fields(report) if not f.name.startswith("count_")})


def _text_of(error: TableFormatsError) -> str:
    """The error as its class here and the arguments that make it again, which are its attributes."""
    kind = next(c for c in type(error).__mro__ if c.__name__ in errors.__all__)
    said = {name: getattr(error, name) for name in signature(kind).parameters}
    return json.dumps({"type": kind.__name__, **said})


# ---- on the driver --------------------------------------------------------------------------------------------------


def _result_of(answer: Any) -> JobResult:
    if answer.report is not None:
        return JobResult(report=ScanReport(**json.loads(answer.report)))
    files = pa.ipc.open_stream(pa.py_buffer(answer.files)).read_all()
    return JobResult([Survivors(answer.place, files.drop_columns([_COUNT]), files[_COUNT].chunks)])


def _error_of(text: str) -> TableFormatsError:
    said = json.loads(text)
    kind: type[TableFormatsError] = getattr(errors, said.pop("type"))
    return kind(said.pop("message"), **said)


def _failed(error: Exception, scan: ScanRequest) -> TableFormatsError:
    """What it means that the job failed."""
    path, said = scan.snapshot.location, str(error)
    if "No module named 'tableformats" in said:
        return UnsupportedFeatureError(
            "the Python of the executors has no package tableformats",
            path=path,
            field="engine",
            hint="Install it on every node for the Python that PYSPARK_PYTHON names, ship an archive of it "
            "(spark.archives), or plan without an engine",
        )
    # Of a traceback the last line says what was wrong; below it Java's stack begins.
    lines = [line for line in said.partition("\n\tat ")[0].splitlines() if line.strip()]
    return TableFormatsError(
        f"the executors could not read the metadata: {lines[-1] if lines else type(error).__name__}",
        path=path,
        hint="They must reach the table's location with the same storage options; or plan without an engine",
    )
