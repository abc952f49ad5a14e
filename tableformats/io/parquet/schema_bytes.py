"""The footer of a local Parquet file as bytes, and the part of it that is its schema: equal bytes are equal columns.

Files of one writer have the same schema, so what is found out about the columns of one of them holds for all. To
compare bytes takes a small part of the time in which a footer is decoded. Source: parquet.thrift, FileMetaData: the
schema is its second field, and writers write fields in order.
"""

from __future__ import annotations

import os
import re
import stat

from .._thrift import read_struct
from .._thrift_write import write_struct

__all__ = ["is_of_old_spark", "local_footer", "row_count", "schema_bytes"]

_TAIL = 1 << 13
"""So many bytes are read of the end of a file first: most footers are shorter."""
_END_BYTES = 8
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_MAGIC = b"PAR1"
_VERSION, _SCHEMA, _ROWS = 1, 2, 3
_NEXT_FIELD = b"\x16"
"""The head of the third field, a 64 bit number."""
_SPARK = re.compile(rb"org\.apache\.spark\.version(..)(\d{1,4})\.(\d{1,4})", re.DOTALL)
_LEGACY = b"org.apache.spark.legacy"


def local_footer(path: str) -> bytes | None:
    """FileMetaData of a local file, as stored. None: there is no such file, or it is no Parquet file with a footer.

    What is no regular file is not opened.
    """
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            return None
        file = os.open(path, _FLAGS)
    except (OSError, ValueError):
        return None
    try:
        return _footer_of(file, found.st_size)
    except OSError:
        return None
    finally:
        os.close(file)


def _footer_of(file: int, size: int) -> bytes | None:
    count = min(size, _TAIL)
    tail = _read(file, size - count, count)
    length = int.from_bytes(tail[-_END_BYTES:-4], "little")
    if len(tail) != count or tail[-4:] != _MAGIC or length > size - _END_BYTES - len(_MAGIC):
        return None
    if length <= len(tail) - _END_BYTES:
        return tail[-_END_BYTES - length : -_END_BYTES]
    found = _read(file, size - _END_BYTES - length, length)
    return found if len(found) == length else None


def _read(file: int, start: int, length: int) -> bytes:
    os.lseek(file, start, os.SEEK_SET)
    return os.read(file, length)


def schema_bytes(footer: bytes) -> bytes | None:
    """What all footers with the same schema begin with, and no others. None: it is damaged, or written otherwise."""
    try:
        fields = read_struct(footer)
        begin = write_struct({key: fields[key] for key in (_VERSION, _SCHEMA)})[:-1] + _NEXT_FIELD
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
    return begin if footer.startswith(begin) else None


def row_count(footer: bytes) -> int:
    """The rows of the file; 0 where they are not known."""
    try:
        _, found = read_struct(footer, only=_ROWS)[_ROWS]
    except (ValueError, KeyError):
        return 0
    return max(found, 0) if isinstance(found, int) else 0


def is_of_old_spark(footer: bytes) -> bool:
    """Whether dates in the file may be of an older calendar, as Spark before 3.1 wrote them, and later ones if asked.

    True also where that is not certain.
    """
    if _LEGACY in footer:
        return True
    if b"org.apache.spark.version" not in footer:
        return False
    found = _SPARK.search(footer)
    return found is None or (int(found[2]), int(found[3])) < (3, 1)
