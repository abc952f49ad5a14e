"""Splits source text into tokens, in a form that does not depend on how the text is formatted.

White space, line breaks and comments are not tokens. A comma before a closing bracket is left out, and strings of
Python are compared by their values, so that quotes do not matter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import NamedTuple

WITH_BRACES = (".c", ".h", ".java")
"""Endings of files in C's or Java's syntax. All others are Python or Cython."""


class Token(NamedTuple):
    """``text`` is what is compared; ``start`` and ``end`` are offsets in the source."""

    text: str
    start: int
    end: int


_NUMBER = r"\.?\d(?:[eEpP][+-]|[\w.])*"
_WORD = r"[^\W\d]\w*"
_OPERATOR = r"\*\*=|//=|>>=|<<=|\.\.\.|\*\*|->|:=|\+\+|--|&&|\|\||[-+*/%&|^=!<>@]=|//|<<|>>|[^\s\w]"
_SHORT_STRING = r'"(?:\\.|[^"\\\n])*"' + "|" + r"'(?:\\.|[^'\\\n])*'"
_LONG_STRING = r'"{3}(?:\\.|[^\\])*?"{3}' + "|" + r"'{3}(?:\\.|[^\\])*?'{3}"


def _grammar(skipped: str, string: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?P<skipped>{skipped})|(?P<string>{string})|(?P<number>{_NUMBER})|(?P<other>{_WORD}|{_OPERATOR})", re.DOTALL
    )


_PYTHON = _grammar(r"\#[^\n]*|\\\n", rf"(?i:[rbufc]{{0,2}})(?:{_LONG_STRING}|{_SHORT_STRING})")
_C = _grammar(r"//[^\n]*|/\*.*?\*/|\\\n", _SHORT_STRING)


def tokenize(text: str, ending: str) -> list[Token]:
    """The tokens of ``text``, which is (part of) a file whose name has this ending."""
    has_braces = ending in WITH_BRACES
    found: list[Token] = []
    for match in (_C if has_braces else _PYTHON).finditer(text):
        kind, normal = match.lastgroup, match.group()
        if kind == "skipped":
            continue
        if normal in (")", "]", "}") and found and found[-1].text == ",":
            found.pop()
        if kind == "number":
            normal = normal.lower()
        elif kind == "string" and not has_braces:
            normal = _value(normal)
        found.append(Token(normal, *match.span()))
    return found


def _value(string: str) -> str:
    """A string's value, with its prefix. An f-string has no value yet: its text counts, with all quotes alike."""
    body = string.lstrip("rRbBuUfFcC")
    prefix = string[: -len(body)].lower()
    if "f" not in prefix and "c" not in prefix:
        try:
            return repr(ast.literal_eval(string))
        except (SyntaxError, ValueError):  # a string of another language
            return string
    quotes = 3 if body.startswith(('"""', "'''")) else 1
    return prefix + re.sub(r"\\?['\"]", "'", body[quotes:-quotes])


def occurrences(tokens: Sequence[Token], sought: Sequence[Token]) -> list[tuple[int, int]]:
    """Start and end in the source of each place where the tokens ``sought`` follow each other."""
    wanted = [token.text for token in sought]
    texts = [token.text for token in tokens]
    places = range(len(texts) - len(wanted) + 1) if wanted else ()
    found = [i for i in places if texts[i] == wanted[0] and texts[i : i + len(wanted)] == wanted]
    return [(tokens[i].start, tokens[i + len(wanted) - 1].end) for i in found]


__all__ = ["WITH_BRACES", "Token", "occurrences", "tokenize"]
