"""Avro data files, decoded with fastavro into Arrow columns, a bounded number of rows at a time."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from ....errors import CorruptMetadataError, TableFormatsError
from ....limits import Limits
from ....runtime.boundary import is_fault_of_machine
from .avro_blocks import AvroBlocks, Block
from .avro_types import ID_KEY, column_of
from .column_tree import Selection, file_tree
from .data_file import DataFile, counted_rows, empty_rows

__all__ = ["AvroFile"]

MAX_ROWS = 16_384
MAX_BYTES = 16 << 20
"""A batch ends after so many rows or uncompressed bytes, because each record is several Python objects until then."""


class AvroFile(DataFile):
    """An Avro object container file. Records are always decoded whole.

    Raises
    ------
    CorruptMetadataError, UnsupportedFeatureError, LimitExceededError
        See :class:`AvroBlocks` and :func:`column_of`.
    """

    def __init__(self, path: str, source: pa.NativeFile, limits: Limits) -> None:
        self.path = path
        self._blocks = AvroBlocks(source, path, limits)
        self._column = column_of(self._blocks.schema, path, limits, self._blocks.schema_bytes)
        self.root = file_tree(pa.schema(list(self._column.type)), ID_KEY, path, limits)
        self.num_rows = self._blocks.num_rows

    def select(self, leaves: frozenset[int]) -> Selection:
        """The top-level columns that hold ``leaves``, whole."""
        columns = Selection(self.root, leaves).columns(self.root)
        return Selection(self.root, (leaf for column in columns for leaf in column.leaves))

    def rows(self, selection: Selection) -> Iterator[tuple[int, pa.StructArray]]:
        blocks = [block for block in self._blocks.blocks if self.byte_range.contains(block.offset)]
        # The blocks of a byte range are consecutive.
        first = sum(block.count for block in self._blocks.blocks if blocks and block.offset < blocks[0].offset)
        count = sum(block.count for block in blocks)
        chosen = set(selection.columns(self.root))
        indexes = [i for i, column in enumerate(self.root.children) if column in chosen]
        return counted_rows(self._arrays(blocks, indexes) if indexes else empty_rows(count), first, count, self.path)

    def _arrays(self, blocks: list[Block], indexes: list[int]) -> Iterator[pa.StructArray]:
        fields = [self._column.type.field(i) for i in indexes]
        for records in self._records(blocks):
            try:
                columns = [self._column.member(i, records) for i in indexes]
            except MemoryError:
                raise
            except (pa.ArrowException, ValueError, OverflowError) as error:
                raise CorruptMetadataError(
                    f"the Avro file holds a value that its schema does not allow: {error}",
                    path=self.path,
                    hint="Restore the file, or drop it from the table",
                ) from error
            yield pa.StructArray.from_arrays(columns, fields=fields)

    def _records(self, blocks: list[Block]) -> Iterator[list[Any]]:
        header = _header(self._column.decoding_schema)
        records: list[Any] = []
        size = 0
        for block in blocks:
            data = self._blocks.inflated(block)
            size += len(data)
            if block.count > len(data) // self._column.min_size:
                self._fail(block, f"it has {block.count} records in {len(data)} bytes")
            for record in self._decoded(header, block, data):
                records.append(record)
                if len(records) >= MAX_ROWS:
                    yield records
                    records, size = [], 0
            if size >= MAX_BYTES and records:
                yield records
                records, size = [], 0
        if records:
            yield records

    def _decoded(self, header: bytes, block: Block, data: bytes) -> Iterator[Any]:
        """The records of a block: fastavro is given a container file with our schema and this block alone."""
        import fastavro

        try:
            container = io.BytesIO(header + _number(block.count) + _number(len(data)) + data + _SYNC)
            for records in fastavro.block_reader(container):
                yield from records
                if records.bytes_.tell() != len(data):
                    self._fail(block, "bytes are left behind its records")
        except TableFormatsError:
            raise
        except Exception as error:
            if is_fault_of_machine(error):
                raise
            # For damaged bytes fastavro raises what Python raises on the way: EOFError, IndexError, struct.error, ...
            self._fail(block, f"{type(error).__name__}: {error}", error)

    def _fail(self, block: Block, message: str, cause: Exception | None = None) -> None:
        raise CorruptMetadataError(
            f"a block of the Avro file is damaged: {message[:200]}",
            path=self.path,
            offset=block.offset,
            hint="Restore the file, or drop it from the table",
        ) from cause


_SYNC = bytes(16)


def _header(schema: Any) -> bytes:
    """The header of a container file without a codec."""
    text = json.dumps(schema).encode()
    name = b"avro.schema"
    return b"Obj\x01" + _number(1) + _number(len(name)) + name + _number(len(text)) + text + _number(0) + _SYNC


def _number(value: int) -> bytes:
    """A number that is not negative, as Avro's zig-zag varint."""
    value <<= 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
