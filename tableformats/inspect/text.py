"""Format figures and untrusted strings for people. ``explain``, ``health`` and the command (tableformats.cli) use it.

A table's metadata is untrusted. :func:`printable` escapes control characters, so that no column name can move a
terminal's cursor, and :func:`location_text` removes credentials from a location.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from ..display import printable
from ..io.redaction import masked

__all__ = [
    "bytes_text",
    "changed_rows_text",
    "count_text",
    "counted",
    "location_text",
    "percent_text",
    "printable",
    "time_text",
]

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def location_text(location: str) -> str:
    """A location, printable and without the password and the query of its URI; local paths are not changed."""
    return printable(masked(location))


def count_text(count: int | None) -> str:
    """``1,827``; ``unknown`` for None."""
    return "unknown" if count is None else f"{count:,}"


def counted(count: int | None, noun: str, plural: str | None = None) -> str:
    """``1 file``, ``1,827 files``."""
    return f"{count_text(count)} {noun if count == 1 else plural or f'{noun}s'}"


def bytes_text(size: int) -> str:
    """``12.3 kB``, in powers of 1000."""
    amount = float(size)
    for unit in _UNITS:
        # 999.95 would be shown as 1000.0.
        if amount < 999.95 or unit == _UNITS[-1]:
            break
        amount /= 1000
    return f"{size} B" if unit == "B" else f"{amount:,.1f} {unit}"


def percent_text(part: int | None, whole: int | None) -> str:
    """``1.5 %``; empty if there is no whole. Only zero is shown as zero, and only the whole as 100 %."""
    if part is None or not whole:
        return ""
    percent = 100 * part / whole
    if 0 < percent < 0.05:
        return "< 0.1 %"
    return "> 99.9 %" if 99.95 <= percent < 100 else f"{percent:.1f} %"


def changed_rows_text(version: Mapping[str, Any]) -> str:
    """``+72 -3``: rows that a version of the history added, deleted (``-``) and updated (``~``), where it says."""
    signs = (("+", "added_rows"), ("-", "deleted_rows"), ("~", "updated_rows"))
    return " ".join(f"{sign}{version[name]:,}" for sign, name in signs if version.get(name))


def time_text(moment: dt.datetime | None) -> str:
    """``2024-01-31 12:00:00 UTC``, with milliseconds unless they are zero; ``unknown`` for None."""
    if moment is None:
        return "unknown"
    fraction = f".{moment.microsecond // 1000:03d}" if moment.microsecond >= 1000 else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction} UTC"
