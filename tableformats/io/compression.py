"""Compressed bytes inflated to a bound, whatever size they declare; for the containers that Arrow does not open.

Deflate is most of what reading Iceberg's manifests costs. ISA-L inflates them 2.3 times as fast as zlib does, and its
Python binding is zlib's drop-in: it stops at a bound, tells where the data ended, and lets go of the GIL. Where there
is no wheel of it, zlib does the same work. libdeflate is another 15 % faster. Its Python binding tells nothing of the
place of the end, but the C functions inside of it do (:func:`libdeflate`); kernels call these where the wheel has them.

Sources: RFC 1951 and 1952; Snappy format description; RFC 8878; Apache Avro specification, "Required Codecs" and
"Optional Codecs".
"""

from __future__ import annotations

import zlib
from functools import lru_cache

import pyarrow as pa

try:
    from isal import isal_zlib as deflate
except ImportError:
    import zlib as deflate  # type: ignore[no-redef]

__all__ = ["AVRO_CODECS", "DAMAGE", "inflate", "inflate_avro", "libdeflate"]

AVRO_CODECS = ("null", "deflate", "snappy", "zstandard")
_DEFLATE_ERROR: type[Exception] = deflate.error  # type: ignore[assignment]  # the stub calls the class an instance
DAMAGE = (_DEFLATE_ERROR, pa.ArrowException, OSError, ValueError)
"""What :func:`inflate` and :func:`inflate_avro` raise."""

_CRC_BYTES = 4
_RAW = -15
_WINDOWS = {"deflate": _RAW, "gzip": 31}


def inflate(codec: str, data: bytes | memoryview, limit: int) -> bytes | memoryview | None:
    """The plain bytes of ``data``; None where they are more than ``limit``.

    Parameters
    ----------
    codec : "null", "deflate" (raw), "gzip", "snappy" (raw) or "zstandard"

    Raises
    ------
    one of DAMAGE : the data are damaged, cut short, or followed by others
    """
    if codec == "null":
        return data if len(data) <= limit else None
    if codec in _WINDOWS:
        return _deflate(data, limit, _WINDOWS[codec])
    return _snappy(data, limit) if codec == "snappy" else _zstandard(data, limit)


def inflate_avro(codec: str, block: bytes | memoryview, limit: int) -> bytes | memoryview | None:
    """:func:`inflate` of an Avro block: behind the bytes of snappy stands the big-endian CRC-32 of the plain ones."""
    if codec == "deflate":
        return _deflate(block, limit, _RAW)
    if codec != "snappy":
        return inflate(codec, block, limit)
    plain = inflate(codec, block[:-_CRC_BYTES], limit)
    if plain is not None and zlib.crc32(plain) != int.from_bytes(block[-_CRC_BYTES:], "big"):
        raise ValueError("its checksum does not match")
    return plain


@lru_cache
def libdeflate() -> tuple[int, int, int, int] | None:
    """Addresses of ``libdeflate_alloc_decompressor``, ``_free_decompressor``, ``_deflate_decompress_ex`` and
    ``_adler32`` (libdeflate.h) in the package deflate; None where it is not installed, or its module exports none."""
    import ctypes

    try:
        from deflate import _deflate as module

        library = ctypes.CDLL(module.__file__)
        names = ("alloc_decompressor", "free_decompressor", "deflate_decompress_ex", "adler32")
        alloc, free, inflater, adler32 = (
            ctypes.cast(getattr(library, f"libdeflate_{name}"), ctypes.c_void_p).value or 0 for name in names
        )
    except (ImportError, OSError, AttributeError):
        return None
    return alloc, free, inflater, adler32


def _deflate(data: bytes | memoryview, limit: int, window: int) -> bytes | None:
    inflater = deflate.decompressobj(window)
    plain = inflater.decompress(data, limit + 1)
    if len(plain) > limit:
        return None
    if not inflater.eof:
        raise ValueError("it is cut short")
    # Python's Avro writers cut deflate data out of a zlib stream and leave the beginning of its checksum behind it.
    if inflater.unused_data and not deflate.adler32(plain).to_bytes(4, "big").startswith(inflater.unused_data):
        raise ValueError(f"{len(inflater.unused_data)} bytes follow its end")
    return plain


def _snappy(data: bytes | memoryview, limit: int) -> bytes | None:
    size = _snappy_size(data)
    if size > limit:
        return None
    plain = bytes(pa.Codec("snappy").decompress(data, size, asbytes=True))
    if len(plain) != size:
        raise ValueError("its size is wrong")
    return plain


def _snappy_size(data: bytes | memoryview) -> int:
    size = 0
    for i, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return size
    raise ValueError("its size is no number")


def _zstandard(data: bytes | memoryview, limit: int) -> bytes | None:
    """Read in steps, for the size that a frame declares is not to be believed."""
    parts: list[bytes] = []
    total = 0
    with pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(data)), "zstd") as stream:
        while part := stream.read(min(1 << 20, limit + 1 - total)):
            parts.append(part)
            total += len(part)
            if total > limit:
                return None
    return b"".join(parts)
