"""Avro object container files: the header, the blocks, and the wanted columns of their records.

:func:`read_columns` reads one file, :func:`read_columns_of_files` several of one schema. Lengths, counts, sync markers
and sizes after inflating are checked before they are used.

A file is first decoded by one call of the kernel (:func:`_decode_at_once`), large files by one call for each thread
(:func:`_decode_parts`). Where these find a file irregular (damaged, or beyond a limit), they do not say how. The file
is then decoded again block by block (:func:`_decode_blocks`), which raises the error with its offset.
Source: Apache Avro specification, "Object Container Files".
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NoReturn

from tableformats.plugin import (
    AVRO_CODECS,
    DEFAULT_LIMITS,
    CorruptMetadataError,
    LimitExceededError,
    Limits,
    dataclass,
    in_order,
    libdeflate,
)

from ..files.inflate import inflated
from ..files.strict_json import parse_json
from ._avro import NOT_UTF8, AvroDecodeError, BlockDecoder, Inflater, read_metadata, read_varint
from .columns import RawColumn
from .decode_program import ELEMENT, DecodeProgram, Path, Want, compile_program

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = [
    "ELEMENT",
    "AvroColumns",
    "Header",
    "RawColumn",
    "Want",
    "decodes_at_once",
    "read_columns",
    "read_columns_of_files",
    "read_header",
]

MAGIC = b"Obj\x01"
SYNC_SIZE = 16
_COLUMN_BYTES = 2**31 - 1
"""The most bytes of a column: Arrow's offsets have 32 bits, so no limit can raise it."""
_INFLATER_BYTES = 4 << 20
"""An inflater with a larger buffer is not reused for the next file."""
_PART_BYTES = 1 << 18
"""A smaller part of a file is not worth a thread."""
_MAP_VALUE = {"type": "bytes"}
_local = threading.local()
_Layout = tuple["np.ndarray", "np.ndarray", "np.ndarray", int, "np.ndarray", int]
"""The arguments of a :class:`BlockDecoder` that depend on the program alone."""
_NewDecoder = Callable[[Limits], BlockDecoder]


@dataclass(frozen=True)
class Header:
    """The header of a container file. The first block begins at ``offset``."""

    metadata: dict[str, bytes]
    codec: str
    sync: bytes
    offset: int

    @property
    def schema(self) -> bytes:
        """The writer's schema: the JSON text that the file holds."""
        return self.metadata["avro.schema"]

    def text(self, key: str) -> str | None:
        """A header value as text. None: it is absent, or not UTF-8."""
        value = self.metadata.get(key)
        try:
            return None if value is None else value.decode()
        except UnicodeDecodeError:
            return None


class AvroColumns:
    """The wanted columns of ``rows`` records, by path. ``source`` is the path of the file, for errors."""

    def __init__(
        self,
        header: Header,
        rows: int,
        columns: dict[Path, RawColumn],
        maps: dict[Path, dict[int, RawColumn]],
        source: str,
    ) -> None:
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
        """For each wanted key its values, one row a record. Empty where the file has no such map."""
        return self._maps.get(path, {})

    def strings(self, path: Path, name: str) -> pa.Array:
        """A column that was decoded as text: UTF-8 without NUL. Raises CorruptMetadataError for the field ``name``."""
        import pyarrow as pa

        column = self._columns[path]
        assert column.flaws is not None or not column.is_bytes, "the field is wanted as bytes"
        if column.flaws:
            message = "a string is not UTF-8" if column.flaws & NOT_UTF8 else "a string holds NUL"
            raise CorruptMetadataError(message, path=self.source, field=name)
        return column.bytes_array(pa.string())

    def required(self, path: Path, name: str) -> RawColumn:
        """A column without nulls. Raises CorruptMetadataError for the field ``name``."""
        column = self._columns[path]
        if column.null_count:
            raise CorruptMetadataError("a required field is missing or null", path=self.source, field=name)
        return column


