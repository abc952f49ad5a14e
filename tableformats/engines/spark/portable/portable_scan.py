"""A scan as a DataFrame of any session of Spark 4, also of Spark Connect.

Spark's own readers read the files that a file log names (:mod:`file_log`), if there is a directory for the log and the
session can read it. Otherwise the Python data source ``tableformats`` reads the table. It plans again where the
session's driver runs, at the version of the scan, with the scan's filter as an option. So the session must reach the
table's location, and the package must be installed for its Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ....errors import CorruptMetadataError, TableFormatsError, UnsupportedFeatureError
from ....expressions import tree as ex
from ....limits import DEFAULT_LIMITS
from ....planning.planner import plan_scan
from ..columns.checks import check_times
from ..columns.naming import quoted
from ..dataframe import frame_of
from ..filters import to_spark_column
from .file_log import StagedFiles, staging_of
from .worker_batches import spark_schema_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ....planning.handle import SnapshotHandle
    from ....planning.request import ScanRequest

__all__ = ["to_spark"]

_NOT_FOUND = "DATA_SOURCE_NOT_FOUND"


def to_spark(scan: ScanRequest, spark: SparkSession, staging: str | None = None) -> tuple[DataFrame, str]:
    """The rows of ``scan`` as a DataFrame, and a sentence that says how they are read. All columns are nullable.

    Parameters
    ----------
    scan : ScanRequest
        What to read.
    spark : SparkSession
        A session of Spark 4, classic or Connect.
    staging : str, optional
        See :func:`tableformats.engines.spark.session.to_spark`.

    Raises
    ------
    UnsupportedFeatureError
        Spark before 4.0; the data source is not installed for the session; it sees other columns than the scan has; a
        type that Spark lacks.
    TableFormatsError
        The session cannot read the table; the message quotes its error.
    CorruptMetadataError, PathNotAllowedError
        As the table's metadata and delete files are read.
    """
    _check_version(spark)
    directory = staging_of(scan.snapshot.storage, staging)
    refusal: TableFormatsError | None = None
    if directory is None:
        why_not = "no staging directory was given"
    else:
        try:
            frame = frame_of(plan_scan(scan.reattached()), StagedFiles(spark, directory, scan.snapshot.storage))
            # This asks the session, so its errors are raised here and not by the user's first query.
            if frame.columns == scan.schema.names:
                return frame, "Spark's own reader reads the files, which a staged log names"
            why_not = "the session gave other columns"
        except CorruptMetadataError:
            raise
        except TableFormatsError as error:
            refusal, why_not = error, str(error)
        except Exception as error:
            if not type(error).__module__.startswith("pyspark."):
                raise
            why_not = f"the session cannot read the staging directory: {str(error).splitlines()[0]}"
    try:
        return _by_data_source(scan, spark), f"the Python data source reads the files, because {why_not}"
    except TableFormatsError as error:
        raise error from refusal


def _check_version(spark: SparkSession) -> None:
    if int(spark.version.split(".")[0]) < 4:
        raise UnsupportedFeatureError(
            f"Spark {spark.version} has no Python data sources",
            field='mode "portable"',
            hint='Use a classic session and mode="native", or Spark 4',
        )


def _by_data_source(scan: ScanRequest, spark: SparkSession) -> DataFrame:
    wanted = spark_schema_json(scan.schema)
    check_times(scan.schema.fields, spark)
    try:
        frame = spark.read.format("tableformats").options(**_options(scan)).load(scan.snapshot.storage.root)
        # This asks a Connect session, so its errors are raised here; load() has already asked a classic one.
        found = json.loads(frame.schema.json())
    except TableFormatsError:
        raise
    except Exception as error:
        raise _session_error(scan, str(error)) from error
    _check_columns(scan, found, wanted)
    if _filter_text(scan) is None and scan.filter != ex.TRUE:
        frame = frame.where(to_spark_column(scan.filter))
    if frame.columns != scan.schema.names:
        frame = frame.select(*(quoted(name) for name in scan.schema.names))
    return frame if scan.limit is None else frame.limit(scan.limit)


def _options(scan: ScanRequest) -> dict[str, str]:
    """The options of the data source that give the rows of ``scan``, before its limit."""
    snapshot = scan.snapshot
    storage = snapshot.storage
    options: dict[str, Any] = {
        "format": snapshot.table_format,
        "caseSensitive": "true",
        **_selection(snapshot),
        "filter": _filter_text(scan),
        "columns": ", ".join(map(quoted, dict.fromkeys(_read_columns(scan)))),
        "storageOptions": _json("storage_options", storage.options),
        "relocate": _json("relocate", storage.moves),
        "allowPaths": json.dumps(storage.allow_paths) if storage.allow_paths else None,
        "limits": json.dumps(asdict(storage.limits)) if storage.limits != DEFAULT_LIMITS else None,
    }
    return {name: str(value) for name, value in options.items() if value is not None}


_OPTIONS = {
    "version": "versionAsOf",
    "timestamp": "timestampAsOf",
    "branch": "branch",
    "tag": "tag",
    "starting_version": "startingVersion",
    "ending_version": "endingVersion",
    "from_snapshot_id_exclusive": "start-snapshot-id",
    "to_snapshot_id_inclusive": "end-snapshot-id",
}
"""Options of the data source, by the argument of :class:`tableformats.Table`'s methods that they stand for."""


