"""Deletion vectors: the rows of a file that are deleted, by uuid (u), by absolute path (p) or inline (i).

Every claim is checked before it is believed: version, size, magic number, CRC-32, cardinality and the range of the
positions. Source: Delta PROTOCOL.md, "Deletion Vectors", "Deletion Vector Format", "Deletion Vector File Storage
Format". A file, and at ``offset`` a vector in it::

    | version 1: 1 byte | ... | size: 4, big endian | data: size bytes | CRC-32 of data: 4, big endian | ...
    data = | magic: 4, little endian | 64-bit roaring bitmap, portable (or the older native) layout |
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import UUID

from tableformats.plugin import CorruptMetadataError, missing_file

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
    """The percent-encoded path of a vector's file, relative to the table for ``u``; None for an inline one.

    Raises
    ------
    CorruptMetadataError : an unknown storage type, or no uuid where one belongs
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
    return f"{quote(prefix)}/{name}" if prefix else name


def read_deletion_vector(storage: Storage, vector: Mapping[str, Any], record_count: int | None) -> BitMap64:
    """The deleted positions of one file.

    Parameters
    ----------
    vector : ``path`` (as :func:`stored_path` gives it), ``inline``, ``offset``, ``size_bytes``, ``cardinality``
    record_count : physical rows of the data file; None = unknown

    Raises
    ------
    CorruptMetadataError : anything that does not agree, with the path and the offset of the vector
    LimitExceededError : the limits ``metadata_bytes``, ``deleted_rows`` and ``file_rows``
    PathNotAllowedError : a path of another store
    """
    size, inline = int(vector["size_bytes"]), vector["inline"]
    if inline is not None:
        path, offset = "inline deletion vector", 0
        data = _inline_data(inline, size)
    else:
        path = storage.resolve_one(vector["path"], encoded=True)
        data, offset = _file_data(storage, path, vector["offset"], size)
    return _positions(data, path, offset, vector["cardinality"], record_count, storage.limits)


def _inline_data(text: str, size: int) -> bytes:
    try:
        data = z85.decode(text)
    except ValueError as error:
        raise _corrupt(f"its text is damaged: {error}", "inline deletion vector", 0) from None
    if not 4 <= size <= len(data) < size + 4:
        raise _corrupt(f"it holds {len(data)} bytes, and {size} are declared", "inline deletion vector", 0)
    return data[:size]


def _file_data(storage: Storage, path: str, offset: int | None, size: int) -> tuple[bytes, int]:
    """The checked data of the vector at ``offset`` of a file, and the offset."""
    try:
        file = storage.open_file(path)
    except FileNotFoundError:
        raise missing_file("a file of deletion vectors", path) from None
    with file:
        length = file.size()
        version = bytes(file.read_at(1, 0)) if length else b""
        if version != bytes([_FILE_VERSION]):
            raise _corrupt("its file has an unknown version or is empty", path, 0)
        if offset is None:
            # 0 by the text, 1 as kernels write: where the size that is declared stands.
            offset = 0 if length >= 4 and bytes(file.read_at(4, 0)) == struct.pack(">I", size & 0xFFFFFFFF) else 1
        if offset < 0 or size < 4 or size > length - 8 or offset > length - 8 - size:
            raise _corrupt(f"{size} bytes at offset {offset} pass the end of its file", path, offset)
        storage.limits.check("metadata_bytes", size, "bytes of a deletion vector", path=path, offset=offset)
        block = bytes(file.read_at(size + 8, offset))
    (stored_size,), (crc,) = struct.unpack(">I", block[:4]), struct.unpack(">I", block[-4:])
    if stored_size != size:
        raise _corrupt(f"its file says {stored_size} bytes, the log {size}", path, offset)
    data = block[4:-4]
    if zlib.crc32(data) != crc:
        raise _corrupt("its checksum does not match", path, offset)
    return data, offset


def _positions(
    data: bytes, path: str, offset: int, cardinality: Any, record_count: int | None, limits: Limits
) -> BitMap64:
    from pyroaring import BitMap64

    from tableformats.plugin import validate

    (magic,) = struct.unpack("<I", data[:4])
    if magic == PORTABLE_MAGIC:
        serialized = data[4:]
    elif NATIVE_MAGIC in (magic, struct.unpack(">I", data[:4])[0]):
        serialized = _native_to_portable(data[4:], "<" if magic == NATIVE_MAGIC else ">", path, offset)
    else:
        raise _corrupt(f"its magic number is {magic}", path, offset)
    try:
        found, last = validate(serialized)
    except CorruptMetadataError as error:
        raise _corrupt(f"its bitmap is: {error.message}", path, offset) from error
    if found != cardinality:
        raise _corrupt(f"it deletes {found} rows, and {cardinality} are declared", path, offset)
    if record_count is not None and last >= record_count:
        raise _corrupt(f"it deletes row {last} of a file of {record_count} rows", path, offset)
    limits.check("deleted_rows", found, "deleted rows of a file", path=path, offset=offset)
    limits.check("file_rows", last + 1, "rows or more of a file with deleted ones", path=path, offset=offset)
    return BitMap64.deserialize(serialized)


def _native_to_portable(data: bytes, order: str, path: str, offset: int) -> bytes:
    """The older layout: a count, then each 32-bit bitmap behind its size; the key is the place in the list.

    Spark writes count and sizes little endian; the protocol's own inline example has them (and the magic number)
    big endian, so both are read.
    """
    if len(data) < 4:
        raise _corrupt("it is cut off", path, offset)
    (count,) = struct.unpack(order + "I", data[:4])
    position, parts = 4, [struct.pack("<Q", count)]
    if count > (len(data) - 4) // 4:
        raise _corrupt(f"it declares {count} bitmaps", path, offset)
    for key in range(count):
        if len(data) - position < 4:
            raise _corrupt("it is cut off", path, offset)
        (size,) = struct.unpack_from(order + "I", data, position)
        position += 4
        if size > len(data) - position:
            raise _corrupt("it is cut off", path, offset)
        parts += [struct.pack("<I", key), data[position : position + size]]
        position += size
    if position != len(data):
        raise _corrupt("bytes follow it", path, offset)
    return b"".join(parts)


def _corrupt(message: str, path: str, offset: int) -> CorruptMetadataError:
    return CorruptMetadataError(f"a deletion vector is damaged: {message}", path=path, offset=offset, hint=_HINT)
