"""Plan and read Delta and Iceberg tables: which files, and which rows of them, a query needs.

>>> import tableformats as tf
>>> plan = tf.open_table("events").scan("ts >= '2024-01-01'").plan()
>>> print(plan.explain())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import (
    AmbiguousFormatError,
    CorruptMetadataError,
    InvalidPredicateError,
    LimitExceededError,
    PathNotAllowedError,
    PluginContractError,
    PluginLoadError,
    SnapshotNotFoundError,
    TableFormatsError,
    TableNotFoundError,
    UnknownFormatError,
    UnsupportedFeatureError,
)
from .expressions import Expression, col
from .limits import Limits
from .schema import Field, Schema
from .table.table import Snapshot, Table, open_table
from .version import __version__

if TYPE_CHECKING:
    from . import spark
    from .cache.metadata_cache import MetadataCache

__all__ = [
    "AmbiguousFormatError",
    "CorruptMetadataError",
    "Expression",
    "Field",
    "InvalidPredicateError",
    "LimitExceededError",
    "Limits",
    "MetadataCache",
    "PathNotAllowedError",
    "PluginContractError",
    "PluginLoadError",
    "Schema",
    "Snapshot",
    "SnapshotNotFoundError",
    "Table",
    "TableFormatsError",
    "TableNotFoundError",
    "UnknownFormatError",
    "UnsupportedFeatureError",
    "__version__",
    "col",
    "open_table",
    "spark",
]


def __getattr__(name: str) -> Any:
    # tf.spark imports nothing of Spark until it is used.
    if name == "MetadataCache":
        return import_module(".cache.metadata_cache", __name__).MetadataCache
    if name == "spark":
        return import_module(".spark", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
