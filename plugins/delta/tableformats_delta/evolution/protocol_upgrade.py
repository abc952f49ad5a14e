"""The ``protocol`` action that a set of features needs: the least that supports exactly these.

Writer versions 2 to 6 stand for fixed sets of features. A set that none of them has is listed by name, with writer
version 7, and with reader version 3 if readers need one of the features. So a table asks nobody for a feature that it
does not have. Source: Delta PROTOCOL.md, "Table Features", "Writer Version Requirements", "Valid Feature Names in Table
Features".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["NEW_PROTOCOL", "READER_WRITER_FEATURES", "supports", "with_features", "writer_features"]

NEW_PROTOCOL: Mapping[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 2}
"""What a new table without further features has."""

READER_WRITER_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "typeWidening",
        "typeWidening-preview",
        "variantType",
        "variantType-preview",
        "variantShredding",
        "variantShredding-preview",
        "catalogManaged",
    }
)
"""The features that are listed for readers too."""
_WRITER_VERSIONS = {
    "appendOnly": 2,
    "invariants": 2,
    "checkConstraints": 3,
    "changeDataFeed": 4,
    "generatedColumns": 4,
    "columnMapping": 5,
    "identityColumns": 6,
}
"""The writer version from which on a feature needs no name."""
_LISTED = 7
_LISTED_FOR_READERS = 3
_REQUIRED = {"rowTracking": ("domainMetadata",), "clustering": ("domainMetadata",)}


def writer_features(protocol: Mapping[str, Any]) -> frozenset[str]:
    """The features that writers of the table must support, those that its versions stand for included."""
    version = protocol["minWriterVersion"]
    if version >= _LISTED:
        return frozenset(protocol.get("writerFeatures") or ())
    return frozenset(
        name
        for name, first in _WRITER_VERSIONS.items()
        if first <= version and (name != "columnMapping" or protocol["minReaderVersion"] >= 2)
    )


def supports(protocol: Mapping[str, Any], feature: str) -> bool:
    """Whether a table may use a feature."""
    return feature in writer_features(protocol)


def with_features(protocol: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """A protocol with further features, and with those that they require. Equal to ``protocol`` if it has them all.

    Features that are not known here stay.
    """
    present = writer_features(protocol)
    wanted = present | frozenset(other for name in names for other in (name, *_REQUIRED.get(name, ())))
    if wanted == present:
        return dict(protocol)
    if protocol["minWriterVersion"] < _LISTED:
        for version in range(2, _LISTED):
            older = {"minReaderVersion": 2 if version >= 5 else 1, "minWriterVersion": version}
            if writer_features(older) == wanted and older["minReaderVersion"] >= protocol["minReaderVersion"]:
                return older
    found = dict(protocol)
    found["minWriterVersion"] = _LISTED
    found["writerFeatures"] = _joined(protocol.get("writerFeatures"), wanted)
    readers = wanted & READER_WRITER_FEATURES
    if readers or protocol["minReaderVersion"] > 1:
        found["minReaderVersion"] = _LISTED_FOR_READERS
        found["readerFeatures"] = _joined(protocol.get("readerFeatures"), readers)
    return found


def _joined(listed: Iterable[str] | None, wanted: Iterable[str]) -> list[str]:
    """The names as they were listed, then the new ones by name."""
    old = list(listed or ())
    return [*old, *sorted(set(wanted) - set(old))]