def read_header(data: bytes | memoryview, path: str) -> Header:
    """Read the header of a container file.

    Raises
    ------
    CorruptMetadataError
        The bytes are not an Avro file, the header is damaged or has no schema, or the codec is unknown.
    """
    if data[:4] != MAGIC:
        hint = "It may be encrypted" if data[:4] == b"AGS1" else "The file is damaged or of another kind"
        raise CorruptMetadataError("this is no Avro file", path=path, offset=0, hint=hint)
    try:
        metadata, offset = read_metadata(data, len(MAGIC))
    except AvroDecodeError as error:
        raise CorruptMetadataError(f"the Avro header is damaged: {error}", path=path, offset=error.offset) from None
    if len(data) - offset < SYNC_SIZE:
        raise CorruptMetadataError("the Avro header is truncated", path=path, offset=offset)
    if "avro.schema" not in metadata:
        raise CorruptMetadataError("the Avro header has no schema", path=path, field="avro.schema")
    codec = metadata.get("avro.codec", b"null").decode(errors="replace")
    if codec not in AVRO_CODECS:
        raise CorruptMetadataError(
            f"the Avro codec {codec[:50]!r} is none that manifests are written with",
            path=path,
            field="avro.codec",
            hint=f"Known: {', '.join(AVRO_CODECS)}",
        )
    return Header(metadata, codec, bytes(data[offset : offset + SYNC_SIZE]), offset + SYNC_SIZE)


def read_columns(
    data: bytes | memoryview,
    wants: Sequence[Want],
    keys: Sequence[int],
    path: str,
    *,
    header: Header | None = None,
    drop: tuple[Path, int] | None = None,
    expected: int = 0,
    limits: Limits = DEFAULT_LIMITS,
    threads: int = 1,
) -> AvroColumns:
    """Decode fields of all records of a file.

    Parameters
    ----------
    data : bytes or memoryview
        The whole file.
    wants : sequence of Want
    keys : sequence of int
        The keys (column field ids) whose values are decoded of each map, ascending and distinct.
    path : str
        For errors.
    header : Header, optional
        The file's header, if it was read already.
    drop : tuple of (path, value), optional
        Leave out the records that have this value in this integer field.
    expected : int
        About how many records there are; 0 if unknown.
    limits : Limits
    threads : int
        How many threads may share a large file.

    Raises
    ------
    CorruptMetadataError
        The file is damaged. Carries the path and, where known, the offset.
    LimitExceededError
        A block passes the limit ``inflated_bytes``, the file ``entries`` or ``decoded_bytes``, or a column has more
        than 2 GiB, because its offsets have 32 bits.
    """
    header = header or read_header(data, path)
    try:
        program, layout = _compiled(header.schema, tuple(wants), tuple(keys), None if drop is None else drop[0])
    except CorruptMetadataError as error:
        error.path = path
        raise
    file = _File(data, header, program.min_size, path, limits, limits.within(len(data)))
    new_decoder = partial(_decoder, layout, drop, expected, len(data))
    decoder = None
    if decodes_at_once(header):
        decoder = _decode_parts(new_decoder, file, threads)
    if decoder is None:
        decoder = new_decoder(file.bounds)
        _decode_blocks(decoder, file)
    return _columns(decoder, program, keys, header, path)


