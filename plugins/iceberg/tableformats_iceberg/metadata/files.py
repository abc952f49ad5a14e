"""The files of one Iceberg table: paths that the metadata names -> bytes, wherever the table lies now."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tableformats.plugin import Storage, UnsupportedFeatureError, common_move, missing_file, normalize, strip_trailing

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import MetadataCache, ReusableBuffer

    from .table_metadata import TableMetadata

__all__ = ["TableFiles"]

_ABSOLUTE = re.compile(r"^/|^[A-Za-z][A-Za-z0-9+.-]+:/")

ENCRYPTED = b"AGS1"
"""How encrypted files of metadata begin. Source: Iceberg spec, "AES GCM Stream file format"."""


class TableFiles:
    """Resolves and reads what the metadata names.

    Parameters
    ----------
    directory : the table's directory now, absolute; relative paths start there
    relocate : None, True (the table was moved: the metadata's location means ``directory``, and what stood beside it
        stands beside it now), or {old prefix: new prefix}
    cache : keeps what was decoded between plans
    """

    def __init__(
        self,
        storage: Storage,
        metadata: TableMetadata,
        directory: str,
        relocate: bool | Mapping[str, str] | None,
        cache: MetadataCache,
    ) -> None:
        self.storage = storage
        self.cache = cache
        self.directory = directory
        self._relocate = relocate
        self.follow(metadata)

    def follow(self, metadata: TableMetadata) -> None:
        """From now on paths are those that ``metadata`` names, a metadata file of the same table."""
        if isinstance(self._relocate, Mapping):
            for old, new in self._relocate.items():
                self.storage.relocate(old, new)
        elif self._relocate:
            from .paths import without_authority

            # Metadata and file paths may spell the store differently, so the bare path is a prefix too.
            full = strip_trailing(normalize(metadata.location))
            for location in dict.fromkeys((full, without_authority(full))):
                for old, new in common_move(location, self.directory):
                    self.storage.relocate(old, new)

    def locate(self, stored: str) -> str:
        """One stored path made absolute. Raises PathNotAllowedError."""
        return self.storage.resolve_one(self._absolute(stored))

    def resolve(self, stored: pa.Array) -> pa.Array:
        """Stored paths made absolute. Raises PathNotAllowedError."""
        from tableformats.plugin import compute as pc

        start = _ABSOLUTE.match(stored[0].as_py()) if len(stored) and stored[0].is_valid else None
        if start is not None and pc.all(pc.starts_with(stored, start.group()), min_count=0).as_py():
            return self.storage.resolve(stored)
        relative = pc.invert(pc.match_substring_regex(stored, _ABSOLUTE.pattern))
        if pc.any(relative).as_py():
            stored = pc.if_else(relative, pc.binary_join_element_wise(self.directory, stored, "/"), stored)
        return self.storage.resolve(stored)

    def check(self, stored: pa.Array) -> None:
        """Raises what :meth:`resolve` would."""
        if not self.storage.passes_quick_check(stored):
            self.resolve(stored)

    def _absolute(self, stored: str) -> str:
        return stored if _ABSOLUTE.match(stored) else f"{self.directory}/{stored}"

    def read(self, stored: str, what: str, scratch: ReusableBuffer | None = None) -> tuple[bytes | memoryview, str]:
        """The bytes of a metadata file (in ``scratch``, where that is given), and its absolute path.

        Raises
        ------
        CorruptMetadataError : there is no such file
        UnsupportedFeatureError : it is encrypted
        """
        path = self.locate(stored)
        try:
            data = self.storage.read_bytes(path) if scratch is None else self.storage.read_into(path, scratch.reserve)
        except FileNotFoundError:
            raise missing_file(f"the {what}", path) from None
        if data[: len(ENCRYPTED)] == ENCRYPTED:
            raise UnsupportedFeatureError(
                f"the {what} is encrypted", path=path, field="encryption-keys", hint="Encrypted tables are not read yet"
            )
        return data, path
