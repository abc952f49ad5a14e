"""Limits for reading a table: how much memory and time its metadata may cost.

One set of limits is given to ``open_table``, and every reader obeys it. A number that a file claims is compared with a
limit before anything is allocated or walked. A :class:`LimitExceededError` names the limit, its value and how to raise
it. The defaults are far above what writers produce, so that they refuse no real table, and far below what would end a
process. Bounds that cannot be raised, such as the width of a C type (columns of 2 GiB, JSON nested 128 deep), are
constants where they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

from .errors import LimitExceededError

__all__ = ["DEFAULT_LIMITS", "Limits"]

_INT32 = 2**31 - 1
_INT64 = 2**62


@dataclass(frozen=True)
class Limits:
    """Limits for reading one table, each an integer from 1 up to its value in :attr:`GREATEST`.

    Raises
    ------
    TypeError
        A value is no integer.
    ValueError
        A value is below 1, or greater than the readers can count.
    """

    metadata_bytes: int = 1 << 30
    """Bytes, as stored, of one metadata file that is read as a whole: a commit, a JSON checkpoint, ``metadata.json``,
    a manifest list, a manifest, an Avro delete file, a deletion vector."""
    inflated_bytes: int = 1 << 30
    """Bytes of a compressed ``metadata.json``, or of one block of an Avro file, after decompression."""
    decoded_bytes: int = 2 << 30
    """Bytes of the columns that are decoded from one Avro metadata file, and of the bitmap of one data file's deleted
    rows in Spark."""
    nesting: int = 100
    """Levels of nested types in the table's schema, in a name mapping, or in a data file's schema."""
    fields: int = 1_000_000
    """Fields of one schema at all levels, or names of one name mapping."""
    entries: int = 1 << 27
    """Entries of one metadata file: actions of a commit, rows of a checkpoint file, manifests of a manifest list, files
    of a manifest, rows of a delete file."""
    deleted_rows: int = 1 << 33
    """Rows of one data file that are deleted by position."""
    file_rows: int = 1 << 40
    """Rows of a data file that has deletes or changes by position. Every such position is below this."""
    file_parts: int = 1 << 20
    """Splits of one data file by ``plan.splits``."""

    GREATEST: ClassVar[Mapping[str, int]] = {
        "metadata_bytes": _INT32,  # offsets of strings have 32 bits
        "inflated_bytes": _INT32,
        "decoded_bytes": 2**33,  # indices of 8-byte words have 32 bits
        "nesting": 150,  # parsers of schemas are recursive, and Python allows 1000 calls
        "fields": _INT32,  # field ids have 32 bits
        "entries": _INT32,  # row indices have 32 bits
        "deleted_rows": _INT64,
        "file_rows": _INT64,
        "file_parts": _INT32,
    }
    """The greatest value of each limit."""

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"the limit {f.name} is a whole number, not {value!r}")
            if not 1 <= value <= self.GREATEST[f.name]:
                raise ValueError(f"the limit {f.name} is from 1 to {self.GREATEST[f.name]}, not {value}")

    def check(
        self, name: str, found: int, what: str, *, path: str | None, offset: int | None = None, field: str | None = None
    ) -> None:
        """Raise LimitExceededError if ``found``, the number of ``what``, is greater than the limit ``name``."""
        if found > getattr(self, name):
            raise self.exceeded(name, f"{found} {what}", path=path, offset=offset, field=field)

    def exceeded(
        self, name: str, found: str, *, path: str | None, offset: int | None = None, field: str | None = None
    ) -> LimitExceededError:
        """The error for ``found``, a text with the number and what it counts, that exceeds the limit ``name``."""
        value = getattr(self, name)
        return LimitExceededError(
            f"{found}: more than the limit {name} of {value}",
            path=path,
            offset=offset,
            field=field,
            limit=name,
            value=value,
            hint=f"If you trust the table, open it with limits=tf.Limits({name}=...) and a greater number",
        )


DEFAULT_LIMITS = Limits()
