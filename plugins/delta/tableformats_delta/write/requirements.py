"""Which tables are appended to: each feature, property and column is honoured, or refused by name.

Source: Delta PROTOCOL.md, "Requirements for Writers", "Table Features", "Valid Feature Names in Table Features".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tableformats.plugin import CorruptMetadataError, Field, UnsupportedFeatureError

if TYPE_CHECKING:
    from ..snapshot.delta_snapshot import DeltaSnapshot

__all__ = ["HONOURED", "check_append"]

HONOURED: Mapping[str, str] = {
    "appendOnly": "an append removes nothing",
    "invariants": "NOT NULL is checked; a table with an expression is refused",
    "checkConstraints": "a table with a constraint is refused",
    "generatedColumns": "a table with a generated column is refused",
    "identityColumns": "a table with an identity column is refused",
    "allowColumnDefaults": "a table with a default is refused",
    "columnMapping": "a table whose mapping is on is refused",
    "rowTracking": "a table that has it, enabled or not, is refused",
    "changeDataFeed": "an append needs no change files",
    "timestampNtz": "written",
    "deletionVectors": "new files have none; those of others stay",
    "typeWidening": "new files have the current types",
    "typeWidening-preview": "as typeWidening",
    "v2Checkpoint": "an append writes no checkpoint",
    "vacuumProtocolCheck": "concerns VACUUM only",
    "checkpointProtection": "concerns the cleaning of the log only",
    "inCommitTimestamp": "written, later than that of the version before",
    "domainMetadata": "kept",
}
"""What an append does about the features that a table may have. All others refuse it."""

_REFUSED = ("rowTracking",)
_BY_METADATA = {
    "delta.invariants": "invariants",
    "delta.generationExpression": "generatedColumns",
    "delta.identity.start": "identityColumns",
    "delta.identity.step": "identityColumns",
    "delta.identity.allowExplicitInsert": "identityColumns",
    "CURRENT_DEFAULT": "allowColumnDefaults",
    "__CHAR_VARCHAR_TYPE_STRING": "char and varchar",
    "__COLLATIONS": "collations",
}
"""Keys of a field's metadata that ask something of writers, with the feature."""
_TYPES = ("boolean", "byte", "short", "int", "long", "float", "double", "string", "binary", "date", "timestamp")
_WRITTEN_TYPES = (*_TYPES, "timestamp_ntz")
_HINT = "Nothing was written; write the table with an engine that has the feature"


def check_append(snapshot: DeltaSnapshot, path: str) -> None:
    """Refuse a table that this writer must not append to.

    Parameters
    ----------
    snapshot : DeltaSnapshot
        The version that the append is made upon.
    path : str
        The table's location, for errors.

    Raises
    ------
    UnsupportedFeatureError
        ``field`` names the feature, or the column.
    CorruptMetadataError
        The protocol action breaks the rules of the protocol.
    """
    _check_protocol(snapshot.protocol, path)
    if len(snapshot.table_metadata.partition_columns) == len(snapshot.schema.fields):
        raise _refused("files without columns", "a table that has partition columns alone, or none,", path)
    for name in snapshot.properties:
        if name.startswith("delta.constraints."):
            raise _refused("checkConstraints", f"the constraint {name.removeprefix('delta.constraints.')!r}", path)
    if snapshot.table_metadata.mapping_mode != "none":
        raise _refused("columnMapping", f"the mode {snapshot.table_metadata.mapping_mode!r}", path)
    for name, column in _all_fields(snapshot.schema.fields):
        for key in column.metadata:
            if key in _BY_METADATA:
                raise _refused(_BY_METADATA[key], f"the column {name!r}", path)
        if column.char_length is not None:
            raise _refused("char and varchar", f"the column {name!r}", path)
        kind = str(getattr(column.type, "name", "decimal"))
        if not column.type.is_nested and kind not in (*_WRITTEN_TYPES, "decimal"):
            raise _refused(kind, f"the column {name!r}", path)
    for field in snapshot.schema.fields:
        for name, member in _all_fields(field.type.members, (field.name,)):
            if member.required and not name.endswith(".key"):
                raise _refused("invariants", f"the nested column {name!r}, which is NOT NULL", path)
    for column in snapshot.table_metadata.partition_columns:
        if str(column.type) == "binary":
            raise _refused("binary", f"the partition column {column.name!r}", path)


def _check_protocol(protocol: Mapping[str, Any], path: str) -> None:
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
        if name not in HONOURED or name in _REFUSED:
            raise _refused(name, "the protocol", path)


def _refused(feature: str, where: str, path: str) -> UnsupportedFeatureError:
    message = f"{where} needs {feature!r}, which this writer does not have"
    return UnsupportedFeatureError(message, path=path, field=feature, hint=_HINT)


def _all_fields(fields: tuple[Field, ...], above: tuple[str, ...] = ()) -> Iterator[tuple[str, Field]]:
    for field in fields:
        path = (*above, field.name)
        yield ".".join(path), field
        yield from _all_fields(field.type.members, path)
