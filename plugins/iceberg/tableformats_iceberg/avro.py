"""Avro object container files: the header, the blocks, and the columns that are wanted of their records.

:func:`read_columns` is the one way in. Everything that a file claims (lengths, counts, sync markers, sizes after
inflating) is checked before it is believed. Source: Apache Avro specification, "Object Container Files".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tableformats.errors import CorruptMetadataError, LimitExceededError

from ._avro import AvroDecodeError, BlockDecoder, read_varint
from .avro_schema import ELEMENT, ColumnSpec, Path, Want, compile_program
from .codecs import inflated
from .jsontext import parse_json

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["ELEMENT", "AvroColumns", "Header", "RawColumn", "Want", "read_columns", "read_header"]

MAGIC = b"Obj\x01"
SYNC_SIZE = 16
MAX_BLOCK_BYTES = 256 << 20
"""Most bytes that one block may inflate to; writers cut blocks at 16 KB to some MB."""
MAX_COLUMN_BYTES = 2 << 30
"""Most bytes that the decoded columns of one file may take."""


@dataclass(frozen=True)
class Header:
    """The header of a container file; ``offset`` is where its first block begins."""

    metadata: dict[str, bytes]
    schema: Any
    codec: str
    sync: bytes
    offset: int

    def text(self, key: str) -> str | None:
        """A header value as text, or None where it is absent or no UTF-8."""
        value = self.metadata.get(key)
        try:
            return None if value is None else value.decode()
        except UnicodeDecodeError:
            return None


@dataclass
class RawColumn:
    """A decoded column: ``values`` int64[n] (integers, float bits, list ends, or starts in ``data``), ``valid``
    bool[n], and for byte values ``sizes`` int32[n] and ``data`` uint8[m]. ``avro`` is the Avro type, empty where the
    file has no such field."""

    values: np.ndarray
    valid: np.ndarray
    sizes: np.ndarray | None
    data: np.ndarray | None
    avro: dict[str, Any]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        arrays = (self.values, self.valid, self.sizes, self.data)
        return sum(array.nbytes for array in arrays if array is not None)

    def integers(self, default: int = 0) -> np.ndarray:
        """int64[n] with ``default`` for nulls."""
        import numpy as np

        return np.where(self.valid, self.values, default)

    def int_array(self, kind: pa.DataType | None = None) -> pa.Array:
        """The integers as an Arrow array, int64 unless ``kind`` says otherwise."""
        import pyarrow as pa

        array = pa.array(self.values, pa.int64(), mask=~self.valid)
        return array if kind is None else array.cast(kind, safe=False)

    def take(self, rows: np.ndarray) -> RawColumn:
        """The rows ``rows`` (int64 indices); the bytes stay where they are."""
        sizes = None if self.sizes is None else self.sizes[rows]
        return RawColumn(self.values[rows], self.valid[rows], sizes, self.data, self.avro)

    def bytes_array(self, kind: pa.DataType) -> pa.Array:
        """The byte values as Arrow ``kind`` (string or binary), not validated."""
        import numpy as np
        import pyarrow as pa

        if self.sizes is None or self.data is None:
            return pa.nulls(len(self), kind)
        sizes = np.where(self.valid, self.sizes, 0)
        ends = np.cumsum(sizes, dtype=np.int64)
        total = int(ends[-1]) if len(ends) else 0
        if total > np.iinfo(np.int32).max:
            raise LimitExceededError("a column of a manifest holds more than 2 GiB")
        data = self.data
        starts = ends - sizes
        if total != len(data) or not np.array_equal(starts[self.valid], self.values[self.valid]):
            # Rows were taken, or a map repeated a key: gather what is left.
            data = data[np.arange(total) + np.repeat(self.values - starts, sizes)]
        offsets = np.zeros(len(self) + 1, np.int32)
        offsets[1:] = ends
        validity = None if self.valid.all() else pa.array(self.valid).buffers()[1]
        return pa.Array.from_buffers(kind, len(self), [validity, pa.py_buffer(offsets), pa.py_buffer(data)])

    def list_offsets(self) -> np.ndarray:
        """int64[n + 1] into the children of a list column."""
        import numpy as np

        return np.concatenate([np.zeros(1, np.int64), self.values])


class AvroColumns:
    """The wanted columns of one file, by path; ``rows`` records."""

    def __init__(self, header: Header, rows: int, columns: dict[Path, RawColumn],
                 maps: dict[Path, dict[int, RawColumn]], source: str) -> None:  # fmt: skip
        self.header = header
        self.rows = rows
        self.source = source
        self._columns = columns
        self._maps = maps

    @property
    def nbytes(self) -> int:
        """Memory that the columns hold."""
        maps = (column for found in self._maps.values() for column in found.values())
        return sum(column.nbytes for column in (*self._columns.values(), *maps))

    def __getitem__(self, path: Path) -> RawColumn:
        return self._columns[path]

    def has(self, path: Path) -> bool:
        """Whether the writer's schema has the field."""
        return bool(self._columns[path].avro)

    def map_columns(self, path: Path) -> dict[int, RawColumn]:
        """{wanted key: its values, one row a record}; empty where the file has no such map."""
        return self._maps.get(path, {})

    def strings(self, path: Path, name: str) -> pa.Array:
        """A column of paths or names: valid UTF-8 without NUL. Raises CorruptMetadataError naming field ``name``."""
        import pyarrow as pa

        column = self._columns[path]
        array = column.bytes_array(pa.string())
        if column.data is not None and not column.data.all():
            raise CorruptMetadataError("a string holds NUL", path=self.source, field=name)
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            raise CorruptMetadataError("a string is not UTF-8", path=self.source, field=name) from None
        return array

    def required(self, path: Path, name: str) -> RawColumn:
        """A column without nulls. Raises CorruptMetadataError naming field ``name``."""
        column = self._columns[path]
        if not column.valid.all():
            raise CorruptMetadataError("a required field is missing or null", path=self.source, field=name)
        return column


