"""Looks for broken rules in a table, or in one snapshot: :func:`verify`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tableformats.plugin import Field, PathNotAllowedError, StoreError, TableFormatsError, Violation, in_order

from ..manifests.manifest_list import Manifest, ManifestList, manifest_list_of_paths, parse_manifest_list
from .entry_rules import entry_violations
from .file_rules import delete_violations, disk_violations
from .list_rules import row_violations, summary_violations
from .manifest_file import Entry, Key, ManifestFile, TableFacts, read_manifest
from .metadata_rules import metadata_violations, sort_orders
from .rules import violation
from .snapshot_rules import SnapshotFiles, change_violations, content_violations, lineage_violations

if TYPE_CHECKING:
    from ..files.table_files import TableFiles
    from ..metadata.table_metadata import Snapshot, TableMetadata

__all__ = ["verify"]


def verify(
    files: TableFiles, metadata: TableMetadata, raw: Mapping[str, Any], snapshot_id: int | None, deep: bool
) -> Iterator[Violation]:
    """What breaks a rule of the specification.

    Parameters
    ----------
    raw : mapping
        The JSON of the metadata file.
    snapshot_id : int or None
        The only snapshot to look at; None: all that the metadata has, and the metadata itself.
    deep : bool
        Also open the delete files.

    Raises
    ------
    StoreError
        As the store fails.
    """
    if snapshot_id is None:
        yield from metadata_violations(raw, metadata)
    yield from _Verification(files, metadata, raw).violations(snapshot_id, deep)


class _Verification:
    """Reads each list and each manifest once, oldest snapshot first."""

    def __init__(self, files: TableFiles, metadata: TableMetadata, raw: Mapping[str, Any]) -> None:
        self._files = files
        self._metadata = metadata
        self._raw = raw
        self._raw_snapshots = {one.get("snapshot-id"): one for one in raw.get("snapshots") or ()}
        self._facts = TableFacts(metadata, frozenset(sort_orders(raw)), _leaves(metadata))
        self._manifests: dict[str, ManifestFile | TableFormatsError] = {}
        self._snapshots: dict[int, SnapshotFiles | None] = {}
        self._live: dict[Key, Entry] = {}

    def violations(self, snapshot_id: int | None, deep: bool) -> Iterator[Violation]:
        """All violations but those of the metadata file."""
        everything = sorted(self._metadata.snapshots.values(), key=lambda s: (s.sequence_number, s.timestamp_ms))
        chosen = [one for one in everything if snapshot_id in (None, one.id)]
        seen: set[tuple[str, int | None, str]] = set()
        for snapshot in chosen:
            for found in self._of_snapshot(snapshot):
                key = (found.rule, None, found.what)
                if key not in seen:  # a manifest stands in many lists
                    seen.add(key)
                    yield found
        newest = chosen[-1].id if chosen else None
        yield from disk_violations(self._files, self._live.values(), newest)
        if deep:
            for snapshot in chosen:
                files = self._snapshots.get(snapshot.id)
                if files is not None:
                    yield from delete_violations(self._files, self._metadata, files)

    def _of_snapshot(self, snapshot: Snapshot) -> Iterator[Violation]:
        path = self._metadata.path
        try:
            found = self._read(snapshot)
        except StoreError:
            raise
        except TableFormatsError as error:
            self._snapshots[snapshot.id] = None
            yield violation("damaged-file", _said(error), error.path or path, snapshot.id)
            return
        version = self._version_of(snapshot)
        for row in found.listed.manifests:
            read = self._manifests[row.path]
            if isinstance(read, TableFormatsError):
                yield violation("damaged-file", _said(read), read.path or row.path, snapshot.id)
                continue
            yield from read.found
            for rule, what in row_violations(row, read, snapshot, version):
                yield violation(rule, what, path, snapshot.id)
        parent = self._parent(snapshot)
        raw = self._raw_snapshots.get(snapshot.id, {})
        for look in (
            summary_violations(found.listed, found.manifests),
            content_violations(found),
            change_violations(found, parent),
            lineage_violations(found, raw, self._raw.get("next-row-id")),
        ):
            for rule, what in look:
                yield violation(rule, what, path, snapshot.id)
        for entry, _ in found.live():
            self._live.setdefault(entry.key, entry)

    def _version_of(self, snapshot: Snapshot) -> int:
        """The least version that the table had when the snapshot was made."""
        if snapshot.first_row_id is not None:
            return 3
        return min(self._metadata.format_version, 2) if snapshot.sequence_number else 1

    def _parent(self, snapshot: Snapshot) -> SnapshotFiles | None:
        parent = self._metadata.snapshots.get(snapshot.parent_id)  # type: ignore[arg-type]
        if parent is None:
            return None
        try:
            return self._read(parent)
        except StoreError:
            raise
        except TableFormatsError:
            return None

    def _read(self, snapshot: Snapshot) -> SnapshotFiles:
        """The list and the manifests of a snapshot. Raises CorruptMetadataError for the list."""
        known = self._snapshots.get(snapshot.id)
        if known is not None:
            return known
        listed = self._list(snapshot)
        left = [row for row in listed.manifests if row.path not in self._manifests]
        for row, read in zip(left, in_order(self._manifest, left), strict=True):
            self._manifests[row.path] = read
        manifests = [self._manifests[row.path] for row in listed.manifests]
        found = SnapshotFiles(snapshot, listed, [m if isinstance(m, ManifestFile) else None for m in manifests])
        self._snapshots[snapshot.id] = found
        return found

    def _list(self, snapshot: Snapshot) -> ManifestList:
        if snapshot.manifest_list is None:
            return manifest_list_of_paths(snapshot.manifests)
        data, path = self._files.read(snapshot.manifest_list, "manifest list")
        return parse_manifest_list(data, path, self._files.storage.limits)

    def _manifest(self, row: Manifest) -> ManifestFile | TableFormatsError:
        try:
            read = read_manifest(self._files, row, self._facts)
        except StoreError:
            raise
        except TableFormatsError as error:
            return error
        read.found = list(entry_violations(read, row.content, self._facts))
        return read


def _leaves(metadata: TableMetadata) -> dict[int, Field]:
    """The leaves of all schemas by id, as the newest schema has them."""
    order = [*(metadata.schemas[i] for i in sorted(metadata.schemas)), metadata.schema]
    return {path[-1].id: path[-1] for schema in order for path in schema.leaves()}


def _said(error: TableFormatsError) -> str:
    """What is wrong; of a table that was moved, also how it can be looked at."""
    moved = isinstance(error, PathNotAllowedError) and error.hint is not None
    return f"{error.message}. {error.hint}" if moved else error.message