def _selection(snapshot: SnapshotHandle) -> dict[str, Any]:
    """The options that select ``snapshot``, by its version if that is enough.

    The current snapshot, and the head of a branch, may have another schema than the version itself. Then they are
    selected in the same way as before, and ``expectedVersion`` makes the read fail if there is a newer version.
    """
    selectors = {_OPTIONS[name]: value for name, value in snapshot.selection.items()}
    version = snapshot.version
    if "starting_version" in snapshot.selection:
        return {"readChangeFeed": "true", **selectors}
    if "to_snapshot_id_inclusive" in snapshot.selection:
        return selectors
    if version == -1:
        return {}
    if selectors.keys() <= {"branch"} and not snapshot.has_schema_of_version():
        return {**selectors, "expectedVersion": version}
    return {"versionAsOf": version}


def _read_columns(scan: ScanRequest) -> list[str]:
    """The scan's columns, then those that Spark needs to filter the rows."""
    names = list(scan.schema.names)
    if _filter_text(scan) is None:
        columns = (column for column in ex.columns_of(scan.filter) if isinstance(column, ex.BoundColumn))
        names += [column.path[0].name for column in columns]
    return names


def _filter_text(scan: ScanRequest) -> str | None:
    """The filter as SQL that binds to the same predicate; None if there is no filter, or no such SQL."""
    if scan.filter == ex.TRUE:
        return None
    text = str(scan.filter)
    try:
        return text if scan.snapshot.bind(text, case_sensitive=True) == scan.filter else None
    except TableFormatsError:
        return None


def _json(name: str, values: Mapping[str, Any]) -> str | None:
    try:
        return json.dumps(dict(values)) if values else None
    except TypeError:
        # The values are not shown: they may be credentials.
        raise UnsupportedFeatureError(
            f"{name} holds values that cannot be written as JSON, the form in which they reach the session",
            field=name,
            hint="Give texts, numbers, booleans, lists and dictionaries of them",
        ) from None


def _check_columns(scan: ScanRequest, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Compare the columns of the session's DataFrame with those of the scan, both as Spark's JSON."""
    from pyspark.sql.types import StructType

    # Spark's own JSON has collations in the metadata and not in the types.
    wanted = json.loads(StructType.fromJson(wanted).json())
    names = dict.fromkeys(_read_columns(scan))
    by_name = {f["name"]: f for f in wanted["fields"]}
    if [f["name"] for f in found["fields"]] == list(names) and all(
        f == by_name.get(f["name"], f) for f in found["fields"]
    ):
        return
    raise UnsupportedFeatureError(
        "the session sees other columns than the scan has: the version is read by another schema there",
        path=scan.snapshot.location,
        field="schema",
        hint="Open the table again, or ask for a version",
    )


def _session_error(scan: ScanRequest, message: str) -> TableFormatsError:
    """Our error for an error of the session with this message."""
    path = scan.snapshot.location
    if _NOT_FOUND in message:
        return UnsupportedFeatureError(
            "the session does not know the data source 'tableformats'",
            path=path,
            field="tableformats",
            hint="Install the package for the Python of the session's driver and executors (PYSPARK_PYTHON), or "
            "register it: tf.spark.register(spark)",
        )
    # The message may hold a traceback, whose last line is the error.
    ours = re.findall(r"\btableformats\.errors\.\w+: (.*)", message)
    reason = ours[-1] if ours else message.partition("\n")[0]
    return TableFormatsError(
        f"the session cannot read the table: {reason}",
        path=path,
        hint="Its driver must reach the same location, with the same storage options",
    )
