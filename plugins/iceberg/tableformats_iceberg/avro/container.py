"""Avro object container files: the header, the blocks, and the columns that are wanted of their records.

:func:`read_columns` is the one way in. Everything that a file claims (lengths, counts, sync markers, sizes after
inflating) is checked before it is believed. Source: Apache Avro specification, "Object Container Files".
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NoReturn

from tableformats.plugin import DEFAULT_LIMITS, CorruptMetadataError, LimitExceededError, Limits, in_order

from ..metadata.jsontext import parse_json
from ._avro import NOT_UTF8, AvroDecodeError, BlockDecoder, Inflater, read_metadata, read_varint
from .codecs import inflated
from .columns import RawColumn
from .schema import ELEMENT, Path, Program, Want, compile_program

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
    "read_columns_together",
    "read_header",
]

MAGIC = b"Obj\x01"
SYNC_SIZE = 16
_COLUMN_BYTES = 2**31 - 1
"""A column of bytes, at most: Arrow's offsets have 32 bits, which no limit can raise."""
_KEPT_BYTES = 4 << 20
"""Memory for inflated blocks that is kept for the next file has no more."""
_PART_BYTES = 1 << 18
"""Less of a file is not worth a thread."""
_MAP_VALUE = {"type": "bytes"}
_local = threading.local()
_Layout = tuple["np.ndarray", "np.ndarray", "np.ndarray", int, "np.ndarray", int]
"""What a :class:`BlockDecoder` wants of a program."""
_Fresh = Callable[[Limits], BlockDecoder]


@dataclass(frozen=True)
class Header:
    """The header of a container file; ``offset`` is where its first block begins."""

    metadata: dict[str, bytes]
    codec: str
    sync: bytes
    offset: int

    @property
    def schema(self) -> bytes:
        """The writer's schema, JSON as it stands in the file."""
        return self.metadata["avro.schema"]

    def text(self, key: str) -> str | None:
        """A header value as text, or None where it is absent or no UTF-8."""
        value = self.metadata.get(key)
        try:
            return None if value is None else value.decode()
        except UnicodeDecodeError:
            return None


class AvroColumns:
    """The wanted columns of one file, by path; ``rows`` records."""

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
        """{wanted key: its values, one row a record}; empty where the file has no such map."""
        return self._maps.get(path, {})

    def strings(self, path: Path, name: str) -> pa.Array:
        """A column that was wanted as text: UTF-8 without NUL. Raises CorruptMetadataError naming field ``name``."""
        import pyarrow as pa

        column = self._columns[path]
        assert column.flaws is not None or not column.is_bytes, "the field is wanted as bytes"
        if column.flaws:
            message = "a string is not UTF-8" if column.flaws & NOT_UTF8 else "a string holds NUL"
            raise CorruptMetadataError(message, path=self.source, field=name)
        return column.bytes_array(pa.string())

    def required(self, path: Path, name: str) -> RawColumn:
        """A column without nulls. Raises CorruptMetadataError naming field ``name``."""
        column = self._columns[path]
        if column.null_count:
            raise CorruptMetadataError("a required field is missing or null", path=self.source, field=name)
        return column


def read_header(data: bytes | memoryview, path: str) -> Header:
    """The header of a container file.

    Raises
    ------
    CorruptMetadataError : no Avro file, a truncated or damaged header, no schema, an unknown codec
    """
    from tableformats.plugin import AVRO_CODECS

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
    header: Header | None = None,
    drop: tuple[Path, int] | None = None,
    expected: int = 0,
    limits: Limits = DEFAULT_LIMITS,
    threads: int = 1,
) -> AvroColumns:
    """Decode the fields ``wants`` of all records, and of the maps among them the entries of ``keys``.

    Parameters
    ----------
    data : the whole file
    keys : wanted keys of maps (column field ids), ascending, distinct
    path : for errors
    header : where it was read already
    drop : leave out the records that have this value in this integer field
    expected : about how many records there are, where something says it
    threads : that may share a large file

    Raises
    ------
    CorruptMetadataError : with path and, where known, offset
    LimitExceededError : the limits ``inflated_bytes`` of a block, ``entries`` and ``decoded_bytes`` of the file; a
        column of more than 2 GiB, whose offsets have 32 bits
    """
    header = header or read_header(data, path)
    try:
        program, layout = _compiled(header.schema, tuple(wants), tuple(keys), None if drop is None else drop[0])
    except CorruptMetadataError as error:
        error.path = path
        raise
    fresh = partial(_decoder, layout, drop, expected, len(data))
    decoder = None
    if decodes_at_once(header):
        decoder = _decode_parts(fresh, data, header, program.min_size, limits, threads)
    if decoder is None:
        decoder = fresh(limits)
        _decode_blocks(decoder, data, header, program.min_size, path, limits)
    return _columns(decoder, program, keys, header, path)


