"""Lay out rows as a table for people: aligned columns that fit the terminal, or one value a line where none fits.

Where there is no terminal, nothing is shortened. Else columns of paths lose the end that they share and their middle,
then others wrap.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..display import shortened
from ..lazy_pattern import lazy_pattern

__all__ = ["column_lines", "folded", "table_lines", "width_of"]

_GAP = "  "
_LEAST_PATH = 24
_LEAST_TEXT = 10
_LONGEST_WORD = 16
_LONGEST_LABEL = 16
_WORDS = lazy_pattern(r"\S+\s*")
_ALIGNMENT = lazy_pattern(r"(?<=\S)  +")


def width_of(text: str) -> int:
    """The columns of a terminal that ``text`` takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def folded(text: str, width: int | None) -> str:
    """``text`` whose lines take at most ``width`` columns of a terminal (None: any number).

    Of a line that is too wide the spaces that align it go first; then it is broken behind words, and what follows is
    indented as its beginning. A wide word, such as a path, stays whole, beside a label of its own, so that it can be
    copied.
    """
    if width is None:
        return text
    lines: list[str] = []
    for line in text.split("\n"):
        last = width_of(line.rpartition(" ")[2])
        if width_of(line) <= width or (2 * last > width and width_of(line) - last <= _LONGEST_LABEL):
            lines.append(line)
            continue
        words = _ALIGNMENT.sub("  ", line.lstrip(" "))
        indent = " " * min(len(line) - len(line.lstrip(" ")), width // 3)
        lines += [indent + part for part in _wrapped(words, max(width - len(indent), 1), cuts=False)]
    return "\n".join(lines)


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[str]], **options: Any) -> Iterator[str]:
    """:func:`column_lines` of a table that is given by its rows."""
    values = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]
    return column_lines(columns, values, **options)


def column_lines(
    names: Sequence[str],
    columns: Sequence[list[str]],
    *,
    width: int | None = None,
    numeric: Sequence[str] = (),
    paths: Sequence[str] = (),
) -> Iterator[str]:
    """The lines of a table, the header first, without spaces at their ends.

    Parameters
    ----------
    names : sequence of str
    columns : sequence of lists of str
        The texts of each column, without line breaks.
    width : int, optional
        The columns of the terminal. None: there is none.
    numeric, paths : sequence of str
        Names of columns: aligned to the right; shortened in the middle.
    """
    values = [[name, *texts] for name, texts in zip(names, columns, strict=True)]
    sizes = [list(map(len if "".join(texts).isascii() else width_of, texts)) for texts in values]
    widths = list(map(max, sizes))
    right = [name in numeric for name in names]
    if width is not None and _total(widths) > width:
        least = [
            _least(texts, own, texts[0] in paths, texts[0] in numeric)
            for texts, own in zip(values, widths, strict=True)
        ]
        if _total(least) > width:
            yield from _one_value_a_line(names, zip(*columns, strict=True), width)
            return
        is_path = [name in paths for name in names]
        widths = _fitted(widths, least, is_path, width)
        for i, own in enumerate(widths):
            if is_path[i]:
                values[i] = _shortened_paths(values[i], sizes[i], own)
                sizes[i] = [min(n, own) for n in sizes[i]]
        if any(max(size) > own for size, own in zip(sizes, widths, strict=True)):
            yield from _wrapped_lines(values, sizes, widths, right)
            return
    padded = map(_padded, values, widths, right)
    yield from (_GAP.join(cells).rstrip() for cells in zip(*padded, strict=True))


