"""Compressed metadata inflated to a bound, with errors that say where."""

from __future__ import annotations

from tableformats.plugin import CorruptMetadataError, Limits

__all__ = ["inflated"]


def inflated(codec: str, block: memoryview, limits: Limits, path: str, offset: int) -> bytes | memoryview:
    """The plain bytes of one block of an Avro file, or of a whole metadata file.

    Parameters
    ----------
    codec : one of :data:`tableformats.io.compression.AVRO_CODECS`, or gzip
    block : as stored, without length and sync marker
    offset : of the block in the file, for errors

    Raises
    ------
    CorruptMetadataError : the block is truncated, damaged, or followed by other bytes
    LimitExceededError : it inflates to more than ``limits.inflated_bytes``
    """
    from tableformats.plugin import INFLATE_ERRORS, inflate_avro

    try:
        plain = inflate_avro(codec, block, limits.inflated_bytes)
    except INFLATE_ERRORS as error:
        raise CorruptMetadataError(f"a {codec} block does not inflate: {error}", path=path, offset=offset) from None
    if plain is None:
        raise limits.exceeded("inflated_bytes", "bytes of a block, inflated", path=path, offset=offset)
    return plain
