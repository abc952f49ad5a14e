"""The files that an Iceberg table keeps: all that the newest metadata file names, through every snapshot that it has.

Source: Iceberg spec, "Table Metadata Fields" (snapshots, metadata-log, statistics, partition-statistics), "Manifest
Lists", "Manifests". Iceberg documentation, "Maintenance", "Delete orphan files": three days, hidden files are left
alone, and tables that share files have ``gc.enabled`` false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tableformats.plugin import CorruptMetadataError, KeptFiles, UnsupportedFeatureError, in_order

from ..avro.container import Want, read_columns
from ..manifests.manifest_list import parse_manifest_list
from ..manifests.statistics import DATA_FILE_ID
from ..metadata.table_metadata import metadata_json

if TYPE_CHECKING:
    from ..files.table_files import TableFiles
    from ..metadata.table_metadata import Snapshot, TableMetadata

__all__ = ["kept_files"]

_HINT = "metadata/version-hint.text"
_LEAST_AGE_MS = 3 * 86_400_000
_WANTS = (Want(DATA_FILE_ID, ("data_file",), "any", "record", (Want(100, ("file_path",), "text"),)),)


def kept_files(files: TableFiles, metadata: TableMetadata, raw: Mapping[str, Any]) -> KeptFiles:
    """See :meth:`tableformats.plugin.FormatTable.kept_files`.

    An entry names its file also where its status is that of a deleted one.

    Parameters
    ----------
    metadata : TableMetadata
        Of the newest metadata file.
    raw : mapping
        Its JSON.

    Raises
    ------
    CorruptMetadataError
        A file that says what is kept is missing or damaged.
    UnsupportedFeatureError
        The property ``gc.enabled`` is false.
    """
    if metadata.properties.get("gc.enabled", "true").strip().lower() != "true":
        raise UnsupportedFeatureError(
            "the table says that other tables may use its files",
            path=metadata.path,
            field="gc.enabled",
            hint="Set gc.enabled to true, if it has its files for itself",
        )
    named = [pa.array([metadata.path], pa.string())]
    named += [files.resolve(pa.array(list(_of_metadata(files, metadata, raw)), pa.string()))]
    manifests = {path: None for snapshot in metadata.snapshots.values() for path in _manifests_of(files, snapshot)}
    named.append(files.resolve(pa.array(list(manifests), pa.string())))
    named += in_order(lambda path: _entries_of(files, path), list(manifests))
    return KeptFiles(named, _is_kept, _LEAST_AGE_MS)


def _is_kept(path: str) -> bool:
    """Whether nothing has to name a file: the hint, and what is hidden."""
    names = path.split("/")
    hidden = (name[:1] in ("_", ".") and not ("=" in name and at < len(names) - 1) for at, name in enumerate(names))
    return path == _HINT or any(hidden)


def _of_metadata(files: TableFiles, metadata: TableMetadata, raw: Mapping[str, Any]) -> Iterator[str]:
    """Manifest lists, statistics, and older metadata files: those of the log, and of the log of its oldest one."""
    yield from (one.manifest_list for one in metadata.snapshots.values() if one.manifest_list is not None)
    for name in ("statistics", "partition-statistics"):
        yield from _texts(raw.get(name), "statistics-path", metadata.path, name)
    seen: set[str] = set()
    log = [path for _, path in metadata.metadata_log]
    while log:
        new = [path for path in log if path not in seen]
        yield from new
        seen.update(new)
        log = _older_log(files, new[0]) if new else []


def _older_log(files: TableFiles, stored: str) -> list[str]:
    """The metadata files that an older one names; none where it is gone, or cannot be read."""
    path = files.locate(stored)
    try:
        value = metadata_json(files.storage.read_bytes(path), path, files.storage.limits)
    except (FileNotFoundError, CorruptMetadataError):
        return []
    log = value.get("metadata-log") if isinstance(value, Mapping) else None
    return list(_texts(log, "metadata-file", path, "metadata-log"))


def _texts(values: Any, member: str, path: str, name: str) -> Iterator[str]:
    for one in values or ():
        text = one.get(member) if isinstance(one, Mapping) else None
        if not isinstance(text, str):
            raise CorruptMetadataError(f"an item of {name} has no {member}", path=path, field=f"{name}.{member}")
        yield text


def _manifests_of(files: TableFiles, snapshot: Snapshot) -> Sequence[str]:
    if snapshot.manifest_list is None:
        return snapshot.manifests
    data, path = files.read(snapshot.manifest_list, "manifest list")
    return [row.path for row in parse_manifest_list(data, path, files.storage.limits).manifests]


def _entries_of(files: TableFiles, manifest: str) -> pa.Array:
    data, path = files.read(manifest, "manifest")
    raw = read_columns(data, _WANTS, (), path, limits=files.storage.limits)
    return files.resolve(raw.strings((DATA_FILE_ID, 100), "file_path"))
