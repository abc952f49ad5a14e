"""The rules for one snapshot as a whole: what it has, what it changed against its parent, its summary and row ids.

Source: Iceberg spec, "Snapshots", "Manifest Lists", "Scan Planning", "Row Lineage", appendix F.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tableformats.plugin import dataclass, whole_number

from ..manifests.manifest_list import DATA as DATA_MANIFEST
from ..manifests.manifest_list import Manifest, ManifestList
from .manifest_file import ADDED, DATA, DELETED, EQUALITY_DELETES, Entry, Key, ManifestFile, path_of

if TYPE_CHECKING:
    from ..metadata.table_metadata import Snapshot

__all__ = ["SnapshotFiles", "change_violations", "content_violations", "lineage_violations"]

Found = Iterator[tuple[str, str]]
"""Rule, and what is wrong."""

Listed = tuple[Manifest, ManifestFile]


@dataclass
class SnapshotFiles:
    """A snapshot with its list and those of its manifests that could be read (None: it could not)."""

    snapshot: Snapshot
    listed: ManifestList
    manifests: list[ManifestFile | None]

    @property
    def is_complete(self) -> bool:
        return None not in self.manifests

    @property
    def pairs(self) -> list[Listed]:
        """Rows of the list with their manifests, without those that could not be read."""
        rows = zip(self.listed.manifests, self.manifests, strict=True)
        return [(row, manifest) for row, manifest in rows if manifest is not None]

    def live(self) -> Iterator[tuple[Entry, Listed]]:
        """The live entries."""
        for pair in self.pairs:
            for entry in pair[1].live_entries:
                yield entry, pair


def content_violations(found: SnapshotFiles) -> Found:
    """Files that are live twice, and deletion vectors that belong to no file, or of which a file has two."""
    for path, count in Counter(row.path for row in found.listed.manifests).items():
        if count > 1:
            yield "manifest-list", f"{path!r} is listed {count} times"
    for key, count in Counter(entry.key for entry, _ in found.live()).items():
        if count > 1:
            yield "duplicate-file", f"{path_of(key)!r} is live {count} times"
    yield from _vectors(found)


def _vectors(found: SnapshotFiles) -> Found:
    vectors = [(entry, pair) for entry, pair in found.live() if entry.is_vector and entry.referenced is not None]
    if not vectors:
        return
    data = {entry.path: (entry, pair) for entry, pair in found.live() if entry.content == DATA}
    for path, count in Counter(entry.referenced for entry, _ in vectors).items():
        if count > 1:
            yield "deletion-vector", f"{path!r} has {count} deletion vectors"
    for vector, (row, manifest) in vectors:
        target = data.get(str(vector.referenced))
        if target is None:
            if found.is_complete:
                yield "deletion-vector", f"{vector.referenced!r} has a deletion vector, and is no live data file"
            continue
        entry, (data_row, data_manifest) = target
        if sequence_of(entry, data_row) > sequence_of(vector, row):
            yield "deletion-vector", f"{entry.path!r} is newer than its deletion vector"
        if data_manifest.spec.id != manifest.spec.id or repr(data_manifest.partition_of(entry)) != repr(
            manifest.partition_of(vector)
        ):
            yield "deletion-vector", f"{entry.path!r} and its deletion vector are of different partitions"
        if vector.record_count > entry.record_count:
            what = f"{vector.record_count} of {entry.record_count} rows"
            yield "deletion-vector", f"{entry.path!r} has a deletion vector that deletes {what}"


def sequence_of(entry: Entry, row: Manifest) -> int:
    """The data sequence number of an entry, inherited where it has none."""
    return row.sequence_number if entry.sequence_number is None else entry.sequence_number


# ---- changes --------------------------------------------------------------------------------------------------------


@dataclass
class Counts:
    """Files, rows and bytes of data, and files and rows of each kind of deletes."""

    data_files: int = 0
    records: int = 0
    size: int = 0
    position_files: int = 0
    vectors: int = 0
    position_rows: int = 0
    equality_files: int = 0
    equality_rows: int = 0

    @classmethod
    def of(cls, entries: Iterator[Entry] | Sequence[Entry]) -> Counts:
        """Of data files first: there are the most of them, and of these only three things are counted."""
        files = records = size = 0
        others = []
        for entry in entries:
            if entry.content == DATA:
                files += 1
                records += entry.record_count
                size += entry.size
            else:
                others.append(entry)
        counts = cls(files, records, size)
        for entry in others:
            counts.size += entry.content_size or 0 if entry.is_vector else entry.size
            if entry.content == EQUALITY_DELETES:
                counts.equality_files += 1
                counts.equality_rows += entry.record_count
            else:
                counts.vectors += entry.is_vector
                counts.position_files += not entry.is_vector
                counts.position_rows += entry.record_count
        return counts

    @property
    def delete_files(self) -> int:
        return self.position_files + self.vectors + self.equality_files


_TOTALS = {
    "total-data-files": "data_files",
    "total-delete-files": "delete_files",
    "total-records": "records",
    "total-files-size": "size",
    "total-position-deletes": "position_rows",
    "total-equality-deletes": "equality_rows",
}
_ADDED = {
    "added-data-files": "data_files",
    "added-records": "records",
    "added-files-size": "size",
    "added-delete-files": "delete_files",
    "added-position-delete-files": "position_files",
    "added-dvs": "vectors",
    "added-position-deletes": "position_rows",
    "added-equality-delete-files": "equality_files",
    "added-equality-deletes": "equality_rows",
}
_REMOVED = {
    "deleted-data-files": "data_files",
    "deleted-records": "records",
    "removed-files-size": "size",
    "removed-delete-files": "delete_files",
    "removed-position-delete-files": "position_files",
    "removed-dvs": "vectors",
    "removed-position-deletes": "position_rows",
    "removed-equality-delete-files": "equality_files",
    "removed-equality-deletes": "equality_rows",
}


def change_violations(found: SnapshotFiles, parent: SnapshotFiles | None) -> Found:
    """What the statuses and the summary of a snapshot say otherwise than its files and those of its parent.

    ``parent`` is None where the snapshot has none, or it has expired; statuses alone say then what it changed.
    """
    if not found.is_complete:
        return
    snapshot = found.snapshot
    own = [pair for pair in found.pairs if pair[0].added_snapshot_id == snapshot.id]
    added = {entry.key: entry for _, manifest in own for entry in manifest.entries if entry.status == ADDED}
    removed = {entry.key: entry for _, manifest in own for entry in manifest.entries if entry.status == DELETED}
    if parent is not None and parent.is_complete:
        yield from _against_parent(found, parent, added, removed)
    yield from _operation(snapshot, added, removed)
    summary = snapshot.summary
    yield from _named_counts(summary, _TOTALS, Counts.of(entry for entry, _ in found.live()), "")
    if parent is not None or snapshot.parent_id is None:
        yield from _named_counts(summary, _ADDED, Counts.of(list(added.values())), "added")
        yield from _named_counts(summary, _REMOVED, Counts.of(list(removed.values())), "removed")


def _against_parent(
    found: SnapshotFiles, parent: SnapshotFiles, added: Mapping[Key, Entry], removed: Mapping[Key, Entry]
) -> Found:
    """Manifests in both lists are equal, so only the others are compared."""
    before, after = ({row.path for row in one.listed.manifests} for one in (parent, found))
    new = {key for row, m in found.pairs if row.path not in before for key in m.live}
    old = {key for row, m in parent.pairs if row.path not in after for key in m.live}
    for row, _ in found.pairs:
        if row.path not in before and row.added_snapshot_id != found.snapshot.id:
            what = f"is not in the parent's list, and was added by {row.added_snapshot_id}"
            yield "manifest-list", f"{row.path!r} {what}"
    for keys, marked, name in ((new - old, added, "ADDED"), (old - new, removed, "DELETED")):
        for path in sorted(map(path_of, keys - marked.keys())):
            yield "status", f"{path!r} is {'new' if name == 'ADDED' else 'gone'}, and no entry says {name}"
    for path in sorted(map(path_of, removed.keys() & new - added.keys())):
        yield "status", f"{path!r} is DELETED, and live"
    unknown = added.keys() & old
    for path in sorted(map(path_of, unknown)):
        yield "status", f"{path!r} is ADDED, and was there before"


def _operation(snapshot: Snapshot, added: Mapping[Key, Entry], removed: Mapping[Key, Entry]) -> Found:
    operation = snapshot.summary.get("operation")
    deletes = [entry for entry in added.values() if entry.content != DATA]
    if operation == "append" and (removed or deletes):
        yield "operation", f"an append removes {len(removed)} files and adds {len(deletes)} delete files"
    if operation == "delete" and any(entry.content == DATA for entry in added.values()):
        yield "operation", "a delete adds data files"
    if operation == "replace":
        new, old = Counts.of(list(added.values())), Counts.of(list(removed.values()))
        if new.records > old.records:
            yield "operation", f"a replace makes {new.records} rows of {old.records}"


def _named_counts(summary: Mapping[str, str], names: Mapping[str, str], counts: Counts, kind: str) -> Found:
    for name, member in names.items():
        said, real = summary.get(name), getattr(counts, member)
        if said is None:
            continue
        number = whole_number(said)
        if number is None:
            yield "summary", f"{name} is {said[:50]!r}"
        elif number != real:
            yield "summary", f"{name} is {said}, {'the files' if not kind else f'what was {kind}'} make {real}"


# ---- row ids --------------------------------------------------------------------------------------------------------


def lineage_violations(found: SnapshotFiles, raw: Mapping[str, Any], next_row_id: Any) -> Found:
    """Row ids that two files share, or that lie beyond those of the snapshot."""
    first, added = found.snapshot.first_row_id, raw.get("added-rows")
    if first is None:
        return
    spans: list[tuple[int, int, str]] = []
    for row, manifest in found.pairs:
        if row.content != DATA_MANIFEST or row.first_row_id is None:
            continue
        at = row.first_row_id
        for entry in manifest.entries:
            if not entry.is_live:
                continue
            start = at if entry.first_row_id is None else entry.first_row_id
            at += entry.record_count if entry.first_row_id is None else 0
            spans.append((start, start + entry.record_count, entry.path))
        if row.added_snapshot_id == found.snapshot.id and row.first_row_id < first and at > row.first_row_id:
            yield "row-lineage", f"{row.path!r} is new and begins at {row.first_row_id}, its snapshot at {first}"
        if isinstance(added, int) and row.first_row_id >= first and at > first + added:
            yield "row-lineage", f"{row.path!r} takes ids up to {at}, its snapshot has them up to {first + added}"
    spans.sort()
    for (_, end, path), (start, _, other) in zip(spans, spans[1:], strict=False):
        if start < end:
            yield "row-lineage", f"{path!r} and {other!r} have the row id {start}"
    if isinstance(next_row_id, int) and spans and max(end for _, end, _ in spans) > next_row_id:
        yield "row-lineage", f"a file has row ids up to {max(end for _, end, _ in spans)}, next-row-id is {next_row_id}"
