"""The files of one Iceberg table: from the paths in its metadata to bytes, wherever the table is stored now.

Some writers store a relative location, and paths that begin with it (DuckDB: ``data/persistent/t`` and
``data/persistent/t/data/x.parquet``). They counted from the writer's working directory, which nobody knows, so the
location then stands for the table's directory. Other relative paths count from the table's directory. A relative
location that was meant as a URI, ``file://data/t``, names a host; it stands for the table's directory too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tableformats.plugin import (
    Storage,
    UnsupportedFeatureError,
    common_move,
    lazy_pattern,
    missing_file,
    normalize,
    strip_trailing,
)

from .paths import without_authority

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import MetadataCache, ReusableBuffer, SharedPrefix

__all__ = ["TableFiles"]

_ABSOLUTE = lazy_pattern(r"^/|^[A-Za-z][A-Za-z0-9+.-]+:/")
_DOTS = lazy_pattern(r"^(?:\./+)+")
"""What a relative path may begin with and mean nothing by it."""

ENCRYPTED = b"AGS1"
"""The first bytes of an encrypted metadata file. Source: Iceberg spec, "AES GCM Stream file format"."""


class TableFiles:
    """Resolves the paths that the metadata names, and reads metadata files.

    Parameters
    ----------
    storage : Storage
    location : str
        The table's location as the metadata has it.
    directory : str
        The table's directory now, absolute. Relative paths start here.
    relocate : bool or mapping, optional
        True: the table was moved. ``location`` then stands for ``directory``, also for files beside the table.
        A mapping: old prefixes of paths to new ones.
    cache : MetadataCache
        Keeps decoded metadata between plans.
    """

    def __init__(
        self,
        storage: Storage,
        location: str,
        directory: str,
        relocate: bool | Mapping[str, str] | None,
        cache: MetadataCache,
    ) -> None:
        self.storage = storage
        self.cache = cache
        self.directory = directory
        self._relocate = relocate
        self._relative: list[str] = []
        """Prefixes of relative paths that the storage moves; each ends with a slash."""
        self.follow(location)

    def follow(self, location: str) -> None:
        """Also resolve the paths of a newer metadata file of the table, whose location is ``location``."""
        location = _without_dots(strip_trailing(normalize(location)))
        is_relative = location not in ("", ".") and not _is_absolute(location)
        mapped = dict(self._relocate) if isinstance(self._relocate, Mapping) else {}
        for old, new in mapped.items():
            self._move(_without_dots(old), new)
        if is_relative and f"{location}/".startswith(tuple(self._relative)):
            # The mapping says where the table is, and so where the files beside it are.
            self._move_with(location, self.storage.resolve_one(location))
        elif is_relative or self._relocate is True:
            # Metadata and file paths may spell the store differently, so the bare path is a prefix too.
            for prefix in dict.fromkeys((location, without_authority(location))):
                self._move_with(prefix, self.directory)

    def _move_with(self, location: str, directory: str) -> None:
        """Move the location, and what stood beside it, unless a mapping says otherwise."""
        for old, new in common_move(location, directory):
            if strip_trailing(old) + "/" not in self._relative:
                self._move(old, new)

    def _move(self, old: str, new: str) -> None:
        self.storage.relocate(old, new)
        if not _is_absolute(old):
            self._relative.append(strip_trailing(old) + "/")

    def locate(self, stored: str) -> str:
        """Make one stored path absolute. Raises PathNotAllowedError."""
        return self.storage.resolve_one(self._absolute(stored))

    def resolve(self, stored: pa.Array) -> pa.Array:
        """Make stored paths (string[n]) absolute. Raises PathNotAllowedError."""
        from tableformats.plugin import compute as pc

        start = _ABSOLUTE.match(stored[0].as_py()) if len(stored) and stored[0].is_valid else None
        if start is not None and pc.all(pc.starts_with(stored, start.group())).as_py():
            return self.storage.resolve(stored)
        relative = pc.invert(pc.match_substring_regex(stored, _ABSOLUTE.pattern))
        if pc.any(relative).as_py():
            named = pc.replace_substring_regex(stored, pattern=_DOTS.pattern, replacement="")
            below = pc.binary_join_element_wise(self.directory, named, "/")
            for prefix in self._relative:
                below = pc.if_else(pc.starts_with(named, prefix), named, below)
            stored = pc.if_else(relative, below, stored)
        return self.storage.resolve(stored)

    def check(self, stored: pa.Array) -> SharedPrefix | None:
        """Raise what :meth:`resolve` would raise, without making the paths where that can be avoided.

        Returns what the paths begin with, where that decides how all of them are resolved.
        """
        is_allowed, shared = self.storage.quick_check(stored)
        if not is_allowed:
            self.resolve(stored)
        return shared if shared is not None and shared.stored else None

    def _absolute(self, stored: str) -> str:
        if _ABSOLUTE.match(stored):
            return stored
        named = _without_dots(stored)
        return named if named.startswith(tuple(self._relative)) else f"{self.directory}/{named}"

    def read(self, stored: str, what: str, buffer: ReusableBuffer | None = None) -> tuple[bytes | memoryview, str]:
        """Read a metadata file.

        Parameters
        ----------
        stored : str
            The path as stored.
        what : str
            What the file is, for errors.
        buffer : ReusableBuffer, optional
            Memory to read into. The bytes are valid until the buffer is used again.

        Returns
        -------
        tuple of (bytes or memoryview, str)
            The content, and the absolute path.

        Raises
        ------
        CorruptMetadataError
            There is no such file.
        UnsupportedFeatureError
            The file is encrypted.
        """
        path = self.locate(stored)
        try:
            data = self.storage.read_bytes(path) if buffer is None else self.storage.read_into(path, buffer.reserve)
        except FileNotFoundError:
            raise missing_file(f"the {what}", path) from None
        if data[: len(ENCRYPTED)] == ENCRYPTED:
            raise UnsupportedFeatureError(
                f"the {what} is encrypted", path=path, field="encryption-keys", hint="Encrypted tables are not read yet"
            )
        return data, path


def _is_absolute(path: str) -> bool:
    # Two slashes are what is left of a URI that names a host.
    return _ABSOLUTE.match(path) is not None and not normalize(path).startswith("//")


def _without_dots(path: str) -> str:
    return _DOTS.sub("", path)
