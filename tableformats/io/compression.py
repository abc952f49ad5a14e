"""Inflate compressed bytes up to a limit, whatever size they declare; for the containers that Arrow does not open.

Inflating is most of the cost of reading Iceberg's manifests. ISA-L inflates them 2.3 times as fast as zlib, and its
Python binding replaces zlib's: it stops at a limit, says where the data ended, and releases the GIL. Where its wheel
is not installed, zlib is used. libdeflate is 15 % faster than ISA-L. Its Python binding does not say where the data
ended, but the C functions in its wheel do; kernels call them where they are exported (:func:`libdeflate`).

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

__all__ = [
    "AVRO_CODECS",
    "INFLATE_ERRORS",
    "compress_avro",
    "inflate",
    "inflate_avro",
    "inflates_as_libdeflate",
    "libdeflate",
]

AVRO_CODECS = ("null", "deflate", "snappy", "zstandard")
_DEFLATE_ERROR: type[Exception] = deflate.error  # type: ignore[assignment]  # the stub calls the class an instance
INFLATE_ERRORS = (_DEFLATE_ERROR, pa.ArrowException, OSError, ValueError)
"""What :func:`inflate` and :func:`inflate_avro` raise."""

_KNOWN = b"tableformats reads tables: " * 9 + bytes(range(64))
_KNOWN_BLOCK = (
    b"+IL\xcaIM\xcb/\xcaM,)V(JML)V(\x01\t\x15[A\xe8a(\xc5\xc0\xc8\xc4\xcc\xc2\xca\xc6\xce\xc1\xc9\xc5\xcd"
    b"\xc3\xcb\xc7/ ($,\"*&.!)%-#+'\xaf\xa0\xa8\xa4\xac\xa2\xaa\xa6\xae\xa1\xa9\xa5\xad\xa3\xab\xa7o`hdlbjfnai"
    b"emckg\x0f\x00"
)
""":data:`_KNOWN` in raw deflate."""
_CRC_BYTES = 4
_RAW = -15
_WINDOWS = {"deflate": _RAW, "gzip": 31}


def inflate(codec: str, data: bytes | memoryview, limit: int) -> bytes | memoryview | None:
    """The inflated bytes of ``data``; None where they are more than ``limit``.

    Parameters
    ----------
    codec : str
        "null", "deflate" (raw), "gzip", "snappy" (raw) or "zstandard".
    limit : int
        Bytes.

    Raises
    ------
    one of INFLATE_ERRORS
        The data are damaged or cut short, or other bytes follow them.
    """
    if codec == "null":
        return data if len(data) <= limit else None
    if codec in _WINDOWS:
        return _deflate(data, limit, _WINDOWS[codec])
    return _snappy(data, limit) if codec == "snappy" else _zstandard(data, limit)


def inflate_avro(codec: str, block: bytes | memoryview, limit: int) -> bytes | memoryview | None:
    """:func:`inflate` for an Avro block. With snappy, the big-endian CRC-32 of the inflated bytes follows the data."""
    if codec == "deflate":
        return _deflate(block, limit, _RAW)
    if codec != "snappy":
        return inflate(codec, block, limit)
    inflated = inflate(codec, block[:-_CRC_BYTES], limit)
    if inflated is not None and zlib.crc32(inflated) != int.from_bytes(block[-_CRC_BYTES:], "big"):
        raise ValueError("its checksum does not match")
    return inflated


def compress_avro(codec: str, block: bytes | memoryview, level: int | None = None) -> bytes:
    """Compress an Avro block: the inverse of :func:`inflate_avro`.

    Parameters
    ----------
    level : int, optional
        As zlib and zstandard have levels. None: one that is fast.
    """
    if codec == "null":
        return bytes(block)
    if codec == "deflate":
        # ISA-L's second level is faster than zlib's first and compresses better.
        compressor = deflate.compressobj(2, zlib.DEFLATED, _RAW) if level is None and deflate is not zlib else None
        found = compressor or zlib.compressobj(1 if level is None else max(-1, min(level, 9)), zlib.DEFLATED, _RAW)
        return found.compress(block) + found.flush()
    if codec == "snappy":
        return bytes(pa.Codec("snappy").compress(block, asbytes=True)) + zlib.crc32(block).to_bytes(4, "big")
    return bytes(pa.Codec("zstd", compression_level=level).compress(block, asbytes=True))


@lru_cache
def libdeflate() -> tuple[int, int, int, int] | None:
    """Addresses of libdeflate's C functions in the package ``deflate``.

    Returns
    -------
    tuple of int, or None
        ``libdeflate_alloc_decompressor``, ``_free_decompressor``, ``_deflate_decompress_ex`` and ``_adler32``
        (libdeflate.h). None where the package is not installed, exports no such functions, or has functions that do
        not inflate a known block as they should.
    """
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
    functions = alloc, free, inflater, adler32
    return functions if inflates_as_libdeflate(functions) else None


def inflates_as_libdeflate(functions: tuple[int, int, int, int]) -> bool:
    """Whether the functions at these addresses do with a known block what libdeflate.h says.

    The functions are those of another package's wheel, and no contract of that package. What a later version of it
    makes of them must not become a wrong answer.
    """
    import ctypes

    address, size = ctypes.c_void_p, ctypes.c_size_t
    counted = ctypes.POINTER(size)
    alloc = ctypes.CFUNCTYPE(address)(functions[0])
    free = ctypes.CFUNCTYPE(None, address)(functions[1])
    inflater = ctypes.CFUNCTYPE(ctypes.c_int, address, ctypes.c_char_p, size, address, size, counted, counted)
    adler32 = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_char_p, size)(functions[3])
    stored = _KNOWN_BLOCK + b"behind"
    target, room = ctypes.create_string_buffer(b"\xa5" * (len(_KNOWN) + 8)), len(_KNOWN) + 4
    read, written = size(), size()
    own = alloc()
    if not own:
        return False
    try:
        status = inflater(functions[2])(own, stored, len(stored), target, room, read, written)
    finally:
        free(own)
    return (
        (status, read.value, written.value) == (0, len(_KNOWN_BLOCK), len(_KNOWN))
        and target.raw[: len(_KNOWN)] == _KNOWN
        and target.raw[room:-1] == b"\xa5" * 4
        and adler32(1, _KNOWN, len(_KNOWN)) == zlib.adler32(_KNOWN)
    )


def _deflate(data: bytes | memoryview, limit: int, window: int) -> bytes | None:
    inflater = deflate.decompressobj(window)
    inflated = inflater.decompress(data, limit + 1)
    if len(inflated) > limit:
        return None
    if not inflater.eof:
        raise ValueError("it is cut short")
    # Python's Avro writers cut deflate data out of a zlib stream and leave the first bytes of its checksum behind.
    if inflater.unused_data and not deflate.adler32(inflated).to_bytes(4, "big").startswith(inflater.unused_data):
        raise ValueError(f"{len(inflater.unused_data)} bytes follow its end")
    return inflated


def _snappy(data: bytes | memoryview, limit: int) -> bytes | None:
    size = _snappy_size(data)
    if size > limit:
        return None
    inflated = bytes(pa.Codec("snappy").decompress(data, size, asbytes=True))
    if len(inflated) != size:
        raise ValueError("its size is wrong")
    return inflated


def _snappy_size(data: bytes | memoryview) -> int:
    size = 0
    for i, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return size
    raise ValueError("its size is no number")


def _zstandard(data: bytes | memoryview, limit: int) -> bytes | None:
    """Inflate in steps, because the size that a frame declares cannot be trusted."""
    parts: list[pa.Buffer] = []
    total = 0
    with pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(data)), "zstd") as stream:
        # read() keeps its memory for ever where it raises.
        while (part := stream.read_buffer(min(1 << 20, limit + 1 - total))).size:
            parts.append(part)
            total += part.size
            if total > limit:
                return None
    return b"".join(parts)
