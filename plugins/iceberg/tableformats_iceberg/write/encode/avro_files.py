"""Avro object container files of encoded records.

Source: Apache Avro specification, "Object Container Files", "Required Codecs", "Optional Codecs".
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from tableformats.plugin import UnsupportedFeatureError, compress_avro, dataclass, in_order, text_buffers

from .avro_encoding import varint

__all__ = ["Codec", "EncodedBlock", "codec_of", "container_file", "encoded_blocks"]

_MAGIC = b"Obj\x01"
_BLOCK_BYTES = 1 << 17
"""A block is closed when it has so many bytes. Each can be inflated by another thread."""
_NAMES = {"gzip": "deflate", "zstd": "zstandard", "snappy": "snappy", "uncompressed": "null"}
CODEC_PROPERTY, LEVEL_PROPERTY = "write.manifest.compression-codec", "write.manifest.compression-level"


@dataclass(frozen=True)
class Codec:
    """How blocks are compressed: a name that Avro gives, and a level (None: the codec's default)."""

    name: str = "deflate"
    level: int | None = None


def codec_of(properties: Mapping[str, str]) -> Codec:
    """The codec of manifests and manifest lists that a table asks for. Raises UnsupportedFeatureError.

    Source: Iceberg documentation, "Configuration", "Write properties".
    """
    name, level = properties.get(CODEC_PROPERTY, "gzip").lower(), properties.get(LEVEL_PROPERTY)
    if name not in _NAMES:
        known = ", ".join(_NAMES)
        raise UnsupportedFeatureError(
            f"the codec {name[:50]!r} is not known", field=CODEC_PROPERTY, hint=f"One of {known}"
        )
    if level is not None and not (level.removeprefix("-").isdecimal() and len(level) < 4):
        raise UnsupportedFeatureError(f"{level[:50]!r} is no level", field=LEVEL_PROPERTY, hint="A small whole number")
    return Codec(_NAMES[name], None if level is None else int(level))


@dataclass(frozen=True)
class EncodedBlock:
    """The records ``start`` to before ``stop``, as the file holds them."""

    start: int
    stop: int
    data: bytes


def encoded_blocks(records: pa.BinaryArray, codec: Codec) -> Iterator[EncodedBlock]:
    """Cut records into blocks, and compress these by several threads."""
    if not len(records):
        return
    offsets, data = text_buffers(records)
    first = int(offsets[0])
    marks = np.arange(first + _BLOCK_BYTES, int(offsets[-1]), _BLOCK_BYTES)
    cuts = np.unique(np.concatenate([[0], np.searchsorted(offsets, marks), [len(records)]]))
    view = memoryview(data)  # type: ignore[arg-type]

    def compressed(span: tuple[int, int]) -> EncodedBlock:
        start, stop = span
        plain = view[int(offsets[start]) : int(offsets[stop])]
        return EncodedBlock(start, stop, compress_avro(codec.name, plain, codec.level))

    spans = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
    if len(spans) == 1:
        yield compressed(spans[0])
    else:
        yield from in_order(compressed, spans)


def container_file(schema: Any, metadata: Mapping[str, str], blocks: list[EncodedBlock], codec: Codec) -> bytes:
    """A file of blocks. ``schema`` is the Avro schema as parsed JSON."""
    sync = secrets.token_bytes(16)
    head = {"avro.schema": json.dumps(schema, separators=(",", ":")), "avro.codec": codec.name, **metadata}
    out = [_MAGIC, varint(len(head))]
    for key, value in head.items():
        for text in (key.encode(), value.encode()):
            out += [varint(len(text)), text]
    out += [b"\x00", sync]
    for block in blocks:
        out += [varint(block.stop - block.start), varint(len(block.data)), block.data, sync]
    return b"".join(out)
