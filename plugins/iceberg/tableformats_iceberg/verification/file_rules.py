"""The rules for what manifests name: files are there, with their sizes; delete files hold what is said of them.

Source: Iceberg spec, "Table Metadata Fields" (snapshots), "Data File Fields", "Delete Formats".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from tableformats.plugin import StoreError, TableFormatsError, Violation, file_sizes, strings

from ..deletes.delete_files import DeleteReader
from ..deletes.delete_table import DELETION_VECTOR, EQUALITY, POSITION
from .manifest_file import DATA, EQUALITY_DELETES, EQUALITY_IDS, Entry
from .rules import violation

if TYPE_CHECKING:
    from ..files.table_files import TableFiles
    from ..metadata.table_metadata import TableMetadata
    from .snapshot_rules import SnapshotFiles

__all__ = ["delete_violations", "disk_violations"]


def disk_violations(files: TableFiles, entries: Iterable[Entry], version: int | None) -> Iterator[Violation]:
    """Live files that are not there, or have another size. ``entries`` are looked at by path, each path once."""
    by_path = {entry.path: entry for entry in entries}
    found: list[tuple[Entry, str]] = []
    for entry, path in zip(by_path.values(), _paths(files, list(by_path)), strict=True):
        if isinstance(path, str):
            found.append((entry, path))
        else:
            yield violation("file-missing", path.message, entry.path, version)
    for (entry, path), size in zip(found, file_sizes(files.storage, [path for _, path in found]), strict=True):
        if size is None:
            yield violation("file-missing", "a live file is missing", path, version)
        elif size != entry.size:
            yield violation("file-size", f"it has {size} bytes, and its entry says {entry.size}", path, version)


def _paths(files: TableFiles, stored: list[str]) -> list[str | TableFormatsError]:
    """The paths made absolute, each that cannot be with the reason."""
    try:
        return files.resolve(strings(stored)).to_pylist()  # type: ignore[no-any-return]
    except TableFormatsError:
        return [_path(files, one) for one in stored]


def _path(files: TableFiles, stored: str) -> str | TableFormatsError:
    try:
        return files.locate(stored)
    except TableFormatsError as error:
        return error


def delete_violations(files: TableFiles, metadata: TableMetadata, found: SnapshotFiles) -> Iterator[Violation]:
    """Delete files that cannot be read, or delete rows that are not there."""
    reader = DeleteReader(files, metadata.find_field)
    rows = {entry.path: entry.record_count for entry, _ in found.live() if entry.content == DATA}
    for entry, (_, manifest) in found.live():
        is_incomplete = entry.is_vector and None in (entry.referenced, entry.content_offset, entry.content_size)
        equality_ids = manifest.integers_of(entry, EQUALITY_IDS) if entry.content == EQUALITY_DELETES else None
        if entry.content == DATA or is_incomplete or (entry.content == EQUALITY_DELETES and not equality_ids):
            continue
        try:
            yield from _of_file(reader, entry, equality_ids, rows, found.snapshot.id)
        except StoreError:
            raise
        except TableFormatsError as error:
            yield violation("delete-contents", error.message, error.path or entry.path, found.snapshot.id)


def _of_file(
    reader: DeleteReader, entry: Entry, equality_ids: list[int] | None, rows: dict[str, int], version: int
) -> Iterator[Violation]:
    described = {
        "kind": DELETION_VECTOR if entry.is_vector else EQUALITY if entry.content == EQUALITY_DELETES else POSITION,
        "path": entry.path,
        "offset": entry.content_offset,
        "size_bytes": entry.content_size if entry.is_vector else entry.size,
        "cardinality": entry.record_count if entry.is_vector else None,
        "file_format": entry.format.lower(),
        "equality_ids": equality_ids,
        "record_count": entry.record_count,
    }
    if entry.content == EQUALITY_DELETES:
        count = reader.equality_deletes(described).num_rows
        if count != entry.record_count:
            what = f"it has {count} rows, and its entry says {entry.record_count}"
            yield violation("delete-contents", what, entry.path, version)
        return
    targets = [entry.referenced] if entry.referenced is not None else list(rows)
    table = pa.Table.from_pylist([described])
    deleted = 0
    for target in targets:
        count = rows.get(target)
        positions = reader.deleted_positions(target, count, table)
        deleted += len(positions)
        if count is not None and len(positions) and positions.max() >= count:
            what = f"it deletes row {positions.max()} of {target!r}, which has {count}"
            yield violation("delete-contents", what, entry.path, version)
    if deleted > entry.record_count:
        what = f"it deletes {deleted} rows, and its entry says {entry.record_count}"
        yield violation("delete-contents", what, entry.path, version)
