"""Which tables are written: each feature, property and column is honoured, or refused by name.

Source: Delta PROTOCOL.md, "Requirements for Writers", "Table Features", "Valid Feature Names in Table Features".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tableformats.plugin import CorruptMetadataError, Field, TableChange, UnsupportedFeatureError, lazy_pattern

from ..evolution.properties import is_true

if TYPE_CHECKING:
    from .definition import TableDefinition

__all__ = ["HONOURED", "check_change", "check_table", "check_writer_protocol"]

HONOURED: Mapping[str, str] = {
    "appendOnly": "rows are added, and none is removed",
    "invariants": "NOT NULL at every depth and the expressions are checked for each row",
    "checkConstraints": "each row must make the constraints TRUE",
    "generatedColumns": "computed where rows lack them, else compared",
    "identityColumns": "numbers are given out; the high-water mark is kept",
    "allowColumnDefaults": "computed where rows lack the column",
    "columnMapping": "files have physical names and field ids",
    "rowTracking": "new files get fresh row ids; rows that are written again keep theirs",
    "changeDataFeed": "change files where some rows of a file go",
    "timestampNtz": "written",
    "deletionVectors": "new files have none; those of others stay",
    "typeWidening": "new files have the current types",
    "typeWidening-preview": "as typeWidening",
    "v2Checkpoint": "an append writes no checkpoint",
    "vacuumProtocolCheck": "concerns VACUUM only",
    "checkpointProtection": "concerns the cleaning of the log only",
    "inCommitTimestamp": "written, later than that of the version before",
    "domainMetadata": "kept",
    "clustering": "kept; files have statistics of the clustering columns",
    "materializePartitionColumns": "files have the partition columns too",
}
"""What a writer does about the features that a table may have. All others refuse it."""

_COLLATIONS = "__COLLATIONS"
_TYPES = ("boolean", "byte", "short", "int", "long", "float", "double", "string", "binary", "date", "timestamp")
_WRITTEN_TYPES = (*_TYPES, "timestamp_ntz")
_BARE_VARCHAR = lazy_pattern(r'"(?:t|\w+T)ype"\s*:\s*"varchar\(')
_HINT = "Nothing was written; write the table with an engine that has the feature"


def check_change(change: TableChange, definition: TableDefinition, path: str) -> None:
    """Refuse a change that the table does not allow.

    Parameters
    ----------
    change : TableChange
    definition : TableDefinition
        Of the version that the commit makes.
    path : str
        The table's location, for errors.

    Raises
    ------
    UnsupportedFeatureError
        ``field`` names the feature, or the column.
    """
    if change.operation in ("append", "create", "alter") or not change.data_change:
        return
    if is_true(definition.properties, "delta.appendOnly"):
        raise UnsupportedFeatureError(
            "the table takes new rows only, and keeps those that it has",
            path=path,
            field="appendOnly",
            hint="Nothing was written; unset delta.appendOnly first",
        )


def check_table(definition: TableDefinition, path: str) -> None:
    """Refuse a table that is not written, whatever the change is. Errors are those of :func:`check_change`."""
    found = definition.table_metadata
    if len(found.partition_columns) == len(found.schema.fields):
        raise _refused("files without columns", "a table that has partition columns alone, or none,", path)
    if is_true(found.properties, "delta.rowTrackingSuspended"):
        raise _refused("rowTracking", "the property 'delta.rowTrackingSuspended'", path)
    for name, column in _all_fields(found.schema.fields):
        if _COLLATIONS in column.metadata:
            raise _refused("collations", f"the column {name!r}", path)
        kind = str(getattr(column.type, "name", "decimal"))
        if not column.type.is_nested and kind not in (*_WRITTEN_TYPES, "decimal"):
            raise _refused(kind, f"the column {name!r}", path)
    if _BARE_VARCHAR.search(str(definition.metadata.get("schemaString"))):
        raise _refused("varchar", "a column whose type is no string", path)
    for column in found.partition_columns:
        if str(column.type) == "binary":
            raise _refused("binary", f"the partition column {column.name!r}", path)


def check_writer_protocol(protocol: Mapping[str, Any], path: str) -> None:
    """Refuse a protocol with a feature that this writer does not have. Errors are those of :func:`check_change`."""
    version = protocol.get("minWriterVersion")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise CorruptMetadataError(
            "the protocol has no valid writer version", path=path, field="protocol.minWriterVersion"
        )
    if version > 7:
        raise UnsupportedFeatureError(
            f"the table asks for writer version {version}, and this writer knows versions up to 7",
            path=path,
            field="minWriterVersion",
            hint=_HINT,
        )
    features = protocol.get("writerFeatures")
    if version < 7:
        return
    if not isinstance(features, (list, tuple)) or not all(isinstance(name, str) for name in features):
        raise CorruptMetadataError(
            "writer version 7 needs a list of writer features", path=path, field="protocol.writerFeatures"
        )
    for name in features:
        if name not in HONOURED:
            raise _refused(name, "the protocol", path)


def _refused(feature: str, where: str, path: str) -> UnsupportedFeatureError:
    message = f"{where} needs {feature!r}, which this writer does not have"
    return UnsupportedFeatureError(message, path=path, field=feature, hint=_HINT)


def _all_fields(fields: tuple[Field, ...], above: tuple[str, ...] = ()) -> Iterator[tuple[str, Field]]:
    for field in fields:
        path = (*above, field.name)
        yield ".".join(path), field
        yield from _all_fields(field.type.members, path)
