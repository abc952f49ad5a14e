"""Walk over the tokens of a SQL text, and say where it cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import InvalidPredicateError, TableFormatsError, UnsupportedFeatureError
from ..error_places import position
from .lexing import MAX_NESTING, Token, tokenize

__all__ = ["Cursor"]

_QUOTING = "Names that are words of SQL need backticks."
_FLAT = "Write it with flat AND, OR and IN."
_AFTER_READING = "Filter the rows after reading, in an engine that has it."


class Cursor:
    """The tokens of a text, and the next one. Errors name the line and column of a token."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._tokens = tokenize(sql)
        self._index = 0

    @property
    def next(self) -> Token:
        return self._tokens[self._index]

    def ahead(self, count: int = 1) -> Token:
        """The token ``count`` behind the next one."""
        return self._tokens[min(self._index + count, len(self._tokens) - 1)]

    def take(self) -> Token:
        token = self.next
        self._index = min(self._index + 1, len(self._tokens) - 1)
        return token

    def at(self, *words: str) -> bool:
        """Whether the next token is one of these keywords or operators."""
        return self.next.word in words

    def take_if(self, *words: str) -> Token | None:
        return self.take() if self.at(*words) else None

    def take_all(self, *words: str) -> bool:
        """Take these words, if all of them follow."""
        if any(self.ahead(i).word != word for i, word in enumerate(words)):
            return False
        self._index += len(words)
        return True

    def expect(self, word: str) -> Token:
        return self.take() if self.at(word) else self.fail_here(f"{word} is missing before")

    def since(self, token: Token) -> str:
        """The text from ``token`` up to the last token that was taken, shortened for a message."""
        last = self._tokens[max(self._index - 1, 0)]
        text = " ".join(self._sql[token.start : max(last.end, token.end)].split())
        return text if len(text) <= 80 else text[:77] + "..."

    def fail_here(self, what: str = "") -> Token:
        """Raise an error at the next token: it is not expected, or ``what`` says more. Never returns."""
        token = self.next
        if token.kind == "end":
            message = f"it ends too early, after {self._sql.rstrip()[-20:]!r}"
        elif what:
            message = f"{what} {self._sql[token.start : token.end][:60]!r}"
        else:
            message = f"{self._sql[token.start : token.end][:60]!r} is not expected here"
        where = position(self._sql, token.start)
        raise InvalidPredicateError(f"the filter does not parse at {where}: {message}", hint=_QUOTING)

    def invalid(self, message: str, token: Token, hint: str | None = None) -> InvalidPredicateError:
        """The error, with the place of ``token``."""
        return InvalidPredicateError(f"{message}, at {position(self._sql, token.start)} of the filter", hint=hint)

    def unsupported(
        self, what: str, token: Token, field: str | None = None, hint: str = _AFTER_READING
    ) -> UnsupportedFeatureError:
        """The error that ``what`` is not built, with the text since ``token`` and its place."""
        where = position(self._sql, token.start)
        return UnsupportedFeatureError(
            f"{self.since(token)!r} at {where} of the filter: {what}", field=field or token.text, hint=hint
        )

    def skip_parenthesis(self) -> None:
        """Take the parenthesis that follows, if one does, up to its end."""
        depth = 0
        while depth or self.at("("):
            depth += {"(": 1, ")": -1}.get(self.take().text, 0)

    def check_length(self, count: int, token: Token) -> None:
        """Raise an error where a chain of ``count`` operators nests too deeply."""
        if count > MAX_NESTING:
            raise self.invalid(f"the filter nests deeper than {MAX_NESTING} levels", token, _FLAT)

    @contextmanager
    def located(self, token: Token) -> Iterator[None]:
        """Errors from inside name the text since ``token``, and where it stands."""
        try:
            yield
        except TableFormatsError as error:
            if " of the filter" in error.message or "does not parse" in error.message:
                raise
            message = f"{self.since(token)!r} at {position(self._sql, token.start)} of the filter: {error.message}"
            raise type(error)(message, field=error.field, hint=error.hint) from None
