"""Parquet files in memory, made of some pages of a stored one, for Arrow to decode.

Pages that are decompressed here faster than by Arrow stand in the file uncompressed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._thrift_write import write_struct
from .data_pages import UNCOMPRESSED, Fields, StoredPage, decompress_into, decompresses_quickly
from .pages import PageColumn, PageFooter

__all__ = ["file_of_pages", "write_pieces"]

_I32, _I64, _LIST, _STRUCT = 5, 6, 9, 12
_ROWS, _GROUPS = 3, 4
_CODEC = 4
_MAGIC = b"PAR1"

Piece = tuple[bytes | memoryview, int | None]
"""Bytes of the file; or, with their size, bytes in Snappy."""


def file_of_pages(
    footer: PageFooter,
    columns: Sequence[tuple[PageColumn, StoredPage | None, Sequence[StoredPage]]],
    arrow_schema: bytes | None,
) -> tuple[list[Piece], int, list[int]]:
    """A Parquet file of some pages of some columns, whose numbers of rows may differ.

    Parameters
    ----------
    columns : sequence of (PageColumn, StoredPage or None, sequence of StoredPage)
        The column, its dictionary, and pages: one at least.
    arrow_schema : bytes or None
        For the metadata ``ARROW:schema``, where the stored file has them.

    Returns
    -------
    list of Piece, int, list of int
        What :func:`write_pieces` makes the file of, which has one row group; its bytes; the rows of each column in it.

    Raises
    ------
    ValueError
        A page is damaged.
    """
    pieces: list[Piece] = [(_MAGIC, None)]
    chunks, counts, at = [], [], len(_MAGIC)
    for column, dictionary, pages in columns:
        rows, start = sum(page.rows for page in pages), at
        stored: Fields = {key: column.data[key] for key in (1, 2, 3, 4, 6) if key in column.data}
        codec = column.codec
        if decompresses_quickly(codec):
            stored[_CODEC] = _I32, UNCOMPRESSED
        if dictionary is not None:
            stored[11] = _I64, start
            at = _append(pieces, _pieces(dictionary, codec), at)
        stored[9] = _I64, at
        for page in pages:
            at = _append(pieces, _pieces(page, codec), at)
        stored |= {5: (_I64, rows), 7: (_I64, at - start)}
        chunks.append({2: (_I64, 0), 3: (_STRUCT, dict(sorted(stored.items())))})
        counts.append(rows)
    group = {1: (_LIST, (_STRUCT, chunks)), 2: (_I64, at - len(_MAGIC)), 3: (_I64, max(counts))}
    fields = footer.frame([column for column, *_ in columns], arrow_schema)
    fields |= {_ROWS: (_I64, max(counts)), _GROUPS: (_LIST, (_STRUCT, [group]))}
    encoded = write_struct(dict(sorted(fields.items())))
    end = encoded + len(encoded).to_bytes(4, "little") + _MAGIC
    return [*pieces, (end, None)], at + len(end), counts


def _pieces(page: StoredPage, codec: int) -> Iterator[Piece]:
    """The bytes of a page of a file in memory."""
    if not decompresses_quickly(codec):
        yield page.stored, None
        return
    levels, size = page.level_bytes, page.values_size(codec)
    yield page.head_without_compression(codec), None
    yield page.body[:levels], None
    if size:
        yield page.body[levels:], size if page.is_compressed(codec) else None


def _append(pieces: list[Piece], more: Iterator[Piece], at: int) -> int:
    """Append pieces that begin at ``at``; where they end."""
    for piece in more:
        pieces.append(piece)
        at += len(piece[0]) if piece[1] is None else piece[1]
    return at


def write_pieces(pieces: Sequence[Piece], out: memoryview) -> None:
    """Write a file to ``out`` (uint8[n]). Raises ValueError: a page cannot be decompressed."""
    at = 0
    for stored, size in pieces:
        stop = at + (len(stored) if size is None else size)
        if size is None:
            out[at:stop] = stored
        else:
            decompress_into(memoryview(stored), out[at:stop])
        at = stop
