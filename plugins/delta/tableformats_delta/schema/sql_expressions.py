"""Parses the SQL of ``delta.generationExpression`` into small trees.

Columns, literals, calls and CASTs are parsed, also nested: ``CAST(ts AS DATE)``, ``date_format(s.ts, 'yyyy-MM')``. Any
other expression gives None.
Source: Delta PROTOCOL.md, "Generated Columns"; Spark SQL reference, "Identifiers", "Literals", "Cast".
"""

from __future__ import annotations

import re

from tableformats.plugin import dataclass, lazy_pattern

__all__ = ["Call", "Column", "Node", "parse"]

_MAX_LENGTH = 1000
_MAX_DEPTH = 20
# Strings with backslashes do not match: no format with an escape is supported.
_TOKEN = lazy_pattern(
    r"""\s*(?:(?P<name>`(?:[^`]|``)+`)
           | (?P<word>[A-Za-z_]\w*)
           | (?P<number>[0-9]{1,9})(?!\w)
           | (?P<text>'[^'\\]*'|"[^"\\]*")
           | (?P<sign>[().,]))""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Column:
    """A column by the parts of its name."""

    parts: tuple[str, ...]


@dataclass(frozen=True)
class Call:
    """A function call; ``name`` is in lower case. A CAST is ``cast`` with the type's name as its second argument."""

    name: str
    arguments: tuple[Node, ...]


Node = Column | Call | str | int


def parse(text: str) -> Node | None:
    """Parse ``text``; None where it is not simple."""
    if len(text) > _MAX_LENGTH:
        return None
    tokens: list[tuple[str, str]] = []
    offset, end = 0, len(text.rstrip())
    while offset < end:
        match = _TOKEN.match(text, offset)
        if match is None:
            return None
        kind = match.lastgroup or ""
        tokens.append((kind, match[kind]))
        offset = match.end()
    parser = _Parser(tokens)
    try:
        node = parser.node(0)
    except (IndexError, ValueError):
        return None
    return node if parser.at == len(tokens) else None


class _Parser:
    """A recursive-descent parser. Raises IndexError or ValueError for anything that it does not support."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.at = 0

    def node(self, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise ValueError("too deep")
        kind, text = self._next()
        if kind == "number":
            return int(text)
        if kind == "text":
            return text[1:-1]
        if text == "(":
            inner = self.node(depth + 1)
            self._expect(")")
            return inner
        if kind == "word" and self._sees("("):
            return self._call(text.lower(), depth)
        parts = [_identifier(kind, text)]
        while self._sees("."):
            self.at += 1
            parts.append(_identifier(*self._next()))
        return Column(tuple(parts))

    def _call(self, name: str, depth: int) -> Call:
        self._expect("(")
        arguments: list[Node] = []
        while not self._sees(")"):
            if arguments:
                self._expect(",")
            arguments.append(self.node(depth + 1))
            if name == "cast":
                if self._next()[1].lower() != "as":
                    raise ValueError("CAST without AS")
                arguments.append(_identifier(*self._next()).lower())
                break
        self._expect(")")
        return Call(name, tuple(arguments))

    def _next(self) -> tuple[str, str]:
        self.at += 1
        return self.tokens[self.at - 1]

    def _sees(self, sign: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at] == ("sign", sign)

    def _expect(self, sign: str) -> None:
        if self._next() != ("sign", sign):
            raise ValueError(f"no {sign}")


def _identifier(kind: str, text: str) -> str:
    if kind == "name":
        return text[1:-1].replace("``", "`")
    if kind != "word":
        raise ValueError(text)
    return text
