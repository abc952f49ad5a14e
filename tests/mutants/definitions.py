"""Finds definitions by their qualified names: functions, methods, classes and assignments outside of functions.

Python is parsed with :mod:`ast`. Cython is read by its indentation, C and Java by their braces; what is found there
are the definitions that have a body.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tests.mutants.tokens import WITH_BRACES, Token, tokenize


@dataclass(frozen=True)
class Definition:
    """``name`` is qualified by the classes around it; ``start`` and ``end`` are offsets in the source."""

    name: str
    start: int
    end: int


class Source:
    """A file: its text, tokens and definitions."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.text = file.read_text()
        self.tokens = tokenize(self.text, file.suffix)
        self._starts = [token.start for token in self.tokens]
        if file.suffix == ".py":
            found = _of_python(self.text)
        elif file.suffix in WITH_BRACES:
            found = _Braces(self.text, self.tokens).definitions(0, len(self.tokens), "")
        else:
            found = _of_cython(self.text, self.tokens)
        self.definitions = tuple(found)

    def tokens_of(self, definition: Definition) -> list[Token]:
        """The tokens between the definition's start and end."""
        return self.tokens[bisect_left(self._starts, definition.start) : bisect_left(self._starts, definition.end)]

    def line(self, offset: int) -> int:
        """The number of the line, from 1."""
        return self.text.count("\n", 0, offset) + 1


# ---- Python ---------------------------------------------------------------------------------------------------------


def _of_python(text: str) -> Iterator[Definition]:
    lines = re.split(r"(?<=\n)", text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(line: int, octets: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:octets].decode())

    def visit(nodes: Sequence[ast.stmt], outer: str) -> Iterator[Definition]:
        for node in nodes:
            first: ast.expr | ast.stmt = node
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names = [node.name]
                first = (*node.decorator_list, node)[0]
            else:
                names = [target.id for target in _targets(node) if isinstance(target, ast.Name)]
            start = offset(first.lineno, first.col_offset - (first is not node))  # an at sign is no part of the node
            end = offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
            for name in names:
                yield Definition(outer + name, start, end)
            if isinstance(node, ast.ClassDef):
                yield from visit(node.body, f"{outer}{node.name}.")
            elif isinstance(node, (ast.If, ast.Try, ast.With)):
                yield from visit([inner for inner in ast.iter_child_nodes(node) if isinstance(inner, ast.stmt)], outer)

    return visit(ast.parse(text).body, "")


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return [name for target in node.targets for name in getattr(target, "elts", [target])]
    return [node.target] if isinstance(node, ast.AnnAssign) else []


# ---- Cython ---------------------------------------------------------------------------------------------------------

_MODIFIERS = {"cdef", "cpdef", "ctypedef", "public", "packed", "api", "inline", "async"}
_CLASSES = {"class", "cppclass", "struct", "union", "enum", "fused"}
_OPEN, _CLOSED = {"(", "[", "{"}, {")", "]", "}"}


def _of_cython(text: str, tokens: Sequence[Token]) -> Iterator[Definition]:
    """A block goes on while lines are indented more than its first."""
    open_blocks: list[tuple[int, str, int, bool]] = []  # indentation, name, start, whether it is a function
    last = start = 0
    decorated = False
    for line in _logical_lines(text, tokens):
        indentation = line[0].start - (text.rfind("\n", 0, line[0].start) + 1)
        while open_blocks and open_blocks[-1][0] >= indentation:
            _, name, began, _ = open_blocks.pop()
            if name:
                yield Definition(name, began, last)
        last = line[-1].end
        start = start if decorated else line[0].start
        decorated = line[0].text == "@"
        if decorated or any(is_function for *_, is_function in open_blocks):
            continue
        outer = "".join(f"{name.rpartition('.')[2]}." for _, name, *_ in open_blocks if name)
        name, is_function, is_block = _header(line)
        if is_block:
            open_blocks.append((indentation, name and outer + name, start, is_function))
        elif name:
            yield Definition(outer + name, start, last)
    yield from (Definition(name, began, last) for _, name, began, _ in reversed(open_blocks) if name)


def _logical_lines(text: str, tokens: Sequence[Token]) -> Iterator[list[Token]]:
    line: list[Token] = []
    depth = 0
    for token in tokens:
        if line and not depth and re.search(r"(?<!\\)\n", text[line[-1].end : token.start]):
            yield line
            line = []
        line.append(token)
        depth += (token.text in _OPEN) - (token.text in _CLOSED)
    if line:
        yield line


