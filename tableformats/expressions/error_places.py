"""Where in the text of a filter an error has its cause."""

from __future__ import annotations

from ..errors import TableFormatsError

__all__ = ["placed", "position"]


def position(sql: str, offset: int) -> str:
    """``line 1, column 5`` of a character of ``sql``."""
    return f"line {sql.count(chr(10), 0, offset) + 1}, column {offset - sql.rfind(chr(10), 0, offset)}"


def placed(error: TableFormatsError, place: tuple[str, int] | None) -> TableFormatsError:
    """The error with the line and column of ``place``, a text and an offset in it; the same without one."""
    if place is None or " of the filter" in error.message:
        return error
    message = f"{error.message.rstrip('.')}, at {position(*place)} of the filter"
    return type(error)(message, path=error.path, offset=error.offset, field=error.field, hint=error.hint)
