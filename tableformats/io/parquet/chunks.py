"""Sizes and places of the column chunks of a Parquet file, from its footer, and what its pages say that they become.

pyarrow ends the process where a column chunk contradicts the schema (:mod:`tableformats.io.parquet.footers`), as soon
as its metadata are asked for. So pyarrow is asked where the footer is sound. The sizes of others are read here, and
whether their pages can be read is Arrow's to say, which raises an error then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from ...columnar.arrow_schemas import schema_cost
from ...dataclass import dataclass
from ...errors import CorruptMetadataError
from ...limits import FOOTER_ITEMS, Limits
from .._thrift import codecs_of, path_cost, read_struct_at
from .footers import arrow_schemas_of, chunks_of, has_sound_chunks

__all__ = ["Chunk", "RowGroups", "check_footer", "check_pages", "count_rows"]

_END_BYTES = 8
"""The size of the footer and the magic number, which follow it."""
_MAGIC = b"PAR1"
"""Encrypted footers have another magic number."""


_CODECS = {0: "UNCOMPRESSED", 1: "SNAPPY"}
_TAME = ("UNCOMPRESSED", "SNAPPY")  # the first two of the format
"""Codecs by which a byte becomes at most some ten; of others a few bytes may become gigabytes."""
_COPIES = 4
"""What is in a page stands in memory several times: inflated, as an Arrow array, and as what is made of that."""
_MOST_CHECKED = 8 << 20
"""Pages of larger files are not looked at: who makes them so large pays for what they cost."""


@dataclass(frozen=True)
class Chunk:
    """A column chunk: where its pages begin, its bytes before and after compression, and its codec."""

    data_page_offset: int
    dictionary_page_offset: int | None
    total_compressed_size: int
    total_uncompressed_size: int
    compression: str


class RowGroups:
    """The column chunks of a file.

    Parameters
    ----------
    source : pyarrow.NativeFile
    metadata : pyarrow.parquet.FileMetaData
    path : str
        For errors.

    Raises
    ------
    CorruptMetadataError
        The footer is damaged.
    """

    def __init__(self, source: pa.NativeFile, metadata: Any, path: str) -> None:
        self._metadata = metadata
        footer = _footer(source, metadata)
        self._chunks = None if has_sound_chunks(footer) else _chunks(footer, metadata, path)

    @property
    def is_sound(self) -> bool:
        """Whether pyarrow can be asked about every column chunk and its statistics."""
        return self._chunks is None

    def chunk_of(self, number: int) -> Callable[[int], Any]:
        """What gives the column chunk of a leaf column in the row group ``number``, with the attributes of `Chunk`."""
        if self._chunks is None:
            return self._metadata.row_group(number).column  # type: ignore[no-any-return]
        return self._chunks[number].__getitem__


def check_footer(source: pa.NativeFile, path: str, limits: Limits) -> None:
    """Refuse a file, before Arrow opens it, whose footer becomes more than the limit ``expansion`` allows.

    Raises
    ------
    LimitExceededError
        The dotted names of its columns take too much: a long name of a group stands in that of each column below it. Or
        the Arrow schema that is stored in it does (:mod:`tableformats.columnar.arrow_schemas`).
    CorruptMetadataError
        The footer is damaged.
    """
    size = source.size()
    if size < _END_BYTES:
        return  # Arrow says what is wrong
    end = bytes(source.read_at(_END_BYTES, size - _END_BYTES))
    length = int.from_bytes(end[:4], "little")
    if end[4:] != _MAGIC or length > size - _END_BYTES:
        return
    try:
        footer = bytes(source.read_at(length, size - _END_BYTES - length))
        names, schema = path_cost(footer), sum(map(schema_cost, arrow_schemas_of(footer)))
    except ValueError as error:
        raise CorruptMetadataError(
            f"the footer of the file is damaged: {error}", path=path, hint="Restore the file, or drop it from the table"
        ) from None
    for cost, what in ((names, "names"), (schema, "the Arrow schema")):
        if cost > limits.budget(size):
            raise limits.exceeded("expansion", f"{cost} bytes of {what} of a Parquet file of {size} bytes", path=path)


def count_rows(source: pa.NativeFile, path: str, limits: Limits) -> int:
    """The rows that the footer of a file counts. Raises as :func:`check_footer`, and pyarrow's errors."""
    import pyarrow.parquet as pq

    check_footer(source, path, limits)
    with pq.ParquetFile(source, thrift_container_size_limit=FOOTER_ITEMS) as file:
        return int(file.metadata.num_rows)


def check_pages(source: pa.NativeFile, metadata: Any, path: str, limits: Limits) -> None:
    """Refuse a metadata file in Parquet whose pages become more than the limit ``expansion`` allows.

    Arrow makes room for what the head of a page claims, and inflates it, whatever the footer says.

    Raises
    ------
    LimitExceededError
        The pages become too much.
    CorruptMetadataError
        The head of a page is damaged.
    """
    size = source.size()
    if size > _MOST_CHECKED or _is_tame(_footer(source, metadata)):
        return
    groups, left, data = RowGroups(source, metadata, path), limits.budget(size), None
    for number in range(metadata.num_row_groups):
        for chunk in map(groups.chunk_of(number), range(metadata.row_group(number).num_columns)):
            if chunk.compression in _TAME:
                continue
            data = bytes(source.read_at(size, 0)) if data is None else data
            left -= _COPIES * _inflated_size(data, chunk, path)
            if left < 0:
                raise limits.exceeded("expansion", f"bytes of the pages of a Parquet file of {size} bytes", path=path)


def _footer(source: pa.NativeFile, metadata: Any) -> bytes:
    """FileMetaData as stored, and what follows it."""
    size = source.size()
    length = min(metadata.serialized_size + _END_BYTES, size)
    return bytes(source.read_at(length, size - length))


def _is_tame(footer: bytes) -> bool:
    """Whether all chunks are known to have a codec of :data:`_TAME`."""
    try:
        return codecs_of(footer) < 1 << len(_TAME)
    except ValueError:
        return False


def _inflated_size(data: bytes, chunk: Any, path: str) -> int:
    """The bytes that the heads of a chunk's pages say that the pages become. Source: parquet.thrift, PageHeader."""
    start = min(offset for offset in (chunk.data_page_offset, chunk.dictionary_page_offset or 0) if offset > 0)
    at, end, total = start, min(start + chunk.total_compressed_size, len(data)), 0
    while at < end:
        try:
            fields, behind = read_struct_at(data, at)
            inflated, stored = (fields[key][1] if key in fields else None for key in (2, 3))
            if not isinstance(inflated, int) or not isinstance(stored, int) or inflated < 0 or stored < 0:
                raise ValueError("a size is missing or negative")
        except ValueError as error:
            raise CorruptMetadataError(f"the head of a page is damaged: {error}", path=path, offset=at) from None
        at = behind + stored
        total += inflated
    return total


def _chunks(footer: bytes, metadata: Any, path: str) -> list[list[Chunk]]:
    if not metadata.num_row_groups:
        return []
    try:
        found = [[Chunk(*chunk[:-1], _CODECS.get(chunk[-1], "?")) for chunk in group] for group in chunks_of(footer)]
    except (ValueError, IndexError, OverflowError) as error:
        raise CorruptMetadataError(
            f"the footer of the file is damaged: {error}", path=path, hint="Restore the file, or drop it from the table"
        ) from None
    if [len(group) for group in found] != [metadata.num_columns] * metadata.num_row_groups:
        raise CorruptMetadataError(
            "a row group of the file does not have the columns of its schema", path=path, hint="Restore the file"
        )
    return found
