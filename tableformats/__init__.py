"""Plan and read Delta and Iceberg tables: which files, and which rows of them, a query needs.

>>> import tableformats as tf
>>> table = tf.open_table("events")  # a directory, a metadata.json, a URI, or a name with catalog=
>>> table.schema.names
['id', 'day']
>>> scan = table.scan("day = 2 AND id > 3", columns=["id"])  # SQL, tf.col("day") == 2, or tuples
>>> plan = scan.plan()  # which files are read; no data file is opened
>>> len(plan), plan.report.files_total
(1, 2)
>>> print(plan.explain())  # what was dropped, by which part of the filter, and why the rest was not
Table   ...
>>> scan.to_arrow()["id"].to_pylist()  # also to_pandas, to_polars, to_duckdb, to_spark(spark)
[4, 5]

More: ``table.snapshot(version)``, ``table.history()``, ``table.changes(first, last)``, ``table.inspect.files()``,
``plan.why(file)``, ``plan.splits()``. Errors derive from ``TableFormatsError``. At a terminal: ``tableformats --help``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import moved
from .errors import (
    AmbiguousFormatError,
    CatalogConnectionError,
    CatalogError,
    CatalogNotFoundError,
    CatalogPermissionError,
    CommitConflictError,
    CommitUnknownError,
    ConstraintViolationError,
    CorruptMetadataError,
    InvalidPredicateError,
    LimitExceededError,
    MissingExtraError,
    NamespaceNotFoundError,
    PathNotAllowedError,
    PluginContractError,
    PluginLoadError,
    SnapshotNotFoundError,
    StoreConnectionError,
    StoreError,
    StorePermissionError,
    StoreThrottledError,
    StoreTimeoutError,
    TableExistsError,
    TableFormatsError,
    TableNotFoundError,
    UnknownFormatError,
    UnsupportedFeatureError,
)
from .expressions import Column, Expression, col
from .limits import Limits
from .schema import Field, Schema
from .table.table import Snapshot, Table, open_table
from .version import __version__

if TYPE_CHECKING:
    from . import spark
    from .cache.metadata_cache import MetadataCache
    from .catalog.listing import list_tables
    from .inspect.tables import Inspector
    from .planning.tasks import ScanTask
    from .plugin.partitions import PartitionField
    from .plugin.report import ScanReport
    from .plugin.writing.transaction import Commit
    from .table.catalog_transactions import CatalogTransaction, transaction
    from .table.changes import Changes
    from .table.create import create_table, write_table
    from .table.scan import Scan, ScanPlan

__all__ = [
    "AmbiguousFormatError",
    "CatalogConnectionError",
    "CatalogError",
    "CatalogNotFoundError",
    "CatalogPermissionError",
    "CatalogTransaction",
    "CommitConflictError",
    "CommitUnknownError",
    "ConstraintViolationError",
    "Changes",
    "Column",
    "Commit",
    "CorruptMetadataError",
    "Expression",
    "Field",
    "Inspector",
    "InvalidPredicateError",
    "LimitExceededError",
    "Limits",
    "MetadataCache",
    "MissingExtraError",
    "NamespaceNotFoundError",
    "PartitionField",
    "PathNotAllowedError",
    "PluginContractError",
    "PluginLoadError",
    "Scan",
    "ScanPlan",
    "ScanReport",
    "ScanTask",
    "Schema",
    "Snapshot",
    "SnapshotNotFoundError",
    "StoreConnectionError",
    "StoreError",
    "StorePermissionError",
    "StoreThrottledError",
    "StoreTimeoutError",
    "Table",
    "TableExistsError",
    "TableFormatsError",
    "TableNotFoundError",
    "UnknownFormatError",
    "UnsupportedFeatureError",
    "__version__",
    "col",
    "create_table",
    "list_tables",
    "open_table",
    "spark",
    "transaction",
    "write_table",
]

# What `import tableformats` does not load: NumPy, pyarrow and Spark come with the first table.
_LOADED_WHEN_USED = {
    "CatalogTransaction": ".table.catalog_transactions",
    "Changes": ".table.changes",
    "Commit": ".plugin.writing.transaction",
    "Inspector": ".inspect.tables",
    "MetadataCache": ".cache.metadata_cache",
    "PartitionField": ".plugin.partitions",
    "Scan": ".table.scan",
    "ScanPlan": ".table.scan",
    "ScanReport": ".plugin.report",
    "ScanTask": ".planning.tasks",
    "create_table": ".table.create",
    "list_tables": ".catalog.listing",
    "transaction": ".table.catalog_transactions",
    "write_table": ".table.create",
}

moved.install()


def __getattr__(name: str) -> Any:
    if name == "spark":
        return import_module(".spark", __name__)
    if name in _LOADED_WHEN_USED:
        return getattr(import_module(_LOADED_WHEN_USED[name], __name__), name)
    text = f"module {__name__!r} has no attribute {name!r}"
    if not name.startswith("_"):
        from .habits import HABITS

        instead = HABITS[__name__].get(name)
        text = text if instead is None else f"{text}: use {instead}"
    raise AttributeError(text, name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
