"""Compressed bytes inflated to a bound, whatever size they declare; for the containers that Arrow does not open.

Sources: RFC 1951; Snappy format description; RFC 8878.
"""

from __future__ import annotations

import zlib

import pyarrow as pa

__all__ = ["DAMAGE", "inflate"]

DAMAGE = (zlib.error, pa.ArrowException, OSError, ValueError)
"""What :func:`inflate` raises."""


def inflate(codec: str, data: bytes, limit: int) -> bytes | None:
    """The plain bytes of ``data``; None where they are more than ``limit``.

    Parameters
    ----------
    codec : "null", "deflate" (raw), "snappy" (raw) or "zstandard"

    Raises
    ------
    zlib.error, pyarrow.ArrowException, OSError, ValueError : the data are damaged
    """
    if codec == "null":
        plain = data
    elif codec == "deflate":
        inflater = zlib.decompressobj(-15)
        plain = inflater.decompress(data, limit + 1)
        if not inflater.eof and len(plain) <= limit:
            raise ValueError("it is cut short")
    elif codec == "snappy":
        size = _snappy_size(data)
        if size > limit:
            return None
        plain = pa.Codec("snappy").decompress(data, size, asbytes=True)
        if len(plain) != size:
            raise ValueError("its size is wrong")
    else:
        # Read in steps, for the size that a frame declares is not to be believed.
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            plain = stream.read(limit + 1)
    return plain if len(plain) <= limit else None


def _snappy_size(data: bytes) -> int:
    size = 0
    for i, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return size
    raise ValueError("its size is no number")
