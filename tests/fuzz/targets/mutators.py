"""Mutators that know the frame around damage: lengths and checksums are made right, so that what is inside is reached.

Each takes an input apart, lets the fuzzer change one piece, and puts it together again. An input that does not come
apart is changed as it is.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable

import fastavro

from tests.support.iceberg_manifests import text, varint

__all__ = ["avro_container", "delta_vector_file", "iceberg_vector", "orc_tail", "parquet_footer"]

Change = Callable[[bytes], bytes]


def avro_container(data: bytes, change: Change) -> bytes:
    """Change the records of a block, or the schema or another value of the header."""
    try:
        reader = fastavro.block_reader(io.BytesIO(data))
        head = {key: value for key, value in reader.metadata.items()}
        blocks = [(block.num_records, block.bytes_.getvalue()) for block in reader]
    except Exception:  # what fastavro makes of damage is its own affair
        return change(data)
    choice = zlib.crc32(data) % (2 * len(blocks) + 1)
    if choice < 2 * len(blocks):
        count, plain = blocks[choice // 2]
        blocks[choice // 2] = (count, change(plain))
    else:
        key = sorted(head)[zlib.adler32(data) % len(head)]
        value = head[key]
        head[key] = change(value.encode() if isinstance(value, str) else value)
    head["avro.codec"] = "null"
    sync = bytes(range(16))
    out = b"Obj\x01" + varint(len(head)) + b"".join(text(key) + text(value) for key, value in head.items())
    out += b"\x00" + sync
    return out + b"".join(varint(n) + varint(len(plain)) + plain + sync for n, plain in blocks)


def parquet_footer(data: bytes, change: Change) -> bytes:
    """Change the Thrift of the footer, or the pages before it, and say how long the footer is now."""
    if len(data) < 12 or not data.endswith(b"PAR1"):
        return change(data)
    (size,) = struct.unpack("<I", data[-8:-4])
    pages, footer = data[: max(4, len(data) - 8 - size)], data[max(4, len(data) - 8 - size) : -8]
    if zlib.crc32(data) % 4:
        footer = change(footer)
    else:
        pages = b"PAR1" + change(pages[4:])[: len(pages) - 4].ljust(len(pages) - 4, b"\0")
    return pages + footer + struct.pack("<I", len(footer)) + b"PAR1"


def orc_tail(data: bytes, change: Change) -> bytes:
    """Change the footer, or the stripes before it, and have the postscript say how long the footer is now.

    Source: ORC specification v1, "Postscript": its first field is the length of the footer, its own is the last byte.
    """
    script = data[len(data) - 1 - data[-1] : -1] if data else b""
    if len(script) < 3 or script[0] != 8 or script[1] > 0x7F < script[2]:
        return change(data)
    width = 1 + (script[1] > 0x7F)
    size = script[1] & 0x7F | (script[2] << 7 if width == 2 else 0)
    stripes, footer = data[: -1 - len(script)][:-size], data[: -1 - len(script)][-size:]
    if zlib.crc32(data) % 4:
        footer = change(footer)[: (1 << 14) - 1]
    else:
        stripes = b"ORC" + change(stripes[3:])[: len(stripes) - 3].ljust(len(stripes) - 3, b"\0")
    script = b"\x08" + bytes([len(footer) & 0x7F | 0x80, len(footer) >> 7]) + script[1 + width :]
    return stripes + footer + script + bytes([len(script)])


def delta_vector_file(data: bytes, change: Change) -> bytes:
    """A file of one deletion vector behind the byte of version: size and checksum fit the changed bitmap."""
    plain = change(data[5:-4])
    return data[:1] + struct.pack(">I", len(plain)) + plain + struct.pack(">I", zlib.crc32(plain))


def iceberg_vector(data: bytes, change: Change) -> bytes:
    """A blob of a Puffin file: length and checksum fit the changed bitmap."""
    plain = data[4:8] + change(data[8:-4])
    return struct.pack(">I", len(plain)) + plain + struct.pack(">I", zlib.crc32(plain))
