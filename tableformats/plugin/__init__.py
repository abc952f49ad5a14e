"""The interface for plugin authors: all that a format needs is imported from here.

A plugin implements :class:`TableFormat` and registers it through :func:`hookimpl`, in a module that its distribution
names in the entry-point group ``tableformats``. Beside the contract stand the helpers that the formats of this
project use themselves: schemas and transforms, storage, errors, array helpers, threads and kernels.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._core.bitmap import validate
from .._core.filekeys import FileKeySet
from .._core.pyroaring_bitmaps import bitmap_of
from ..cache.metadata_cache import MetadataCache
from ..columnar import compute
from ..columnar.arrays import (
    FALSE,
    TRUE,
    ZERO,
    array_of,
    distinct,
    flat,
    pad_strings,
    repeated,
    scalar,
    strings,
    text_buffers,
    text_maps,
    to_arrow,
    to_numpy,
)
from ..columnar.parquet_file import ParquetFile
from ..dataclass import dataclass
from ..errors import (
    AmbiguousFormatError,
    CatalogConnectionError,
    CatalogError,
    CatalogPermissionError,
    CommitConflictError,
    CommitUnknownError,
    ConstraintViolationError,
    CorruptMetadataError,
    InvalidPredicateError,
    LimitExceededError,
    PathNotAllowedError,
    PluginContractError,
    PluginLoadError,
    SnapshotNotFoundError,
    StoreError,
    TableFormatsError,
    TableNotFoundError,
    UnknownFormatError,
    UnsupportedFeatureError,
)
from ..io.buffers import ReusableBuffer
from ..io.parquet.chunks import check_footer, check_pages
from ..io.parquet.footers import has_sound_chunks
from ..io.path_policy import SharedPrefix
from ..io.paths import common_move, normalize, normalize_all, percent_decoded, scheme_of, strip_trailing
from ..io.storage import WHOLE_BYTES, FileInfo, PutOutcome, Storage
from ..io.stores.base import missing_file
from ..lazy_pattern import lazy_pattern
from ..limits import DEFAULT_LIMITS, FOOTER_ITEMS, Limits
from ..runtime.boundary import is_fault_of_machine
from ..runtime.collector import importing, uncollected
from ..runtime.concurrency import cached_property, free_after_fork
from ..runtime.threads import ahead, all_at_once, bundles, in_order, runs, thread_count
from ..schema import (
    EXACT,
    DecimalType,
    Field,
    FixedType,
    ListType,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    Type,
    arrow_field,
    arrow_type,
    datetimes,
    number_fields,
    primitive,
)
from ..schema.datetimes import (
    DATETIME_MS,
    DAY_S,
    DAY_US,
    FIRST_GREGORIAN_DAY,
    YEAR_1900_S,
    current_ms,
    days_from_civil,
)
from ..schema.transforms import Transform, hash_bytes, parse_transform
from .columns import MetadataColumn, NameMapping
from .deletes import EQUALITY, DeleteFiles, deletes_type
from .files import FileBatch, MetadataPart, RowErrors
from .format import FormatTable, OpenOptions, SnapshotSelector, TableFormat, utc_datetime, whole_number
from .hookspecs import hookimpl
from .manifest_filter import Decision, ManifestFilter
from .partitions import Implied, ImpliedBounds, PartitionField, PartitionSpec, partition_members
from .report import ScanReport
from .snapshot import FormatSnapshot, ReadRequest, SplitOptions
from .statistics import Bounds, Statistics, StatisticsSlice

if TYPE_CHECKING:
    from ..columnar.dropped_rows import without_rows
    from ..io.catalog_commits import CatalogCommit, CatalogCommits, CatalogWriter, StagedTable, TableUpdates
    from ..io.compression import AVRO_CODECS, INFLATE_ERRORS, compress_avro, inflate_avro, libdeflate
    from ..io.exclusive_put import check_exclusive_puts, put_exclusively
    from ..io.orc_tail import OrcTail
    from ..io.parquet.groups import GroupFile, ParquetFooter, StoredGroup
    from ..runtime.turns import local_turn
    from .changes import DELETE, INSERT, ChangeBatch, FormatChanges
    from .upkeep import CheckpointResult, KeptFiles
    from .verification import Violation, file_sizes
    from .writing.parquet_options import BloomFilter, ParquetOptions
    from .writing.row_rules import (
        ComputedColumn,
        IdentityColumn,
        RowCheck,
        RowRules,
        column_default,
        constant_default,
        generated_column,
        names_in,
        row_check,
    )
    from .writing.table_change import (
        CommittedChange,
        ConflictCheck,
        CreateRequest,
        MetadataChange,
        ReferenceChange,
        TableChange,
    )
    from .writing.transaction import Commit, FormatTransaction, PreparedCommit
    from .writing.write_target import SortColumn, WriteTarget, added_files_schema, stored_leaves

__all__ = [
    "AVRO_CODECS",
    "AmbiguousFormatError",
    "Commit",
    "CommitConflictError",
    "CommitUnknownError",
    "CommittedChange",
    "ComputedColumn",
    "ConflictCheck",
    "ConstraintViolationError",
    "BloomFilter",
    "Bounds",
    "CatalogCommit",
    "CatalogCommits",
    "CatalogConnectionError",
    "CatalogError",
    "CatalogPermissionError",
    "CatalogWriter",
    "ChangeBatch",
    "CheckpointResult",
    "CorruptMetadataError",
    "CreateRequest",
    "INFLATE_ERRORS",
    "DATETIME_MS",
    "DAY_S",
    "DAY_US",
    "DEFAULT_LIMITS",
    "DELETE",
    "DecimalType",
    "Decision",
    "DeleteFiles",
    "EQUALITY",
    "EXACT",
    "FOOTER_ITEMS",
    "FALSE",
    "FIRST_GREGORIAN_DAY",
    "Field",
    "FileBatch",
    "FileInfo",
    "FileKeySet",
    "FixedType",
    "FormatChanges",
    "FormatSnapshot",
    "FormatTable",
    "FormatTransaction",
    "GroupFile",
    "INSERT",
    "IdentityColumn",
    "Implied",
    "ImpliedBounds",
    "InvalidPredicateError",
    "LimitExceededError",
    "KeptFiles",
    "Limits",
    "ListType",
    "ManifestFilter",
    "MapType",
    "MetadataCache",
    "MetadataColumn",
    "MetadataChange",
    "MetadataPart",
    "NameMapping",
    "OpenOptions",
    "OrcTail",
    "ParquetOptions",
    "ParquetFile",
    "ParquetFooter",
    "PartitionField",
    "PartitionSpec",
    "PathNotAllowedError",
    "PluginContractError",
    "PluginLoadError",
    "PrimitiveType",
    "PreparedCommit",
    "PutOutcome",
    "ReadRequest",
    "ReferenceChange",
    "ReusableBuffer",
    "RowCheck",
    "RowRules",
    "RowErrors",
    "ScanReport",
    "Schema",
    "SnapshotNotFoundError",
    "StoreError",
    "StoredGroup",
    "SnapshotSelector",
    "SharedPrefix",
    "SortColumn",
    "SplitOptions",
    "StagedTable",
    "Statistics",
    "StatisticsSlice",
    "Storage",
    "StructType",
    "TRUE",
    "TableChange",
    "TableFormat",
    "TableFormatsError",
    "TableNotFoundError",
    "TableUpdates",
    "Transform",
    "Type",
    "UnknownFormatError",
    "UnsupportedFeatureError",
    "Violation",
    "WHOLE_BYTES",
    "WriteTarget",
    "YEAR_1900_S",
    "ZERO",
    "added_files_schema",
    "ahead",
    "all_at_once",
    "array_of",
    "arrow_field",
    "arrow_type",
    "bitmap_of",
    "bundles",
    "cached_property",
    "check_exclusive_puts",
    "check_footer",
    "check_pages",
    "column_default",
    "constant_default",
    "common_move",
    "compress_avro",
    "current_ms",
    "compute",
    "dataclass",
    "lazy_pattern",
    "datetimes",
    "days_from_civil",
    "deletes_type",
    "distinct",
    "file_sizes",
    "flat",
    "free_after_fork",
    "generated_column",
    "has_sound_chunks",
    "hash_bytes",
    "hookimpl",
    "importing",
    "in_order",
    "inflate_avro",
    "is_fault_of_machine",
    "libdeflate",
    "local_turn",
    "missing_file",
    "names_in",
    "normalize",
    "normalize_all",
    "percent_decoded",
    "number_fields",
    "pad_strings",
    "parse_transform",
    "partition_members",
    "primitive",
    "put_exclusively",
    "repeated",
    "row_check",
    "runs",
    "scalar",
    "scheme_of",
    "stored_leaves",
    "strings",
    "strip_trailing",
    "text_buffers",
    "text_maps",
    "thread_count",
    "to_arrow",
    "to_numpy",
    "uncollected",
    "utc_datetime",
    "whole_number",
    "validate",
    "without_rows",
]

# What not every plan needs: it is loaded by the first module that asks for it.
_LOADED_WHEN_USED = {
    "AVRO_CODECS": "..io.compression",
    "ChangeBatch": ".changes",
    "DELETE": ".changes",
    "FormatChanges": ".changes",
    "INFLATE_ERRORS": "..io.compression",
    "INSERT": ".changes",
    "OrcTail": "..io.orc_tail",
    "compress_avro": "..io.compression",
    "inflate_avro": "..io.compression",
    "libdeflate": "..io.compression",
    "without_rows": "..columnar.dropped_rows",
    "CatalogCommit": "..io.catalog_commits",
    "CatalogCommits": "..io.catalog_commits",
    "CatalogWriter": "..io.catalog_commits",
    "CheckpointResult": ".upkeep",
    "Commit": ".writing.transaction",
    "CommittedChange": ".writing.table_change",
    "ComputedColumn": ".writing.row_rules",
    "BloomFilter": ".writing.parquet_options",
    "ConflictCheck": ".writing.table_change",
    "CreateRequest": ".writing.table_change",
    "FormatTransaction": ".writing.transaction",
    "GroupFile": "..io.parquet.groups",
    "IdentityColumn": ".writing.row_rules",
    "MetadataChange": ".writing.table_change",
    "ParquetFooter": "..io.parquet.groups",
    "ParquetOptions": ".writing.parquet_options",
    "PreparedCommit": ".writing.transaction",
    "ReferenceChange": ".writing.table_change",
    "RowCheck": ".writing.row_rules",
    "RowRules": ".writing.row_rules",
    "SortColumn": ".writing.write_target",
    "StagedTable": "..io.catalog_commits",
    "StoredGroup": "..io.parquet.groups",
    "TableChange": ".writing.table_change",
    "TableUpdates": "..io.catalog_commits",
    "KeptFiles": ".upkeep",
    "Violation": ".verification",
    "file_sizes": ".verification",
    "WriteTarget": ".writing.write_target",
    "added_files_schema": ".writing.write_target",
    "check_exclusive_puts": "..io.exclusive_put",
    "column_default": ".writing.row_rules",
    "constant_default": ".writing.row_rules",
    "generated_column": ".writing.row_rules",
    "local_turn": "..runtime.turns",
    "names_in": ".writing.row_rules",
    "put_exclusively": "..io.exclusive_put",
    "row_check": ".writing.row_rules",
    "stored_leaves": ".writing.write_target",
}
_RENAMED = {"FilePart": "MetadataPart", "StatisticsOfRows": "StatisticsSlice"}


def __getattr__(name: str) -> Any:
    if name in _LOADED_WHEN_USED:
        return getattr(import_module(_LOADED_WHEN_USED[name], __name__), name)
    if name in _RENAMED:
        raise ImportError(f"tableformats.plugin.{name} is called {_RENAMED[name]} now", name=name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