def read_header(data: bytes, path: str) -> Header:
    """The header of a container file.

    Raises
    ------
    CorruptMetadataError : no Avro file, a truncated or damaged header, no schema, an unknown codec
    """
    from tableformats.inflate import AVRO_CODECS

    if data[:4] != MAGIC:
        hint = "It may be encrypted" if data[:4] == b"AGS1" else "The file is damaged or of another kind"
        raise CorruptMetadataError("this is no Avro file", path=path, offset=0, hint=hint)
    try:
        metadata, offset = _read_metadata(data, 4)
    except AvroDecodeError as error:
        raise CorruptMetadataError(f"the Avro header is damaged: {error}", path=path, offset=error.offset) from None
    if len(data) - offset < SYNC_SIZE:
        raise CorruptMetadataError("the Avro header is truncated", path=path, offset=offset)
    if "avro.schema" not in metadata:
        raise CorruptMetadataError("the Avro header has no schema", path=path, field="avro.schema")
    codec = metadata.get("avro.codec", b"null").decode(errors="replace")
    if codec not in AVRO_CODECS:
        raise CorruptMetadataError(f"the Avro codec {codec[:50]!r} is none that manifests are written with",
                                   path=path, field="avro.codec", hint=f"Known: {', '.join(AVRO_CODECS)}")  # fmt: skip
    schema = parse_json(metadata["avro.schema"], path)
    return Header(metadata, schema, codec, data[offset : offset + SYNC_SIZE], offset + SYNC_SIZE)


def _read_metadata(data: bytes, offset: int) -> tuple[dict[str, bytes], int]:
    """The header's map of bytes: blocks of (count, pairs), closed by 0; a negative count is followed by a size."""
    found: dict[str, bytes] = {}
    while True:
        start = offset
        count, offset = read_varint(data, offset)
        if count == 0:
            return found, offset
        if count < 0:
            _, offset = read_varint(data, offset)
            count = -count
        if count > len(data) - offset:
            raise AvroDecodeError("the map declares more entries than the file can hold", start)
        for _ in range(count):
            key, offset = _read_bytes(data, offset)
            value, offset = _read_bytes(data, offset)
            found[key.decode(errors="replace")] = value


