"""Say where in a SQL text an error of binding has its cause.

Trees have no places. So the text is parsed once more when an error was found: the smallest part that gives the same
error alone is the cause.
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import TableFormatsError
from ..error_places import placed
from ..tree import Value
from .lexing import Token
from .predicates import Operand, Row
from .sql import SqlParser

__all__ = ["with_place"]


def with_place(error: TableFormatsError, sql: str, ansi: bool, bind: Callable[[Value], object]) -> TableFormatsError:
    """The error, with the line and column of its cause.

    Parameters
    ----------
    error : TableFormatsError
        What binding the condition ``sql`` raised.
    ansi : bool
        As for :func:`parse_sql`.
    bind : callable
        Binds a part of the condition alone.
    """
    if " of the filter" in error.message:
        return error
    parser = _PartsOfText(sql, ansi)
    parser.filter()
    for _, start, part in sorted(parser.parts, key=lambda part: part[0]):
        try:
            bind(part)
        except TableFormatsError as found:
            if type(found) is type(error) and found.message == error.message:
                return placed(error, (sql, start))
    return error


class _PartsOfText(SqlParser):
    """A parser that keeps each value and condition, with its length and where it begins, in characters."""

    def __init__(self, sql: str, ansi: bool) -> None:
        super().__init__(sql, ansi)
        self.parts: list[tuple[int, int, Value]] = []

    def condition(self) -> Operand:
        start = self.next
        return self._kept(super().condition(), start)

    def _negation(self) -> Operand:
        start = self.next
        return self._kept(super()._negation(), start)

    def _predicate(self) -> Operand:
        start = self.next
        return self._kept(super()._predicate(), start)

    def _value(self, level: int) -> Operand:
        start = self.next
        return self._kept(super()._value(level), start)

    def _kept(self, found: Operand, start: Token) -> Operand:
        if not isinstance(found, Row):
            self.parts.append((self._tokens[self._index - 1].end - start.start, start.start, found))
        return found