def read_columns_of_files(
    files: Iterable[tuple[bytes | memoryview, Header]],
    wants: Sequence[Want],
    keys: Sequence[int],
    *,
    drop: tuple[Path, int] | None = None,
    expected: int = 0,
    size: int = 0,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[AvroColumns, list[int]] | None:
    """Decode fields of several files of one schema into the same columns, one file after the other.

    Parameters
    ----------
    files : iterable of (bytes or memoryview, Header)
        At least one file. :func:`decodes_at_once` holds for all. The bytes of a file are not used any more when the
        next file is requested.
    wants, keys, drop, limits
        See :func:`read_columns`.
    expected, size : int
        About how many records and bytes all files have.

    Returns
    -------
    tuple of (AvroColumns, list of int), optional
        The columns, and for each file the row at which it ends. None: a file is irregular. Read the files one by one
        then; the damaged one raises its error.

    Raises
    ------
    CorruptMetadataError
        The schema is damaged.
    """
    rest = iter(files)
    first_data, first = next(rest)
    program, layout = _compiled(first.schema, tuple(wants), tuple(keys), None if drop is None else drop[0])
    bounds = limits.within(max(size, len(first_data)))
    decoder = _decoder(layout, drop, expected, size, bounds)
    ends = []
    for data, header in chain([(first_data, first)], rest):
        size -= len(data)
        file = _File(data, header, program.min_size, "", limits, limits.within(len(data)))
        if not _decode_at_once(decoder, file, max(size, 0)):
            return None
        ends.append(decoder.rows)
    return _columns(decoder, program, keys, first, ""), ends


def decodes_at_once(header: Header) -> bool:
    """Whether the kernel inflates and decodes all blocks of such a file in one call."""
    return header.codec == "null" or (header.codec == "deflate" and libdeflate() is not None)


def _decoder(layout: _Layout, drop: tuple[Path, int] | None, expected: int, size: int, limits: Limits) -> BlockDecoder:
    decoder = BlockDecoder(*layout, drop[1] if drop else 0, limits.decoded_bytes)
    # The expected count comes from the table. A record has at least one byte, so the file's size bounds the memory.
    decoder.expect(min(expected, size))
    return decoder


def _columns(
    decoder: BlockDecoder, program: DecodeProgram, keys: Sequence[int], header: Header, path: str
) -> AvroColumns:
    """Take the columns over from the decoder."""
    columns = {c.path: RawColumn(*decoder.column(i), c.avro) for i, c in enumerate(program.columns)}
    maps: dict[Path, dict[int, RawColumn]] = {}
    index = len(columns)
    for map_path in program.maps:
        maps[map_path] = {}
        for key in keys:
            maps[map_path][key] = RawColumn(*decoder.column(index), _MAP_VALUE)
            index += 1
    return AvroColumns(header, decoder.rows, columns, maps, path)


@lru_cache(maxsize=256)
def _compiled(
    schema: bytes, wants: tuple[Want, ...], keys: tuple[int, ...], drop: Path | None
) -> tuple[DecodeProgram, _Layout]:
    """Compile the program for a writer's schema. Cached, because the files of a table have few schemas."""
    import numpy as np

    program = compile_program(parse_json(schema, ""), wants, len(keys), "")
    sparse = [holds for holds in program.maps.values() for _ in keys]
    kinds = np.array([*(c.holds for c in program.columns), *sparse], np.uint8)
    parents = np.array([*(c.parent for c in program.columns), *(-1 for _ in sparse)], np.int32)
    column = -1 if drop is None else [c.path for c in program.columns].index(drop)
    return program, (
        np.array(program.words, np.int32),
        kinds,
        parents,
        len(program.columns),
        np.array(keys, np.int32),
        column,
    )


@dataclass(frozen=True)
class _File:
    """A file, or its first blocks, to be decoded. A record has at least ``min_size`` bytes.

    ``bounds`` are the limits that a file of its size may reach.
    """

    data: bytes | memoryview
    header: Header
    min_size: int
    path: str
    limits: Limits
    bounds: Limits


def _decode_at_once(decoder: BlockDecoder, file: _File, ahead: int = 0) -> bool:
    """Decode all blocks of a file in one call of the kernel. False: it is irregular, and the decoder is not usable.

    About ``ahead`` bytes of other files will follow into the same decoder, so it makes room for them too.
    """
    header, bounds = file.header, file.bounds
    inflater = _inflater() if header.codec == "deflate" else None
    min_size = max(file.min_size, 1)
    total = file.limits.budget(len(file.data))
    return decoder.decode_file(
        file.data, header.offset, header.sync, min_size, bounds.entries, inflater, bounds.inflated_bytes, total, ahead
    )


def _decode_parts(new_decoder: _NewDecoder, file: _File, threads: int) -> BlockDecoder | None:
    """Decode a file, each thread a part of it. None: it is irregular, or a part passes its share of the limits."""
    header, limits, cuts = file.header, file.bounds, _cuts(file.data, file.header, threads)
    if not cuts:
        single = new_decoder(limits)
        return single if _decode_at_once(single, file) else None
    view, n_parts = memoryview(file.data), len(cuts) + 1
    # Each part has a share of the limits, so that all parts together stay within them. The first decoder has the full
    # limits, because the others are appended to it.
    share = replace(limits, entries=-(-limits.entries // n_parts), decoded_bytes=-(-limits.decoded_bytes // n_parts))

    def decoded(span: tuple[int, int]) -> BlockDecoder | None:
        start, stop = span
        is_first = start == header.offset
        decoder = new_decoder(limits if is_first else share)
        ahead = len(view) - stop if is_first else 0
        part = replace(file, data=view[:stop], header=replace(header, offset=start), bounds=share)
        return decoder if _decode_at_once(decoder, part, ahead) else None

    first, *rest = in_order(decoded, pairwise([header.offset, *cuts, len(view)]))
    if first is None or not all(more is not None and first.append(more) for more in rest):
        return None
    return first


def _cuts(data: bytes | memoryview, header: Header, parts: int) -> list[int]:
    """Offsets of blocks that cut a file into at most ``parts`` parts of similar size; none if it is irregular."""
    begin, end = header.offset, len(data)
    parts = min(parts, (end - begin) // _PART_BYTES)
    cuts: list[int] = []
    offset = begin
    while len(cuts) < parts - 1 and offset < end:
        try:
            _, offset = read_varint(data, offset)
            size, offset = read_varint(data, offset)
        except AvroDecodeError:
            return []
        offset += size + SYNC_SIZE
        if size < 0 or offset > end:
            return []
        if end > offset >= begin + (end - begin) * (len(cuts) + 1) // parts:
            cuts.append(offset)
    return cuts


def _inflater() -> Inflater:
    """The inflater of this thread."""
    inflater: Inflater | None = getattr(_local, "inflater", None)
    if inflater is None or inflater.capacity > _INFLATER_BYTES:
        functions = libdeflate()
        assert functions is not None, "decodes_at_once() is true for the file"
        inflater = _local.inflater = Inflater(functions)
    return inflater


def _decode_blocks(decoder: BlockDecoder, file: _File) -> None:
    """Decode a file block by block, with an error that names the offset of the damage."""
    data, header, path, limits = file.data, file.header, file.path, file.limits
    view = memoryview(data)
    offset, end = header.offset, len(data)
    entries, room = 0, limits.budget(len(data))
    while offset < end:
        start = offset
        try:
            count, offset = read_varint(data, offset)
            size, offset = read_varint(data, offset)
        except AvroDecodeError as error:
            raise CorruptMetadataError(f"an Avro block is damaged: {error}", path=path, offset=error.offset) from None
        if count < 0 or size < 0 or size > end - offset - SYNC_SIZE:
            raise CorruptMetadataError("an Avro block is truncated, or its size is wrong", path=path, offset=start)
        if data[offset + size : offset + size + SYNC_SIZE] != header.sync:
            raise CorruptMetadataError("an Avro block does not end in the sync marker", path=path, offset=offset + size)
        block = inflated(header.codec, view[offset : offset + size], limits, path, offset, end, room)
        room -= len(block)
        if count > len(block) // file.min_size:
            raise CorruptMetadataError(
                f"an Avro block declares {count} records in {len(block)} bytes", path=path, offset=start
            )
        entries += count
        if entries > file.bounds.entries:
            what = f"{entries} records or more of an Avro file"
            raise limits.exceeded("entries", what, path=path, offset=start, stored=end)
        try:
            decoder.decode(block, count)
        except AvroDecodeError as error:
            _refuse_block(error, file, offset)
        offset += size + SYNC_SIZE


def _refuse_block(error: AvroDecodeError, file: _File, offset: int) -> NoReturn:
    codec, path = file.header.codec, file.path
    where = offset + (error.offset if codec == "null" else 0)
    inside = "" if codec == "null" else f", {error.offset} bytes into the inflated block"
    if error.limit:
        raise _too_large(file, where) from None
    raise CorruptMetadataError(f"an Avro record is damaged: {error}{inside}", path=path, offset=where) from None


def _too_large(file: _File, offset: int) -> LimitExceededError:
    path, limits, stored = file.path, file.limits, len(file.data)
    if file.bounds.decoded_bytes > _COLUMN_BYTES:
        return LimitExceededError(
            "a column of an Avro file takes more than 2 GiB, which its offsets cannot count",
            path=path,
            offset=offset,
            hint="Rewrite the table's manifests",
        )
    return limits.exceeded("decoded_bytes", "bytes of an Avro file's columns", path=path, offset=offset, stored=stored)
