"""Finds the metadata file of a table, from its directory or from the file itself.

In a directory, ``metadata/version-hint.text`` names the newest ``metadata/v<N>.metadata.json``. As in the Java
reference, the hint may be behind: later versions are followed while they exist. Without a usable hint, the file with
the highest version wins. If two files have that version, the caller must name one.
Source: Iceberg spec, "File System Tables", "Metastore Tables", appendix F, "Naming for GZIP compressed Metadata
JSON files".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tableformats.plugin import CorruptMetadataError, TableNotFoundError, dataclass, lazy_pattern, whole_number

if TYPE_CHECKING:
    from tableformats.plugin import FileInfo, Storage

__all__ = ["Located", "is_metadata_name", "locate", "reading_newest_ahead"]

HINT = "version-hint.text"
MAX_HINT_BYTES = 1024
_NAME = lazy_pattern(r"\.metadata\.json(\.gz)?$")
_VERSION = lazy_pattern(r"^(?:v(\d{1,18})|(\d{1,18})-[^/]*?)(?:\.gz|\.zstd)?\.metadata\.json(?:\.gz)?$")


@dataclass(frozen=True)
class Located:
    """The absolute path of a metadata file, and the directory of its table."""

    metadata_path: str
    directory: str


def is_metadata_name(name: str) -> bool:
    """Whether a file of that name is a metadata file (also ``.gz.metadata.json`` and ``.metadata.json.gz``)."""
    return _NAME.search(name) is not None


def locate(storage: Storage) -> Located:
    """Find the metadata file of the table at ``storage.root``.

    Raises
    ------
    TableNotFoundError
        Nothing is there, or a directory without metadata files.
    CorruptMetadataError
        Several files have the newest version, and no hint decides.
    """
    root = storage.root
    if _is_metadata_file(storage):
        return _at_file(root)
    if storage.is_local:
        storage.require_root()
    files = storage.list(storage.join("metadata"))
    candidates = [info for info in files if is_metadata_name(info.name)]
    if not candidates:
        if storage.is_file(root):
            return _at_file(root)
        raise TableNotFoundError(
            "the directory holds no Iceberg table: no metadata/*.metadata.json", path=root, hint="Check the path"
        )
    return Located(_choose(candidates, _hint_in(storage, files), root).path, root)


def _is_metadata_file(storage: Storage) -> bool:
    """A remote file is read without a look if it is there, and a directory is listed without one."""
    return storage.is_file(storage.root) if storage.is_local else is_metadata_name(storage.root)


def _at_file(path: str) -> Located:
    parent = path.rpartition("/")[0]
    in_metadata = parent.rpartition("/")[2] == "metadata"
    return Located(path, parent.rpartition("/")[0] if in_metadata else parent)


def _hint_in(storage: Storage, files: list[FileInfo]) -> str:
    """The text of the hint file; empty where there is none, or it is empty or too large."""
    hint = next((info for info in files if info.name == HINT), None)
    if hint is None or not 0 < hint.size <= MAX_HINT_BYTES:
        return ""
    return storage.read_bytes(hint.path).decode(errors="replace").strip()


@contextmanager
def reading_newest_ahead(storage: Storage) -> Iterator[None]:
    """While a remote table is opened: its hint is being read, and the file that is the newest if there is no hint."""
    if storage.is_local or _is_metadata_file(storage):
        yield
        return
    files = storage.list(storage.join("metadata"))  # asked once while a table is opened
    newest = _newest([info for info in files if is_metadata_name(info.name)], "")
    hint = [info for info in files if info.name == HINT and 0 < info.size <= MAX_HINT_BYTES]
    with storage.reading_ahead((info.path, info.size) for info in (*hint, *newest[:1])):
        yield


def _choose(candidates: list[FileInfo], hint: str, root: str) -> FileInfo:
    for info in candidates:
        if hint and hint in (info.name, _NAME.sub("", info.name), _NAME.sub("", info.name).removesuffix(".gz")):
            return info
    found = _newest(candidates, hint)
    if len(found) > 1:
        raise CorruptMetadataError(
            f"the directory is ambiguous: {len(found)} metadata files of version {_version(found[0])}, "
            "and no hint that decides",
            path=root,
            hint=f"Open one of the files instead: {', '.join(info.name for info in found[:4])}",
        )
    return found[0]


def _newest(candidates: list[FileInfo], hint: str) -> list[FileInfo]:
    """The files of the newest version: of the hint's, and those that follow it without a gap, if it names one."""
    by_number: dict[int, list[FileInfo]] = {}
    for info in candidates:
        by_number.setdefault(_version(info), []).append(info)
    newest = max(by_number, default=-1)
    hinted = whole_number(hint)
    if hinted in by_number:
        newest = hinted
        while newest + 1 in by_number:
            newest += 1
    return by_number.get(newest, [])


def _version(info: FileInfo) -> int:
    match = _VERSION.match(info.name)
    return int(match.group(1) or match.group(2)) if match else -1