def _wrapped_lines(
    columns: Sequence[list[str]], sizes: Sequence[list[int]], widths: Sequence[int], right: Sequence[bool]
) -> Iterator[str]:
    """The lines of a table some of whose texts are wider than their columns."""
    for row, own in zip(zip(*columns, strict=True), zip(*sizes, strict=True), strict=True):
        if all(size <= width for size, width in zip(own, widths, strict=True)):
            yield _line(row, widths, right)
            continue
        cells = zip(row, own, widths, strict=True)
        parts = [[text] if size <= width else _wrapped(text, width) for text, size, width in cells]
        for at in range(max(map(len, parts))):
            yield _line([part[at] if at < len(part) else "" for part in parts], widths, right)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _least(texts: Sequence[str], own: int, is_path: bool, is_number: bool) -> int:
    """How narrow a column may become. Short words are not broken."""
    if is_number:
        return own
    if is_path:
        return min(own, max(_LEAST_PATH, width_of(texts[0])))
    words = (width_of(word) for text in texts for word in text.split())
    return min(own, max(_LEAST_TEXT, width_of(texts[0]), *(size for size in words if size <= _LONGEST_WORD)))


def _fitted(widths: Sequence[int], least: Sequence[int], is_path: Sequence[bool], width: int) -> list[int]:
    """Widths that fit: paths give way first, the widest column before others."""
    found = list(widths)
    for chosen in ([i for i, path in enumerate(is_path) if path], range(len(found))):
        while (over := _total(found) - width) > 0:
            can = [i for i in chosen if found[i] > least[i]]
            if not can:
                break
            widest = max(can, key=lambda i: found[i])
            next_width = max((found[i] for i in can if found[i] < found[widest]), default=least[widest])
            found[widest] -= max(1, min(over, found[widest] - max(next_width, least[widest])))
    return found


def _line(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = []
    for text, width, is_right in zip(texts, widths, right, strict=True):
        space = " " * (width - width_of(text))
        cells.append(space + text if is_right else text + space)
    return _GAP.join(cells).rstrip()


def _padded(texts: Sequence[str], width: int, is_right: bool) -> list[str]:
    """The texts of a column in the same width."""
    if "".join(texts).isascii():
        return [text.rjust(width) if is_right else text.ljust(width) for text in texts]
    spaces = [" " * (width - width_of(text)) for text in texts]
    return [space + text if is_right else text + space for text, space in zip(texts, spaces, strict=True)]


def _shortened_paths(texts: Sequence[str], sizes: Sequence[int], width: int) -> list[str]:
    """The texts, of which those that are wider than ``width`` lose their middle. An end that all of these have, such as
    ``.snappy.parquet``, goes first, so that what tells them apart is left."""
    wide = [text for text, size in zip(texts, sizes, strict=True) if size > width]
    end = min(_common_end(wide), min(map(len, wide), default=0) - width + 1)
    if end < 2:
        return [text if size <= width else _shortened(text, width) for text, size in zip(texts, sizes, strict=True)]
    return [
        text if size <= width else _shortened(text[:-end], width - 1) + "…"
        for text, size in zip(texts, sizes, strict=True)
    ]


def _common_end(texts: Sequence[str]) -> int:
    """The length of the end that all of several texts have; 0 of one."""
    if len(texts) < 2:
        return 0
    backwards = [text[::-1] for text in texts]
    pairs = zip(min(backwards), max(backwards), strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(map(len, backwards)))


def _shortened(text: str, width: int) -> str:
    found = shortened(text, width)
    most = width
    while width_of(found) > width:  # wide characters
        most -= 1
        found = shortened(text, most)
    return found


def _wrapped(text: str, width: int, cuts: bool = True) -> list[str]:
    """The lines of ``text``, broken behind words where that is possible; ``cuts``: else within them."""
    lines, line = [], ""
    for word in _WORDS.findall(text) or [""]:
        if width_of((line + word).rstrip()) <= width:
            line += word
            continue
        if line:
            lines.append(line.rstrip())
        *whole, line = _cut(word, width) if cuts else [word]
        lines += whole
    return [*lines, line.rstrip()]


def _cut(word: str, width: int) -> list[str]:
    """Pieces of a word of at most ``width`` columns, at least one."""
    pieces, piece, used = [], "", 0
    for c in word:
        own = width_of(c)
        if used + own > width and piece.strip():
            pieces.append(piece)
            piece, used = "", 0
        piece, used = piece + c, used + own
    return [*pieces, piece]


def _one_value_a_line(columns: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number:
            yield ""
        for name, text in zip(columns, row, strict=True):
            if text:
                yield from _wrapped(f"{name}: {text}", width)
