"""Split a SQL text into tokens, by the rules of Spark's own lexer.

:func:`tokenize` gives names, numbers, strings, operators and where each stands. Comments are left out. Strings are read
with their escapes: ``\\n``, octal ``\\101``, ``\\u00e9``, ``\\U0001F600``, pairs of surrogates, doubled quotes
(``'it''s'``, as in Spark 4), raw strings (``r'\\d'``) and double quotes. The same pass refuses several statements, and
nesting that a recursive parser could not follow.

Source: Spark's ``SqlBaseLexer.g4``; Spark SQL reference, "Literals" and "Identifiers".
"""

from __future__ import annotations

import decimal
import math
import re

from ...dataclass import dataclass
from ...errors import InvalidPredicateError
from ...lazy_pattern import lazy_pattern
from ...schema import primitive
from ..error_places import position
from ..numbers import nearest_float
from ..tree import Literal

__all__ = ["MAX_DIGITS", "MAX_NESTING", "Token", "tokenize"]

MAX_NESTING = 100
"""Levels of open parentheses, brackets and CASEs, plus consecutive prefix operators."""
MAX_DIGITS = 38
"""Digits of a number, as in Spark's decimal."""

_TOKEN = lazy_pattern(
    r"""(?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
      | (?P<raw>[rR](?:'[^']*'|"[^"]*"))
      | (?P<name>`(?:[^`]|``)*`)
      | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[bB][dD]|[lLsSyYfFdD])?(?!\w))
      | (?P<word>\w+)
      | (?P<space>\s+|--[^\r\n]*)
      | (?P<comment>/\*)
      | (?P<operator><=>|>>>|==|<>|!=|<=|>=|!<|!>|<<|>>|\|\||::|->|=>|[-+*/%&|^~!=<>().,\[\]:?;])
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = lazy_pattern(r"/\*|\*/")
_ESCAPE = lazy_pattern(r"\\(?:([0-3][0-7]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_PREFIX_OPERATORS = ("NOT", "!", "-", "+", "~")
_INTEGER_SUFFIXES = {"L": "long", "S": "short", "Y": "byte"}
_LIMITS = {"long": 2**63, "short": 2**15, "byte": 2**7}


@dataclass(frozen=True)
class Token:
    """A piece of the text.

    Attributes
    ----------
    kind : str
        ``word`` (a name or keyword), ``name`` (a name in backticks), ``string``, ``number``, ``operator`` or ``end``.
    text : str
        As it was written; of a name in backticks, the name.
    start, end : int
        The offsets of its first character and behind its last one.
    value : str, optional
        Of a string: the text that it means.
    """

    kind: str
    text: str
    start: int
    end: int
    value: str | None = None

    @property
    def word(self) -> str:
        """In upper case, if it may be a keyword or an operator; else empty."""
        return self.text.upper() if self.kind in ("word", "operator") else ""


def tokenize(sql: str) -> list[Token]:
    """The tokens of ``sql``; the last one has kind ``end``.

    Raises
    ------
    InvalidPredicateError
        A string, name, comment, parenthesis or bracket is not closed, a literal is malformed, a second statement
        follows, or the text nests deeper than :data:`MAX_NESTING`. The message has the position.
    """
    return _Lexer(sql).run()


def number(text: str, minus: bool = False) -> Literal:
    """The literal of a number as it is written, with its sign. A suffix gives it a type.

    Raises InvalidPredicateError where it is out of its type's range, or has too many digits.
    """
    suffix = re.search(r"(?i)(bd|[lsyfd])$", text)
    kind, digits = (suffix[1].upper(), text[: suffix.start()]) if suffix else ("", text)
    exact = decimal.Decimal(digits)
    exact = exact.copy_negate() if minus else exact
    if kind in _INTEGER_SUFFIXES:
        name = _INTEGER_SUFFIXES[kind]
        if not digits.isdigit() or not -_LIMITS[name] <= int(exact) < _LIMITS[name]:
            raise InvalidPredicateError(f"the number {_shown(text)} is out of the range of {name}")
        return Literal(int(exact), primitive(name))
    if kind == "F":
        return Literal(_finite(nearest_float(exact), text, "floats"), primitive("float"))
    if kind == "D" or (not kind and "e" in digits.lower()):
        return Literal(_finite(float(exact), text, "doubles"))
    if len(exact.as_tuple().digits) > MAX_DIGITS or (exact and abs(exact.adjusted()) > MAX_DIGITS):
        raise InvalidPredicateError(f"the number {_shown(text)} has more than {MAX_DIGITS} digits")
    return Literal(exact if kind or "." in digits else int(exact))


def _finite(value: float, text: str, of: str) -> float:
    if math.isinf(value):
        raise InvalidPredicateError(f"the number {_shown(text)} is out of the range of {of}")
    return value


def _shown(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


class _Lexer:
    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._tokens: list[Token] = []
        self._open: list[tuple[str, int]] = []
        self._prefixes = 0

    def run(self) -> list[Token]:
        offset = 0
        while offset < len(self._sql):
            match = _TOKEN.match(self._sql, offset)
            assert match is not None  # "other" takes any character
            kind, text = match.lastgroup or "", match[0]
            end = self._comment_end(offset) if kind == "comment" else match.end()
            if kind not in ("space", "comment"):
                self._add(kind, text, offset, end)
            offset = end
        if self._open:
            what, where = self._open[-1]
            raise self._error(f"the {'parenthesis' if what == '(' else 'bracket'} that opens here is not closed", where)
        self._tokens.append(Token("end", "", len(self._sql), len(self._sql)))
        return self._tokens

    def _add(self, kind: str, text: str, start: int, end: int) -> None:
        if text == ";":
            if self._sql[end:].strip(" \t\r\n;"):
                raise self._error("a filter is one condition, not several statements", start)
            return
        self._guard(text if kind in ("word", "operator") else "", start)
        if kind == "string":
            body = text[1:-1].replace(text[0] * 2, text[0])  # behind an escaped quote stand pairs of them
            value = _paired(_ESCAPE.sub(lambda match: self._unescaped(match, start), body))
            self._tokens.append(Token("string", text, start, end, value))
        elif kind == "raw":
            self._tokens.append(Token("string", text, start, end, _paired(text[2:-1])))
        elif kind == "name":
            self._tokens.append(Token("name", text[1:-1].replace("``", "`"), start, end))
        elif kind == "other" and text in "'\"`":
            raise self._error(f"the {'name' if text == '`' else 'string'} that opens here has no end", start)
        else:
            self._tokens.append(Token("operator" if kind == "other" else kind, text, start, end))

    def _guard(self, text: str, offset: int) -> None:
        word = text.upper()
        if word in ("(", "["):
            self._open.append((word, offset))
        elif word in (")", "]"):
            if not self._open or self._open[-1][0] != "(["[word == "]"]:
                what = "parenthesis" if word == ")" else "bracket"
                raise self._error(f"the {what} that closes here was not opened", offset)
            self._open.pop()
        elif word in _PREFIX_OPERATORS:
            self._prefixes += 1
        else:
            self._prefixes = 0
        if len(self._open) + self._prefixes > MAX_NESTING:
            raise self._error(
                f"the filter nests deeper than {MAX_NESTING} levels", offset, "Write it with flat AND, OR and IN."
            )

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


def _paired(text: str) -> str:
    """``text`` with pairs of surrogates joined. Java encodes a lone surrogate as ``?``."""
    if not any("\ud800" <= c <= "\udfff" for c in text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return "".join("?" if "\ud800" <= c <= "\udfff" else c for c in joined)
