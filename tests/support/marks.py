"""Parts of documents that commands write, between two marks: nothing there is typed by hand."""

from __future__ import annotations

from pathlib import Path


def between(page: Path, name: str) -> str:
    """What stands between the marks ``name`` of ``page``; empty where they are not there."""
    begin, end = _marks(name)
    return page.read_text().partition(begin)[2].partition(end)[0]


def write_between(page: Path, name: str, text: str) -> None:
    """Put ``text`` between the marks ``name`` of ``page``. Raises ValueError where it has no such marks."""
    begin, end = _marks(name)
    before, found, rest = page.read_text().partition(begin)
    if not found or end not in rest:
        raise ValueError(f"{page} has no marks {begin} and {end}")
    page.write_text(f"{before}{begin}\n{text.strip()}\n{end}{rest.partition(end)[2]}")


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


__all__ = ["between", "write_between"]
