"""Finds the metadata file of a table, from its directory or from the file itself.

In a directory, ``metadata/version-hint.text`` names the newest ``metadata/v<N>.metadata.json``. As in the Java
reference, the hint may be behind: later versions are followed while they exist. Without a usable hint, the file with
the highest version wins. If two files have that version, the caller must name one.
Source: Iceberg spec, "File System Tables", "Metastore Tables", appendix F, "Naming for GZIP compressed Metadata
JSON files".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tableformats.plugin import CorruptMetadataError, TableNotFoundError, both

if TYPE_CHECKING:
    from tableformats.plugin import FileInfo, Storage

__all__ = ["Located", "is_metadata_name", "list_metadata", "locate"]

HINT = "version-hint.text"
MAX_HINT_BYTES = 1024
_NAME = re.compile(r"\.metadata\.json(\.gz)?$")
_VERSION = re.compile(r"^(?:v(\d{1,18})|(\d{1,18})-[^/]*?)(?:\.gz|\.zstd)?\.metadata\.json(?:\.gz)?$")


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
    # A remote file is read without a look if it is there, and a directory is listed without one.
    if storage.is_file(root) if storage.is_local else is_metadata_name(root):
        return _at_file(root)
    if storage.is_local:
        storage.require_root()
    files, hint = list_metadata(storage)
    candidates = [info for info in files if is_metadata_name(info.name)]
    if not candidates:
        if not storage.is_local and storage.is_file(root):
            return _at_file(root)
        raise TableNotFoundError(
            "the directory holds no Iceberg table: no metadata/*.metadata.json", path=root, hint="Check the path"
        )
    return Located(_choose(candidates, hint, root).path, root)


def _at_file(path: str) -> Located:
    parent = path.rpartition("/")[0]
    in_metadata = parent.rpartition("/")[2] == "metadata"
    return Located(path, parent.rpartition("/")[0] if in_metadata else parent)


def list_metadata(storage: Storage) -> tuple[list[FileInfo], str]:
    """The files of the directory ``metadata``, and the text of the hint file.

    The text is empty where there is no such file, or it is empty or too large. From a remote store it is read while
    the directory is listed; a hint that is older than the listing is followed upwards.
    """
    folder = storage.join("metadata")
    path = f"{folder}/{HINT}"
    if not storage.is_local:
        files, text = both(lambda: storage.list(folder), lambda: storage.read_if_there(path))
        return files, "" if text is None or len(text) > MAX_HINT_BYTES else _text(text)
    files = storage.list(folder)
    hint = next((info for info in files if info.name == HINT), None)
    if hint is None or not 0 < hint.size <= MAX_HINT_BYTES:
        return files, ""
    return files, _text(storage.read_bytes(path))


def _text(data: bytes) -> str:
    return data.decode(errors="replace").strip()


def _choose(candidates: list[FileInfo], hint: str, root: str) -> FileInfo:
    for info in candidates:
        if hint and hint in (info.name, _NAME.sub("", info.name), _NAME.sub("", info.name).removesuffix(".gz")):
            return info
    by_number: dict[int, list[FileInfo]] = {}
    for info in candidates:
        match = _VERSION.match(info.name)
        number = int(match.group(1) or match.group(2)) if match else -1
        by_number.setdefault(number, []).append(info)
    newest = max(by_number)
    if hint.isascii() and hint.isdigit() and len(hint) < 19 and int(hint) in by_number:
        newest = int(hint)
        while newest + 1 in by_number:
            newest += 1
    found = by_number[newest]
    if len(found) > 1:
        raise CorruptMetadataError(
            f"the directory is ambiguous: {len(found)} metadata files of version {newest}, and no hint that decides",
            path=root,
            hint=f"Open one of the files instead: {', '.join(info.name for info in found[:4])}",
        )
    return found[0]
