"""Deletion vectors: the ``deletion-vector-v1`` blob of a Puffin file. All of the blob is checked.

::

    0        4        8                       length + 4       length + 8
    +--------+--------+---------------------------+--------+
    | length | magic  | portable 64-bit roaring   | CRC-32 |
    +--------+--------+---------------------------+--------+
    big      D1 D3     little-endian               big-endian, over magic and bitmap
    endian   39 64

``length`` counts magic and bitmap. Source: Iceberg Puffin spec, "deletion-vector-v1 blob type"; Iceberg spec,
"Deletion Vectors".
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from tableformats.plugin import DEFAULT_LIMITS, CorruptMetadataError, Limits, bitmap_of, validate

if TYPE_CHECKING:
    from pyroaring import BitMap64

__all__ = ["parse_deletion_vector"]

MAGIC = b"\xd1\xd3\x39\x64"
FRAME = 12
"""The bytes of a blob that are not the bitmap: length, magic, checksum."""


def parse_deletion_vector(
    blob: bytes,
    path: str,
    offset: int,
    cardinality: int | None = None,
    record_count: int | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> BitMap64:
    """The positions that a deletion vector deletes.

    Parameters
    ----------
    blob : bytes
        Exactly the bytes that the manifest names (``content_offset``, ``content_size_in_bytes``).
    path, offset : str and int
        The Puffin file and where the blob begins in it, for errors.
    cardinality : int, optional
        The number of positions that the manifest declares.
    record_count : int, optional
        The rows of the data file.
    limits : Limits

    Raises
    ------
    CorruptMetadataError
        Size, magic, checksum, bitmap or cardinality is wrong, or a position is past the end of the data file.
    LimitExceededError
        The limits ``deleted_rows`` and ``file_rows``.
    """

    def fail(message: str, at: int = 0) -> CorruptMetadataError:
        return CorruptMetadataError(
            f"a deletion vector is damaged: {message}",
            path=path,
            offset=offset + at,
            hint="Restore the file, or read an older snapshot",
        )

    if len(blob) < FRAME:
        raise fail(f"it has {len(blob)} bytes")
    length = int.from_bytes(blob[:4], "big")
    if length != len(blob) - 8:
        raise fail(f"it says {length} bytes, the manifest {len(blob) - 8}")
    if blob[4:8] != MAGIC:
        raise fail("its magic number is wrong", 4)
    if zlib.crc32(blob[4:-4]) != int.from_bytes(blob[-4:], "big"):
        raise fail("its checksum does not match", len(blob) - 4)
    bitmap = blob[8:-4]
    try:
        found, last = validate(bitmap)
    except CorruptMetadataError as error:
        raise fail(error.message, 8 + (error.offset or 0)) from error
    if cardinality is not None and found != cardinality:
        raise fail(f"it deletes {found} rows, the manifest says {cardinality}")
    if record_count is not None and last >= record_count:
        raise fail(f"it deletes row {last} of a file of {record_count} rows")
    limits.check("deleted_rows", found, "deleted rows of a file", path=path, offset=offset)
    limits.check("file_rows", last + 1, "rows or more of a file with deleted ones", path=path, offset=offset)
    return bitmap_of(bitmap)