def _read_bytes(data: bytes, offset: int) -> tuple[bytes, int]:
    start = offset
    size, offset = read_varint(data, offset)
    if size < 0 or size > len(data) - offset:
        raise AvroDecodeError("a length is negative or passes the end of the file", start)
    return data[offset : offset + size], offset + size


def read_columns(
    data: bytes, wants: Sequence[Want], keys: Sequence[int], path: str, header: Header | None = None
) -> AvroColumns:
    """Decode the fields ``wants`` of all records, and of the maps among them the entries of ``keys``.

    Parameters
    ----------
    data : the whole file
    keys : wanted keys of maps (column field ids), ascending, distinct
    path : for errors
    header : where it was read already

    Raises
    ------
    CorruptMetadataError : with path and, where known, offset
    LimitExceededError : a block or the columns pass :data:`MAX_BLOCK_BYTES` or :data:`MAX_COLUMN_BYTES`
    """
    import numpy as np

    header = header or read_header(data, path)
    program = compile_program(header.schema, wants, len(keys), path)
    has_data = [c.has_data for c in program.columns]
    for is_bytes in program.maps.values():
        has_data += [is_bytes] * len(keys)
    decoder = BlockDecoder(np.array(program.words, np.int32), np.array(has_data, np.uint8), len(program.columns),
                           np.array(keys, np.int32), MAX_COLUMN_BYTES)  # fmt: skip
    rows = _decode_blocks(decoder, data, header, program.min_size, path)
    columns = {c.path: _column(decoder, i, c) for i, c in enumerate(program.columns)}
    maps: dict[Path, dict[int, RawColumn]] = {}
    index = len(program.columns)
    for map_path in program.maps:
        maps[map_path] = {}
        for key in keys:
            maps[map_path][key] = _column(decoder, index, ColumnSpec(map_path, {"type": "bytes"}))
            index += 1
    return AvroColumns(header, rows, columns, maps, path)


def _column(decoder: BlockDecoder, index: int, column: ColumnSpec) -> RawColumn:
    return RawColumn(*decoder.column(index), column.avro)


def _decode_blocks(decoder: BlockDecoder, data: bytes, header: Header, min_size: int, path: str) -> int:
    """Run the decoder over all blocks; the number of records."""
    view = memoryview(data)
    offset, rows = header.offset, 0
    while offset < len(data):
        start = offset
        try:
            count, offset = read_varint(data, offset)
            size, offset = read_varint(data, offset)
        except AvroDecodeError as error:
            raise CorruptMetadataError(f"an Avro block is damaged: {error}", path=path, offset=error.offset) from None
        if count < 0 or size < 0 or size > len(data) - offset - SYNC_SIZE:
            raise CorruptMetadataError("an Avro block is truncated, or its size is wrong", path=path, offset=start)
        if data[offset + size : offset + size + SYNC_SIZE] != header.sync:
            raise CorruptMetadataError("an Avro block does not end in the sync marker", path=path, offset=offset + size)
        block = inflated(header.codec, view[offset : offset + size], MAX_BLOCK_BYTES, path, offset)
        if count > len(block) // min_size:
            raise CorruptMetadataError(f"an Avro block declares {count} records in {len(block)} bytes",
                                       path=path, offset=start)  # fmt: skip
        _decode_block(decoder, block, count, header.codec, path, offset)
        rows += count
        offset += size + SYNC_SIZE
    return rows


def _decode_block(
    decoder: BlockDecoder, block: bytes | memoryview, count: int, codec: str, path: str, offset: int
) -> None:
    try:
        decoder.decode(block, count)
    except AvroDecodeError as error:
        where = offset + (error.offset if codec == "null" else 0)
        inside = "" if codec == "null" else f", {error.offset} bytes into the inflated block"
        if error.limit:
            raise LimitExceededError(f"an Avro file is too large: {error}", path=path, offset=where) from None
        raise CorruptMetadataError(f"an Avro record is damaged: {error}{inside}", path=path, offset=where) from None
