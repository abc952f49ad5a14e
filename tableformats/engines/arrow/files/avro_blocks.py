"""Avro object container files: the header and the blocks, checked before use; blocks inflate to a limited size.

Source: Apache Avro specification, "Object Container Files", "Required Codecs", "Optional Codecs".
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

import pyarrow as pa

from ....dataclass import dataclass
from ....errors import CorruptMetadataError, UnsupportedFeatureError
from ....io.compression import AVRO_CODECS, INFLATE_ERRORS, inflate_avro
from ....limits import DEFAULT_LIMITS, Limits

__all__ = ["AvroBlocks", "Block"]

MAGIC = b"Obj\x01"
SYNC_BYTES = 16
_MAX_VARINT_BYTES = 10
"""64 bits at seven bits per byte."""


@dataclass(frozen=True)
class Block:
    """``count`` records in the ``size`` stored bytes that start at ``offset``."""

    offset: int
    size: int
    count: int


class AvroBlocks:
    """A container file, read block by block.

    Parameters
    ----------
    source : pa.NativeFile
        The file; it must be seekable.
    path : str
        Its path, for errors.
    limits : Limits
        What the file may cost.

    Attributes
    ----------
    schema : Any
        The writer's schema, parsed from JSON.
    schema_bytes : int
        Of its text.
    blocks : list[Block]
        In the order of the file; blocks without records are left out.

    Raises
    ------
    CorruptMetadataError
        No Avro file; a damaged header; a block that is cut short or has no sync marker.
    UnsupportedFeatureError
        A codec that is not read.
    LimitExceededError
        The header takes more than ``limits.metadata_bytes``.
    """

    def __init__(self, source: pa.NativeFile, path: str, limits: Limits = DEFAULT_LIMITS) -> None:
        self._source = source
        self._limits = limits
        self._path = path
        metadata, sync, start = self._header()
        self._codec = metadata.get("avro.codec", b"null").decode(errors="replace")
        if self._codec not in AVRO_CODECS:
            raise UnsupportedFeatureError(
                f"the Avro codec {self._codec[:50]!r} is not read",
                path=path,
                field="avro.codec",
                hint=f"Rewrite the file; read are {', '.join(AVRO_CODECS)}",
            )
        try:
            text = metadata["avro.schema"]
            self.schema: Any = json.loads(text)
            self.schema_bytes = len(text)
        except (KeyError, ValueError, RecursionError) as error:
            self._fail(f"the header has no schema that can be read: {error!r}", 0)
        self.blocks = [block for block in self._scan(sync, start) if block.count]

    @property
    def num_rows(self) -> int:
        return sum(block.count for block in self.blocks)

    def inflated(self, block: Block) -> bytes:
        """The encoded records of a block, without its codec's compression.

        Raises
        ------
        CorruptMetadataError
            It does not inflate.
        LimitExceededError
            It inflates to more than ``limits.inflated_bytes``.
        """
        self._source.seek(block.offset)
        data = self._source.read(block.size)
        try:
            inflated = inflate_avro(self._codec, data, self._limits.inflated_bytes)
        except INFLATE_ERRORS as error:
            self._fail(f"a {self._codec} block does not inflate: {error}", block.offset)
        if inflated is None:
            raise self._limits.exceeded(
                "inflated_bytes", "bytes of a block, inflated", path=self._path, offset=block.offset
            )
        return bytes(inflated)

    def _fail(self, message: str, offset: int) -> NoReturn:
        raise CorruptMetadataError(
            f"the Avro file is damaged: {message}",
            path=self._path,
            offset=offset,
            hint="Restore the file, or drop it from the table",
        )

    def _header(self) -> tuple[dict[str, bytes], bytes, int]:
        size = 1 << 16
        while True:
            self._source.seek(0)
            data = self._source.read(size)
            if not data.startswith(MAGIC):
                self._fail("it does not begin as Avro files do", 0)
            try:
                metadata, end = _read_map(data, len(MAGIC))
                if end + SYNC_BYTES > len(data):
                    raise _CutShortError
                return metadata, data[end : end + SYNC_BYTES], end + SYNC_BYTES
            except _CutShortError:
                if len(data) < size:
                    self._fail("its header is cut short", len(data))
                self._limits.check("metadata_bytes", size, "bytes of a header, or more", path=self._path)
                size *= 8

    def _scan(self, sync: bytes, start: int) -> list[Block]:
        found = []
        end, offset = self._source.size(), start
        while offset < end:
            self._source.seek(offset)
            head = self._source.read(2 * _MAX_VARINT_BYTES)
            try:
                count, at = _varint(head, 0)
                size, at = _varint(head, at)
            except _CutShortError:
                self._fail("a block is cut short", offset)
            data = offset + at
            if count < 0 or size < 0 or size > end - data - SYNC_BYTES:
                self._fail("a block is cut short, or its size is wrong", offset)
            self._source.seek(data + size)
            if self._source.read(SYNC_BYTES) != sync:
                self._fail("a block does not end in the sync marker", data + size)
            found.append(Block(data, size, count))
            offset = data + size + SYNC_BYTES
        return found


class _CutShortError(Exception):
    pass


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zig-zag varint and the offset after it."""
    value = 0
    for shift in range(0, 7 * _MAX_VARINT_BYTES, 7):
        if at >= len(data):
            break
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise _CutShortError


def _read_map(data: bytes, at: int) -> tuple[dict[str, bytes], int]:
    found: dict[str, bytes] = {}
    while True:
        count, at = _varint(data, at)
        if not count:
            return found, at
        if count < 0:
            # A negative count is followed by the block's size in bytes.
            _, at = _varint(data, at)
        for _ in range(abs(count)):
            key, at = _read_bytes(data, at)
            found[key.decode(errors="replace")], at = _read_bytes(data, at)


def _read_bytes(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = _varint(data, at)
    if size < 0 or at + size > len(data):
        raise _CutShortError
    return data[at : at + size], at + size
