"""What is at a location that no format claims, or another one than the format that was asked for: an empty directory,
plain Parquet, a table of a format without a plugin, a directory of tables, a path inside a table. Each gets its own
sentence and hint.

This is looked at after detection has failed, so it may cost some listings. It reads no file. What cannot be listed is
not guessed at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ..errors import TableNotFoundError, UnknownFormatError
from ..io.storage import Storage

__all__ = ["not_of_format", "unknown_location"]

Claims = Callable[[Storage], Sequence[str]]
"""The names of the formats that claim the root of a storage."""

_MOST_PARENTS = 8
_MOST_CHILDREN = 50
"""Subdirectories of a location that formats are asked about, and of all of these together."""
_MOST_LISTED = 20
"""Subdirectories of a location that are listed, if none of them is a table."""
_NAMED = 3
_DATA_SUFFIXES = (".parquet", ".parq", ".orc", ".csv")
_MARKERS = {".hoodie": "Hudi", "_versions": "Lance"}
_PAIMON = {"snapshot", "manifest"}  # directories; Paimon's documentation, "File Layouts"
"""Directories that tables of formats have for which there is no plugin here."""
_SUFFIXES = {".lance": "Lance", ".ducklake": "DuckLake", ".duckdb": "DuckDB"}


class _Children(NamedTuple):
    """The names in a directory, in order."""

    files: list[str]
    directories: list[str]


def unknown_location(storage: Storage, claims: Claims, formats: str) -> UnknownFormatError:
    """The error for a location that no format claims.

    Parameters
    ----------
    storage : Storage
        Something is at its root.
    claims : callable
        Asks the formats about another location.
    formats : str
        The names of the installed formats, for people.
    """
    try:
        message, hint = _inside_of_table(storage, claims) or _described(storage, claims, formats)
    except Exception:  # the store refuses a listing, or a plugin fails at a place that nobody asked for
        message, hint = _unknown(formats)
    return UnknownFormatError(message, path=storage.root, hint=hint)


def not_of_format(storage: Storage, name: str, claims: Claims, formats: str) -> TableNotFoundError:
    """The error for a location that ``name``, the format that was asked for, does not claim.

    Parameters are those of :func:`unknown_location`.
    """
    found = claims(storage)
    if found:
        kinds = " and ".join(kind.capitalize() for kind in found)
        article = "an" if kinds.startswith(tuple("AEIOU")) else "a"
        message = f"format={name!r}, but this is {article} {kinds} table"
        hint: str | None = f"Leave out format=, or pass format={found[0]!r}"
    else:
        instead = unknown_location(storage, claims, formats)
        message, hint = f"there is no {name.capitalize()} table: {instead.message}", instead.hint
    return TableNotFoundError(message, path=storage.root, field="format", hint=hint)


def _unknown(formats: str) -> tuple[str, str]:
    message = f"the location is no table of a known format ({formats or 'none is installed'})"
    return message, "Pass the directory of the table itself, or its metadata file"


def _described(storage: Storage, claims: Claims, formats: str) -> tuple[str, str]:
    name = storage.root.rpartition("/")[2]
    other = next((kind for suffix, kind in _SUFFIXES.items() if name.lower().endswith(suffix)), None)
    if storage.is_file(storage.root):
        if other is not None:
            return _other_format(other, formats)
        if name.lower().endswith((".parquet", ".parq")):
            return "the location is one Parquet file, no table", "Read it with pyarrow.parquet.read_table"
        return "the location is a file, and no metadata file of a table", "Pass the directory of the table"
    children = _children(storage)
    if not children.files and not children.directories:
        return "the directory is empty", "Check the path; a table has metadata beside its data"
    other = other or next((kind for marker, kind in _MARKERS.items() if marker in children.directories), None)
    if other is None and set(children.directories) >= _PAIMON:
        other = "Paimon"
    if other is None and any(name.lower().endswith(".ducklake") for name in children.files):
        other = "DuckLake"
    if other is not None:
        return _other_format(other, formats)
    tables = list(islice(_tables_below(storage, children, claims), _NAMED + 1))
    if tables:
        named = ", ".join(tables[:_NAMED]) + (", ..." if len(tables) > _NAMED else "")
        return (
            f"the directory holds tables, but is none: {named}",
            f"Open one of them: {_below(storage.root, tables[0])}",
        )
    if any(name.lower().endswith(_DATA_SUFFIXES) for name in children.files) or any(
        "=" in name for name in children.directories
    ):
        hint = "Read it with pyarrow.dataset.dataset(path, partitioning='hive'), or write it as a table first"
        return "the directory holds plain data files without the metadata of a table", hint
    return _unknown(formats)


def _other_format(name: str, formats: str) -> tuple[str, str]:
    hint = "Install a plugin for this format, or read it with its own library"
    return f"the location holds a {name} table, and there is no plugin for it (installed: {formats or 'none'})", hint


def _inside_of_table(storage: Storage, claims: Claims) -> tuple[str, str] | None:
    """Whether a directory above is a table."""
    above = storage.root
    for _ in range(_MOST_PARENTS):
        above = above.rpartition("/")[0]
        if not above or above.endswith(("/", ":")):  # the root of a file system, or the scheme of a URI
            return None
        formats = claims(_at(storage, above))
        if formats:
            kinds = " and ".join(kind.capitalize() for kind in formats)
            return f"this is inside of the {kinds} table {above}", f"Open {above}"
    return None


def _tables_below(storage: Storage, children: _Children, claims: Claims) -> Iterator[str]:
    """The names of directories that are tables: of this directory, or else of its directories."""
    is_any = False
    for name in children.directories[:_MOST_CHILDREN]:
        if claims(_at(storage, _below(storage.root, name))):
            is_any = True
            yield name
    if is_any:
        return
    # Not of those that data files of a partition stand in, nor of hidden ones.
    listed = [name for name in children.directories if "=" not in name and not name.startswith(("_", "."))]
    below = (
        f"{name}/{inner}"
        for name in listed[:_MOST_LISTED]
        for inner in _children(storage, _below(storage.root, name)).directories
    )
    for name in islice(below, _MOST_CHILDREN):
        if claims(_at(storage, _below(storage.root, name))):
            yield name


def _children(storage: Storage, location: str | None = None) -> _Children:
    """What is in a directory; None: in the root."""
    from pyarrow import fs

    filesystem, inner = storage.filesystem_path(storage.root if location is None else location)
    found = filesystem.get_file_info(fs.FileSelector(inner))
    files, directories = (
        sorted(info.base_name for info in found if info.type == kind)
        for kind in (fs.FileType.File, fs.FileType.Directory)
    )
    return _Children(files, directories)


def _below(location: str, name: str) -> str:
    return f"{location.rstrip('/')}/{name}"


def _at(storage: Storage, location: str) -> Storage:
    """Another location of the same store."""
    return Storage(location, storage.options, limits=storage.limits)
