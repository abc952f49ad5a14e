"""Building blocks of the HTML that notebooks show: facts, tables and bars, in one self-contained element.

All text is escaped here, so callers give plain text. Colours are translucent or inherited, so the same HTML is readable
on light and on dark pages. No script, no style sheet from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TypeVar

__all__ = ["ShownList", "bars", "facts", "grid", "page", "printable", "shortened"]

_LINE = "border-bottom:1px solid rgba(128,128,128,.3);"
_CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top;background:none;"
_SHOWN_ITEMS = 8
Item = TypeVar("Item")
_BLUE, _GREY = "rgba(66,133,244,.75)", "rgba(128,128,128,.45)"


def printable(text: str) -> str:
    """``text`` with control characters, line breaks and invisible characters escaped:
    ``\\n``, ``\\x1b``, ``\\u202e``.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shortened(text: str, most: int = 80) -> str:
    """``text``, :func:`printable`, with its middle elided if it has more than ``most`` characters."""
    text = printable(text)
    if len(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{text[: most - 1 - end]}…{text[-end:]}"


class ShownList(list[Item]):
    """A list whose repr shows the first items alone, so that it never fills a screen."""

    def __repr__(self) -> str:
        shown = ", ".join(repr(item) for item in self[:_SHOWN_ITEMS])
        more = len(self) - _SHOWN_ITEMS
        return f"[{shown}, ... {more:,} more]" if more > 0 else f"[{shown}]"


def page(title: str, subtitle: str, *blocks: str) -> str:
    """One element with a title and blocks below."""
    head = f'<div><strong>{_text(title)}</strong> <span style="opacity:.7">{_text(subtitle)}</span></div>'
    return f'<div style="font-size:13px;line-height:1.5;max-width:60em">{head}{"".join(blocks)}</div>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names with values."""
    lines = "".join(
        f'<tr style="background:none"><td style="{_CELL}opacity:.7">{_text(name)}</td>'
        f'<td style="{_CELL}overflow-wrap:anywhere">{_text(value)}</td></tr>'
        for name, value in rows
    )
    return _table(lines)


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a header; nothing where there are no rows."""
    rows = list(rows)
    if not rows:
        return ""
    head = "".join(f'<th style="{_CELL}{_LINE}">{_text(name)}</th>' for name in columns)
    cells = ("".join(f'<td style="{_CELL}{_LINE}">{_text(value)}</td>' for value in row) for row in rows)
    lines = "".join(f'<tr style="background:none">{row}</tr>' for row in cells)
    return _table(f'<tr style="background:none">{head}</tr>{lines}')


def bars(rows: Iterable[tuple[str, int, str, bool]], whole: int) -> str:
    """A bar for each row: its label, its length out of ``whole``, the text behind it, and whether it stands out."""
    lines = "".join(
        f'<tr style="background:none"><td style="{_CELL}white-space:nowrap">{_text(label)}</td>'
        f'<td style="{_CELL}width:22em"><div style="height:.9em;margin-top:.3em;min-width:{1 if count else 0}px;'
        f'width:{100 * count / max(whole, 1):.2f}%;background:{_BLUE if stands_out else _GREY}"></div></td>'
        f'<td style="{_CELL}white-space:nowrap">{_text(text)}</td></tr>'
        for label, count, text, stands_out in rows
    )
    return _table(lines)


def _table(lines: str) -> str:
    return f'<table style="border-collapse:collapse;margin:6px 0;color:inherit">{lines}</table>'


def _text(text: str) -> str:
    return escape(printable(text))
