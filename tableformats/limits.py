"""Limits for reading a table: how much memory and time its metadata may cost.

One set of limits is given to ``open_table``, and every reader obeys it. A number that a file claims is compared with a
limit before anything is allocated or walked. A :class:`LimitExceededError` names the limit, its value and how to raise
it. The defaults are far above what writers produce, so that they refuse no real table, and far below what would end a
process. Bounds that cannot be raised, such as the width of a C type (columns of 2 GiB, JSON nested 128 deep), are
constants where they are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import lru_cache
from typing import ClassVar

from .dataclass import dataclass
from .errors import LimitExceededError

__all__ = ["DEFAULT_LIMITS", "FOOTER_ITEMS", "Limits"]

_COUNTED_BYTES = 1 << 20
"""A smaller file counts as one of so many bytes: small files may well be repetitive."""
_WEIGHTS = {"entries": 256, "inflated_bytes": 2}
"""Bytes of memory that one unit of a limit stands for, where files are compared with :attr:`Limits.expansion`."""
_NAME_COPIES = 8
"""Of the dotted names of a schema's fields there are so many copies at a time, in Python and in Arrow."""
FOOTER_ITEMS = 50_000
"""Items of a list in a Parquet footer: columns of a row group, elements of a schema, row groups, pairs."""
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

    Examples
    --------
    >>> tf.open_table("events", limits=tf.Limits(entries=10**9)).count()
    6
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
    expansion: int = 200
    """Bytes of memory that may be made of each byte of a metadata file as stored; a smaller file counts as 1 MiB. What
    compresses better, or names the same things more often, is made to fill memory."""

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
        "expansion": _INT32,
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

    def budget(self, stored: int) -> int:
        """The bytes of memory that may be made of a file of ``stored`` bytes; see :attr:`expansion`."""
        return self.expansion * max(stored, _COUNTED_BYTES)

    def check_dotted_names(self, characters: int, stored: int, *, path: str | None, field: str | None = None) -> None:
        """Raise LimitExceededError where ``characters`` of dotted names of a schema's fields cost too much.

        A long name of a field stands again in the name of each field below it.
        """
        if characters * _NAME_COPIES > self.budget(stored):
            raise self.exceeded("expansion", f"{characters} characters of dotted names", path=path, field=field)

    def within(self, stored: int) -> Limits:
        """These limits for a file of ``stored`` bytes: none allows more than its :meth:`budget`.

        They are for comparing. Errors come from :meth:`exceeded` of the limits themselves.
        """
        return _within(self, max(stored, _COUNTED_BYTES))

    def _bound(self, name: str, stored: int) -> int:
        return min(getattr(self, name), self.budget(stored) // _WEIGHTS.get(name, 1))

    def exceeded(
        self,
        name: str,
        found: str,
        *,
        path: str | None,
        offset: int | None = None,
        field: str | None = None,
        stored: int | None = None,
    ) -> LimitExceededError:
        """The error for ``found``, a text with the number and what it counts, that exceeds the limit ``name``.

        ``stored``: the limit was that of :meth:`within`; the error names ``expansion`` where that decided.
        """
        if stored is not None and self._bound(name, stored) < getattr(self, name):
            name, found = "expansion", f"{found} from a file of {stored} bytes"
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


@lru_cache(maxsize=256)
def _within(limits: Limits, stored: int) -> Limits:
    names = ("entries", "inflated_bytes", "decoded_bytes")
    return replace(limits, **{name: limits._bound(name, stored) for name in names})


DEFAULT_LIMITS = Limits()
