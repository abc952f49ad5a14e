"""Read the literals of a SQL text before sqlglot does, because its versions read some of them differently.

Strings with escapes, ``X'..'`` and ``1.5BD`` are read here by Spark's rules. sqlglot gets placeholders for them, and
positions in its errors are mapped back. Comments are removed. The same pass refuses several statements and deep
nesting, which must not reach a recursive parser. Source: Spark SQL reference, "Literals" (String, Binary, Numeric) and
"Identifiers".
"""

from __future__ import annotations

import bisect
import decimal
import re
from dataclasses import dataclass, field

from ...errors import InvalidPredicateError
from ..tree import Literal

__all__ = ["MAX_DIGITS", "MAX_NESTING", "Lexed", "lex", "position"]

MAX_NESTING = 100
"""Levels of open parentheses, plus consecutive prefix operators."""
MAX_DIGITS = 38
"""Digits of a number, as in Spark's decimal."""

_MARK = "\U000f0000"  # private use: sqlglot sees '<mark>17' for the literal number 17
_PLACEHOLDER = re.compile(f"'{_MARK}([0-9]+)'")
_TOKEN = re.compile(
    r"""(?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<raw>[rR](?:'[^']*'|"[^"]*"))
      | (?P<hex>[xX](?:'[^']*'|"[^"]*"))
      | (?P<name>`(?:[^`]|``)*`)
      | (?P<exact>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[bB][dD]\b)
      | (?P<word>\w+)
      | (?P<space>\s+|--[^\n]*)
      | (?P<comment>/\*)
      | (?P<open>\()
      | (?P<close>\))
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_ESCAPE = re.compile(r"\\(?:([0-3][0-7]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_PREFIX_OPERATORS = ("NOT", "!", "-", "+", "~")


@dataclass
class Lexed:
    """``sql``, the text with placeholders, their literals, and where its parts are in the original text."""

    sql: str
    original: str
    literals: list[Literal] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    starts: list[tuple[int, int]] = field(default_factory=list)
    """(offset in ``sql``, offset in ``original``) of every token, ascending."""

    def literal(self, text: str) -> Literal:
        """The literal of a placeholder."""
        return self.literals[int(text[len(_MARK) :])]

    def restore(self, text: str) -> str:
        """``text``, as printed by sqlglot, with placeholders replaced by the literals as they were written."""
        return _PLACEHOLDER.sub(lambda match: self.sources[int(match[1])], text)

    def offset(self, line: int, column: int) -> int:
        """The offset in the original text of a line and column of :attr:`sql`, both counted from 1."""
        lines = self.sql.split("\n")
        offset = sum(len(text) + 1 for text in lines[: line - 1]) + max(column - 1, 0)
        start, origin = self.starts[bisect.bisect_right(self.starts, (offset, len(self.original))) - 1]
        return min(origin + offset - start, len(self.original))


def position(sql: str, offset: int) -> str:
    """``line 1, column 5`` of a character of ``sql``."""
    return f"line {sql.count(chr(10), 0, offset) + 1}, column {offset - sql.rfind(chr(10), 0, offset)}"


def lex(sql: str) -> Lexed:
    """``sql`` without comments and with placeholders for its literals.

    Raises
    ------
    InvalidPredicateError
        A string, name, comment or parenthesis is not closed, a literal is malformed, a second statement follows, or
        the text nests deeper than :data:`MAX_NESTING`. The message has the position.
    """
    return _Lexer(sql).run()


class _Lexer:
    def __init__(self, sql: str) -> None:
        self._lexed = Lexed("", sql)
        self._sql = sql
        self._tokens: list[str] = []
        self._length = 0
        self._open: list[int] = []
        self._prefixes = 0
        self._after_string = False

    def run(self) -> Lexed:
        offset = 0
        while offset < len(self._sql):
            match = _TOKEN.match(self._sql, offset)
            assert match is not None  # "other" takes any character
            kind, text = match.lastgroup or "", match[0]
            end = self._comment_end(offset) if kind == "comment" else match.end()
            self._lexed.starts.append((self._length, offset))
            self._emit(kind, text, offset)
            offset = end
        if self._open:
            raise self._error("the parenthesis that opens here is not closed", self._open[-1])
        self._lexed.sql = "".join(self._tokens)
        return self._lexed

    def _emit(self, kind: str, text: str, offset: int) -> None:
        if kind in ("space", "comment"):
            self._put(text if text.isspace() else " ")
            return
        if kind == "other" and text == ";":
            if self._sql[offset + 1 :].strip():
                raise self._error("a filter is one condition, not several statements", offset)
            return
        self._guard(kind, text, offset)
        adjacent, self._after_string = self._after_string, kind in ("string", "raw")
        if adjacent and self._after_string:
            raise self._error(
                "two strings in a row, which Spark's versions read differently",
                offset,
                r"Write a quote inside a string as \'.",
            )
        if kind in ("string", "raw", "hex", "exact"):
            self._put(f"'{_MARK}{len(self._lexed.literals)}'")
            self._lexed.literals.append(Literal(self._value(kind, text, offset)))
            self._lexed.sources.append(text)
        elif kind == "other" and text in "'\"`":
            raise self._error(f"the {'name' if text == '`' else 'string'} that opens here has no end", offset)
        else:
            self._put(text)

    def _put(self, text: str) -> None:
        self._tokens.append(text)
        self._length += len(text)

    def _guard(self, kind: str, text: str, offset: int) -> None:
        if kind == "open":
            self._open.append(offset)
        elif kind == "close" and not self._open:
            raise self._error("the parenthesis that closes here was not opened", offset)
        elif kind == "close":
            self._open.pop()
        elif text.upper() in _PREFIX_OPERATORS:
            self._prefixes += 1
        else:
            self._prefixes = 0
        if len(self._open) + self._prefixes > MAX_NESTING:
            raise self._error(
                f"the filter nests deeper than {MAX_NESTING} levels", offset, "Write it with flat AND, OR and IN."
            )

    def _value(self, kind: str, text: str, offset: int) -> str | bytes | decimal.Decimal:
        if kind == "string":
            return _ESCAPE.sub(lambda match: self._unescaped(match, offset), text[1:-1])
        if kind == "raw":
            return text[2:-1]
        if kind == "hex":
            digits = text[2:-1]
            try:
                return bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0"))
            except ValueError:
                raise self._error(f"{text} is not hexadecimal", offset) from None
        number = decimal.Decimal(text[:-2])
        if len(number.as_tuple().digits) > MAX_DIGITS or abs(number.adjusted()) > MAX_DIGITS:
            raise self._error(f"a number of more than {MAX_DIGITS} digits", offset)
        return number

    def _unescaped(self, match: re.Match[str], offset: int) -> str:
        octal, short, long, character = match.groups()
        if character is not None:
            return _ESCAPED.get(character, character)
        code = int(octal, 8) if octal else int(short or long, 16)
        if code > 0x10FFFF:
            raise self._error(f"{match[0]} is no Unicode character", offset)
        return chr(code)

    def _comment_end(self, offset: int) -> int:
        """The end of the comment that starts at ``offset``. Comments nest."""
        level = 0
        for edge in _COMMENT_EDGE.finditer(self._sql, offset):
            level += 1 if edge[0] == "/*" else -1
            if level == 0:
                return edge.end()
        raise self._error("the comment that opens here has no end", offset)

    def _error(self, message: str, offset: int, hint: str | None = None) -> InvalidPredicateError:
        return InvalidPredicateError(f"{message}, at {position(self._sql, offset)} of the filter", hint=hint)
