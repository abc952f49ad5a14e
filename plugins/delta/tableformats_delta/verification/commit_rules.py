"""The rules for the actions of one commit, whatever the table is like.

Source: Delta PROTOCOL.md, "Actions", "Table Features".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tableformats.plugin import Violation, lazy_pattern

from ..schema.features import READER_FEATURES
from .commit_file import CommitFile, file_key, path_of
from .rules import violation

__all__ = ["FIELDS", "VECTOR", "Fields", "commit_violations", "field_violations", "protocol_violations"]

Fields = Mapping[str, tuple[type, bool]]
_REQUIRED, _OPTIONAL = True, False
FIELDS: Mapping[str, Fields] = {
    "add": {
        "path": (str, _REQUIRED),
        "partitionValues": (dict, _REQUIRED),
        "size": (int, _REQUIRED),
        "modificationTime": (int, _REQUIRED),
        "stats": (str, _OPTIONAL),
        "tags": (dict, _OPTIONAL),
        "deletionVector": (dict, _OPTIONAL),
        "baseRowId": (int, _OPTIONAL),
        "defaultRowCommitVersion": (int, _OPTIONAL),
        "clusteringProvider": (str, _OPTIONAL),
    },
    "remove": {
        "path": (str, _REQUIRED),
        "deletionTimestamp": (int, _OPTIONAL),
        "extendedFileMetadata": (bool, _OPTIONAL),
        "partitionValues": (dict, _OPTIONAL),
        "size": (int, _OPTIONAL),
        "deletionVector": (dict, _OPTIONAL),
    },
    "cdc": {"path": (str, _REQUIRED), "partitionValues": (dict, _REQUIRED), "size": (int, _REQUIRED)},
    "metaData": {
        "id": (str, _REQUIRED),
        "format": (dict, _REQUIRED),
        "schemaString": (str, _REQUIRED),
        "partitionColumns": (list, _REQUIRED),
        "configuration": (dict, _REQUIRED),
        "createdTime": (int, _OPTIONAL),
        "name": (str, _OPTIONAL),
        "description": (str, _OPTIONAL),
    },
    "protocol": {
        "minReaderVersion": (int, _REQUIRED),
        "minWriterVersion": (int, _REQUIRED),
        "readerFeatures": (list, _OPTIONAL),
        "writerFeatures": (list, _OPTIONAL),
    },
    "txn": {"appId": (str, _REQUIRED), "version": (int, _REQUIRED), "lastUpdated": (int, _OPTIONAL)},
    "domainMetadata": {
        "domain": (str, _REQUIRED),
        "configuration": (str, _REQUIRED),
        "removed": (bool, _REQUIRED),
    },
}
VECTOR: Fields = {
    "storageType": (str, _REQUIRED),
    "pathOrInlineDv": (str, _REQUIRED),
    "offset": (int, _OPTIONAL),
    "sizeInBytes": (int, _REQUIRED),
    "cardinality": (int, _REQUIRED),
}
_OF_CHECKPOINTS = ("checkpointMetadata", "sidecar")
_ONE = {"metaData": "two-metadata", "protocol": "two-protocols"}
_NO_URI = lazy_pattern(r"[\x00-\x20<>\"{}|\\^`\x7f]|%(?![0-9A-Fa-f]{2})")
_OF_BOTH = frozenset(READER_FEATURES) - {"timestampWithoutTimezone"}
"""Features that concern readers and writers: whoever lists one for writers lists it for readers, too."""


def commit_violations(commit: CommitFile) -> Iterator[Violation]:
    """What the actions of a commit break by themselves."""
    yield from commit.violations
    for name, action in commit.actions:
        yield from field_violations(name, action, commit.path, commit.version)
        if name in _OF_CHECKPOINTS:
            yield violation("known-place", f"a commit has the action {name!r}", commit.path, commit.version)
    yield from _data_change(commit)
    yield from _duplicates(commit)
    for _, protocol in commit.of("protocol"):
        yield from protocol_violations(protocol, commit.path, commit.version)


def field_violations(name: str, action: Mapping[str, Any], path: str, version: int | None) -> Iterator[Violation]:
    """Fields that are missing, or of another type."""
    yield from _fields(name, action, FIELDS.get(name, {}), path, version)
    vector = action.get("deletionVector")
    if name in ("add", "remove") and isinstance(vector, Mapping):
        yield from _fields(f"{name}.deletionVector", vector, VECTOR, path, version)
    stored = action.get("path")
    if name in ("add", "remove", "cdc") and isinstance(stored, str) and (not stored or _NO_URI.search(stored)):
        yield violation("path", f"{stored!r} is no URI", path, version)


def _fields(
    name: str, action: Mapping[str, Any], fields: Fields, path: str, version: int | None
) -> Iterator[Violation]:
    for field, (kind, is_required) in fields.items():
        value = action.get(field)
        if value is None:
            if is_required:
                yield violation("missing-field", f"{name}.{field} is missing", path, version)
        elif not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            yield violation("missing-field", f"{name}.{field} is no {kind.__name__}", path, version)


def _data_change(commit: CommitFile) -> Iterator[Violation]:
    for name, action in commit.of("add", "remove", "cdc"):
        flag, where = action.get("dataChange"), action.get("path")
        if not isinstance(flag, bool):
            yield violation("missing-data-change", f"{name} of {where!r}", commit.path, commit.version)
        elif name == "cdc" and flag:
            yield violation("change-data-flag", f"{where!r} says dataChange", commit.path, commit.version)


def _duplicates(commit: CommitFile) -> Iterator[Violation]:
    where = commit.path, commit.version
    keys = {kind: [file_key(action) for _, action in commit.of(kind)] for kind in ("add", "remove")}
    for kind, found in keys.items():
        for path, count in Counter(map(path_of, found)).items():
            if count > 1:
                yield violation("duplicate-action", f"{count} actions {kind} of {path!r}", *where)
    for path in sorted(map(path_of, set(keys["add"]) & set(keys["remove"]))):
        yield violation("add-and-remove", f"{path!r}, with the same deletion vector or none", *where)
    for kind, rule in _ONE.items():
        if (count := len(list(commit.of(kind)))) > 1:
            yield violation(rule, f"{count} actions {kind}", *where)
    for kind, field, rule in (("txn", "appId", "two-transactions"), ("domainMetadata", "domain", "two-domains")):
        for name, count in Counter(str(action.get(field)) for _, action in commit.of(kind)).items():
            if count > 1:
                yield violation(rule, f"{count} actions {kind} of {name!r}", *where)


def protocol_violations(protocol: Mapping[str, Any], path: str, version: int | None) -> Iterator[Violation]:
    """What a protocol action breaks."""
    reader, writer = protocol.get("minReaderVersion"), protocol.get("minWriterVersion")
    for_readers, for_writers = protocol.get("readerFeatures"), protocol.get("writerFeatures")
    if (reader == 3) != (for_readers is not None):
        yield violation("feature-lists", "readerFeatures go with reader version 3, and only with it", path, version)
    if (writer == 7) != (for_writers is not None):
        yield violation("feature-lists", "writerFeatures go with writer version 7, and only with it", path, version)
    if reader == 3 and writer != 7:
        yield violation("feature-lists", "reader version 3 needs writer version 7", path, version)
    readers = {str(name) for name in for_readers} if isinstance(for_readers, list) else set()
    writers = {str(name) for name in for_writers} if isinstance(for_writers, list) else set()
    for name in sorted(readers - writers):
        yield violation("reader-feature-for-writers", f"{name!r} is in readerFeatures alone", path, version)
    for name in sorted((writers & _OF_BOTH) - readers):
        if not (name == "columnMapping" and reader == 2):
            yield violation("reader-feature-for-writers", f"{name!r} is in writerFeatures alone", path, version)