def _header(line: Sequence[Token]) -> tuple[str, bool, bool]:
    """(the name that a line defines or "", whether that is a function, whether the line opens a block)."""
    outside = _outside_of_brackets([token.text for token in line])
    first = next((i for i, word in enumerate(outside) if word not in _MODIFIERS), 0)
    is_block = ":" in outside and (outside[0] in _MODIFIERS | _CLASSES or outside[0] == "def")
    if is_block and outside[first] in _CLASSES:
        return (outside[first + 1] if outside[first + 1].isidentifier() else ""), False, True
    if is_block and "extern" not in outside and "(" in outside:
        return _before(outside, "("), True, True
    if "=" in outside and not is_block:
        return (outside[0] if ":" in outside else _before(outside, "=")), False, False
    return "", False, is_block


def _outside_of_brackets(texts: Sequence[str]) -> list[str]:
    """What stands in no brackets, with the brackets themselves."""
    found, depth = [], 0
    for text in texts:
        depth -= text in _CLOSED
        if not depth:
            found.append(text)
        depth += text in _OPEN
    return found


def _before(texts: Sequence[str], mark: str) -> str:
    """The name in front of the first ``mark`` that has one."""
    names = [a for a, b in pairwise(texts) if b == mark and a.isidentifier() and a not in _MODIFIERS]
    return names[0] if names else ""


# ---- C and Java -----------------------------------------------------------------------------------------------------

_TYPES = {"class", "interface", "record", "enum", "struct", "union"}


class _Braces:
    """Reads declarations up to their semicolon or body, macros, and the members of classes."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text, self._tokens = text, tokens
        self._words = [token.text for token in tokens]

    def definitions(self, at: int, end: int, outer: str) -> Iterator[Definition]:
        """Those among the tokens from ``at`` to ``end``."""
        first = at
        while at < end:
            outside = _outside_of_brackets(self._words[first:at])
            if self._words[at] == "#":
                at = first = yield from self._directive(at)
            elif self._words[at] == ";":
                if name := _variable(outside):
                    yield self._definition(outer + name, first, at)
                at = first = at + 1
            elif self._words[at] == "{":
                closed = self._closing(at, end)
                if "=" in outside or "typedef" in outside:  # the declaration goes on behind the brace
                    at = closed + 1
                    continue
                name, is_type = _head(outside)
                if name:
                    yield self._definition(outer + name, first, closed)
                if is_type:
                    yield from self.definitions(at + 1, closed, f"{outer}{name}.")
                at = first = closed + 1
            else:
                at += 1

    def _definition(self, name: str, first: int, last: int) -> Definition:
        return Definition(name, self._tokens[first].start, self._tokens[last].end)

    def _directive(self, first: int) -> Generator[Definition, None, int]:
        """Yields the definition of a macro. Returns the first token after the directive's line."""
        line = re.compile(r"(?:\\\n|[^\n])*").match(self._text, self._tokens[first].start)
        after = first
        while after < len(self._tokens) and line and self._tokens[after].start < line.end():
            after += 1
        if self._words[first + 1] == "define":
            yield self._definition(self._words[first + 2], first, after - 1)
        return after

    def _closing(self, brace: int, end: int) -> int:
        depth = 0
        for i in range(brace, end):
            depth += (self._words[i] == "{") - (self._words[i] == "}")
            if not depth:
                return i
        return end - 1


def _head(outside: Sequence[str]) -> tuple[str, bool]:
    """(the name of what has a body or "", whether it is a type whose members count)."""
    for keyword, name in pairwise(outside):
        if keyword in _TYPES and name.isidentifier() and (keyword in ("class", "record") or "(" not in outside):
            return name, True
    called = [name for name, bracket in pairwise(outside) if bracket == "(" and name.isidentifier()]
    return (called[-1] if called else ""), False


def _variable(outside: Sequence[str]) -> str:
    """The name in front of a declaration's = sign, or at the end of a typedef."""
    if "typedef" in outside:
        return outside[-1] if outside[-1].isidentifier() else ""
    named = outside[: outside.index("=")] if "=" in outside else []
    return next((word for word in reversed(named) if word.isidentifier()), "")


__all__ = ["Definition", "Source"]
