"""Building blocks of the HTML that notebooks show: facts, tables and bars, in one self-contained element.

All text is escaped here, so callers give plain text. Of very long texts and tables a part is shown. Colours are
translucent or inherited, so the same HTML is readable on light and on dark pages. No script, no style sheet from
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

__all__ = ["ShownList", "bars", "escaped", "facts", "grid", "page", "printable", "shortened", "steps"]

_LINE = "border-bottom:1px solid rgba(128,128,128,.3);"
_CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top;background:none;"
_INDENT = "padding-left:1em;"
_SHOWN_ITEMS = 8
_SHOWN_ROWS = 200
_SHOWN_TEXT = 1000
Item = TypeVar("Item")
_BLUE, _GREY = "rgba(66,133,244,.75)", "rgba(128,128,128,.55)"
_COLORS = (_BLUE, "rgba(230,126,34,.8)", "rgba(46,160,67,.75)", "rgba(163,90,200,.75)", _GREY)
_CHART = "display:flex;align-items:flex-end;gap:1px;height:8em;border-bottom:1px solid rgba(128,128,128,.6)"
_STEP = "flex:1 1 0;height:100%;display:flex;flex-direction:column-reverse"
_AXIS = "display:flex;justify-content:space-between;gap:1em;font-size:.9em;opacity:.75;margin-bottom:.4em"
_SQUARE = "display:inline-block;width:.75em;height:.75em;margin-right:.35em;"


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
    head = f'<div><strong>{escaped(title)}</strong> <span style="opacity:.7">{_cell(subtitle)}</span></div>'
    return f'<div style="font-size:13px;line-height:1.5;max-width:60em">{head}{"".join(blocks)}</div>'


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names with values. A name that begins with spaces is indented."""
    lines = "".join(
        f'<tr style="background:none"><td style="{_CELL}opacity:.7;{_INDENT if name[:1] == " " else ""}">'
        f"{escaped(name.strip())}</td>"
        f'<td style="{_CELL}overflow-wrap:anywhere">{_cell(value)}</td></tr>'
        for name, value in rows
    )
    return _table(lines)


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with a header, of the first 200 rows; nothing where there are no rows."""
    rows = list(rows)
    if not rows:
        return ""
    if len(rows) > _SHOWN_ROWS:
        more = f"{len(rows) - _SHOWN_ROWS:,} more"
        rows = [*rows[:_SHOWN_ROWS], [more, *[""] * (len(columns) - 1)]]
    head = "".join(f'<th style="{_CELL}{_LINE}">{escaped(name)}</th>' for name in columns)
    cells = ("".join(f'<td style="{_CELL}{_LINE}">{_cell(value)}</td>' for value in row) for row in rows)
    lines = "".join(f'<tr style="background:none">{row}</tr>' for row in cells)
    return _table(f'<tr style="background:none">{head}</tr>{lines}')


def bars(rows: Iterable[tuple[str, int, str, bool]], whole: int) -> str:
    """A bar for each row: its label, its length out of ``whole``, the text behind it, and whether it stands out."""
    lines = "".join(
        f'<tr style="background:none"><td style="{_CELL}">{escaped(label)}</td>'
        f'<td style="{_CELL}width:42%"><div style="height:.9em;margin-top:.3em;min-width:{1 if count else 0}px;'
        f'width:{100 * count / max(whole, 1):.2f}%;background:{_BLUE if stands_out else _GREY}"></div></td>'
        f'<td style="{_CELL}">{escaped(text)}</td></tr>'
        for label, count, text, stands_out in rows
    )
    return _table(lines, "width:100%;max-width:50em;")


def steps(series: Sequence[tuple[str, Sequence[int]]], first: str, last: str) -> str:
    """Columns side by side, one for each step of time, in which the values of all series stand on each other.

    Parameters
    ----------
    series : sequence of (str, sequence of int)
        The name of each, and its value in every step.
    first, last : str
        What is written below the first and the last step.
    """
    columns = list(zip(*(values for _, values in series), strict=True))
    most = max(map(sum, columns), default=0)
    drawn = "".join(f'<div style="{_STEP}">{_stacked(column, most)}</div>' for column in columns)
    axis = f'<div style="{_AXIS}"><span>{escaped(first)}</span><span>{escaped(last)}</span></div>'
    names = "".join(
        f'<span style="margin-right:1.2em;white-space:nowrap"><span style="{_SQUARE}background:{_color(i)}"></span>'
        f'{escaped(name)} <span style="opacity:.7">{sum(values):,}</span></span>'
        for i, (name, values) in enumerate(series)
    )
    return f'<div style="{_CHART}">{drawn}</div>{axis}<div>{names}</div>'


def _stacked(values: Sequence[int], most: int) -> str:
    return "".join(
        f'<div style="height:{100 * value / max(most, 1):.2f}%;min-height:2px;background:{_color(i)}"></div>'
        for i, value in enumerate(values)
        if value
    )


def _color(number: int) -> str:
    return _COLORS[number % len(_COLORS)]


def _table(lines: str, more: str = "") -> str:
    # Notebooks have style sheets of their own for tables.
    style = f"border-collapse:collapse;table-layout:auto;margin:6px 0;color:inherit;{more}"
    return f'<table style="{style}">{lines}</table>'


def _cell(text: str) -> str:
    return escaped(shortened(text, _SHOWN_TEXT))


def escaped(text: str) -> str:
    """``text``, :func:`printable`, for HTML."""
    from html import escape  # it imports the names of all entities

    return escape(printable(text))