def read_columns_together(
    files: Iterable[tuple[bytes | memoryview, Header]],
    wants: Sequence[Want],
    keys: Sequence[int],
    drop: tuple[Path, int] | None = None,
    expected: int = 0,
    size: int = 0,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[AvroColumns, list[int]] | None:
    """:func:`read_columns` of several files of one schema, one behind the other, and how many rows there are up to the
    end of each. None where anything is odd: read alone, each file says what it is.

    Parameters
    ----------
    files : the bytes and the header of each (one at least), for which :func:`decodes_at_once` holds; done with when the
        next is asked for
    expected, size : about how many records and bytes they have together

    Raises
    ------
    CorruptMetadataError : the schema is none
    """
    rest = iter(files)
    begin, first = next(rest)
    program, layout = _compiled(first.schema, tuple(wants), tuple(keys), None if drop is None else drop[0])
    decoder = _decoder(layout, drop, expected, size, limits)
    ends = []
    for data, header in chain([(begin, first)], rest):
        size -= len(data)
        if not _decode_at_once(decoder, data, header, program.min_size, limits, max(size, 0)):
            return None
        ends.append(decoder.rows)
    return _columns(decoder, program, keys, first, ""), ends


def decodes_at_once(header: Header) -> bool:
    """Whether all blocks of such a file are inflated and decoded in one call."""
    from tableformats.plugin import libdeflate

    return header.codec == "null" or (header.codec == "deflate" and libdeflate() is not None)


def _decoder(layout: _Layout, drop: tuple[Path, int] | None, expected: int, size: int, limits: Limits) -> BlockDecoder:
    decoder = BlockDecoder(*layout, drop[1] if drop else 0, limits.decoded_bytes)
    # A list's word is not to be trusted with memory: records have some bytes each.
    decoder.expect(min(expected, size))
    return decoder


def _columns(decoder: BlockDecoder, program: Program, keys: Sequence[int], header: Header, path: str) -> AvroColumns:
    """What was decoded, handed over."""
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
) -> tuple[Program, _Layout]:
    """The program for a writer's schema, of which the files of a table have few."""
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


def _decode_at_once(
    decoder: BlockDecoder, data: bytes | memoryview, header: Header, min_size: int, limits: Limits, ahead: int = 0
) -> bool:
    """Run the decoder over all blocks of a file without coming back to Python, where about ``ahead`` bytes of others
    will follow. False where anything is odd."""
    inflater = _inflater() if header.codec == "deflate" else None
    return decoder.decode_file(
        data, header.offset, header.sync, max(min_size, 1), limits.entries, inflater, limits.inflated_bytes, ahead
    )


def _decode_parts(
    fresh: _Fresh, data: bytes | memoryview, header: Header, min_size: int, limits: Limits, threads: int
) -> BlockDecoder | None:
    """The records of a file, of which each of some threads decodes a part. None where anything is odd, or a part has
    more than its share of the limits."""
    view, cuts = memoryview(data), _cuts(data, header, threads)
    if not cuts:
        alone = fresh(limits)
        return alone if _decode_at_once(alone, data, header, min_size, limits) else None
    parts = len(cuts) + 1
    # Each part has a share of the limits, lest all have many times as much; what is appended counts in full.
    share = replace(limits, entries=-(-limits.entries // parts), decoded_bytes=-(-limits.decoded_bytes // parts))

    def decoded(span: tuple[int, int]) -> BlockDecoder | None:
        start, stop = span
        is_first = start == header.offset
        decoder = fresh(limits) if is_first else fresh(share)
        ahead = len(data) - stop if is_first else 0
        begin = replace(header, offset=start)
        return decoder if _decode_at_once(decoder, view[:stop], begin, min_size, share, ahead) else None

    first, *rest = in_order(decoded, pairwise([header.offset, *cuts, len(data)]))
    if first is None or not all(more is not None and first.append(more) for more in rest):
        return None
    return first


def _cuts(data: bytes | memoryview, header: Header, parts: int) -> list[int]:
    """Where blocks begin that cut a file into ``parts`` of about one size, or fewer; where it is odd, in one."""
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
    """This thread's."""
    from tableformats.plugin import libdeflate

    inflater: Inflater | None = getattr(_local, "inflater", None)
    if inflater is None or inflater.capacity > _KEPT_BYTES:
        functions = libdeflate()
        assert functions is not None, "decodes_at_once() was asked"
        inflater = _local.inflater = Inflater(functions)
    return inflater


def _decode_blocks(
    decoder: BlockDecoder, data: bytes | memoryview, header: Header, min_size: int, path: str, limits: Limits
) -> None:
    """Run the decoder over all blocks, one by one."""
    view = memoryview(data)
    offset, end = header.offset, len(data)
    entries = 0
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
        block = inflated(header.codec, view[offset : offset + size], limits, path, offset)
        if count > len(block) // min_size:
            raise CorruptMetadataError(
                f"an Avro block declares {count} records in {len(block)} bytes", path=path, offset=start
            )
        entries += count
        limits.check("entries", entries, "records or more of an Avro file", path=path, offset=start)
        try:
            decoder.decode(block, count)
        except AvroDecodeError as error:
            _refuse_block(error, header.codec, path, offset, limits)
        offset += size + SYNC_SIZE


def _refuse_block(error: AvroDecodeError, codec: str, path: str, offset: int, limits: Limits) -> NoReturn:
    where = offset + (error.offset if codec == "null" else 0)
    inside = "" if codec == "null" else f", {error.offset} bytes into the inflated block"
    if error.limit:
        raise _too_large(path, where, limits) from None
    raise CorruptMetadataError(f"an Avro record is damaged: {error}{inside}", path=path, offset=where) from None


def _too_large(path: str, offset: int, limits: Limits) -> LimitExceededError:
    if limits.decoded_bytes > _COLUMN_BYTES:
        return LimitExceededError(
            "a column of an Avro file takes more than 2 GiB, which its offsets cannot count",
            path=path,
            offset=offset,
            hint="Rewrite the table's manifests",
        )
    return limits.exceeded("decoded_bytes", "bytes of an Avro file's columns", path=path, offset=offset)
