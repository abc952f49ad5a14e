"""Avro's block codecs (null, deflate, snappy, zstandard) and gzip, bounded: nothing inflates beyond a limit.

Source: Apache Avro specification, "Required Codecs" and "Optional Codecs".
"""

from __future__ import annotations

import zlib

from tableformats.errors import CorruptMetadataError, LimitExceededError, TableFormatsError

from ._avro import AvroDecodeError

__all__ = ["CODECS", "inflate"]

CODECS = ("null", "deflate", "snappy", "zstandard")


def inflate(codec: str, block: memoryview, limit: int, path: str, offset: int) -> bytes | memoryview:
    """The plain bytes of one block.

    Parameters
    ----------
    codec : one of :data:`CODECS`, or gzip
    block : as stored, without length and sync marker
    limit : most bytes that may come out
    offset : of the block in the file, for errors

    Raises
    ------
    CorruptMetadataError : the block is truncated, damaged, or followed by other bytes
    LimitExceededError : it inflates to more than ``limit`` bytes
    """
    if codec == "null":
        return block
    try:
        if codec == "deflate":
            return _deflate(block, limit, -15)
        if codec == "gzip":
            return _deflate(block, limit, 31)
        if codec == "snappy":
            return _snappy(block, limit)
        return _zstandard(block, limit)
    except _TooLargeError:
        raise LimitExceededError(
            f"a block inflates to more than {limit} bytes",
            path=path,
            offset=offset,
            hint="The file is not safe to read",
        ) from None
    except (zlib.error, OSError, ValueError, AvroDecodeError) as error:
        if isinstance(error, TableFormatsError):
            raise
        raise CorruptMetadataError(f"a {codec} block does not inflate: {error}", path=path, offset=offset) from None


class _TooLargeError(Exception):
    pass


def _deflate(block: memoryview, limit: int, window: int) -> bytes:
    inflater = zlib.decompressobj(window)
    plain = inflater.decompress(block, limit + 1)
    if len(plain) > limit:
        raise _TooLargeError
    if not inflater.eof:
        raise ValueError("it is truncated")
    # Python's Avro writers cut deflate data out of a zlib stream and leave the beginning of its checksum behind it.
    if inflater.unused_data and not zlib.adler32(plain).to_bytes(4, "big").startswith(inflater.unused_data):
        raise ValueError(f"{len(inflater.unused_data)} bytes follow its end")
    return plain


def _snappy(block: memoryview, limit: int) -> bytes:
    """Raw snappy, then the big-endian CRC-32 of the plain bytes; the format begins with the plain size."""
    import pyarrow as pa

    size, shift = 0, 0
    for index in range(5):
        if index >= len(block) - 4:
            raise ValueError("it is truncated")
        size |= (block[index] & 0x7F) << shift
        shift += 7
        if block[index] < 0x80:
            break
    else:
        raise ValueError("its size is no varint")
    if size > limit:
        raise _TooLargeError
    plain = pa.Codec("snappy").decompress(block[:-4], size, asbytes=True)
    if len(plain) != size or zlib.crc32(plain) != int.from_bytes(block[-4:], "big"):
        raise ValueError("its checksum does not match")
    return plain


def _zstandard(block: memoryview, limit: int) -> bytes:
    """Read in steps, because the size that a frame declares is not to be believed."""
    import pyarrow as pa

    source = pa.BufferReader(pa.py_buffer(block))
    parts: list[bytes] = []
    total = 0
    with pa.CompressedInputStream(source, "zstd") as stream:
        while part := stream.read(min(1 << 20, limit + 1 - total)):
            parts.append(part)
            total += len(part)
            if total > limit:
                raise _TooLargeError
    return b"".join(parts)
