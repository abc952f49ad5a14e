"""Figures and foreign strings made fit to be read: what ``explain`` and the command print.

A table's metadata is untrusted: :func:`printable` shows its control characters escaped, so that no column name moves
a terminal's cursor, and :func:`location_text` shows a location without what may grant access to it.
"""

from __future__ import annotations

import datetime as dt
import re

__all__ = ["bytes_text", "count_text", "percent_text", "printable", "time_text", "location_text"]

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
# user:password@ of a URI's authority, and its query, which holds signatures. container@account stays: no secret.
_USER = re.compile(r"(?<=://)[^/@:]*:[^/@]*@")
_QUERY = re.compile(r"(?<=.)\?.*", re.DOTALL)


def printable(text: str) -> str:
    """``text`` with control characters, line breaks and invisible marks as escapes: ``\\n``, ``\\x1b``, ``\\u202e``."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def location_text(location: str) -> str:
    """A location without the password and the query of its URI, printable; local paths stay as they are."""
    if "://" in location:
        location = _QUERY.sub("?…", _USER.sub("…@", location))
    return printable(location)


def count_text(count: int | None) -> str:
    """``1,827``; ``unknown`` for None."""
    return "unknown" if count is None else f"{count:,}"


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
    """``1.5 %``; empty where there is no whole. What is not zero is not shown as zero, nor less than all as all."""
    if part is None or not whole:
        return ""
    percent = 100 * part / whole
    if 0 < percent < 0.05:
        return "< 0.1 %"
    return "> 99.9 %" if 99.95 <= percent < 100 else f"{percent:.1f} %"


def time_text(moment: dt.datetime | None) -> str:
    """``2024-01-31 12:00:00 UTC``, with milliseconds where there are any; ``unknown`` for None."""
    if moment is None:
        return "unknown"
    fraction = f".{moment.microsecond // 1000:03d}" if moment.microsecond >= 1000 else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction} UTC"
