"""What a table's bytes may cost at most: one set of limits, given to ``open_table``, that every reader obeys.

Numbers that a file claims are compared with these before anything is allocated or walked. Each limit that is passed
is a :class:`LimitExceededError` that names the limit, its value and how to raise it. The defaults are far above what
writers make, so that they refuse no table that works, and far below what ends a process. What is no limit but the
width of a C type (columns of 2 GiB, JSON within JSON 128 deep) is a constant where it is used.
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
    """Limits on what is read of one table; whole numbers from 1 on.

    Raises
    ------
    TypeError : a value is no whole number
    ValueError : it is below 1, or above what the readers can count (:attr:`GREATEST`)
    """

    metadata_bytes: int = 1 << 30
    """Bytes of one file of metadata that is read whole, as stored: a commit, a JSON checkpoint, ``metadata.json``, a
    manifest list, a manifest, an Avro delete file, a deletion vector."""
    inflated_bytes: int = 1 << 30
    """Bytes that a compressed ``metadata.json``, or one block of an Avro file, becomes when it is inflated."""
    decoded_bytes: int = 2 << 30
    """Bytes of the columns that are decoded from one Avro file of metadata, and of the words that stand for one file's
    deleted rows in Spark."""
    nesting: int = 100
    """Levels of types within types: of the table's schema, of a name mapping, of a data file's schema."""
    fields: int = 1_000_000
    """Fields of one schema at all depths, names of one name mapping."""
    entries: int = 1 << 27
    """Entries of one file of metadata: actions of a commit, rows of a checkpoint file, manifests of a list, files of a
    manifest, rows of a delete file."""
    deleted_rows: int = 1 << 33
    """Rows that are deleted of one data file by position."""
    file_rows: int = 1 << 40
    """Rows of a data file of which some are deleted by position, or changed: every such position lies below."""
    file_parts: int = 1 << 20
    """Parts that ``plan.splits`` cuts one data file into."""

    GREATEST: ClassVar[Mapping[str, int]] = {
        "metadata_bytes": _INT32,  # texts have offsets of 32 bits
        "inflated_bytes": _INT32,
        "decoded_bytes": 2**33,  # places of words have 32 bits, a word has 8 bytes
        "nesting": 150,  # readers of schemas call themselves, and Python allows 1000 calls
        "fields": _INT32,  # ids have 32 bits
        "entries": _INT32,  # places in a file have 32 bits
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
        """Raise LimitExceededError where ``found``, the number of ``what``, is greater than the limit ``name``."""
        if found > getattr(self, name):
            raise self.exceeded(name, f"{found} {what}", path=path, offset=offset, field=field)

    def exceeded(
        self, name: str, found: str, *, path: str | None, offset: int | None = None, field: str | None = None
    ) -> LimitExceededError:
        """The error that says that ``found`` is more than the limit ``name``."""
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
