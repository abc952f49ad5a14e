"""The interface for plugin authors: everything that a format needs stands here.

A plugin implements :class:`TableFormat` and registers it through :func:`hookimpl` in a module that its distribution
names in the entry-point group ``tableformats``.
"""

from ..cache.metadata_cache import MetadataCache
from .base import (
    DeleteFiles,
    FileBatch,
    FilePart,
    FormatSnapshot,
    FormatTable,
    Implied,
    ImpliedBounds,
    MetadataColumn,
    NameMapping,
    OpenOptions,
    PartitionField,
    PartitionSpec,
    ReadRequest,
    SnapshotSelector,
    SplitOptions,
    TableFormat,
    deletes_type,
    partition_members,
    utc_datetime,
)
from .changes import DELETE, INSERT, ChangeBatch, FormatChanges
from .hookspecs import hookimpl
from .statistics import Bounds, Statistics, StatisticsOfRows

__all__ = [
    "DELETE",
    "INSERT",
    "Bounds",
    "ChangeBatch",
    "DeleteFiles",
    "FileBatch",
    "FilePart",
    "FormatChanges",
    "FormatSnapshot",
    "FormatTable",
    "Implied",
    "ImpliedBounds",
    "MetadataCache",
    "MetadataColumn",
    "NameMapping",
    "OpenOptions",
    "PartitionField",
    "PartitionSpec",
    "ReadRequest",
    "SnapshotSelector",
    "SplitOptions",
    "Statistics",
    "StatisticsOfRows",
    "TableFormat",
    "deletes_type",
    "hookimpl",
    "partition_members",
    "utc_datetime",
]
