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

from tests.plugin.iceberg_support import text, varint

__all__ = ["avro_container", "delta_vector_file", "iceberg_vector", "parquet_footer"]

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


def delta_vector_file(data: bytes, change: Change) -> bytes:
    """A file of one deletion vector behind the byte of version: size and checksum fit the changed bitmap."""
    plain = change(data[5:-4])
    return data[:1] + struct.pack(">I", len(plain)) + plain + struct.pack(">I", zlib.crc32(plain))


def iceberg_vector(data: bytes, change: Change) -> bytes:
    """A blob of a Puffin file: length and checksum fit the changed bitmap."""
    plain = data[4:8] + change(data[8:-4])
    return struct.pack(">I", len(plain)) + plain + struct.pack(">I", zlib.crc32(plain))
