"""The new manifests of one commit: encoded once for all tries, and stored when a list names them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from tableformats.plugin import PartitionSpec, dataclass, in_order, strip_trailing

from ...files.table_files import TableFiles
from ...manifests.manifest_list import Manifest
from ..encode.avro_files import codec_of
from ..encode.entry_batches import EntryBatch, FieldSummary, manifest_files
from ..properties import TARGET_SIZE

__all__ = ["ManifestStore", "NewManifest", "current_schema"]


@dataclass(frozen=True)
class NewManifest:
    """A manifest of this commit: its row of the list, its partition summaries, and its entries."""

    row: Manifest
    summaries: Sequence[FieldSummary]
    entries: EntryBatch


@dataclass
class ManifestStore:
    """Encodes the manifests of one commit, and stores those that are used.

    What was encoded once under a key is not encoded again, so a second try of a commit stores only what differs.
    ``written`` has the absolute paths of all files that were stored.
    """

    files: TableFiles
    snapshot_id: int
    commit_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    written: list[str] = field(default_factory=list)
    _encoded: dict[Hashable, list[NewManifest]] = field(default_factory=dict)
    _pending: dict[str, bytes] = field(default_factory=dict)
    _chosen: list[str] = field(default_factory=list)
    _early: list[str] = field(default_factory=list)
    _unnamed: list[str] = field(default_factory=list)
    _count: int = 0

    def find(self, key: Hashable) -> list[NewManifest] | None:
        """The manifests that were encoded under ``key``."""
        return self._encoded.get(key)

    def encode(
        self, key: Hashable, entries: EntryBatch, spec: PartitionSpec, content: int, metadata: Mapping[str, Any]
    ) -> list[NewManifest]:
        """Encode entries to manifests of a table whose metadata is the JSON ``metadata``."""
        properties: Mapping[str, str] = metadata.get("properties") or {}
        head, codec = _head(metadata, spec.id), codec_of(properties)
        found = []
        start = 0
        for written in manifest_files(entries, spec, content, head, codec, TARGET_SIZE.of(properties)):
            path = f"{metadata_directory(metadata)}/{self.commit_id}-m{self._count}.avro"
            self._count += 1
            row = written.row._replace(path=path, added_snapshot_id=self.snapshot_id)
            stop = start + row.added_files + row.existing_files + row.deleted_files
            found.append(NewManifest(row, written.summaries, entries.slice(start, stop)))
            self._pending[path] = written.data
            start = stop
        self._encoded[key] = found
        return found

    def add(self, path: str, data: bytes) -> None:
        """Remember a file by its path, as the metadata spells it."""
        self._pending[path] = data

    def choose(self, paths: Iterable[str]) -> None:
        """Say which files the snapshot names: those are stored by :meth:`flush`, if they are not stored yet."""
        named = set(paths)
        self._chosen = [path for path in self._pending if path in named]
        self._unnamed = [path for path in self._early if path not in named]

    def flush_early(self) -> None:
        """Store all manifests that were encoded so far, before a snapshot names them."""
        self._chosen = list(self._pending)
        self._early += self._chosen
        self.flush()

    def discard_unnamed(self) -> None:
        """Delete the manifests that were stored early, and that the snapshot does not name: they were merged."""
        for path in self._unnamed:
            self.files.storage.delete(self.files.locate(path))

    def flush(self) -> None:
        """Store the files of the snapshot, all at once."""
        for _ in in_order(self._put, self._chosen):
            pass
        for path in self._chosen:
            del self._pending[path]
        self._chosen = []

    def _put(self, path: str) -> None:
        absolute = self.files.locate(path)
        self.written.append(absolute)
        self.files.storage.put_new(absolute, self._pending[path])  # the names are random


def metadata_directory(metadata: Mapping[str, Any]) -> str:
    """Where the manifests of a table are stored, as its metadata spells it."""
    path = (metadata.get("properties") or {}).get("write.metadata.path")
    return strip_trailing(path) if path else f"{strip_trailing(metadata['location'])}/metadata"


def _head(metadata: Mapping[str, Any], spec_id: int) -> dict[str, str]:
    """The keys of a manifest's header that describe the table: its schema, and the fields of the partition spec."""
    schema = current_schema(metadata)
    specs: Iterable[Mapping[str, Any]] = metadata.get("partition-specs") or ()
    fields = next((spec["fields"] for spec in specs if spec["spec-id"] == spec_id), None)
    fields = metadata.get("partition-spec", []) if fields is None else fields
    compact = (",", ":")
    return {
        "schema": json.dumps(schema, separators=compact),
        "schema-id": str(schema.get("schema-id", 0)),
        "partition-spec": json.dumps(fields, separators=compact),
    }


def current_schema(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON of the current schema."""
    schemas: Iterable[Mapping[str, Any]] = metadata.get("schemas") or ()
    found = [s for s in schemas if (s.get("schema-id") or 0) == metadata.get("current-schema-id")]
    schema: Mapping[str, Any] = found[0] if found else metadata["schema"]
    return schema
