"""Table features: which ones this reader supports, and the check of a table's protocol against them.

:data:`READER_FEATURES` decides. A feature that is listed in ``writerFeatures`` alone concerns writers and never refuses
a reader; :data:`WRITER_FEATURES` documents what this reader does with those.
Source: Delta PROTOCOL.md, "Table Features", "Valid Feature Names in Table Features".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tableformats.plugin import CorruptMetadataError, UnsupportedFeatureError, dataclass

__all__ = ["READER_FEATURES", "WRITER_FEATURES", "Feature", "check_protocol", "feature_texts"]

_MAX_READER_VERSION = 3
_HINT = "Read the table with an engine that has the feature, or a version from before it was enabled"

_BY_CATALOG = "through its catalog, which knows the commits that count; at its directory the table is refused"
_TREE = "no part of the protocol, but proposed for it: metadata as a tree of manifests beside the log"
_SHAPES = "no part of the protocol: the types geometry and geography"
_ASK_CATALOG = "Read the table through its catalog: open_table('catalog.schema.table', catalog=...)"


@dataclass(frozen=True)
class Feature:
    """How this reader treats a feature.

    Attributes
    ----------
    read : bool
        Whether tables that need the feature are read.
    note : str
        How they are read, or why they are not.
    hint : str
        What a user can do where they are not.
    needs_catalog : bool
        Whether only tables whose catalog says which commits count are read.
    """

    read: bool
    note: str
    hint: str = _HINT
    needs_catalog: bool = False


READER_FEATURES: Mapping[str, Feature] = {
    "columnMapping": Feature(True, "names and ids come from the schema's metadata"),
    "deletionVectors": Feature(True, "u, p and i; checked against size, CRC-32 and cardinality"),
    "timestampNtz": Feature(True, "timestamp_ntz"),
    "timestampWithoutTimezone": Feature(True, "an old spelling of timestampNtz that some writers left behind"),
    "vacuumProtocolCheck": Feature(True, "concerns VACUUM only"),
    "v2Checkpoint": Feature(True, "Parquet and JSON manifests, with sidecars"),
    "typeWidening": Feature(True, "old files, statistics and partition values are cast; unknown changes are refused"),
    "typeWidening-preview": Feature(True, "as typeWidening"),
    "variantType": Feature(True, "Arrow: struct<metadata, value>; Spark 4: variant; never pruned by"),
    "variantType-preview": Feature(True, "as variantType"),
    "variantShredding": Feature(True, "as variantType; shredded values are put together again"),
    "variantShredding-preview": Feature(True, "as variantShredding"),
    "catalogManaged": Feature(True, _BY_CATALOG, _ASK_CATALOG, needs_catalog=True),
    "catalogOwned": Feature(True, _BY_CATALOG, _ASK_CATALOG, needs_catalog=True),
    "catalogOwned-preview": Feature(True, _BY_CATALOG, _ASK_CATALOG, needs_catalog=True),
    "adaptiveMetadata": Feature(False, _TREE),
    "adaptiveMetadata-preview": Feature(False, _TREE),
    "timestampNanos": Feature(False, "no part of the protocol, but proposed for it: timestamps of nanoseconds"),
    "geospatial": Feature(False, _SHAPES),
    "geospatial-dev": Feature(False, _SHAPES),
    "redirectReaderWriter-preview": Feature(False, "no part of the protocol: the rows are in another table"),
}

WRITER_FEATURES: Mapping[str, str] = {
    "rowTracking": "`_metadata.row_id` and `_metadata.row_commit_version` can be selected",
    "generatedColumns": "a filter on the source column prunes by the partition columns computed from it",
    "changeDataFeed": "`table.changes` reads change data files where a version has them",
    "inCommitTimestamp": "time travel goes by it from the version that enabled it",
    "domainMetadata": "`table.inspect.domains()`",
    "collations": "comparisons of a collated column are refused; its statistics are not used; Spark 4 compares by it, "
    "Spark 3.5 refuses it",
    "collations-preview": "as collations",
    "materializePartitionColumns": "the log's values win over those in the files",
    "clustering": "accepted",
    "checkpointProtection": "accepted",
    "icebergCompatV1": 'accepted; open a directory of two formats with `format="delta"`',
    "icebergCompatV2": "as icebergCompatV1",
    "icebergCompatV3": "as icebergCompatV1",
    "icebergWriterCompatV1": "as icebergCompatV1",
    "icebergWriterCompatV3": "as icebergCompatV1",
    "coordinatedCommits-preview": "accepted: what is read are the commits that are in the log",
    "redirectWriterOnly-preview": "accepted",
    "appendOnly": "accepted",
    "invariants": "accepted",
    "checkConstraints": "accepted",
    "identityColumns": "accepted",
    "allowColumnDefaults": "accepted",
}


def check_protocol(protocol: Mapping[str, Any], path: str, is_of_catalog: bool = False) -> None:
    """Refuse a table that this reader must not read.

    Parameters
    ----------
    protocol : mapping
        The ``protocol`` action of the version.
    path : str
        The file that holds it, for errors.
    is_of_catalog : bool
        Whether the table's catalog said which commits count.

    Raises
    ------
    UnsupportedFeatureError
        ``field`` names the reader version or the feature.
    CorruptMetadataError
        The action breaks the rules of the protocol.
    """
    version = protocol.get("minReaderVersion")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise CorruptMetadataError(
            "the protocol has no valid reader version", path=path, field="protocol.minReaderVersion"
        )
    for key in ("readerFeatures", "writerFeatures"):
        names = protocol.get(key)
        if names is not None and not _are_names(names):
            raise CorruptMetadataError(
                "the features of a protocol are no list of names", path=path, field=f"protocol.{key}"
            )
    if version > _MAX_READER_VERSION:
        raise UnsupportedFeatureError(
            f"the table asks for reader version {version}, and this reader knows versions up to {_MAX_READER_VERSION}",
            path=path,
            field="minReaderVersion",
            hint=_HINT,
        )
    if version < _MAX_READER_VERSION:
        return
    features = protocol.get("readerFeatures")
    if features is None:
        raise CorruptMetadataError(
            "reader version 3 needs a list of reader features", path=path, field="protocol.readerFeatures"
        )
    for name in features:
        feature = READER_FEATURES.get(name)
        if feature is None or not feature.read or (feature.needs_catalog and not is_of_catalog):
            why, hint = (feature.note, feature.hint) if feature else ("this reader does not know it", _HINT)
            if feature is not None and feature.needs_catalog:
                why = "only its catalog knows which commits count, so its directory alone gives no version of it"
            raise UnsupportedFeatureError(
                f"the table needs the reader feature {name!r}: {why}", path=path, field=name, hint=hint
            )


def _are_names(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)


def feature_texts(protocol: Mapping[str, Any]) -> tuple[str, ...]:
    """What a ``protocol`` action asks of readers and writers, for people: its versions, then its features by name."""
    names = ("minReaderVersion", "minWriterVersion")
    known = [(kind, name) for kind, name in zip(("reader", "writer"), names, strict=True) if name in protocol]
    versions = [f"{kind} version {protocol[name]}" for kind, name in known]
    lists = [protocol.get(name) for name in ("readerFeatures", "writerFeatures")]
    features = {str(name) for found in lists if isinstance(found, (list, tuple)) for name in found}
    return (*versions, *sorted(features))
