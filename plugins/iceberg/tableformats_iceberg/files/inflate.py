"""Inflating compressed metadata, up to a limit."""

from __future__ import annotations

from tableformats.plugin import INFLATE_ERRORS, CorruptMetadataError, Limits, inflate_avro

__all__ = ["inflated"]


def inflated(
    codec: str, block: memoryview, limits: Limits, path: str, offset: int, stored: int, room: int | None = None
) -> bytes | memoryview:
    """Inflate one block of an Avro file, or a whole metadata file.

    Parameters
    ----------
    codec : str
        One of :data:`tableformats.io.compression.AVRO_CODECS`, or ``gzip``.
    block : memoryview
        The bytes as stored, without length and sync marker.
    limits : Limits
    path, offset : str and int
        The file and where the block begins in it, for errors.
    stored : int
        The bytes of the file.
    room : int, optional
        The most bytes, where other blocks have used up a part of what the file may become.

    Raises
    ------
    CorruptMetadataError
        The block is truncated, damaged, or followed by other bytes.
    LimitExceededError
        It inflates to more than ``limits.inflated_bytes``, or than a file of that size may become.
    """
    most = limits.within(stored).inflated_bytes
    try:
        plain = inflate_avro(codec, block, most if room is None else min(most, room))
    except INFLATE_ERRORS as error:
        raise CorruptMetadataError(f"a {codec} block does not inflate: {error}", path=path, offset=offset) from None
    if plain is None:
        raise limits.exceeded("inflated_bytes", "bytes of a block, inflated", path=path, offset=offset, stored=stored)
    return plain
