"""Reads deletion vectors: stored by uuid (u), by absolute path (p) or inline (i).

Version, size, magic number, CRC-32, cardinality and the range of the positions are checked before a vector is used.
Source: Delta PROTOCOL.md, "Deletion Vectors", "Deletion Vector Format", "Deletion Vector File Storage Format". The
layout of a file, with a vector at ``offset``::

    | version 1: 1 byte | ... | size: 4, big endian | data: size bytes | CRC-32 of data: 4, big endian | ...
    data = | magic: 4, little endian | 64-bit roaring bitmap, portable (or the older native) layout |
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from tableformats.plugin import CorruptMetadataError, dataclass, missing_file

from . import z85

if TYPE_CHECKING:
    from pyroaring import BitMap64

    from tableformats.plugin import Limits, Storage

__all__ = ["read_deletion_vector", "stored_path"]

PORTABLE_MAGIC = 1681511377
NATIVE_MAGIC = 1681511376
_FILE_VERSION = 1
_UUID_LENGTH = 20  # characters of a uuid in z85
_HINT = "Restore the file from a copy, or read a version before the deletes"


def stored_path(storage_type: str, text: str) -> str | None:
    """The percent-encoded path of a vector's file; None for an inline vector.

    Parameters
    ----------
    storage_type : str
        ``u``, ``p`` or ``i``.
    text : str
        The descriptor's ``pathOrInlineDv``.

    Returns
    -------
    str or None
        Relative to the table for ``u``, absolute for ``p``.

    Raises
    ------
    CorruptMetadataError
        The storage type is unknown, or the uuid is damaged.
    """
    if storage_type == "i":
        return None
    if storage_type == "p":
        return text
    if storage_type != "u":
        raise CorruptMetadataError(
            f"a deletion vector has the unknown storage type {storage_type!r}", field="deletionVector.storageType"
        )
    prefix, encoded = text[:-_UUID_LENGTH], text[-_UUID_LENGTH:]
    try:
        uuid = UUID(bytes=z85.decode(encoded))
    except ValueError as error:
        raise CorruptMetadataError(
            f"a deletion vector's uuid {text!r} is damaged: {error}", field="deletionVector.pathOrInlineDv", hint=_HINT
        ) from None
    name = f"deletion_vector_{uuid}.bin"
    if not prefix:
        return name
    from urllib.parse import quote

    return f"{quote(prefix)}/{name}"


def read_deletion_vector(storage: Storage, vector: Mapping[str, Any], record_count: int | None) -> BitMap64:
    """Read the deleted positions of one data file.

    Parameters
    ----------
    vector : mapping
        ``path`` (from :func:`stored_path`), ``inline``, ``offset``, ``size_bytes`` and ``cardinality``.
    record_count : int or None
        Physical rows of the data file; None = unknown.

    Raises
    ------
    CorruptMetadataError
        The vector contradicts its descriptor or itself; with its path and offset.
    LimitExceededError
        The limits ``metadata_bytes``, ``deleted_rows`` and ``file_rows``.
    PathNotAllowedError
        The path is of another store.
    """
    size, inline = int(vector["size_bytes"]), vector["inline"]
    if inline is not None:
        place = _Place("inline deletion vector", 0)
        data = _inline_data(inline, size, place)
    else:
        path = storage.resolve_one(vector["path"], encoded=True)
        data, offset = _file_data(storage, path, vector["offset"], size)
        place = _Place(path, offset)
    return _positions(data, place, vector["cardinality"], record_count, storage.limits)


@dataclass(frozen=True)
class _Place:
    """The file and the offset of a vector, for errors."""

    path: str
    offset: int

    def corrupt(self, message: str) -> CorruptMetadataError:
        return CorruptMetadataError(
            f"a deletion vector is damaged: {message}", path=self.path, offset=self.offset, hint=_HINT
        )


def _inline_data(text: str, size: int, place: _Place) -> bytes:
    try:
        data = z85.decode(text)
    except ValueError as error:
        raise place.corrupt(f"its text is damaged: {error}") from None
    if not 4 <= size <= len(data) < size + 4:
        raise place.corrupt(f"it holds {len(data)} bytes, and {size} are declared")
    return data[:size]


def _file_data(storage: Storage, path: str, offset: int | None, size: int) -> tuple[bytes, int]:
    """The data of the vector at ``offset`` of a file, after its size and CRC are checked, and its offset."""
    try:
        file = storage.open_file(path)
    except FileNotFoundError:
        raise missing_file("a file of deletion vectors", path) from None
    with file:
        length = file.size()
        head = bytes(file.read_at(min(length, 4), 0))
        if head[:1] != bytes([_FILE_VERSION]):
            raise _Place(path, 0).corrupt("its file has an unknown version or is empty")
        if offset is None:
            # The protocol says 0, other writers mean 1: take the one where the declared size stands.
            offset = 0 if int.from_bytes(head, "big") == size else 1
        if offset < 0 or size < 4 or offset > length - 8 - size:
            raise _Place(path, offset).corrupt(f"{size} bytes at offset {offset} pass the end of its file")
        storage.limits.check("metadata_bytes", size, "bytes of a deletion vector", path=path, offset=offset)
        block = bytes(file.read_at(size + 8, offset))
    (stored_size,), (crc,) = struct.unpack(">I", block[:4]), struct.unpack(">I", block[-4:])
    if stored_size != size:
        raise _Place(path, offset).corrupt(f"its file says {stored_size} bytes, the log {size}")
    data = block[4:-4]
    if zlib.crc32(data) != crc:
        raise _Place(path, offset).corrupt("its checksum does not match")
    return data, offset


def _positions(
    data: bytes, place: _Place, cardinality: int | None, record_count: int | None, limits: Limits
) -> BitMap64:
    from tableformats.plugin import bitmap_of, validate

    (magic,) = struct.unpack("<I", data[:4])
    if magic == PORTABLE_MAGIC:
        serialized = data[4:]
    elif NATIVE_MAGIC in (magic, struct.unpack(">I", data[:4])[0]):
        serialized = _native_to_portable(data[4:], "<" if magic == NATIVE_MAGIC else ">", place)
    else:
        raise place.corrupt(f"its magic number is {magic}")
    try:
        found, last = validate(serialized)
    except CorruptMetadataError as error:
        raise place.corrupt(f"its bitmap is: {error.message}") from error
    if found != cardinality:
        raise place.corrupt(f"it deletes {found} rows, and {cardinality} are declared")
    if record_count is not None and last >= record_count:
        raise place.corrupt(f"it deletes row {last} of a file of {record_count} rows")
    path, offset = place.path, place.offset
    limits.check("deleted_rows", found, "deleted rows of a file", path=path, offset=offset)
    limits.check("file_rows", last + 1, "rows or more of a file with deleted ones", path=path, offset=offset)
    return bitmap_of(serialized)


def _native_to_portable(data: bytes, order: str, place: _Place) -> bytes:
    """Convert the older layout: a count, then the size and the bytes of each 32-bit bitmap; keys are indices.

    Both byte orders are read: Spark writes count and sizes little endian, and the protocol's inline example has them
    and the magic number big endian.
    """
    position = 0

    def take(size: int) -> bytes:
        nonlocal position
        if size > len(data) - position:
            raise place.corrupt("it is cut off")
        position += size
        return data[position - size : position]

    (count,) = struct.unpack(order + "I", take(4))
    parts = [struct.pack("<Q", count)]
    for key in range(count):
        (size,) = struct.unpack(order + "I", take(4))
        parts += [struct.pack("<I", key), take(size)]
    if position != len(data):
        raise place.corrupt("bytes follow it")
    return b"".join(parts)
